"""Address of a Milvus server."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """Where a server is, and who calls it.

    >>> MilvusAddress.parse("milvus://me:secret@search:19530/texts")
    MilvusAddress(uri='http://search:19530', database='texts', user='me')
    >>> MilvusAddress.parse("milvuss://search:19530").uri
    'https://search:19530'
    """

    uri: str
    database: str
    user: str
    password: str = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> MilvusAddress:
        """The parts of milvus://user:password@host:port/database, or milvuss: for TLS."""
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        scheme = "https" if parts.scheme == "milvuss" else "http"
        return cls(f"{scheme}://{host}", unquote(parts.path.strip("/")), user, password)
