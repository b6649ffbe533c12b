"""Opens what encodes texts: the threads of the models, and what embeds documents by them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from semblance.models.model_files.cross_encoder import CrossEncoderFiles
from semblance.models.model_files.source import ModelFiles
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.model_loading.device import cores, device_for
from semblance.service.observability.metrics import Metrics
from semblance.service.settings import Settings
from semblance.service.usecases.documents.embed import DocumentEmbedder
from semblance.service.usecases.text_embedder import TextEmbedder

BATCH_S = 0.1  # of a batch on a CPU: a shorter one costs more a text


def open_worker(
    settings: Settings,
    models: Iterable[ModelFiles | CrossEncoderFiles],
    metrics: Metrics,
    on_lost: Callable[[], None] = lambda: None,
) -> Worker:
    """Start the threads that own these models.

    `on_lost` is called if a device or a thread fails for good.
    """
    gpu = device_for(models, settings).startswith("cuda")
    limits = Limits(16_384 if gpu else 1024, settings.max_request_tokens, settings.max_queued_tokens)
    if settings.max_batch_tokens != "auto":
        limits = replace(limits, batch_tokens=settings.max_batch_tokens)
    elif not gpu:
        limits = replace(limits, batch_s=BATCH_S)
    # a GPU runs batches one after the other; on a CPU each core runs one
    return Worker(limits, metrics, settings.idle_check_s, on_lost, 1 if gpu else cores(settings))


@contextmanager
def open_document_embedder(settings: Settings, model: ModelFiles) -> Iterator[DocumentEmbedder]:
    """Embed documents as the service does, without its cache and its limits on tokens."""
    unlimited = settings.model_copy(update={"max_request_tokens": sys.maxsize, "max_queued_tokens": sys.maxsize})
    metrics = Metrics()
    worker = open_worker(unlimited, [model], metrics)
    try:
        yield DocumentEmbedder(TextEmbedder(worker, MemoryCache(0), metrics, settings.max_text_chars))
    finally:
        worker.stop()
