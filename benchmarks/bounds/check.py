"""Does this machine keep the bounds on time and rates?

    scripts/bench bounds.check
    scripts/bench bounds.check --only nginx

measures each bound of the modules in `benchmarks/bounds/`, prints a line for it, and ends with status 1 if one is
exceeded. It needs an idle machine; the tests hold no bound on time.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence

import benchmarks.bounds
from benchmarks.bounds.bound import BOUNDS, Bound


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="words of the claims or of their modules to check")
    options = parser.parse_args(arguments)
    for module in pkgutil.iter_modules(benchmarks.bounds.__path__):
        importlib.import_module(f"benchmarks.bounds.{module.name}")
    chosen = [bound for bound in BOUNDS if options.only in f"{bound.measure.__module__} {bound.claim}"]
    kept = [_kept(bound) for bound in chosen]
    sys.exit(0 if all(kept) else 1)


def _kept(bound: Bound) -> bool:
    figure = bound.measure()
    kept = bound.kept_by(figure)
    verdict = "pass" if kept else "FAIL"
    print(f"{verdict}  {figure:10.3g} {bound.unit:<5} {bound.side} {bound.limit:g}: {bound.claim}", flush=True)
    return kept


if __name__ == "__main__":
    main()
