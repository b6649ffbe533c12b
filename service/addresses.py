"""Hosts, networks, origins, folders and addresses of databases, as settings have them."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, PostgresDsn, RedisDsn, SecretStr

ANY_HOST = "*"

_NAME = re.compile(r"[a-z0-9_.-]+", re.IGNORECASE)
_MILVUS = re.compile(
    r"milvuss?://([^:@/?#]+:[^:@/?#]+@)?([a-z0-9_.-]+|\[[0-9a-f:]+\]):\d{1,5}(/[a-z0-9_]*)?", re.IGNORECASE
)
_STRAY_AT = re.compile(r"[@/?#].*@")
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?")  # in lower case, as browsers send it


def entries(value: str) -> tuple[str, ...]:
    """The entries of a list with commas.

    >>> entries("a, b,")
    ('a', 'b')
    """
    return tuple(filter(None, (part.strip() for part in value.split(","))))


def is_loopback(host: str) -> bool:
    """Whether a name or an address means this machine.

    >>> is_loopback("127.0.0.9"), is_loopback("::1"), is_loopback("localhost"), is_loopback("localhost.example.org")
    (True, True, True, False)
    """
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _host(value: str) -> str:
    """`value`, a host to listen on. Raises ValueError."""
    if value.startswith("unix:") or "/" in value:
        raise ValueError(
            f"{value!r} is not a host: write a name or an address. The service listens on no Unix socket; let a proxy, "
            "such as nginx, listen there and pass requests on to 127.0.0.1"
        )
    return value


def _hosts(value: str) -> str:
    """`value`, a list of hosts.

    Raises:
        ValueError: an entry is neither a name, an address without brackets, nor `ANY_HOST`.
    """
    for host in entries(value):
        if host != ANY_HOST and not _NAME.fullmatch(host) and _address(host) is None:
            raise ValueError(f"{host!r} is not a host: write a name or an address, without scheme and port")
    return value


def _networks(value: str) -> str:
    """`value`, a list of networks.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """
    for network in entries(value):
        try:
            ipaddress.ip_network(network)
        except ValueError:
            raise ValueError(f"{network!r} is no address and no network: write 10.0.0.7 or 10.0.0.0/8") from None
    return value


def _origins(value: str) -> str:
    """`value`, a list of origins of web pages.

    Raises:
        ValueError: an entry is not exact.
    """
    for origin in entries(value):
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin!r} is not an origin: write scheme://host or scheme://host:port, no path")
    return value


def _postgres_url(url: SecretStr) -> SecretStr:
    """`url` of one or several PostgreSQL servers, or empty.

    Raises ValueError without repeating it.
    """
    try:
        if address := url.get_secret_value():
            PostgresDsn(address)
    except ValueError:
        raise ValueError("it must look like postgresql://user:password@host:5432/name") from None
    return _with_one_at(url)


def place_of(url: SecretStr) -> str:
    """Hosts and name of a PostgreSQL database, without user and password.

    >>> place_of(SecretStr("postgresql://me:secret@db.example,[::1]:6000/texts?sslmode=require"))
    'db.example:5432,[::1]:6000/texts'
    """
    address = PostgresDsn(url.get_secret_value())
    hosts = ",".join(f"{host['host'] or 'localhost'}:{host['port'] or 5432}" for host in address.hosts())
    return f"{hosts}{address.path or ''}"


def _milvus_url(url: SecretStr) -> SecretStr:
    """`url` of a Milvus server, or empty. Raises ValueError without repeating it."""
    address = url.get_secret_value()
    if address and not _MILVUS.fullmatch(address):
        raise ValueError(
            "it must look like milvus://user:password@host:19530/database, user and database optional, "
            "or milvuss:// for TLS"
        )
    return url


def _redis_url(url: SecretStr) -> SecretStr:
    """`url` of a Redis server. Raises ValueError without repeating it."""
    try:
        RedisDsn(url.get_secret_value())
    except ValueError:
        raise ValueError("it must look like redis://user:password@host:6379/0, or rediss:// for TLS") from None
    return _with_one_at(url)


def _with_one_at(url: SecretStr) -> SecretStr:
    """`url`, in which one more `@` would make a part of the password a host.

    Raises ValueError without repeating it.
    """
    if _STRAY_AT.search(url.get_secret_value().partition("://")[2]):
        raise ValueError(
            "percent-encode @ / # ? in the password, as %40 %2F %23 %3F: one @ may be left, before the host"
        )
    return url


Folder: TypeAlias = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
Host: TypeAlias = Annotated[str, AfterValidator(_host)]
Hosts: TypeAlias = Annotated[str, AfterValidator(_hosts)]
Networks: TypeAlias = Annotated[str, AfterValidator(_networks)]
Origins: TypeAlias = Annotated[str, AfterValidator(_origins)]
PostgresUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_postgres_url)]
RedisUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_redis_url)]
MilvusUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_milvus_url)]
