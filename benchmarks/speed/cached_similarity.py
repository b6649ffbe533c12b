"""What does a similarity of cached texts cost, compared with /live, the cheapest request?

    python -m benchmarks.speed.cached_similarity

sends `/live` and `/similarity` of one pair by cosine and by rcmd, alternately, from 32 clients to one service whose
cache contains all texts. It prints requests per second in the median round with minimum and maximum, and the ratio to
the rate of /live in the median round.
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

from benchmarks.baselines.texts import sample_sentences
from tests.support.load_generator import Load, LoadRun, get, post, run_loads, send_all
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.service_monitor import percentiles
from tests.support.wide_console import wide_console

LIVE = "/live"
MEASURES = ("cosine", "rcmd")
CLIENTS = 32
WARM_S = 0.5


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests of one kind; `share` is the ratio to the rate of /live in the median round."""

    request: str
    requests_per_s: float
    least: float
    most: float
    share: float
    p50_ms: float
    p99_ms: float
    clients_own_share: float


def measure(rounds: int, seconds: float) -> list[Rates]:
    """Measure all kinds of requests to one service, alternately."""
    pairs = [{"a": a, "b": b} for a, b in pairwise(sample_sentences())]
    requests: dict[str, list[bytes]] = {LIVE: [get(LIVE)]} | {
        f"/similarity by {measure}": [post("/similarity", {"pairs": [pair], "measure": measure}) for pair in pairs]
        for measure in MEASURES
    }
    runs: dict[str, list[LoadRun]] = {kind: [] for kind in requests}
    with running_service(models="minilm") as url:
        for batch in requests.values():
            send_all(url, batch)  # fills the cache
        for number in track(range(rounds), "rounds"):
            for kind in requests if number % 2 == 0 else reversed(requests):
                run_loads(url, WARM_S, Load(cycle(requests[kind]), CLIENTS))
                runs[kind].append(run_loads(url, seconds, Load(cycle(requests[kind]), CLIENTS)))
    live = [each.loads[0].per_second for each in runs[LIVE]]
    return [_rates(kind, each, live) for kind, each in runs.items()]


def _rates(kind: str, runs: Sequence[LoadRun], live: Sequence[float]) -> Rates:
    per_second = [each.loads[0].per_second for each in runs]
    share = median(one / other for one, other in zip(per_second, live, strict=True))
    latency = percentiles([one for each in runs for one in each.loads[0].seconds])
    client_cpu_share = fmean(each.client_cpu_share for each in runs)
    rates = (median(per_second), min(per_second), max(per_second))
    return Rates(kind, *rates, share, latency.p50_ms, latency.p99_ms, client_cpu_share)


def show(rows: Sequence[Rates], console: Console) -> None:
    """Print the rates."""
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
    parser.add_argument("--seconds", type=float, default=3.0, help="per kind of request and round")
    parser.add_argument("--quick", action="store_true", help="one short round; saves no figures")
    options = parser.parse_args(arguments)
    rows = measure(1, 0.5) if options.quick else measure(options.rounds, options.seconds)
    show(rows, wide_console())
    if not options.quick:
        save_results("cached", [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
