"""`semblance serve`: the HTTP service."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from fastapi import FastAPI

from semblance.models.errors import SemblanceError
from semblance.service.cli.models import Served
from semblance.service.documents.lock import hold
from semblance.service.observability import logs
from semblance.service.process.connections import ConnectionLimits, allow_files, limited
from semblance.service.process.server import Server, leave
from semblance.service.process.shutdown import Draining
from semblance.service.settings import Settings, read_settings

log = logging.getLogger(__name__)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default="8000")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="Folder of the document store.", show_default="~/.semblance")
    ] = None,
    model: Served = None,
    sample: Annotated[bool | None, typer.Option("--sample", help="Fill an empty store with sample documents.")] = None,
) -> None:
    """Answer over HTTP until interrupted.

    SIGTERM and Ctrl-C let running requests finish, for at most SEMBLANCE_DRAIN_S; a second one cuts them off.

    Every option is also a setting (SEMBLANCE_PORT and so on; the README lists them all). The option wins.

    \b
    Examples:
      semblance serve
      semblance serve --port 9000 --model minilm-clrcmd --model mine=/models/mine
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance.service.app import create_app  # noqa: PLC0415 - it loads all there is, which the other verbs need not wait for

    settings = read_settings(host=host, port=port, home=home, models=",".join(model) if model else None, sample=sample)
    logs.configure()
    if complaint := allow_files(settings.max_connections):
        log.warning(complaint)
    try:
        with hold(settings.home), _bound(settings) as listener:
            app = create_app(settings, draining := Draining())
            config = _uvicorn(app, settings)
            server = Server(config, settings.home, draining, settings.drain_s, settings.notice_s)
            server.run(sockets=[listener])
    except SemblanceError as error:
        raise SystemExit(f"cannot serve: {error}") from error
    if not server.started:
        raise typer.Exit(1)
    leave(1 if draining.failed else 0)


def _bound(settings: Settings) -> socket.socket:
    """A socket taken before anything is loaded: a port in use should not cost a minute to find out.

    It does not listen yet. Until the service can answer, connections are refused, and a load balancer looks elsewhere.
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


def _uvicorn(app: FastAPI, settings: Settings) -> uvicorn.Config:
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
        proxy_headers=False,  # nobody here asks for a client's address
        http=limited(limits),
        ws="none",  # no route speaks it, and an upgraded connection would escape the limits
    )
