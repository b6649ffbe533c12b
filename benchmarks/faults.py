"""Does a deployment lose nothing, whatever fails in it?

    python -m benchmarks.faults --seconds 600 --seed 1

Two minutes of a mixed load without faults, then faults by chance one after the other, then two minutes without; after
each all that every replica holds is compared with what was acknowledged.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.figures import keep
from benchmarks.injected.catalogue import FAULTS
from benchmarks.injected.fault import Broken
from benchmarks.injected.stage import Outcome, Stage
from benchmarks.servers.deployment import Deployment
from benchmarks.vital_signs import resident_mb

QUIET_S = 120.0
MEASURED_S = 60.0  # at the end of each quiet time
SAMPLED_EVERY_S = 1.0
GROWTH = 1.10  # most that memory may be at the end, by that after the warm-up
LOAD_S = (10.0, 30.0)  # of a fault, at least
REPLICAS = 3
