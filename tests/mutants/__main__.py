"""Grade every mutant (or every Nth) and print how many were found out. Status 1 when one was not."""

from __future__ import annotations

import argparse
import sys
import time

from tests.mutants.bench import Bench, reference_mutants
from tests.mutants.outcome import Outcome, details, load_equivalent, stale, table


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every Nth mutant")
    parser.add_argument("--only", default="", help="only mutants whose id contains this")
    parser.add_argument("--list", action="store_true", help="print the mutants and grade none")
    options = parser.parse_args()

    begun = time.monotonic()
    mutants = reference_mutants()
    chosen = [mutant for mutant in mutants if options.only in mutant.id][:: options.every]
    if options.list:
        print("\n".join(f"{mutant.line:>4}  {mutant.id}" for mutant in chosen))
        return 0
    equivalent = load_equivalent()
    graded = []
    with Bench() as bench:
        for one in bench.grade(chosen):
            graded.append(one)
            _show_progress(len(graded), len(chosen))
    outcome = Outcome(graded, equivalent, stale(equivalent, mutants))
    print(table(outcome), details(outcome), sep="\n\n")
    print(f"\n{time.monotonic() - begun:.0f} s")
    return 0 if outcome.good else 1


def _show_progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {of} mutants", end="\n" if done == of else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
