"""Text encoding by our packed runtime and by sentence-transformers, in bfloat16."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.profiler import ProfilerActivity, profile

from benchmarks.speed.on_device.random_models import (
    operations,
    random_network,
    random_texts,
    save_model,
    sts_lengths,
    tokenizer,
)
from benchmarks.speed.on_device.timing import Run, median_seconds
from semblance.models.embeddings import Floats
from semblance.models.networks.agreement import least_cosine
from semblance.models.networks.packed_batches import PackedBatches
from semblance.models.text import Ints

BASELINE = "sentence-transformers"
CHUNK = 2048  # texts that are tokenized while the device encodes the previous ones
COMPARED = 48  # texts that are also encoded one by one


@dataclass(frozen=True, slots=True)
class Encoding:
    """Figures of one network shape.

    Attributes:
        shape: name of the shape.
        sentences: number of texts in a round.
        from_ids: texts per second by name, from token ids on the host to pooled vectors on the host.
        from_texts: the same from strings.
        milliseconds: latency by name of one call with one text and with 32, from ids.
        share: share of the measured matrix peak that our products of real tokens reach, from ids.
        times_peer: our rate over the best of sentence-transformers, from ids and from texts.
        cosines: smallest cosines of our vectors to float32, and of a text alone to the same text in a batch.
        kernels: share of the device's time by name, of the slowest kernels.
    """

    shape: str
    sentences: int
    from_ids: Mapping[str, float]
    from_texts: Mapping[str, float]
    milliseconds: Mapping[str, float]
    share: float
    times_peer: tuple[float, float]
    cosines: Mapping[str, float]
    kernels: Mapping[str, float]


class Ours:
    """The packed runtime in bfloat16 with a tokenizer thread, as in the service."""

    def __init__(self, shape: str, device: str) -> None:
        self._runtime = PackedBatches(random_network(shape), torch.nn.Identity(), device, "bfloat16")
        self._tokenizer = tokenizer()

    def ids(self, texts: Sequence[str]) -> list[Ints]:
        """Token ids of texts."""
        return [np.array(each.ids, np.int32) for each in self._tokenizer.encode_batch_fast(list(texts))]

    def encode_ids(self, ids: Sequence[Ints]) -> Floats:
        """(b, d) pooled vectors of tokenized texts."""
        return self._runtime.run(ids, [np.ones(len(each), np.float32) for each in ids], "pooled").pooled

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """(b, d) pooled vectors of texts; the next chunk is tokenized while the device is busy."""
        with ThreadPoolExecutor(1) as pool:
            chunks = [pool.submit(self.ids, texts[i : i + CHUNK]) for i in range(0, len(texts), CHUNK)]
            return np.concatenate([self.encode_ids(each.result()) for each in chunks])

    def tokens(self, ids: Sequence[Ints]) -> Sequence[Floats]:
        """(n, d) token vectors of tokenized texts."""
        return self._runtime.run(ids, [np.ones(len(each), np.float32) for each in ids], "tokens").vectors


class Baseline:
    """sentence-transformers in bfloat16, with its default options."""

    def __init__(self, shape: str, device: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            save_model(shape, Path(folder))
            self._model = SentenceTransformer(folder, device=device, model_kwargs={"dtype": torch.bfloat16})
        self._device = device

    def batches(self, ids: Sequence[Ints], size: int) -> list[dict[str, Any]]:
        """Padded batches by length, as its `encode` builds them."""
        ordered = sorted(ids, key=len, reverse=True)
        return [_padded(ordered[i : i + size]) for i in range(0, len(ordered), size)]

    def encode_batches(self, batches: Sequence[Mapping[str, torch.Tensor]]) -> Floats:
        """Pooled vectors by its network and pooling only, without the other work of its `encode`."""
        with torch.inference_mode():
            pooled = [
                self._model({name: each.to(self._device) for name, each in batch.items()})["sentence_embedding"]
                for batch in batches
            ]
            vectors: Floats = torch.cat(pooled).float().cpu().numpy()
        return vectors

    def encode_texts(self, texts: Sequence[str], size: int) -> object:
        """Pooled vectors by its `encode`."""
        return self._model.encode(list(texts), batch_size=size, show_progress_bar=False)


def encoding(shape: str, device: str, sentences: int, rounds: int, peak: float) -> Encoding:
    """Measure both encoders alternately."""
    ours, baseline, texts = Ours(shape, device), Baseline(shape, device), random_texts(sentences)
    ids = ours.ids(texts)
    sizes = [size for size in (32, 256, 1024) if size == 32 or size <= sentences]
    runs: dict[str, Run] = {"ours": lambda: ours.encode_ids(ids)}
    for size in sizes:
        batches = baseline.batches(ids, size)
        runs[f"{BASELINE}, {size} a batch"] = partial(baseline.encode_batches, batches)
    from_ids = _rates(runs, device, rounds, sentences)
    runs = {"ours": lambda: ours.encode_texts(texts)}
    for size in sizes:
        runs[f"{BASELINE}, {size} a batch"] = partial(baseline.encode_texts, texts, size)
    from_texts = _rates(runs, device, rounds, sentences)
    return Encoding(
        shape=shape,
        sentences=sentences,
        from_ids=from_ids,
        from_texts=from_texts,
        milliseconds=_latencies(ours, baseline, ids, device),
        share=operations(shape, sts_lengths(sentences)) * from_ids["ours"] / sentences / peak,
        times_peer=(_speedup(from_ids), _speedup(from_texts)),
        cosines=_cosines(ours, shape, device, ids),
        kernels=_kernels(ours, ids) if device != "cpu" else {},
    )


def _rates(runs: Mapping[str, Run], device: str, rounds: int, sentences: int) -> dict[str, float]:
    return {name: sentences / seconds for name, seconds in median_seconds(runs, device, rounds).items()}


def _speedup(rates: Mapping[str, float]) -> float:
    return rates["ours"] / max(rate for name, rate in rates.items() if name != "ours")


def _latencies(ours: Ours, baseline: Baseline, ids: Sequence[Ints], device: str) -> dict[str, float]:
    """Milliseconds of calls on an idle device."""
    runs: dict[str, Run] = {}
    for count in (1, 32):
        first, batch = ids[:count], baseline.batches(ids[:count], count)
        runs[f"ours, {count}"] = partial(ours.encode_ids, first)
        runs[f"{BASELINE}, {count}"] = partial(baseline.encode_batches, batch)
    return {name: 1000 * seconds for name, seconds in median_seconds(runs, device, 30).items()}


def _cosines(ours: Ours, shape: str, device: str, ids: Sequence[Ints]) -> dict[str, float]:
    exact, batched = random_network(shape).to(device), ours.tokens(ids[:CHUNK])  # type: ignore[arg-type] # stub of to()
    to_exact, to_batched, pooled = [], [], []
    for text, in_batch in zip(ids[:COMPARED], batched, strict=False):
        [alone] = ours.tokens([text])
        with torch.inference_mode():
            hidden = exact(torch.from_numpy(text).long()[None].to(device)).last_hidden_state[0]
        to_exact.append((alone, hidden.cpu().numpy()))
        to_batched.append((alone, in_batch))
        pooled.append((alone.mean(axis=0, keepdims=True), in_batch.mean(axis=0, keepdims=True)))
    return {
        "tokens to float32": least_cosine(to_exact),
        "tokens alone and in a batch": least_cosine(to_batched),
        "pooled alone and in a batch": least_cosine(pooled),
    }


def _kernels(ours: Ours, ids: Sequence[Ints]) -> dict[str, float]:
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        ours.encode_ids(ids)
    times = {each.key: float(each.self_device_time_total) for each in profiled.key_averages()}
    total = sum(times.values()) or math.nan  # on some machines the profiler records nothing
    return {name: time / total for name, time in sorted(times.items(), key=lambda item: -item[1])[:12]}


def _padded(ids: Sequence[Ints]) -> dict[str, Any]:
    longest = max(len(each) for each in ids)
    rows = torch.zeros(len(ids), longest, dtype=torch.long)
    for row, each in zip(rows, ids, strict=True):
        row[: len(each)] = torch.from_numpy(each)
    return {"input_ids": rows, "attention_mask": (rows != 0).long()}


def lines(encoding: Encoding) -> Iterator[str]:
    """Format the figures for printing."""
    yield f"{encoding.shape}, {encoding.sentences:,} sentences with the lengths of STS, sentences/s"
    for what, rates in (("from ids", encoding.from_ids), ("from texts", encoding.from_texts)):
        for name, rate in rates.items():
            yield f"  {what:12}{name:40}{rate:12,.0f}"
    yield "  ours over the best of the baseline: {:.2f} from ids, {:.2f} from texts".format(*encoding.times_peer)
    yield f"  share of the matrix peak, real tokens only: {encoding.share:.1%}"
    yield "  milliseconds per call: " + ", ".join(f"{name}: {ms:.2f}" for name, ms in encoding.milliseconds.items())
    yield "  smallest cosine: " + ", ".join(f"{name}: {cosine:.6f}" for name, cosine in encoding.cosines.items())
    for name, share in encoding.kernels.items():
        yield f"    {share:6.1%} {name[:100]}"
