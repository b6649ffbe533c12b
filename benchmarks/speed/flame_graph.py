"""Where is the time of a request spent, apart from the model?

    python -m benchmarks.speed.flame_graph

profiles a service with py-spy while 32 clients request the vector of one new text each, and draws the time of its
threads while they hold the GIL as docs/images/flame_graph.svg: the wider a function, the more time it and its callees
took. The model has word vectors and takes next to no time. It prints the share of each part of the service. With
`--cached`, clients request the similarity of two cached texts.

It needs permission to trace other processes of the same user (root, or /proc/sys/kernel/yama/ptrace_scope at 0).
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from tests.support.load_generator import Load, post, run_loads, send_all
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import Service, running_process
from tests.support.servers.word_models import sentence, write_model
from tests.support.wide_console import wide_console

CLIENTS = 32
SAMPLES_PER_S = 250
_TITLE = re.compile(rb'(<text id="title"[^>]*>)[^<]*')
PICTURE = PROJECT / "docs" / "images" / "flame_graph.svg"

# part of a request -> pattern of its stack frames; the innermost frame that matches any pattern decides
PARTS: Mapping[str, str] = {
    "writing to the network": r"RequestResponseCycle\.send",
    "embedding: tokens, cache, queue, hand-over to threads": r"service/(usecases/(text_)?embed|batching|caches)",
    "use cases, other than embedding": r"service/(usecases|threads)",
    "writing JSON": r"json_answer|service/api/(schemas|error_shapes|ndjson)",
    "reading and validating the body": r"JsonRoute\._validate|_(parse|read) \(.*api/routing|RequestBody",
    "log and metrics": r"RequestLog\._account",
    "id, limits, headers, timings": r"service/api/edge",
    "finding the route": r"\((fastapi|starlette)/routing",
    "other layers of the framework": r"\((fastapi|starlette)/|service/api/routing",
    "connections, HTTP": r"uvicorn/protocols|service/process/connections",
}
THREADS: Mapping[str, str] = {
    "TokenizerThread._run": "tokenizing, in its thread",
    "Worker._run": "the model, in its thread",
}
OTHERS = "the event loop, and others"


def requests(*, cached: bool) -> Iterator[bytes]:
    """The requests of the clients."""
    rng = random.Random(0)
    if cached:
        return repeat(post("/similarity", {"pairs": [{"a": sentence(rng), "b": sentence(rng)}]}))
    return (post("/v1/embeddings", {"model": "words", "input": f"{sentence(rng)} {n}"}) for n in range(10**9))


def profile_service(service: Service, load_requests: Iterator[bytes], seconds: float, format_: str) -> bytes:
    """Output of py-spy for the service under load."""
    send_all(service.url, [next(load_requests)])
    with TemporaryDirectory() as folder:
        output = Path(folder) / "profile"
        target = ["--pid", str(service.pid), "--duration", f"{seconds:.0f}", "--rate", str(SAMPLES_PER_S)]
        recording = ["--gil", "--format", format_, "--output", str(output)]
        load = threading.Thread(target=run_loads, args=(service.url, seconds + 2, Load(load_requests, CLIENTS)))
        load.start()
        command = [str(Path(sys.executable).with_name("py-spy")), "record", *target, *recording]
        subprocess.run(command, check=True, capture_output=True)
        load.join()
        return _TITLE.sub(rb"\1python -m benchmarks.speed.flame_graph", output.read_bytes())


def shares(stacks: str) -> dict[str, float]:
    r"""The share of each part in raw stacks of py-spy: frames joined by `;`, and a count.

    >>> shares("f (a.py:1);TokenizerThread._run (b.py:2);g (c.py:3) 3\nf (a.py:1) 1")
    {'tokenizing, in its thread': 0.75, 'the event loop, and others': 0.25}
    """
    counts: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[_part(stack)] += int(count)
    return {part: count / counts.total() for part, count in counts.most_common()}


def _part(stack: str) -> str:
    for function, part in THREADS.items():
        if function in stack:
            return part
    innermost_first = reversed(stack.split(";"))
    matches = (part for frame in innermost_first for part, pattern in PARTS.items() if re.search(pattern, frame))
    return next(matches, OTHERS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each of the two profiles")
    parser.add_argument("--cached", action="store_true", help="send two cached texts; draws nothing")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "words.npz", seed=0, dim=384)
        with running_process(models=f"words={model}", cache="memory" if options.cached else "none") as service:
            profile = profile_service(service, requests(cached=options.cached), options.seconds, "raw")
            part_shares = shares(profile.decode())
            if not options.cached:
                PICTURE.write_bytes(profile_service(service, requests(cached=False), options.seconds, "flamegraph"))
    table = Table("part", "share")
    for part, share in part_shares.items():
        table.add_row(part, f"{share:.1%}")
    wide_console().print(table)
    save_results("flame_graph_cached" if options.cached else "flame_graph", part_shares)


if __name__ == "__main__":
    main()
