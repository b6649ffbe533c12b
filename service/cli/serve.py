"""`semblance serve`: the HTTP service.

The model loads in threads while the rest of the service is imported, which takes as long.
"""

from __future__ import annotations

import logging
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from semblance.service.cli.toolbox.exits import REFUSAL, exit_on_failure
from semblance.service.cli.toolbox.garbage import without_collections
from semblance.service.cli.toolbox.options import Served
from semblance.service.cli.toolbox.place import place
from semblance.service.cli.toolbox.unused_models import unused_models
from semblance.service.composition.models import begin_models
from semblance.service.documents.databases.lock import lock_home
from semblance.service.observability.logs import configure_logging
from semblance.service.settings import Settings, read_settings
from semblance.service.threads import SWITCH_S

log = logging.getLogger(__name__)


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
    configure_logging(settings.log_level, settings.log_format)
    log.info("Semblance %s is starting; documents are kept in %s", version("semblance-server"), _store(settings))
    with exit_on_failure(REFUSAL), lock_home(settings.home), _bind(settings) as listener:
        sys.setswitchinterval(SWITCH_S)  # for the load, which waits for a turn after each file, array and operation
        opening = begin_models(settings)
        with without_collections(), unused_models():
            from semblance.service.cli.toolbox.http_service import run  # noqa: PLC0415 - takes as long as the model
            from semblance.service.process.server import leave  # noqa: PLC0415 - likewise
        exit_code = run(settings, _store(settings), opening, listener)
    if exit_code is None:
        raise typer.Exit(1)
    log.info("exiting with code %d", exit_code)
    leave(exit_code)


def _store(settings: Settings) -> str:
    """Where the documents are, in words."""
    copied = settings.database_url.get_secret_value() and not settings.index_url.get_secret_value()
    return place(settings) + (f", with a copy in {settings.copy_file.parent}" if copied else "")


def _bind(settings: Settings) -> socket.socket:
    """Bind the socket before any model is loaded, so that a port in use is reported at once.

    The socket does not listen yet: connections are rejected until the service is ready, so that a load balancer picks
    another replica.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        if sys.platform != "win32":  # there, a second process could take the port as well
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise SystemExit(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; choose another with --port"
        ) from error
    return listener
