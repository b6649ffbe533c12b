"""Train several recipes one after another, in a process of its own or several by torchrun.

    python -m tests.integration.train_cases CASES

CASES is JSON: a list of the arguments of tests.lab.training.train_tiny for each.
"""

from __future__ import annotations

import json
import sys

from tests.lab.training import train_tiny

if __name__ == "__main__":
    for case in json.loads(sys.argv[1]):
        train_tiny.main(*case)
