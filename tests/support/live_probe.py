"""How long does /live take? A process of its own, so that it measures the service and not the load beside it.

    python -m tests.support.live_probe HOST PORT

asks twenty times a second on one connection until its input ends, and then prints what it measured as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException

EVERY_S = 0.05
GIVEN_UP_S = 30.0


def probe(host: str, port: int, over: threading.Event) -> list[tuple[float, float, int]]:
    """When each request was due, the seconds from then to its answer, and the status; 0 without an answer.

    A request that must wait for the one before it is late from the moment it was due: a pause of the service thus
    counts for all who would have come in it.
    """
    connection = HTTPConnection(host, port, timeout=GIVEN_UP_S)
    measured: list[tuple[float, float, int]] = []
    due = time.monotonic()
    while not over.wait(max(0.0, due - time.monotonic())):
        late = bool(measured) and sum(measured[-1][:2]) > due
        began = due if late else time.monotonic()  # waking up late is no fault of the service
        try:
            connection.request("GET", "/live")
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except (OSError, HTTPException):
            connection.close()
            status = 0
        measured.append((began, time.monotonic() - began, status))
        due += EVERY_S
    connection.close()
    return measured


def main() -> None:
    """Run from the command line."""
    over = threading.Event()

    def await_end() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=await_end, daemon=True).start()
    json.dump(probe(sys.argv[1], int(sys.argv[2]), over), sys.stdout)


if __name__ == "__main__":
    main()
