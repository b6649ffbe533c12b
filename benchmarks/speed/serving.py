"""How many requests per second does the service answer, compared with other servers?

    python -m benchmarks.speed.serving

starts this service without a cache, and others with the same model in their own environments, which are created if they
are missing (benchmarks/baselines/). It runs the same load of /v1/embeddings against one server at a time, while the
others are suspended, in turn: one sentence per request from 32 clients; 32 sentences per request from 4 clients; and
small requests at a fixed rate while two clients continuously send 32 texts of 8 to 256 tokens. Before that it checks
that all servers return the vectors of the model in float32, nearly so in 8 bits. It prints the rates of the median
round with minimum and maximum, the ratio of our rate to theirs in the median round, the latency over all rounds, the
time of the start, the resident memory after the load, and the hours that a billion tokens would take at these rates.
$SEMBLANCE_DATA contains the sentences.

--pressure repeats it where the machine is shared: beside a process that keeps one core busy, with all servers pinned to
one core, and with quotas of 50, 100 and 150 % of a core, and also prints a table of all ratios.

Each has the configuration that served a text at least CPU time here, and logs no request. Their versions are in
benchmarks/baselines/*.txt; times of the type compare a server with ours of its number type, which its name ends in
unless it is float32, and `semblance` is in the fastest type of this machine. *of one process* are its sentences per
second over those of one process of ours, which encodes in batches in that type on a thread for each core.

* infinity has four variants: `infinity-bettertransformer`, its defaults; `infinity`, without BetterTransformer, which
  is what the defaults fall back to with optimum 2, where it was removed; `infinity-bfloat16`, the defaults with
  `--dtype bfloat16`; and `infinity-onnx`, its engine of ONNX Runtime, for which the model is exported beforehand and
  which fuses it. Its engine of CTranslate2, which it calls deprecated, was not tried.
* `txtai` has its defaults.
* `fastembed` is a library: a minimal server of ours (baselines/fastembed_program.py) calls it in concurrent threads,
  which served more than one call at a time, with the ONNX model of `infinity-onnx` and its default threads. It does not
  join requests.
* `vllm` is a build for CPUs by others than its makers, which joins requests and compiles the network. It runs with
  Intel's OpenMP, as its documentation recommends, and binds threads by its default, which keeps one core for scheduling
  and tokenizing: threads on all of two cores (VLLM_CPU_OMP_THREADS_BIND) served fewer sentences. Its space for keys and
  values, which an encoder does not use, is 1 GB. It is installed without torchvision, torchaudio and Triton: it needs
  none of them for texts, and the first does not load beside this build of torch.
* `llama.cpp` is llama-server, compiled for this CPU (flags: baselines/llama_cpp.py), with a GGUF file that its
  converter makes of the same weights: float32, bfloat16, and q8_0, which computes in 8 bits. It has 32 slots for
  texts that run together (8 to 64 were alike), a batch of its default 512 tokens, its default flash attention (without
  it, a text cost three times as much), a thread for each core, and OMP_WAIT_POLICY=passive: threads that wait by
  spinning take the cores from its own HTTP threads and from the clients.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from statistics import fmean, median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from benchmarks.baselines.servers import (
    MODEL,
    OUR_PRECISIONS,
    OURS,
    PATH,
    SERVED,
    SERVERS,
    Server,
    number_type,
    our_precision,
    running_servers,
)
from benchmarks.baselines.texts import mixed_texts, sts_sentences
from benchmarks.speed.pressure import KINDS, beside, confined
from benchmarks.speed.request_cost import InProcess
from semblance.models.embeddings import Floats
from semblance.models.networks.agreement import least_cosine
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from tests.support.load_generator import Load, LoadRun, post, run_loads, send_all
from tests.support.results import save_results
from tests.support.service_monitor import Percentiles, percentiles
from tests.support.wide_console import wide_console

SHAPES = ((1, 32), (32, 4))  # texts per request, clients
SMALL_PER_SECOND = 10.0
SMALL_CLIENTS = 16
LARGE_TEXTS, LARGE_CLIENTS = 32, 2
MIXED_LONGER = 2  # factor of the duration of mixed load, because large requests take long
WARM_S = 1.0
# smallest permitted cosine of a text's vector to that in float32
AGREEMENT: Mapping[str, float] = {"float32": 0.999, "bfloat16": 0.999, "int8": 0.998}
COMPARED = 64  # texts whose vectors are compared
IN_PROCESS = 512  # sentences that one process encodes per round
BILLION = 1e9  # tokens


@dataclass(frozen=True, slots=True)
class Rates:
    """One server under one load.

    Rates are those of the median round, percentiles those of the requests of all rounds together.

    Attributes:
        number_type: in which it computes.
        times: our rate over its rate in the median round.
        like_times: the same, of our server of its number type; None if that does not run.
        in_process_share: its sentences per second over those of one process of ours, which encodes in batches in that
            type; None if that was not measured.
    """

    texts_per_request: int
    clients: int
    server: str
    number_type: str
    requests_per_s: float
    least: float
    most: float
    sentences_per_s: float
    times: float
    like_times: float | None
    in_process_share: float | None
    p50_ms: float
    p99_ms: float
    clients_own_share: float


@dataclass(frozen=True, slots=True)
class Mixed:
    """Latency of small requests beside large ones, over all rounds, and the range of p99.

    `times` is the ratio of its p99 to ours, also over all rounds: a single round has fewer than 100 small requests.
    """

    server: str
    small: int
    p50_ms: float
    p99_ms: float
    least_p99_ms: float
    most_p99_ms: float
    times: float
    large_texts_per_s: float
    clients_own_share: float


@dataclass(frozen=True, slots=True)
class Footprint:
    """Start, memory and bulk work of a server.

    Attributes:
        start_s: time to its first response.
        memory_mb: resident memory after the load.
        sentences_h: hours for a billion tokens in sentences, at its rate of 32 sentences a request from 4 clients.
        texts_h: the same in the large requests of the mixed load, beside small ones.
    """

    server: str
    start_s: float
    memory_mb: float
    sentences_h: float
    texts_h: float


def require_agreement(servers: Sequence[Server], texts: Sequence[str], exact: Floats) -> None:
    """Check that all servers return the vectors of the model.

    Args:
        servers: all of them.
        texts: some texts.
        exact: (n, d) their vectors in float32.

    Raises:
        RuntimeError: the vectors of one differ.
    """
    for server in servers:
        with server.awake() as url:
            [answer] = send_all(url, [_request(texts)])
        vectors = np.array([entry["embedding"] for entry in json.loads(answer)["data"]], np.float32)
        cosine, least = least_cosine([(vectors, exact)]), AGREEMENT[number_type(server.name)]
        print(f"{server.name}: smallest cosine to the vectors in float32 {cosine:.5f}", flush=True)
        if cosine < least:
            raise RuntimeError(f"{server.name} returns vectors of another model: cosine {cosine:.4f}, below {least}")


def exact_vectors(texts: Sequence[str], model: str) -> Floats:
    """(n, d) vectors in float32, by an encoder in this process."""
    encoder = read_source(model).load(model, Compute(threads=1))
    return np.stack([each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")])


def mean_tokens(texts: Sequence[str], model: str) -> float:
    """Mean number of tokens of a text, special ones included."""
    encoder = read_source(model).load(model, Compute(threads=1))
    return fmean(map(len, encoder.tokenize(texts, "query", "END")))


def billion_tokens_h(texts_per_s: float, tokens_per_text: float) -> float:
    """Hours for a billion tokens.

    >>> billion_tokens_h(1000, 20)  # 20,000 tokens a second
    13.88888888888889
    """
    return BILLION / (texts_per_s * tokens_per_text) / 3600


def in_this_process(servers: Sequence[Server], texts: Sequence[str], model: str) -> dict[str, InProcess]:
    """Encoders in this process, of each number type that a server of ours has."""
    ours = {our_precision(server.name) for server in servers if server.name in OUR_PRECISIONS}
    return {precision: InProcess(texts[:IN_PROCESS], model, precision) for precision in sorted(ours)}


def rates(
    servers: Sequence[Server],
    texts: Sequence[str],
    shape: tuple[int, int],
    rounds: int,
    seconds: float,
    in_process: Mapping[str, InProcess],
) -> list[Rates]:
    """Measure all servers under one shape of load, and encoding in this process by number type, in turn."""
    size, clients = shape
    runs: dict[str, list[LoadRun]] = {server.name: [] for server in servers}
    ceilings: dict[str, list[float]] = {kind: [] for kind in in_process}
    for number in track(range(rounds), f"{size} x {clients}"):
        for kind, encode in in_process.items():
            ceilings[kind].append(encode.per_second())
        for server in _in_turn(servers, number):
            with server.awake() as url:
                run_loads(url, WARM_S, Load(_requests(texts, size, number + rounds), clients))
                runs[server.name].append(run_loads(url, seconds, Load(_requests(texts, size, number), clients)))
    return [compare(name, shape, runs, ceilings) for name in runs]


def mixed(
    servers: Sequence[Server], small: Sequence[str], large: Sequence[str], rounds: int, seconds: float
) -> list[Mixed]:
    """Measure all servers under mixed load, in turn."""
    runs: dict[str, list[LoadRun]] = {server.name: [] for server in servers}
    for number in track(range(rounds), "small beside large"):
        for server in _in_turn(servers, number):
            loads = (
                Load(_requests(small, 1, number), SMALL_CLIENTS, SMALL_PER_SECOND),
                Load(_requests(large, LARGE_TEXTS, number), LARGE_CLIENTS),
            )
            with server.awake() as url:
                run_loads(url, WARM_S, Load(_requests(small, 1, number), 1))
                runs[server.name].append(run_loads(url, seconds, *loads))
    ours = _latency(runs[OURS]).p99_ms
    return [_mixed(name, each, ours) for name, each in runs.items()]


def compare(
    name: str, shape: tuple[int, int], runs: Mapping[str, Sequence[LoadRun]], ceilings: Mapping[str, Sequence[float]]
) -> Rates:
    """The rates of a server from the runs of all, and from the sentences per second of this process by number type."""
    size, clients = shape
    kind, own = number_type(name), runs[name]
    per_second = _per_second(own)
    like = [ours for ours in OUR_PRECISIONS if ours in runs and number_type(ours) == kind]
    times = _median_ratio(_per_second(runs[OURS]), per_second)
    like_times = _median_ratio(_per_second(runs[like[0]]), per_second) if like else None
    share = size * _median_ratio(per_second, ceilings[kind]) if kind in ceilings else None
    latency = _latency(own)
    client_cpu_share = fmean(each.client_cpu_share for each in own)
    middle = median(per_second)
    spans = (min(per_second), max(per_second), middle * size)
    ratios = (times, like_times, share)
    return Rates(size, clients, name, kind, middle, *spans, *ratios, latency.p50_ms, latency.p99_ms, client_cpu_share)


def footprints_of(
    servers: Sequence[Server], rows: Sequence[Rates], mixed_rows: Sequence[Mixed], tokens: tuple[float, float]
) -> list[Footprint]:
    """Footprints after the load, whose sentences and large texts have `tokens` on average."""
    sentences = {row.server: row.sentences_per_s for row in rows if (row.texts_per_request, row.clients) == SHAPES[-1]}
    texts = {row.server: row.large_texts_per_s for row in mixed_rows}
    return [
        Footprint(
            each.name,
            each.start_s,
            each.memory_mb,
            billion_tokens_h(sentences[each.name], tokens[0]),
            billion_tokens_h(texts[each.name], tokens[1]),
        )
        for each in servers
    ]


def _per_second(runs: Sequence[LoadRun]) -> list[float]:
    return [each.loads[0].per_second for each in runs]


def _median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    return median(one / other for one, other in zip(numerators, denominators, strict=True))


def _mixed(name: str, runs: Sequence[LoadRun], ours_p99_ms: float) -> Mixed:
    small = _latency(runs)
    p99s = [_latency([each]).p99_ms for each in runs]
    times = small.p99_ms / ours_p99_ms
    large = median(LARGE_TEXTS * each.loads[1].per_second for each in runs)
    cpu_share = fmean(each.client_cpu_share for each in runs)
    return Mixed(name, small.count, small.p50_ms, small.p99_ms, min(p99s), max(p99s), times, large, cpu_share)


def _latency(runs: Sequence[LoadRun]) -> Percentiles:
    """Latency of the first load's requests over these runs."""
    return percentiles([one for each in runs for one in each.loads[0].seconds])


def _in_turn(servers: Sequence[Server], number: int) -> list[Server]:
    """Servers in the order of a round, which rotates."""
    start = number % len(servers)
    return [*servers[start:], *servers[:start]]


def _requests(texts: Sequence[str], size: int, number: int) -> Iterator[bytes]:
    """An endless stream of requests, with another start in each round."""
    start = number * len(texts) // 16 % len(texts)
    source = cycle([*texts[start:], *texts[:start]])
    while True:
        yield _request(list(islice(source, size)))


def _request(texts: Sequence[str]) -> bytes:
    return post(PATH, {"model": SERVED, "input": texts})


def show(rows: Sequence[Rates], mixed_rows: Sequence[Mixed], footprints: Sequence[Footprint], console: Console) -> None:
    """Print the tables."""
    table = Table(
        "load",
        Column("server", no_wrap=True),
        "type",
        "requests/s",
        "least, most",
        "sentences/s",
        "times",
        "times of the type",
        "of one process",
        "p50",
        "p99, ms",
        "clients",
    )
    for row in sorted(rows, key=lambda row: (row.texts_per_request, row.number_type)):
        span = f"{row.least:,.1f}, {row.most:,.1f}"
        rate = (f"{row.requests_per_s:,.1f}", span, f"{row.sentences_per_s:,.0f}", f"{row.times:.2f}")
        like = ("" if ratio is None else f"{ratio:.2f}" for ratio in (row.like_times, row.in_process_share))
        latency = (f"{row.p50_ms:,.0f}", f"{row.p99_ms:,.0f}", f"{row.clients_own_share:.0%}")
        table.add_row(f"{row.texts_per_request} x {row.clients}", row.server, row.number_type, *rate, *like, *latency)
    console.print(table)
    table = Table(
        Column("server", no_wrap=True), "small", "p50", "p99, ms", "least, most", "times", "large texts/s", "clients"
    )
    table.title = f"{SMALL_PER_SECOND:.0f} small requests per second beside large ones"
    for line in mixed_rows:
        ms = (f"{line.p50_ms:,.0f}", f"{line.p99_ms:,.0f}", f"{line.least_p99_ms:,.0f}, {line.most_p99_ms:,.0f}")
        last = (f"{line.times:.2f}", f"{line.large_texts_per_s:.1f}", f"{line.clients_own_share:.0%}")
        table.add_row(line.server, str(line.small), *ms, *last)
    console.print(table)
    console.print("clients: share of a core that the load generator used")
    table = Table(Column("server", no_wrap=True), "start, s", "memory, MB", "in sentences, h", "in texts, h")
    table.caption = "hours for a billion tokens: without pauses, nothing cached, tokens as the model counts them"
    for each in footprints:
        hours = (f"{each.sentences_h:,.0f}", f"{each.texts_h:,.0f}")
        table.add_row(each.server, f"{each.start_s:.1f}", f"{each.memory_mb:,.0f}", *hours)
    console.print(table)


def ratios(kind: str, rows: Sequence[Rates], mixed_rows: Sequence[Mixed]) -> list[dict[str, str | float]]:
    """Under one kind of pressure, our rates and the p99 of small requests, and the ratio to each other server."""
    lines: list[dict[str, str | float]] = []
    for size, clients in SHAPES:
        own = {row.server: row for row in rows if (row.texts_per_request, row.clients) == (size, clients)}
        load, ours = f"{size} x {clients}, requests/s", own[OURS].requests_per_s
        lines.append({"pressure": kind, "load": load, OURS: ours, **_of_others(own)})
    p99s = {line.server: line for line in mixed_rows}
    lines.append({"pressure": kind, "load": "small beside large, p99 ms", OURS: p99s[OURS].p99_ms, **_of_others(p99s)})
    return lines


def _of_others(rows: Mapping[str, Rates] | Mapping[str, Mixed]) -> dict[str, float]:
    return {name: row.times for name, row in rows.items() if name != OURS}


def show_ratios(times: Sequence[Mapping[str, str | float]], console: Console) -> None:
    """Print a row for each kind of pressure and load."""
    others = [name for name in times[0] if name not in ("pressure", "load", OURS)]
    table = Table("pressure", "load", OURS, *(f"times {name}" for name in others))
    for row in times:
        table.add_row(
            str(row["pressure"]), str(row["load"]), f"{row[OURS]:,.0f}", *(f"{row[name]:.2f}" for name in others)
        )
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    others = [name for name in SERVERS if name != OURS]
    parser.add_argument("--against", nargs="+", choices=others, default=others)
    parser.add_argument("--model", default=MODEL, help="a built-in model, a folder of float32")
    parser.add_argument("--pressure", nargs="+", choices=KINDS, default=["idle"], help="one after the other")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="per server, load and round")
    parser.add_argument("--quick", action="store_true", help="one short round; saves no figures")
    options = parser.parse_args(arguments)
    rounds, seconds = (1, 1.0) if options.quick else (options.rounds, options.seconds)
    small, large = sts_sentences(), mixed_texts(16 * LARGE_TEXTS)
    compared = [*small[:COMPARED], *large[:COMPARED]]
    exact = exact_vectors(compared, options.model)
    tokens = (mean_tokens(small, options.model), mean_tokens(large, options.model))
    times: list[dict[str, str | float]] = []
    for kind in options.pressure:
        with ExitStack() as stack:
            with confined(kind):
                servers = stack.enter_context(running_servers([OURS, *options.against], options.model))
            require_agreement(servers, compared, exact)
            stack.enter_context(beside(kind))
            in_process = in_this_process(servers, small, options.model) if kind == "idle" else {}
            rows = [row for shape in SHAPES for row in rates(servers, small, shape, rounds, seconds, in_process)]
            mixed_rows = mixed(servers, small, large, rounds, MIXED_LONGER * seconds)
            footprints = footprints_of(servers, rows, mixed_rows, tokens)
        print(f"pressure: {kind}")
        show(rows, mixed_rows, footprints, wide_console())
        times += ratios(kind, rows, mixed_rows)
        if options.pressure == ["idle"] and not options.quick:
            parts = (rows, mixed_rows, footprints)
            save_results(
                "serving" if options.model == MODEL else f"serving_{options.model}",
                [[asdict(line) for line in part] for part in parts],
            )
    if options.pressure != ["idle"]:
        show_ratios(times, wide_console())
        if not options.quick:
            save_results("pressure", times)


if __name__ == "__main__":
    main()
