"""What does a request for the vector of one text cost the server, part by part?

    python -m benchmarks.speed.request_cost

sends /v1/embeddings with one new sentence each from 32 clients, and divides the CPU time of each thread of the server
by the number of requests: core-milliseconds, which hardly depend on what the clients use of the same cores. It also
encodes the same sentences in one process, in batches of 32 on a thread for each core, and prints the ratio of the
rates.

--beside FOLDER measures another checkout of this project as well, alternately, as before and after a change.
$SEMBLANCE_DATA contains the sentences. It needs permission to trace other processes of the same user.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.baselines.servers import MODEL, PATH
from benchmarks.baselines.texts import sts_sentences
from semblance.models.embeddings import Precision
from semblance.models.processor.usable_cores import usable_cores
from semblance.models.runtime import Compute
from semblance.models.runtimes.openvino import OpenVino
from semblance.service.model_loading.registry import read_source
from tests.support.load_generator import Load, post, run_loads
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import Service, running_process
from tests.support.wide_console import wide_console

CLIENTS = 32
BATCH = 32
WARM_S = 1.0
PARTS: Mapping[str, str] = {  # beginning of the name of a thread -> what it does
    "MainThread": "event loop: HTTP, JSON, cache, queue",
    "tokenizer": "tokenizing",
    "model": "forming batches, pooling",
}
NETWORK = "network, in threads of OpenVINO"
OTHERS = "other threads"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")  # of the CPU times of threads


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time per request in the median round.

    Attributes:
        checkout: which checkout of the project serves.
        requests_per_s: completed requests per second.
        in_process_share: requests per second over sentences per second in one process.
        core_ms: CPU time of the server per request, all parts together.
        parts: the same by part.
        client_ms: CPU time of the clients per request, on the same cores.
    """

    checkout: str
    requests_per_s: float
    in_process_share: float
    core_ms: float
    parts: Mapping[str, float]
    client_ms: float


def measure(folders: Mapping[str, Path], texts: Sequence[str], rounds: int, seconds: float) -> list[Cost]:
    """Measure the service of each checkout, alternately, and encoding in this process."""
    runs: dict[str, list[Cost]] = {name: [] for name in folders}
    encode = InProcess(texts, MODEL, OpenVino.fastest_precision("cpu"))
    with ExitStack() as stack:
        services: dict[str, Service] = {}
        for name, folder in folders.items():
            services[name] = stack.enter_context(running_process(folder, models=MODEL, cache="none"))
            services[name].pause()
        for number in track(range(rounds), "rounds"):
            per_second = encode.per_second()
            for name, service in services.items() if number % 2 == 0 else reversed(services.items()):
                service.resume()
                runs[name].append(_run(name, service, texts, seconds, per_second))
                service.pause()
        for service in services.values():
            service.resume()
    return [sorted(each, key=lambda cost: cost.core_ms)[rounds // 2] for each in runs.values()]


class InProcess:
    """Encodes sentences in batches of similar length on a thread for each core."""

    def __init__(self, texts: Sequence[str], model: str, precision: Precision) -> None:
        self._encoder = read_source(model).load(model, Compute("cpu", precision, "openvino"))
        self._texts = texts
        self.per_second()  # compiles kernels for the sizes of these batches

    def per_second(self) -> float:
        """Sentences per second, tokenizing included."""
        began = time.perf_counter()
        tokens = sorted(self._encoder.tokenize(self._texts, "document", "END"), key=len)
        batches = [tokens[start : start + BATCH] for start in range(0, len(tokens), BATCH)]
        with ThreadPoolExecutor(usable_cores()) as pool:
            for _ in pool.map(partial(self._encoder.encode, want="pooled"), batches):
                pass  # raises what a batch raised
        return len(self._texts) / (time.perf_counter() - began)


def _run(name: str, service: Service, texts: Sequence[str], seconds: float, in_process: float) -> Cost:
    requests = cycle([post(PATH, {"model": MODEL, "input": text}) for text in texts])
    run_loads(service.url, WARM_S, Load(requests, CLIENTS))
    before = _cpu_s(service)
    run = run_loads(service.url, seconds, Load(requests, CLIENTS))
    [result] = run.loads
    count = len(result.seconds)
    spent = {part: 1000 * (value - before[part]) / count for part, value in _cpu_s(service).items()}
    client_ms = 1000 * run.client_cpu_share * result.wall_s / count
    share = result.per_second / in_process
    return Cost(name, result.per_second, share, sum(spent.values()), spent, client_ms)


def _cpu_s(service: Service) -> Mapping[str, float]:
    """CPU seconds of the threads of a service until now, by part."""
    command = [str(Path(sys.executable).with_name("py-spy")), "dump", "--json", "--pid", str(service.pid)]
    dump = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    names = {each["os_thread_id"]: each["thread_name"] for each in dump}
    seconds: dict[str, float] = defaultdict(float)
    for thread in Path(f"/proc/{service.pid}/task").iterdir():
        fields = (thread / "stat").read_text().rpartition(") ")[2].split()
        seconds[_part(names.get(int(thread.name)))] += (int(fields[11]) + int(fields[12])) / TICKS_PER_S
    return seconds


def _part(thread: str | None) -> str:
    if thread is None:  # none of Python's
        return NETWORK
    return next((part for beginning, part in PARTS.items() if thread.startswith(beginning)), OTHERS)


def show(rows: Sequence[Cost], console: Console) -> None:
    """Print a column for each checkout."""
    table = Table("core-ms per request", *(row.checkout for row in rows), title=f"1 text x {CLIENTS} clients")
    for part in (NETWORK, *PARTS.values(), OTHERS):
        table.add_row(part, *(f"{row.parts.get(part, 0.0):.2f}" for row in rows))
    table.add_row("server", *(f"{row.core_ms:.2f}" for row in rows), end_section=True)
    table.add_row("clients", *(f"{row.client_ms:.2f}" for row in rows), end_section=True)
    table.add_row("requests/s", *(f"{row.requests_per_s:,.0f}" for row in rows))
    table.add_row("over sentences/s in one process", *(f"{row.in_process_share:.2f}" for row in rows))
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout of this project")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="per checkout and round")
    parser.add_argument("--quick", action="store_true", help="one short round; saves no figures")
    options = parser.parse_args(arguments)
    rounds, seconds = (1, 1.0) if options.quick else (options.rounds, options.seconds)
    folders = {"this": PROJECT} | ({"other": options.beside.resolve()} if options.beside else {})
    rows = measure(folders, sts_sentences()[: 1024 if not options.quick else 128], rounds, seconds)
    show(rows, wide_console())
    if not options.quick:
        parts = [
            {"part": part, **{row.checkout: row.parts.get(part, 0.0) for row in rows}}
            for part in (NETWORK, *PARTS.values(), OTHERS)
        ]
        rates = [{name: value for name, value in asdict(row).items() if name != "parts"} for row in rows]
        save_results("request_cost", {"core-ms of the server": parts, "in all": rates})


if __name__ == "__main__":
    main()
