"""Systems that order documents: our service by its measures, and others by a cross-encoder of the same size."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import httpx2
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from benchmarks.baselines.encoder_process import EncoderProcess
from benchmarks.baselines.servers import (
    INFINITY_OPTIONS,
    MODEL,
    SERVED,
    Server,
    infinity_server,
    model_folder,
    suspended,
)
from semblance.models.embeddings import Doubles, Precision
from tests.support.load_generator import Load, post, run_loads, send_all
from tests.support.running_service import Service

NEVER_S = "86400"  # otherwise our service takes the model thread for dead after it was suspended
LONG_S = 3600.0  # every request of a measurement is answered before
OURS = "/v2/rerank"
THEIRS = "/v1/rerank"
CROSS_ENCODER = "cross-encoder"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
REFERENCE = "sentence-transformers float32"
INFINITY = tuple(name for name, options in INFINITY_OPTIONS.items() if "torch" in options)


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the documents to order."""

    query: str
    documents: Sequence[str]


class Reranker(Protocol):
    """A system that scores the documents of a query.

    Attributes:
        name: the system, with its number type.
        method: the measure, or that it is a cross-encoder.
    """

    name: str
    method: str

    def seconds(self, questions: Sequence[Question]) -> float:
        """Total time to answer these questions, one after the other."""

    def scores(self, question: Question) -> Doubles:
        """Scores of the documents in their own order."""


class ReplyingServer:
    """A server with a route for clients of Cohere, suspended between questions."""

    def __init__(self, server: Server, method: str, path: str, **fields: str) -> None:
        self.name, self.method = server.name, method
        self._server, self._path, self._fields = server, path, fields

    def seconds(self, questions: Sequence[Question]) -> float:
        """Latencies of all requests, which are encoded beforehand; answers are not parsed."""
        requests = [self._request(each) for each in questions]
        with self._server.awake() as url:
            return sum(run_loads(url, LONG_S, Load(iter(requests), 1)).loads[0].seconds)

    def scores(self, question: Question) -> Doubles:
        """By their `relevance_score`."""
        with self._server.awake() as url:
            [answer] = send_all(url, [self._request(question)])
        return scores_of(answer)

    def _request(self, question: Question) -> bytes:
        return post(self._path, rerank_body(question) | self._fields)


class CrossEncoderProcess:
    """The cross-encoder of sentence-transformers in a process of its own, which is idle between questions."""

    def __init__(self, process: EncoderProcess) -> None:
        self.name, self.method = process.name, CROSS_ENCODER
        self._process = process

    def seconds(self, questions: Sequence[Question]) -> float:
        """Time in the process; texts are sent to it, and scores back, as a line of JSON."""
        start_s = time.perf_counter()
        for each in questions:
            self.scores(each)
        return time.perf_counter() - start_s

    def scores(self, question: Question) -> Doubles:
        """Sigmoid of the network's output."""
        return self._process.vectors([question.query, *question.documents]).astype(np.float64)


def scores_of(answer: bytes) -> Doubles:
    """Relevance scores of an answer, in the order of the documents of its request."""
    results: list[Any] = json.loads(answer)["results"]
    scores = np.empty(len(results))
    scores[[each["index"] for each in results]] = [each["relevance_score"] for each in results]
    return scores


def rerank_body(question: Question) -> dict[str, Any]:
    """The request that all servers understand, with an answer without documents."""
    return {
        "model": SERVED,
        "query": question.query,
        "documents": list(question.documents),
        "return_documents": False,
    }


def save_cross_encoder(folder: Path) -> None:
    """Write a cross-encoder with random weights, and with the tokenizer and the size of the built-in model."""
    source = model_folder()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig.from_pretrained(source, num_labels=1, local_files_only=True)
        BertForSequenceClassification(config).save_pretrained(folder)
    for name in TOKENIZER:
        shutil.copy(source / name, folder / name)


@contextmanager
def running_rerankers(
    precisions: Sequence[Precision], measures: Sequence[str], infinity: Sequence[str], folder: Path
) -> Iterator[list[Reranker]]:
    """Run our service with each number type, sentence-transformers, and infinity with some of its options."""
    save_cross_encoder(folder)
    with ExitStack() as stack:
        rerankers: list[Reranker] = []
        for precision in precisions:
            ours = stack.enter_context(suspended(f"semblance {precision}", partial(_semblance, precision)))
            rerankers += [ReplyingServer(ours, measure, OURS, measure=measure) for measure in measures]
        for precision in ("float32", "bfloat16"):
            command = (sys.executable, "-m", "benchmarks.baselines.cross_encoder", str(folder), precision)
            process = EncoderProcess(f"sentence-transformers {precision}", command)
            rerankers.append(CrossEncoderProcess(stack.enter_context(process)))
        for name in infinity:
            theirs = stack.enter_context(suspended(name, partial(_infinity, folder)))
            rerankers.append(ReplyingServer(theirs, CROSS_ENCODER, THEIRS))
        yield rerankers


def _semblance(precision: Precision, name: str, folder: Path) -> Server:
    service = Service(folder, models=f"{SERVED}={MODEL}", precision=precision, ready_within_s=NEVER_S)
    return Server(name, service.url, service)


def _infinity(model: Path, name: str, folder: Path) -> Server:
    options = (*INFINITY_OPTIONS[name], "--no-model-warmup")  # the benchmark has a round to warm up
    return infinity_server(name, folder, model, options, _reranks)


def _reranks(url: str) -> bool:
    with suppress(httpx2.TransportError):
        body = rerank_body(Question("A cat.", ["A dog.", "A lion."]))
        return httpx2.post(f"{url}{THEIRS}", json=body, timeout=60).status_code == 200
    return False
