"""`semblance serve`: the HTTP service."""

from __future__ import annotations

import gc
import json
import logging
import socket
import sys
from functools import partial
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer
import uvicorn
from starlette.types import ASGIApp

from semblance.service.app import create_app
from semblance.service.cli.toolbox.exits import exit_on_failure, reason_for_operator
from semblance.service.cli.toolbox.options import Served
from semblance.service.documents.databases.lock import lock_home
from semblance.service.observability.logs import configure_logging
from semblance.service.observability.tracing import open_tracer_provider
from semblance.service.process.connections import ConnectionLimits, connection_factory
from semblance.service.process.readiness import Draining
from semblance.service.process.server import Server, leave, raise_file_limit
from semblance.service.settings import CLIENT_KEY, Settings, read_settings

log = logging.getLogger(__name__)

REFUSAL = "cannot serve"
PAIR = {"a": "my parcel never came", "b": "my package has not arrived"}


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 picks a free one.", show_default="8000")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="Folder of the document store.", show_default="~/.semblance")
    ] = None,
    model: Served = None,
    sample: Annotated[bool | None, typer.Option("--sample", help="Fill an empty store with sample documents.")] = None,
) -> None:
    """Serve the HTTP API until interrupted.

    SIGTERM or Ctrl-C lets running requests finish for up to SEMBLANCE_DRAIN_S seconds; a second one aborts them.
    SIGHUP reads SEMBLANCE_API_KEYS_FILE again.

    Every option is also an environment variable (SEMBLANCE_PORT and so on); the option takes precedence.

    \b
    Examples:
      semblance serve
      semblance serve --port 9000 --model minilm-graded --model mine=/models/mine
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(host=host, port=port, home=home, models=",".join(model) if model else None, sample=sample)
    gc.freeze()  # what was imported lives to the end: collections during the start need not visit it
    configure_logging()
    log.info("Semblance %s is starting; documents are kept in %s", version("semblance-server"), _store(settings))
    if warning := raise_file_limit(settings.max_connections):
        log.warning(warning)
    with (
        exit_on_failure(REFUSAL),
        open_tracer_provider(enabled=settings.tracing) as tracers,
        lock_home(settings.home),
        _bind(settings) as listener,
    ):
        app = create_app(settings, draining := Draining(), _refuse, tracers)
        config = _uvicorn_config(app, settings)
        announce, reload_keys = partial(_announce, settings), app.state.keys.reload if settings.api_keys_file else None
        server = Server(config, draining, settings.drain_s, settings.notice_s, announce, reload_keys)
        server.run(sockets=[listener])
    if not server.started:
        raise typer.Exit(1)
    exit_code = 1 if draining.failed else 0
    log.info("exiting with code %d", exit_code)
    leave(exit_code)


def _refuse(error: Exception) -> None:
    """End the process where the operator can help: uvicorn would log a traceback."""
    if reason := reason_for_operator(error):
        typer.echo(f"{REFUSAL}: {reason}", err=True)
        leave(1)


def _announce(settings: Settings, host: str, port: int) -> None:
    """Print the address and where documents are; on a terminal also what to try."""
    on_all = ip_address(host).is_unspecified
    shown = ("::1" if ":" in host else "127.0.0.1") if on_all else host
    address = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    others = " and every other address" if on_all else ""
    typer.echo(
        f"Semblance answers on {address}{others} (open it in a browser); documents are kept in {_store(settings)}"
    )
    if sys.stdout.isatty():
        typer.echo(f"\n{first_steps(address, keys=settings.has_keys, sample=settings.sample)}\n")


def first_steps(address: str, *, keys: bool, sample: bool) -> str:
    """First steps for a newcomer: a page, a command for another terminal, and how to stop.

    Args:
        address: of the service, as a URL.
        keys: whether requests need a key, which a browser does not send.
        sample: whether the sample is there to be searched.
    """
    path, body = ("/search", {"query": PAIR["a"], "k": 3}) if sample else ("/similarity", {"pairs": [PAIR]})
    key = f' -H "authorization: Bearer ${CLIENT_KEY}"' if keys else ""
    asked = "search the sample collection" if sample else "compare two texts"
    steps = [
        f"To {asked}, in another terminal:",
        f"  curl -s {address}{path} -H 'content-type: application/json'{key} -d '{json.dumps(body)}'",
        "Ctrl-C ends the service.",
    ]
    if not keys:
        steps[:0] = ["To see why two texts are similar, open in a browser:", f"  {address}/explain?{urlencode(PAIR)}"]
    return "\n".join(steps)


def _store(settings: Settings) -> str:
    home = settings.home.expanduser()
    if not settings.database_url.get_secret_value():
        return str(home)
    return "PostgreSQL" if settings.index_url.get_secret_value() else f"PostgreSQL, with a copy in {home}"


def _bind(settings: Settings) -> socket.socket:
    """Bind the socket before any model is loaded, so that a port in use is reported at once.

    The socket does not listen yet: connections are rejected until the service is ready, so that a load balancer picks
    another replica.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise SystemExit(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; choose another with --port"
        ) from error
    return listener


def _uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    limits = ConnectionLimits(
        connections=settings.max_connections,
        head_bytes=settings.max_header_bytes,
        head_s=settings.header_timeout_s,
        stall_s=settings.body_pause_s,
    )
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        http=connection_factory(limits),
        timeout_keep_alive=settings.keep_alive_s,  # type: ignore[arg-type]  # any number of seconds
        ws="none",  # no route uses WebSocket, and an upgraded connection would escape the limits
    )
