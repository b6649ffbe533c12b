"""Everything that can be configured, read from the environment once."""

from __future__ import annotations

import ipaddress
import os
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PostgresDsn, RedisDsn, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024
MAX_ENTRIES = 10_000  # of a list in a request: no setting may allow more
CLIENT_KEY = "SEMBLANCE_CLIENT_KEY"  # what `semblance index` and the benchmarks show; the service has no use for it

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?")  # in lower case, as browsers send it


class Settings(BaseSettings):
    """One frozen object; each field is the environment variable SEMBLANCE_<FIELD> in capitals."""

    model_config = SettingsConfigDict(
        env_prefix="SEMBLANCE_",
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,  # there may be a password in it
    )

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    home: Path = Field(Path("~/.semblance"), description="Folder of the embedded document store; created if missing.")
    database_url: SecretStr = Field(
        SecretStr(""),
        description="The PostgreSQL that holds the documents of several replicas, such as "
        "`postgresql://user:password@host:5432/name`; each replica keeps a copy in SEMBLANCE_HOME. Without one, "
        "SEMBLANCE_HOME holds the documents themselves.",
    )
    database_connections: int = Field(4, ge=1, description="Most connections to PostgreSQL that one replica opens.")
    database_timeout_s: float = Field(
        10.0, ge=1, description="Seconds that a write may take at PostgreSQL before it gets 503."
    )
    poll_s: float = Field(
        1.0, gt=0, description="Seconds between looks at PostgreSQL, which tells of writes by itself as a rule."
    )
    min_version_wait_s: float = Field(
        2.0, gt=0, description="Seconds that a search with `min_version` waits for that version before it gets 503."
    )
    ready_lag_s: float = Field(
        30.0, gt=0, description="Not ready if a replica has been behind PostgreSQL for this many seconds."
    )
    api_keys: SecretStr = Field(
        SecretStr(""),
        description="Keys that may call, comma-separated `name:scopes:sha256`; `semblance key new` makes one. Without "
        "any, everybody may.",
    )
    metrics_open: bool = Field(False, description="Let `GET /metrics` be called without a key.")
    cors_origins: str = Field(
        "",
        description="Origins whose pages may call from a browser, comma-separated and exact, such as "
        "`https://app.example.org`; `*` is refused.",
    )
    allow_anonymous: bool = Field(False, description="Allow an address other than loopback although no keys guard it.")
    models: str = Field(
        "minilm-clrcmd,minilm",
        description="Served models, comma-separated: `minilm-clrcmd` or `minilm` (built in), or "
        "`name=source?option=value&option=value`. A source is a built-in name, a folder or a file; a model with "
        "options has a name of its own. The first is the default and loads at start, the others on first use.",
    )
    device: str = Field(
        "auto",
        description="Where models run, and indexes of `torch_flat`: `auto` (CUDA where there is one), `cpu`, `cuda`, "
        "`cuda:1`.",
    )
    runtime: Literal["auto", "openvino", "torch_packed", "torch"] = Field(
        "auto",
        description="What runs the network: `auto` is `openvino` on CPU and `torch_packed`, torch without padding, on "
        "CUDA; or `torch` for networks that these do not take.",
    )
    threads: int | None = Field(
        None, ge=1, description="Most processors that a pass through the network uses on CPU; by default all there are."
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Number type of the network: `auto` is bfloat16 on CUDA, and with `openvino` on CPUs that "
        "multiply it, float32 otherwise.",
    )
    exports: Path | None = Field(
        None,
        description="Folder in which networks are kept in the form of their runtime, and may be deleted; by default "
        "`exports` in SEMBLANCE_HOME.",
    )
    model_wait_s: float = Field(
        30.0, gt=0, description="Seconds that a call waits for a model to load before it gets 503."
    )
    max_batch_tokens: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="Most tokens in one pass through the network: `auto` is 1024 on CPU, where larger passes "
        "are no faster and others wait longer, and 16384 on CUDA.",
    )
    max_request_tokens: int = Field(
        2**18, ge=1, description="Most tokens that one request may have encoded; 413 above. Cached texts are free."
    )
    max_queued_tokens: int = Field(
        2**19, ge=1, description="Most tokens that may wait for the model; 429 above. Not for NDJSON, which is paced."
    )
    cache: Literal["memory", "redis", "none"] = Field("memory", description="Where embeddings are cached.")
    cache_bytes: int = Field(256 * MIB, ge=0, description="Bytes that the in-process cache may hold.")
    redis_url: SecretStr = Field(
        SecretStr("redis://127.0.0.1:6379/0"), description="The Redis of the cache `redis`; `rediss://` for TLS."
    )
    redis_ttl_s: int = Field(7 * 24 * 3600, ge=1, description="Seconds that Redis keeps an embedding.")
    redis_budget_s: float = Field(
        0.1, gt=0, description="Seconds that a look into Redis, or a write to it, may take with everything it needs."
    )
    redis_max_value_bytes: int = Field(MIB, ge=0, description="Largest embedding that is written to Redis.")
    max_connections: int = Field(
        4096, ge=1, description="Most open connections; one more pushes out the one that has idled longest."
    )
    max_header_bytes: int = Field(32 * 1024, ge=4096, description="Largest request line with headers.")
    header_timeout_s: float = Field(
        10.0,
        gt=0,
        description="Seconds from the opening of a connection, or the first byte of a next request, to the "
        "end of its headers.",
    )
    body_pause_s: float = Field(
        10.0,
        gt=0,
        description="Longest pause within a body, in seconds, and longest time in which a client takes nothing of its "
        "answer.",
    )
    body_timeout_s: float = Field(
        60.0, gt=0, description="Seconds for a whole body; those of NDJSON may take longer if they do not pause."
    )
    max_body_bytes: int = Field(8 * MIB, ge=1024, description="Largest request body; of NDJSON, largest line.")
    max_text_chars: int = Field(100_000, ge=1, description="Longest text, in characters.")
    max_texts: int = Field(4096, ge=1, le=MAX_ENTRIES, description="Most pairs, texts or queries in one request.")
    max_scores: int = Field(
        65_536, ge=1, description="Most scores in one request: of a matrix, or queries times candidates."
    )
    max_hits: int = Field(10_000, ge=1, description="Most hits in one request: queries times k.")
    max_explained: int = Field(1024, ge=1, description="Most explanations in one request.")
    max_documents: int = Field(1000, ge=1, le=MAX_ENTRIES, description="Most documents in one request.")
    max_k: int = Field(1000, ge=1, description="Most hits that a search may ask for.")
    max_candidates: int = Field(10_000, ge=1, description="Most candidates that a search may rescore.")
    idle_check_s: float = Field(
        10.0, gt=0, description="Seconds without work after which the model is tried with one token."
    )
    ready_within_s: float = Field(
        60.0, gt=0, description="Not ready if the model has not answered for this many seconds."
    )
    snapshot_s: float = Field(
        300.0, gt=0, description="Seconds between snapshots of changed indexes, which make the next start quick."
    )
    sample: bool = Field(False, description="Fill an empty store with a small sample collection.")
    drain_s: float = Field(
        20.0, ge=1, description="Seconds from SIGTERM to the end of the process, whatever requests still run."
    )
    drain_notice_s: float = Field(
        1.0,
        ge=0,
        description="Seconds after SIGTERM in which every request at least gets a 503 before the port closes; at most "
        "half of SEMBLANCE_DRAIN_S.",
    )

    @field_validator("database_url")
    @classmethod
    def _names_a_postgresql(cls, url: SecretStr) -> SecretStr:
        try:
            given = url.get_secret_value()
            if given and len(PostgresDsn(given).hosts()) != 1:
                raise ValueError  # noqa: TRY301 - the one below says it
        except ValueError:
            raise ValueError("it must look like postgresql://user:password@host:5432/name") from None
        return url

    @field_validator("redis_url")
    @classmethod
    def _names_a_redis(cls, url: SecretStr) -> SecretStr:
        try:
            RedisDsn(url.get_secret_value())
        except ValidationError:
            raise ValueError("it must look like redis://user:password@host:6379/0, or rediss:// for TLS") from None
        return url

    @model_validator(mode="after")
    def _checked_often_enough(self) -> Self:
        if self.idle_check_s >= self.ready_within_s:
            raise ValueError("SEMBLANCE_IDLE_CHECK_S must be less than SEMBLANCE_READY_WITHIN_S")
        return self

    @model_validator(mode="after")
    def _largest_fits(self) -> Self:
        if self.max_request_tokens > self.max_queued_tokens:
            raise ValueError("SEMBLANCE_MAX_REQUEST_TOKENS must not be more than SEMBLANCE_MAX_QUEUED_TOKENS")
        return self

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        has_keys = bool(self.api_keys.get_secret_value().strip())
        if not _is_loopback(self.host) and not has_keys and not self.allow_anonymous:
            raise ValueError(
                f"SEMBLANCE_HOST={self.host} would let anyone on the network in: keep 127.0.0.1, set "
                "SEMBLANCE_API_KEYS, or set SEMBLANCE_ALLOW_ANONYMOUS=1 if something in front of the service checks "
                "who may call it"
            )
        return self

    @field_validator("cors_origins")
    @classmethod
    def _exact_origins(cls, value: str) -> str:
        for origin in _entries(value):
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin: write scheme://host or scheme://host:port, without a path")
        return value

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """The entries of `cors_origins`."""
        return _entries(self.cors_origins)

    @cached_property
    def notice_s(self) -> float:
        """`drain_notice_s`, as far as `drain_s` leaves time for what is under way."""
        return min(self.drain_notice_s, self.drain_s / 2)

    @cached_property
    def export_folder(self) -> Path:
        """Folder of the networks in the form of their runtime."""
        return (self.exports or self.home / "exports").expanduser()

    @cached_property
    def snapshot_folder(self) -> Path:
        """Folder of the snapshots of indexes."""
        return self.home.expanduser() / "indexes"

    @cached_property
    def database_file(self) -> Path:
        """File of the embedded document store."""
        return self.home.expanduser() / "documents.sqlite"

    @cached_property
    def copy_file(self) -> Path:
        """File of a replica's copy of the document store."""
        return self.home.expanduser() / "copy.sqlite"


def read_settings(**overrides: object) -> Settings:
    """The settings of this process; `overrides` come from the command line and win over the environment.

    Raises:
        SystemExit: a value is not valid, or there is no such setting; the message names the environment variable.
    """
    unknown = [name for name in os.environ if name.startswith("SEMBLANCE_") and name not in _known()]
    if unknown:
        raise SystemExit(f"configuration: there is no setting {', '.join(sorted(unknown))}")
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]  # pydantic checks them
    except ValidationError as error:
        lines = [
            f"SEMBLANCE_{str(problem['loc'][0]).upper()}: {problem['msg']}" if problem["loc"] else problem["msg"]
            for problem in error.errors()
        ]
        raise SystemExit("configuration: " + "\n".join(lines)) from error


def _known() -> set[str]:
    tests_only = "SEMBLANCE_DATA"  # where benchmarks and tests find data; the service has no use for it
    return {f"SEMBLANCE_{name.upper()}" for name in Settings.model_fields} | {tests_only, CLIENT_KEY}


def client_key() -> str | None:
    """The key that this process shows to a service, if it has one."""
    return os.environ.get(CLIENT_KEY) or None


def _entries(value: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in value.split(","))))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
