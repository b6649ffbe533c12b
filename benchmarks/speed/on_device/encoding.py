"""Texts to vectors: our packed runtime beside sentence-transformers in bfloat16."""

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
from semblance.models.networks.packed_batches import PackedPasses
from semblance.models.text import Ints

PEER = "sentence-transformers"
AT_ONCE = 2048  # texts that are tokenised while the device has the ones before
COMPARED = 48  # texts looked at one by one


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a network of one shape came to.

    Attributes:
        shape: of the network.
        sentences: texts a round.
        from_ids: name -> texts a second, from token ids on the host to pooled vectors on the host.
        from_texts: the same from strings.
        milliseconds: name -> of one call with one text and with 32, from ids.
        share: of the measured matrix peak that our products of real tokens reach, from ids.
        times_peer: ours over the fastest of sentence-transformers, from ids and from texts.
        cosines: the least there are, of ours to float32, and of a text alone to the same in a batch.
        kernels: name -> share of the device's time, of those that take most.
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
    """The packed runtime in bfloat16, with a tokenizer in a thread of its own, as a service has it."""

    def __init__(self, shape: str, device: str) -> None:
        self._runtime = PackedPasses(random_network(shape), torch.nn.Identity(), "mean", device, "bfloat16")
        self._tokenizer = tokenizer()

    def ids(self, texts: Sequence[str]) -> list[Ints]:
        """Token ids of each text."""
        return [np.array(each.ids, np.int32) for each in self._tokenizer.encode_batch_fast(list(texts))]

    def of_ids(self, ids: Sequence[Ints]) -> Floats:
        """(b, d) pooled vectors."""
        return self._runtime.run(ids, [np.ones(len(each), np.float32) for each in ids], "pooled").pooled

    def of_texts(self, texts: Sequence[str]) -> Floats:
        """(b, d) pooled vectors; what comes next is tokenised while the device is busy."""
        with ThreadPoolExecutor(1) as pool:
            coming = [pool.submit(self.ids, texts[i : i + AT_ONCE]) for i in range(0, len(texts), AT_ONCE)]
            return np.concatenate([self.of_ids(each.result()) for each in coming])

    def tokens(self, ids: Sequence[Ints]) -> Sequence[Floats]:
        """(n, d) token vectors of each text."""
        return self._runtime.run(ids, [np.ones(len(each), np.float32) for each in ids], "tokens").vectors


class Peer:
    """sentence-transformers as its users have it, in bfloat16."""

    def __init__(self, shape: str, device: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            save_model(shape, Path(folder))
            self._model = SentenceTransformer(folder, device=device, model_kwargs={"dtype": torch.bfloat16})
        self._device = device

    def batches(self, ids: Sequence[Ints], size: int) -> list[dict[str, Any]]:
        """By length, as its `encode` makes them, and padded beforehand."""
        ordered = sorted(ids, key=len, reverse=True)
        return [_padded(ordered[i : i + size]) for i in range(0, len(ordered), size)]

    def of_batches(self, batches: Sequence[Mapping[str, torch.Tensor]]) -> Floats:
        """Its network and pooling, without what else its `encode` does."""
        with torch.inference_mode():
            found = [
                self._model({name: each.to(self._device) for name, each in batch.items()})["sentence_embedding"]
                for batch in batches
            ]
            vectors: Floats = torch.cat(found).float().cpu().numpy()
        return vectors

    def of_texts(self, texts: Sequence[str], size: int) -> object:
        """Its `encode`."""
        return self._model.encode(list(texts), batch_size=size, show_progress_bar=False)


def encoding(shape: str, device: str, sentences: int, rounds: int, peak: float) -> Encoding:
    """Both, in turn."""
    ours, peer, texts = Ours(shape, device), Peer(shape, device), random_texts(sentences)
    ids = ours.ids(texts)
    sizes = [size for size in (32, 256, 1024) if size == 32 or size <= sentences]
    runs: dict[str, Run] = {"ours": lambda: ours.of_ids(ids)}
    for size in sizes:
        batches = peer.batches(ids, size)
        runs[f"{PEER}, {size} a batch"] = partial(peer.of_batches, batches)
    from_ids = _rates(runs, device, rounds, sentences)
    runs = {"ours": lambda: ours.of_texts(texts)}
    for size in sizes:
        runs[f"{PEER}, {size} a batch"] = partial(peer.of_texts, texts, size)
    from_texts = _rates(runs, device, rounds, sentences)
    return Encoding(
        shape=shape,
        sentences=sentences,
        from_ids=from_ids,
        from_texts=from_texts,
        milliseconds=_small(ours, peer, ids, device),
        share=operations(shape, sts_lengths(sentences)) * from_ids["ours"] / sentences / peak,
        times_peer=(_times(from_ids), _times(from_texts)),
        cosines=_cosines(ours, shape, device, ids),
        kernels=_kernels(ours, ids) if device != "cpu" else {},
    )


def _rates(runs: Mapping[str, Run], device: str, rounds: int, sentences: int) -> dict[str, float]:
    return {name: sentences / seconds for name, seconds in median_seconds(runs, device, rounds).items()}


def _times(rates: Mapping[str, float]) -> float:
    return rates["ours"] / max(rate for name, rate in rates.items() if name != "ours")


def _small(ours: Ours, peer: Peer, ids: Sequence[Ints], device: str) -> dict[str, float]:
    """Milliseconds of calls that no device is busy with."""
    runs: dict[str, Run] = {}
    for count in (1, 32):
        some, batch = ids[:count], peer.batches(ids[:count], count)
        runs[f"ours, {count}"] = partial(ours.of_ids, some)
        runs[f"{PEER}, {count}"] = partial(peer.of_batches, batch)
    return {name: 1000 * seconds for name, seconds in median_seconds(runs, device, 30).items()}


def _cosines(ours: Ours, shape: str, device: str, ids: Sequence[Ints]) -> dict[str, float]:
    exact, together = random_network(shape).to(device), ours.tokens(ids[:AT_ONCE])  # type: ignore[arg-type] # to() is decorated in vain
    to_exact, to_itself, pooled = [], [], []
    for text, in_batch in zip(ids[:COMPARED], together, strict=False):
        [alone] = ours.tokens([text])
        with torch.inference_mode():
            hidden = exact(torch.from_numpy(text).long()[None].to(device)).last_hidden_state[0]
        to_exact.append((alone, hidden.cpu().numpy()))
        to_itself.append((alone, in_batch))
        pooled.append((alone.mean(axis=0, keepdims=True), in_batch.mean(axis=0, keepdims=True)))
    return {
        "tokens to float32": least_cosine(to_exact),
        "tokens alone and in a batch": least_cosine(to_itself),
        "pooled alone and in a batch": least_cosine(pooled),
    }


def _kernels(ours: Ours, ids: Sequence[Ints]) -> dict[str, float]:
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        ours.of_ids(ids)
    took = {each.key: float(each.self_device_time_total) for each in profiled.key_averages()}
    whole = sum(took.values()) or math.nan  # there are machines on which the profiler sees nothing
    return {name: time / whole for name, time in sorted(took.items(), key=lambda item: -item[1])[:12]}


def _padded(ids: Sequence[Ints]) -> dict[str, Any]:
    longest = max(len(each) for each in ids)
    rows = torch.zeros(len(ids), longest, dtype=torch.long)
    for row, each in zip(rows, ids, strict=True):
        row[: len(each)] = torch.from_numpy(each)
    return {"input_ids": rows, "attention_mask": (rows != 0).long()}


def lines(found: Encoding) -> Iterator[str]:
    """What there is to read of it."""
    yield f"{found.shape}, {found.sentences:,} sentences as long as those of STS, sentences/s"
    for what, rates in (("from ids", found.from_ids), ("from texts", found.from_texts)):
        for name, rate in rates.items():
            yield f"  {what:12}{name:40}{rate:12,.0f}"
    yield "  ours over the fastest of the other: {:.2f} from ids, {:.2f} from texts".format(*found.times_peer)
    yield f"  share of the matrix peak, real tokens only: {found.share:.1%}"
    yield "  milliseconds of a call: " + ", ".join(f"{name}: {ms:.2f}" for name, ms in found.milliseconds.items())
    yield "  least cosine: " + ", ".join(f"{name}: {cosine:.6f}" for name, cosine in found.cosines.items())
    for name, share in found.kernels.items():
        yield f"    {share:6.1%} {name[:100]}"
