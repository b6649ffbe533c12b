"""Measure the latency of /live from a separate process, independent of the load beside it.

    python -m tests.support.live_probe HOST PORT

sends twenty requests per second over one connection until standard input ends, then prints the measurements as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException

INTERVAL_S = 0.05
TIMEOUT_S = 120.0


def probe(host: str, port: int, stop: threading.Event) -> list[tuple[float, float, int]]:
    """Measure start, seconds and status of each request; status 0 means no response.

    Latency counts from the due time: a stall of the service counts for every request that was due in it.
    """
    connection = HTTPConnection(host, port, timeout=TIMEOUT_S)
    measurements: list[tuple[float, float, int]] = []
    due = time.monotonic()
    while not stop.wait(max(0.0, due - time.monotonic())):
        late = bool(measurements) and sum(measurements[-1][:2]) > due
        start = due if late else time.monotonic()  # a late wake-up is not the service's fault
        try:
            connection.request("GET", "/live")
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except (OSError, HTTPException):
            connection.close()
            status = 0
        measurements.append((start, time.monotonic() - start, status))
        due += INTERVAL_S
    connection.close()
    return measurements


def main() -> None:
    stop = threading.Event()

    def await_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=await_end, daemon=True).start()
    json.dump(probe(sys.argv[1], int(sys.argv[2]), stop), sys.stdout)


if __name__ == "__main__":
    main()
