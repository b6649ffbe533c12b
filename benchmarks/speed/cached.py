"""What does a similarity of cached texts cost, beside /live, the least that a request costs?

    python -m benchmarks.speed.cached

asks one service, whose cache holds all texts, for `/live` and for `/similarity` of one pair by cosine and by rcmd, in
turn, with 32 clients each. It prints requests a second in the median round with the least and the most, and their share
of the requests to /live in the median round.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, pairwise
from statistics import fmean, median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.peers.sentences import sample_sentences
from tests.support.clients import Load, Seen, ask_all, get, post, put_under
from tests.support.figures import keep
from tests.support.running_service import running_service
from tests.support.vital_signs import spread
from tests.support.wide_console import wide_console

LIVE = "/live"
MEASURES = ("cosine", "rcmd")
CLIENTS = 32
WARM_S = 0.5


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests of one kind: `share` is their rate beside that of /live in the median round."""

    request: str
    requests_per_s: float
    least: float
    most: float
    share: float
    p50_ms: float
    p99_ms: float
    clients_own_share: float


def measured(rounds: int, seconds: float) -> list[Rates]:
    """All kinds of requests to one service, in turn."""
    requests: dict[str, list[bytes]] = {LIVE: [get(LIVE)]} | {
        f"/similarity by {measure}": [post("/similarity", {"pairs": [pair], "measure": measure}) for pair in _pairs()]
        for measure in MEASURES
    }
    seen: dict[str, list[Seen]] = {kind: [] for kind in requests}
    with running_service(models="minilm") as url:
        for some in requests.values():
            ask_all(url, some)  # from now on the cache holds their texts
        for number in track(range(rounds), "rounds"):
            for kind in requests if number % 2 == 0 else reversed(requests):
                put_under(url, WARM_S, Load(cycle(requests[kind]), CLIENTS))
                seen[kind].append(put_under(url, seconds, Load(cycle(requests[kind]), CLIENTS)))
    live = [each.loads[0].per_second for each in seen[LIVE]]
    return [_rates(kind, each, live) for kind, each in seen.items()]


def _rates(kind: str, seen: Sequence[Seen], live: Sequence[float]) -> Rates:
    per_second = [each.loads[0].per_second for each in seen]
    share = median(one / other for one, other in zip(per_second, live, strict=True))
    latency = spread([one for each in seen for one in each.loads[0].seconds])
    own = fmean(each.own_share for each in seen)
    rates = (median(per_second), min(per_second), max(per_second))
    return Rates(kind, *rates, share, latency.p50_ms, latency.p99_ms, own)


def _pairs() -> list[dict[str, str]]:
    """Of questions that customers ask."""
    return [{"a": a, "b": b} for a, b in pairwise(sample_sentences())]


def show(rows: Sequence[Rates], console: Console) -> None:
    """Print them."""
    table = Table("request", "requests/s", "least", "most", "share", "p50 ms", "p99 ms", "clients' own share")
    for row in rows:
        rates = [f"{each:,.0f}" for each in (row.requests_per_s, row.least, row.most)]
        latency = (f"{row.share:.2f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}", f"{row.clients_own_share:.0%}")
        table.add_row(row.request, *rates, *latency)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of one kind of request in one round")
    parser.add_argument("--quick", action="store_true", help="one short round, whose figures are not kept")
    asked = parser.parse_args(arguments)
    rows = measured(1, 0.5) if asked.quick else measured(asked.rounds, asked.seconds)
    show(rows, wide_console())
    if not asked.quick:
        keep("cached", [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
