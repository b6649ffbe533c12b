"""The HTTP service of `semblance serve`, as a server in this process."""

from __future__ import annotations

import json
import logging
import socket
import sys
from concurrent.futures import Future
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlencode

import typer
import uvicorn
from fastapi import FastAPI
from opentelemetry.trace import TracerProvider
from starlette.types import ASGIApp

from semblance.service.app import create_app
from semblance.service.cli.toolbox.exits import REFUSAL, reason_for_operator
from semblance.service.documents.databases.lock import name_address
from semblance.service.model_loading.registry import LazyModels
from semblance.service.observability.tracing import open_tracer_provider
from semblance.service.process.connections import ConnectionLimits, connection_factory
from semblance.service.process.readiness import Draining
from semblance.service.process.server import Server, leave, raise_file_limit
from semblance.service.settings import CLIENT_KEY, Settings

log = logging.getLogger(__name__)

PAIR = {"a": "my parcel never came", "b": "my package has not arrived"}


def run(settings: Settings, store: str, opening: Future[LazyModels], listener: socket.socket) -> int | None:
    """Serve HTTP until a signal ends it.

    Args:
        settings: all settings.
        store: where the documents are, in words.
        opening: the served models, of which the default may still load.
        listener: the bound socket.

    Returns:
        The exit code; None if the service did not start.

    Raises:
        MissingExtra: traces are wanted, and a package for them is missing.
        BadKeys, BadCheckpoint, NoSuchDevice: see `create_app`.
    """
    if warning := raise_file_limit(settings.max_connections):
        log.warning(warning)
    with open_tracer_provider(enabled=settings.tracing) as tracers:
        app = _app(settings, draining := Draining(), tracers, opening)
        config = _uvicorn_config(app, settings)
        announce = partial(_announce, settings, store)
        reload_keys = app.state.keys.reload if settings.api_keys_file else None
        server = Server(config, draining, settings.drain_s, settings.notice_s, announce, reload_keys)
        server.run(sockets=[listener])
    if not server.started:
        return None
    return 1 if draining.failed else 0


def _app(settings: Settings, draining: Draining, tracers: TracerProvider, opening: Future[LazyModels]) -> FastAPI:
    try:
        return create_app(settings, draining, _refuse, tracers, opening.result())
    except Exception as error:
        _refuse(error)  # at once, while the model loads
        raise


def _refuse(error: Exception) -> None:
    """End the process where the operator can help: uvicorn would log a traceback."""
    if reason := reason_for_operator(error):
        typer.echo(f"{REFUSAL}: {reason}", err=True)
        leave(1)


def _announce(settings: Settings, store: str, host: str, port: int) -> None:
    """Print the address and where documents are, on a terminal also what to try.

    Verbs of other processes find the address beside the lock of the home.
    """
    on_all = ip_address(host).is_unspecified
    shown = ("::1" if ":" in host else "127.0.0.1") if on_all else host
    address = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    others = " and every other address" if on_all else ""
    name_address(settings.home, address)
    typer.echo(f"Semblance answers on {address}{others} (open it in a browser); documents are kept in {store}")
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
