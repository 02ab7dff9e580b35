"""Grade the corpus many times over while all cores are busy. Status 1 when a verdict changed.

The load is the work itself: twice as many submissions at a time as there are cores, each of two jobs. A round
is the whole corpus, right and wrong; the master seed is the same for all. Compared are, for each submission,
every exercise's score, every check's and case's status, and the findings' codes, ranks and lines.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.grading import cases
from tests.soak.changes import changed, described
from tests.soak.graded import graded

KINDS = ("correct", "wrong")


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    at_once = 2 * (os.cpu_count() or 2)
    parser.add_argument("--at-once", type=int, default=at_once, help="submissions graded at the same time")
    parser.add_argument("--only", nargs="*", default=[], help="cases, as kind/name; all when left out")
    options = parser.parse_args()
    names = options.only or [f"{kind}/{name}" for kind in KINDS for name in cases(kind)]
    begun = time.monotonic()
    rounds = []
    with ProcessPoolExecutor(options.at_once, get_context("spawn")) as pool:
        for number in range(1, options.rounds + 1):
            started = time.monotonic()
            rounds.append({place: one for part in pool.map(graded, names) for place, one in part.items()})
            took = time.monotonic() - started
            print(
                f"round {number} of {options.rounds}: {took:.0f} s, load {os.getloadavg()[0]:.0f}",
                file=sys.stderr,
                flush=True,
            )
    differing = changed(rounds)
    asked = len(rounds[0])
    seconds = time.monotonic() - begun
    print(f"submissions {len(names)}   rounds {options.rounds}   verdicts a round {asked}")
    print(f"verdicts given {asked * options.rounds}   changed {len(differing)}   {seconds:.0f} s")
    for place in differing:
        print(described(place, rounds))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
