"""Lints many mutated files, on all processors: findings or silence, never a traceback.

    python -m tools.fuzz_lint [COUNT] [FIRST]

COUNT files (100,000 unless stated) from seed FIRST (0) on. A seed that fails is printed with its traceback.
"""

from __future__ import annotations

import random
import sys
import traceback
from multiprocessing import Pool

from rcc.lint.layout import laid_out
from rcc.syntax.document import read_document
from tests.test_lint_bad_input import NAMES, TEXTS, lint, mutated

COUNT = 100_000
AT_A_TIME = 500


def main() -> int:
    """Prints failing seeds; 1 where there are any."""
    count, first = (*map(int, sys.argv[1:]), *(COUNT, 0)[len(sys.argv) - 1 :])
    failed = 0
    with Pool() as pool:
        for done, failures in enumerate(pool.imap_unordered(_run, range(first, first + count, AT_A_TIME)), 1):
            for text in failures:
                print(text)
            failed += len(failures)
            if sys.stderr.isatty():
                print(
                    f"\r{min(done * AT_A_TIME, count)} of {count}, {failed} failed", end="", file=sys.stderr, flush=True
                )
    print(f"{count} mutated files linted, {failed} failed")
    return int(failed > 0)


def _run(first: int) -> list[str]:
    """Failures of the next seeds."""
    failures = []
    for seed in range(first, first + AT_A_TIME):
        try:
            _one(random.Random(seed))  # noqa: S311 - a seed that can be named is the point
        except Exception:
            failures.append(f"seed {seed}\n{traceback.format_exc()}")
    return failures


def _one(chance: random.Random) -> None:
    text = mutated(chance.choice(TEXTS), chance.choice(TEXTS), chance)
    name = chance.choice(NAMES)
    lint(name, text.encode(), with_cluster=chance.random() < 0.5)
    document, _ = read_document(name, text.encode())
    if document:
        laid_out(document)


if __name__ == "__main__":
    sys.exit(main())
