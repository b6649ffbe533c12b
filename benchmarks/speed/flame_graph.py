"""Where does the time of a request go that the model does not take?

    python -m benchmarks.speed.flame_graph

puts a service under the load of 32 clients that ask for the vector of one new text each, watches it with py-spy, and
draws the time of its threads while they hold the interpreter as docs/images/flame_graph.svg: the wider a function, the
longer it and what it calls ran. The model is one of word vectors, which takes next to no time. It prints the share of
each part of the service. `--cached` asks for the similarity of two texts that the cache knows instead.

It needs the right to look into other processes of the same user (root, or /proc/sys/kernel/yama/ptrace_scope at 0).
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

from tests.support.clients import Load, ask_all, post, put_under
from tests.support.figures import keep
from tests.support.project import PROJECT
from tests.support.running_service import Service, running_process
from tests.support.servers.word_models import sentence, write_model
from tests.support.wide_console import wide_console

CLIENTS = 32
SAMPLES_PER_S = 250
_TITLE = re.compile(rb'(<text id="title"[^>]*>)[^<]*')
PICTURE = PROJECT / "docs" / "images" / "flame_graph.svg"

# a part of a request, and the functions of it; the innermost one that is known decides
PARTS: Mapping[str, str] = {
    "writing to the network": r"InOne|RequestResponseCycle\.send",
    "tokens, cache, queue, and the way to the threads": r"service/(usecases/embed_texts|batching|caches)",
    "what is made of the vectors": r"service/(usecases|aside)",
    "writing JSON": r"service/api/(answers|schemas)",
    "reading and validating the body": r"DirectRoute\._validated|_whole|RequestBody",
    "log and metrics": r"Envelope\._account",
    "id, limits, headers, timings": r"service/api/(envelope|edge|keys|connected)",
    "finding the route": r"\((fastapi|starlette)/routing",
    "other layers of the framework": r"\((fastapi|starlette)/",
    "connections, HTTP": r"uvicorn/protocols|service/server/connections",
}
THREADS: Mapping[str, str] = {"Tokeniser._run": "tokenising, in its thread", "Worker._run": "the model, in its thread"}
OTHERS = "the event loop, and others"


def requests(*, cached: bool) -> Iterator[bytes]:
    """What the clients ask for."""
    chance = random.Random(0)
    if cached:
        return repeat(post("/similarity", {"pairs": [{"a": sentence(chance), "b": sentence(chance)}]}))
    return (post("/v1/embeddings", {"model": "words", "input": f"{sentence(chance)} {n}"}) for n in range(10**9))


def watched(service: Service, asked: Iterator[bytes], seconds: float, format_: str) -> bytes:
    """What py-spy saw of the service under load."""
    ask_all(service.url, [next(asked)])
    with TemporaryDirectory() as folder:
        seen = Path(folder) / "seen"
        what = ["--pid", str(service.pid), "--duration", f"{seconds:.0f}", "--rate", str(SAMPLES_PER_S)]
        how = ["--gil", "--format", format_, "--output", str(seen)]
        load = threading.Thread(target=put_under, args=(service.url, seconds + 2, Load(asked, CLIENTS)))
        load.start()
        command = [str(Path(sys.executable).with_name("py-spy")), "record", *what, *how]
        subprocess.run(command, check=True, capture_output=True)
        load.join()
        return _TITLE.sub(rb"\1python -m benchmarks.speed.flame_graph", seen.read_bytes())


def shares(stacks: str) -> dict[str, float]:
    r"""The share of each part, of stacks as py-spy writes them raw: frames with `;` between, and how often.

    >>> shares("f (a.py:1);Tokeniser._run (b.py:2);g (c.py:3) 3\nf (a.py:1) 1")
    {'tokenising, in its thread': 0.75, 'the event loop, and others': 0.25}
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
    inwards = reversed(stack.split(";"))
    return next((part for frame in inwards for part, known in PARTS.items() if re.search(known, frame)), OTHERS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="that are watched, twice")
    parser.add_argument("--cached", action="store_true", help="two cached texts; draws nothing")
    asked = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "words.npz", seed=0, dim=384)
        with running_process(models=f"words={model}", cache="memory" if asked.cached else "none") as service:
            found = shares(watched(service, requests(cached=asked.cached), asked.seconds, "raw").decode())
            if not asked.cached:
                PICTURE.write_bytes(watched(service, requests(cached=False), asked.seconds, "flamegraph"))
    table = Table("part", "share")
    for part, share in found.items():
        table.add_row(part, f"{share:.1%}")
    wide_console().print(table)
    keep("flame_graph_cached" if asked.cached else "flame_graph", found)


if __name__ == "__main__":
    main()
