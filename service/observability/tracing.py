"""Traces by OpenTelemetry: a span for each request, and in it a span for each stage.

FastAPI makes the spans of requests. No span has a text: FastAPI would record the query string, which may hold one, and
`describe_request` overwrites it.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import NoOpTracerProvider, TracerProvider, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from semblance.models.errors import MissingExtra

FLUSH_S = 0.5  # for spans not yet sent when the process ends; a collector that does not answer must not delay that

NOT_TRACED: TracerProvider = NoOpTracerProvider()

_TRACE_CONTEXT = TraceContextTextMapPropagator()


@contextmanager
def open_tracer_provider(*, enabled: bool) -> Iterator[TracerProvider]:
    """The provider of tracers, which sends spans to a collector in the background.

    The variables of the environment that begin with OTEL_ name the collector.

    Raises:
        MissingExtra: the extra `tracing` is not installed.
    """
    if not enabled:
        yield NOT_TRACED
        return
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        raise MissingExtra("SEMBLANCE_TRACING", "opentelemetry-sdk", "tracing")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
    from opentelemetry.sdk import resources, trace  # noqa: PLC0415 - likewise
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - likewise

    own = resources.Resource.create({"service.name": "semblance", "service.version": version("semblance-server")})
    resource = own.merge(resources.OTELResourceDetector().detect())  # OTEL_SERVICE_NAME takes precedence
    provider = trace.TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        closing = threading.Thread(target=provider.shutdown, daemon=True)
        closing.start()
        closing.join(FLUSH_S)


def telemetry_config(provider: TracerProvider, exclude: Callable[[MutableMapping[str, Any]], bool]) -> TelemetryConfig:
    """Configuration of FastAPI's telemetry: spans of requests and nothing else.

    Args:
        provider: of the tracer; none of the requests is traced by `NOT_TRACED`.
        exclude: whether a request with this ASGI scope is left out.
    """
    return {
        "tracer_provider": provider,
        "tracing": provider is not NOT_TRACED,
        "operation_spans": False,
        "metrics": False,
        "logs": False,  # they have the messages of exceptions
        "auto_configure": False,
        "exclude": exclude,
    }


def describe_request(request_id: str) -> list[tuple[bytes, bytes]]:
    """Add the id of a request to its span, without the query string.

    Returns:
        The header `traceparent` for its response, if it has a trace.
    """
    span = get_current_span()
    if not span.get_span_context().is_valid:
        return []
    if span.is_recording():
        span.set_attributes({"semblance.request_id": request_id, "url.query": "REDACTED"})
    headers: dict[str, str] = {}
    _TRACE_CONTEXT.inject(headers)
    return [(name.encode(), value.encode()) for name, value in headers.items() if name == "traceparent"]
