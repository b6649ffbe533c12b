"""How many requests a second does the service answer, beside servers of others with the same model?

    python -m benchmarks.speed.serving

starts this service without a cache and the others, each in an environment of its own that is made when it is missing
(benchmarks/peers/), and puts one of them at a time under load by the same requests to /v1/embeddings, in turn, while
the others sleep: one sentence a request from 32 clients; 32 sentences a request from 4 clients; and small requests at a
steady rate while two clients have 32 texts of 8 to 256 tokens encoded without a pause. Before that it makes sure that
all give the same vectors. It prints the rates of the median round with the least and the most, how many times as fast
this service was in the median round, and how long the requests of all rounds together took. $SEMBLANCE_DATA holds the
sentences.

All compute in float32 unless it is said otherwise, and take as many threads as they think best. Of infinity there are
`infinity-bettertransformer`, which is its defaults; `infinity`, the same without BetterTransformer, which is what the
defaults come to beside optimum 2, which lost it; `infinity-bfloat16`, the defaults with `--dtype bfloat16`; and
`infinity-onnx`, its engine of ONNX Runtime, for which the model is exported first and which fuses it by itself. Its
engine of CTranslate2, which it calls deprecated, was not tried. `txtai` has its defaults. benchmarks/peers/infinity.txt
and txtai.txt say which versions they all are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from statistics import fmean, median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from benchmarks.peers.sentences import mixed_texts, sentences
from benchmarks.peers.servers import MODEL, OURS, PATH, SERVERS, Server, running
from semblance.models.embeddings import Floats, unit_rows
from tests.support.clients import Load, Seen, ask_all, post, put_under
from tests.support.figures import keep
from tests.support.vital_signs import Spread, spread
from tests.support.wide_console import wide_console

SHAPES = ((1, 32), (32, 4))  # texts a request, clients
SMALL_PER_SECOND = 10.0
SMALL_CLIENTS = 16
LARGE_TEXTS, LARGE_CLIENTS = 32, 2
MIXED_LONGER = 2  # times as many seconds under mixed load: large requests take long
WARM_S = 1.0
AGREEMENT = 0.999  # least cosine between the vectors of two servers
COMPARED = 64  # texts whose vectors are compared


@dataclass(frozen=True, slots=True)
class Rates:
    """One server under one load; `times` is how many times as fast ours was in the median round.

    Rates are those of the median round, p50 and p99 those of the requests of all rounds together.
    """

    texts_per_request: int
    clients: int
    server: str
    requests_per_s: float
    least: float
    most: float
    sentences_per_s: float
    times: float
    p50_ms: float
    p99_ms: float
    clients_own_share: float


@dataclass(frozen=True, slots=True)
class Mixed:
    """Small requests beside large ones: their times in all rounds together, and the least and most p99 of a round.

    `times` is how many times as long as ours the slowest hundredth took: of all rounds together too, for a round has
    not a hundred small requests.
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


def require_agreement(servers: Sequence[Server], texts: Sequence[str]) -> None:
    """Refuse to compare servers that do not do the same.

    Raises:
        RuntimeError: one gives other vectors than ours.
    """
    made: dict[str, Floats] = {}
    for server in servers:
        with server.awake() as url:
            [answer] = ask_all(url, [_request(texts)])
        vectors = np.array([entry["embedding"] for entry in json.loads(answer)["data"]], np.float32)
        made[server.name] = unit_rows(vectors).astype(np.float32)
    for name, theirs in made.items():
        least = float((theirs * made[OURS]).sum(axis=1).min())
        print(f"{name}: least cosine to the vectors of {OURS} {least:.5f}", flush=True)
        if least < AGREEMENT:
            raise RuntimeError(f"{name} gives other vectors than {OURS}: cosine {least:.4f}, less than {AGREEMENT}")


def rates(
    servers: Sequence[Server], texts: Sequence[str], shape: tuple[int, int], rounds: int, seconds: float
) -> list[Rates]:
    """All servers under the load of one shape, in turn."""
    size, clients = shape
    seen: dict[str, list[Seen]] = {server.name: [] for server in servers}
    for number in track(range(rounds), f"{size} x {clients}"):
        for server in _in_turn(servers, number):
            with server.awake() as url:
                put_under(url, WARM_S, Load(_requests(texts, size, number + rounds), clients))
                seen[server.name].append(put_under(url, seconds, Load(_requests(texts, size, number), clients)))
    ours = [each.loads[0].per_second for each in seen[OURS]]
    return [_rates(name, shape, each, ours) for name, each in seen.items()]


def mixed(
    servers: Sequence[Server], small: Sequence[str], large: Sequence[str], rounds: int, seconds: float
) -> list[Mixed]:
    """All servers under the mixed load, in turn."""
    seen: dict[str, list[Seen]] = {server.name: [] for server in servers}
    for number in track(range(rounds), "small beside large"):
        for server in _in_turn(servers, number):
            loads = (
                Load(_requests(small, 1, number), SMALL_CLIENTS, SMALL_PER_SECOND),
                Load(_requests(large, LARGE_TEXTS, number), LARGE_CLIENTS),
            )
            with server.awake() as url:
                put_under(url, WARM_S, Load(_requests(small, 1, number), 1))
                seen[server.name].append(put_under(url, seconds, *loads))
    ours = _latency(seen[OURS]).p99_ms
    return [_mixed(name, each, ours) for name, each in seen.items()]


def _rates(name: str, shape: tuple[int, int], seen: Sequence[Seen], ours: Sequence[float]) -> Rates:
    size, clients = shape
    per_second = [each.loads[0].per_second for each in seen]
    times = median(one / other for one, other in zip(ours, per_second, strict=True))
    latency = _latency(seen)
    own = fmean(each.own_share for each in seen)
    middle = median(per_second)
    spans = (min(per_second), max(per_second), middle * size)
    return Rates(size, clients, name, middle, *spans, times, latency.p50_ms, latency.p99_ms, own)


def _mixed(name: str, seen: Sequence[Seen], ours_p99_ms: float) -> Mixed:
    small = _latency(seen)
    p99s = [_latency([each]).p99_ms for each in seen]
    times = small.p99_ms / ours_p99_ms
    large = median(LARGE_TEXTS * each.loads[1].per_second for each in seen)
    own = fmean(each.own_share for each in seen)
    return Mixed(name, small.count, small.p50_ms, small.p99_ms, min(p99s), max(p99s), times, large, own)


def _latency(seen: Sequence[Seen]) -> Spread:
    """Of the requests of the first load, in these rounds together."""
    return spread([one for each in seen for one in each.loads[0].seconds])


def _in_turn(servers: Sequence[Server], number: int) -> list[Server]:
    """In another order each round, so that none always follows the same."""
    start = number % len(servers)
    return [*servers[start:], *servers[:start]]


def _requests(texts: Sequence[str], size: int, number: int) -> Iterator[bytes]:
    """Requests without end, beginning elsewhere each round."""
    start = number * len(texts) // 16 % len(texts)
    source = cycle([*texts[start:], *texts[:start]])
    while True:
        yield _request(list(islice(source, size)))


def _request(texts: Sequence[str]) -> bytes:
    return post(PATH, {"model": MODEL, "input": texts})


def show(rows: Sequence[Rates], beside: Sequence[Mixed], console: Console) -> None:
    """Both tables."""
    table = Table(
        "load",
        Column("server", no_wrap=True),
        "requests/s",
        "least, most",
        "sentences/s",
        "times",
        "p50",
        "p99, ms",
        "clients",
    )
    for row in rows:
        span = f"{row.least:,.1f}, {row.most:,.1f}"
        rate = (f"{row.requests_per_s:,.1f}", span, f"{row.sentences_per_s:,.0f}", f"{row.times:.2f}")
        latency = (f"{row.p50_ms:,.0f}", f"{row.p99_ms:,.0f}", f"{row.clients_own_share:.0%}")
        table.add_row(f"{row.texts_per_request} x {row.clients}", row.server, *rate, *latency)
    console.print(table)
    table = Table(
        Column("server", no_wrap=True), "small", "p50", "p99, ms", "least, most", "times", "large texts/s", "clients"
    )
    table.title = f"{SMALL_PER_SECOND:.0f} small requests a second beside large ones"
    for line in beside:
        ms = (f"{line.p50_ms:,.0f}", f"{line.p99_ms:,.0f}", f"{line.least_p99_ms:,.0f}, {line.most_p99_ms:,.0f}")
        last = (f"{line.times:.2f}", f"{line.large_texts_per_s:.1f}", f"{line.clients_own_share:.0%}")
        table.add_row(line.server, str(line.small), *ms, *last)
    console.print(table)
    console.print("clients: the share of a core that the clients took themselves")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    others = [name for name in SERVERS if name != OURS]
    parser.add_argument("--against", nargs="+", choices=others, default=others)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of one server under one load in one round")
    parser.add_argument("--quick", action="store_true", help="one short round, whose figures are not kept")
    asked = parser.parse_args(arguments)
    rounds, seconds = (1, 1.0) if asked.quick else (asked.rounds, asked.seconds)
    small, large = sentences(), mixed_texts(16 * LARGE_TEXTS)
    with running([OURS, *asked.against]) as servers:
        require_agreement(servers, [*small[:COMPARED], *large[:COMPARED]])
        rows = [row for shape in SHAPES for row in rates(servers, small, shape, rounds, seconds)]
        beside = mixed(servers, small, large, rounds, MIXED_LONGER * seconds)
    show(rows, beside, wide_console())
    if not asked.quick:
        keep("serving", [[asdict(row) for row in rows], [asdict(line) for line in beside]])


if __name__ == "__main__":
    main()
