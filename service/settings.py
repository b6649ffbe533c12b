"""Configuration of the service, read once from environment variables."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from semblance_client.vocabulary.fields import MAX_ENTRIES

from semblance.service import addresses

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
LogFormat: TypeAlias = Literal["auto", "json", "text"]

MIB = 1024 * 1024
CLIENT_KEY = "SEMBLANCE_CLIENT_KEY"  # of the command line and the benchmarks; the service does not read it
CLIENT_URL = "SEMBLANCE_URL"  # likewise


class Settings(BaseSettings):
    """Immutable settings; each field is the environment variable SEMBLANCE_<FIELD> in capitals."""

    # errors hide the input, which may contain a password
    model_config = SettingsConfigDict(env_prefix="SEMBLANCE_", frozen=True, extra="forbid", hide_input_in_errors=True)

    host: addresses.Host = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")

    api_keys: SecretStr = Field(
        SecretStr(""),
        description="API keys, comma-separated `name:scopes:sha256`, some with limits; `semblance key new` creates "
        "one. Without keys, every client has access.",
    )
    api_keys_file: Path | None = Field(
        None, description="File of further API keys, an entry a line; `#` begins a comment. SIGHUP reads it again."
    )
    allow_anonymous: bool = Field(False, description="Allow a non-loopback address without API keys.")
    metrics_open: bool = Field(False, description="Serve `GET /metrics` without a key.")
    allowed_hosts: addresses.Hosts = Field(
        "",
        description="Names and addresses in the `Host` header under which the service may be called, comma-separated "
        "and without ports, such as `search.example.org`; `*` allows any. By default any, but on a loopback address "
        "without API keys only `localhost` and loopback addresses, which are always allowed.",
    )
    trusted_proxies: addresses.Networks = Field(
        "",
        description="Addresses and networks of proxies, comma-separated, such as `10.0.0.0/8`. Their `X-Forwarded-For` "
        "names the client. Without API keys, the model is shared fairly among the addresses of clients.",
    )
    cors_origins: addresses.Origins = Field(
        "",
        description="Origins of web pages that may call the service, comma-separated and exact, such as "
        "`https://app.example.org`; `*` is not allowed.",
    )

    home: addresses.Folder = Field(Path("~/.semblance"), description="Folder of the documents; created if missing.")
    database_url: addresses.PostgresUrl = Field(
        SecretStr(""),
        description="PostgreSQL of replicas, `postgresql://user:password@host:5432/name` or `...@host,host2/name`. "
        "Each keeps a copy in SEMBLANCE_HOME. By default the documents are stored in SEMBLANCE_HOME only.",
    )
    index_url: addresses.MilvusUrl = Field(
        SecretStr(""),
        description="Milvus that finds candidates for replicas of SEMBLANCE_DATABASE_URL, which then keep no copy: "
        "`milvus://host:19530/database` (docs/deployment/milvus.md). Needs the extra `milvus`.",
    )
    database_connections: int = Field(4, ge=1, description="Maximum connections of a replica to PostgreSQL.")
    database_timeout_s: float = Field(
        10.0, ge=1, description="Seconds that a write to PostgreSQL, or a call of Milvus, may take; then 503."
    )
    poll_s: float = Field(
        1.0, gt=0, description="Seconds between polls for changes in PostgreSQL; LISTEN/NOTIFY usually comes first."
    )
    min_version_wait_s: float = Field(2.0, gt=0, description="Seconds a search waits for its `min_version`; then 503.")
    snapshot_s: float = Field(
        300.0, gt=0, description="Seconds between snapshots of changed indexes, which speed up the next start."
    )
    sample: bool = Field(False, description="Fill an empty store with a small sample collection.")

    models: str = Field(
        "minilm-graded,minilm-words,minilm-clrcmd,minilm",
        description="Served models, comma-separated: built-in ones (docs/models.md); a path with a slash "
        "or a pulled `org/name`, named by its last part in lower case; or `name=source?option=value`. A built-in model "
        "with options needs another name. The first is the default and loads at start. Where "
        "none are set, built-in models that stored collections need are served, too (not of PostgreSQL).",
    )
    rerank_models: str = Field("", description="Rerank models, likewise: folders of cross-encoders.")
    require_models: bool = Field(False, description="Start only if all models can be served, not just the default.")
    model_aliases: str = Field(
        "", description="Further names of models, such as `rerank-v3.5=minilm-graded@cosine` (docs/clients.md)."
    )
    truncate: str = Field(
        "PASSAGES",
        description="For texts longer than their model reads, where a request does not say: `PASSAGES` (read in "
        "passages), `END` or `START` (truncate at that end), `NONE` (reject). Of one model: `model=END`, "
        "comma-separated, such as `PASSAGES,minilm=NONE`. Routes of other APIs keep their own defaults, except "
        "OpenAI's.",
    )
    device: str = Field(
        "auto",
        description="Device of models and `torch_flat` indexes: `auto` (CUDA if there), `cpu`, `cuda`, `cuda:1`.",
    )
    runtime: str = Field(
        "auto",
        description="Runtime of networks: `auto` is `openvino` on CPU, `torch_packed` (torch without padding) on CUDA, "
        "and `torch` for networks that these do not support.",
    )
    precision: Literal["auto", "float32", "bfloat16", "int8"] = Field(
        "auto",
        description="Number type of the networks: `auto` is bfloat16 on CUDA; with `openvino` on CPUs, the one of "
        "float32, bfloat16 and int8 that a measurement at the first start finds fastest.",
    )
    threads: int | None = Field(
        None,
        ge=1,
        description="Cores that batches and large searches keep busy; by default those that the process may use, at "
        "most its quota of CPU time.",
    )
    exports: Path | None = Field(
        None, description="Folder of exported networks other than BERT, removable; default `exports` in SEMBLANCE_HOME."
    )
    model_wait_s: float = Field(30.0, gt=0, description="Seconds that a request waits for a model to load; then 503.")

    max_batch_tokens: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="Maximum tokens of the batches that run at the same time: `auto` is 1024 on CPU, where more add "
        "latency but no throughput, and less where a batch would take longer than 0.1 s; and 16384 on CUDA.",
    )
    max_request_tokens: int = Field(
        2**18, ge=1, description="Maximum tokens to encode for a request, cached texts excluded; 413 above."
    )
    max_queued_tokens: int = Field(
        2**19,
        ge=1,
        description="Maximum tokens in the queue; 429 above, but each caller may have an equal share of it. NDJSON "
        "uploads are slowed down instead.",
    )

    cache: Literal["memory", "redis", "none"] = Field("memory", description="Where embeddings are cached.")
    cache_bytes: int = Field(256 * MIB, ge=0, description="Maximum size of the in-memory cache in bytes.")
    redis_url: addresses.RedisUrl = Field(
        SecretStr("redis://127.0.0.1:6379/0"), description="Redis of the cache `redis`; `rediss://` for TLS."
    )
    redis_ttl_s: int = Field(7 * 24 * 3600, ge=1, description="Lifetime of an embedding in Redis in seconds.")
    redis_budget_s: float = Field(
        0.1, gt=0, description="Seconds that a Redis lookup or write may take, with connecting; then it is skipped."
    )
    redis_max_value_bytes: int = Field(MIB, ge=0, description="Maximum size of an embedding in Redis in bytes.")

    max_connections: int = Field(
        4096, ge=1, description="Maximum open connections; above, the connection idle for longest is closed."
    )
    keep_alive_s: float = Field(
        620.0, gt=0, description="Seconds until an idle connection is closed; must be more than load balancers keep it."
    )
    max_header_bytes: int = Field(32 * 1024, ge=4096, description="Maximum size of request line and headers in bytes.")
    header_timeout_s: float = Field(
        10.0, gt=0, description="Seconds for the headers of a request, from its first byte or opening the connection."
    )
    body_pause_s: float = Field(
        10.0, gt=0, description="Maximum pause in seconds within a request body, or of a client reading its answer."
    )
    body_timeout_s: float = Field(60.0, gt=0, description="Seconds to receive a request body, unless it is NDJSON.")
    max_body_bytes: int = Field(8 * MIB, ge=1024, description="Maximum bytes of a request body, or of an NDJSON line.")
    max_file_bytes: int = Field(64 * MIB, ge=1024, description="Maximum bytes of a request with files to read.")

    log_level: LogLevel = Field("info", description="Least level of the lines of the log.")
    log_format: LogFormat = Field("auto", description="Log as `json`, `text` or `auto`: text on a terminal, else JSON.")
    tracing: bool = Field(
        False,
        description="Send a trace of each request by OpenTelemetry (OTLP over HTTP), without texts; needs the extra "
        "`tracing` and reads the variables OTEL_*.",
    )

    max_text_chars: int = Field(100_000, ge=1, description="Maximum length of a text in characters.")
    max_texts: int = Field(4096, ge=1, le=MAX_ENTRIES, description="Maximum pairs, texts or queries in a request.")
    max_scores: int = Field(
        65_536, ge=1, description="Maximum scores of a request: cells of a matrix, or queries times candidates."
    )
    max_hits: int = Field(10_000, ge=1, description="Maximum hits of a request: queries times k.")
    max_explained: int = Field(1024, ge=1, description="Maximum explanations of a request.")
    max_documents: int = Field(1000, ge=1, le=MAX_ENTRIES, description="Maximum documents in a request.")
    max_k: int = Field(1000, ge=1, description="Maximum `k` of a search.")
    max_candidates: int = Field(10_000, ge=1, description="Maximum candidates that a search rescores.")

    ready_within_s: float = Field(60.0, gt=0, description="Seconds without an answer of the model until not ready.")
    idle_check_s: float = Field(10.0, gt=0, description="Seconds without work until the model is probed by one token.")
    ready_lag_s: float = Field(30.0, gt=0, description="Seconds of replica lag behind PostgreSQL until not ready.")
    drain_s: float = Field(20.0, ge=1, description="Seconds from SIGTERM to exit; requests still running are aborted.")
    drain_notice_s: float = Field(
        1.0,
        ge=0,
        description="Seconds after SIGTERM in which requests are served although /ready is 503, before the port "
        "closes; at most half of SEMBLANCE_DRAIN_S.",
    )

    @field_validator("runtime")
    @classmethod
    def _check_runtime(cls, runtime: str) -> str:
        from semblance.models import catalogue  # noqa: PLC0415 - imports numpy, which reading settings does not need
        from semblance.models.runtime import RUNTIMES  # noqa: PLC0415 - likewise

        choices = ("auto", *catalogue.names(RUNTIMES))
        if runtime not in choices:
            raise ValueError(f"choose one of {', '.join(choices)}")
        return runtime

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.idle_check_s >= self.ready_within_s:
            raise ValueError("SEMBLANCE_IDLE_CHECK_S must be less than SEMBLANCE_READY_WITHIN_S")
        if self.max_request_tokens > self.max_queued_tokens:
            raise ValueError("SEMBLANCE_MAX_REQUEST_TOKENS must not exceed SEMBLANCE_MAX_QUEUED_TOKENS")
        if self.index_url.get_secret_value() and not self.database_url.get_secret_value():
            raise ValueError("SEMBLANCE_INDEX_URL needs SEMBLANCE_DATABASE_URL: the index holds no documents")
        if not addresses.is_loopback(self.host) and not self.has_keys and not self.allow_anonymous:
            raise ValueError(
                f"SEMBLANCE_HOST={self.host} would give the whole network access: keep 127.0.0.1, set "
                "SEMBLANCE_API_KEYS (semblance key new), or SEMBLANCE_ALLOW_ANONYMOUS=1 if access is controlled: "
                "docker run --env SEMBLANCE_ALLOW_ANONYMOUS=1 --env SEMBLANCE_ALLOWED_HOSTS=localhost "
                "--publish 127.0.0.1:8000:8000 semblance:cpu"
            )
        return self

    @cached_property
    def has_keys(self) -> bool:
        """Whether clients need a key."""
        return self.api_keys_file is not None or bool(self.api_keys.get_secret_value().strip())

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Entries of `allowed_hosts`; by default loopback alone where no key is needed."""
        only_loopback = addresses.is_loopback(self.host) and not self.has_keys
        return addresses.entries(self.allowed_hosts.lower()) or (() if only_loopback else (addresses.ANY_HOST,))

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """Entries of `cors_origins`."""
        return addresses.entries(self.cors_origins)

    @cached_property
    def notice_s(self) -> float:
        """`drain_notice_s`, limited to half of `drain_s`."""
        return min(self.drain_notice_s, self.drain_s / 2)

    @cached_property
    def export_folder(self) -> Path:
        """Folder of networks exported for their runtime."""
        return (self.exports or self.home / "exports").expanduser()

    @cached_property
    def snapshot_folder(self) -> Path:
        """Folder of index snapshots."""
        return self.home.expanduser() / "indexes"

    @cached_property
    def database_file(self) -> Path:
        """File of the embedded document store."""
        return self.home.expanduser() / "documents.sqlite"

    @cached_property
    def copy_file(self) -> Path:
        """File of a replica's copy of the documents."""
        return self.home.expanduser() / "copy.sqlite"


def read_settings(**overrides: object) -> Settings:
    """Read the settings of this process; `overrides`, from the command line, take precedence.

    Raises:
        SystemExit: a value is invalid or empty, or no setting; the message names the environment variable.
    """
    _check_variables()
    values = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**values)  # type: ignore[arg-type]  # pydantic checks them
    except ValidationError as error:
        lines = [
            f"SEMBLANCE_{str(problem['loc'][0]).upper()}: {problem['msg']}" if problem["loc"] else problem["msg"]
            for problem in error.errors()
        ]
        raise SystemExit("configuration: " + "\n".join(lines)) from error


def _check_variables() -> None:
    """Refuse unknown variables, and empty ones except lists.

    An empty address would mean a store of its own for each replica, and an empty home the current folder.
    """
    # some are of scripts, clients, benchmarks and tests; the service does not read them
    others = dict.fromkeys(("SEMBLANCE_VENV", "SEMBLANCE_DATA", "SEMBLANCE_TEST_MILVUS", CLIENT_KEY, CLIENT_URL), "")
    defaults = others | {f"SEMBLANCE_{name.upper()}": field.default for name, field in Settings.model_fields.items()}
    given = sorted(name for name in os.environ if name.startswith("SEMBLANCE_"))
    if unknown := [name for name in given if name not in defaults]:
        raise SystemExit(f"configuration: unknown setting {', '.join(unknown)}")
    if empty := [name for name in given if defaults[name] != "" and not os.environ[name].strip()]:
        raise SystemExit(f"configuration: {', '.join(empty)} must not be empty: fill it in, or remove the line")
