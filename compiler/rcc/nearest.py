"""The known name that a mistyped one is nearest to."""

from __future__ import annotations

from collections.abc import Iterable


def nearest_name(name: str, known: Iterable[str], limit: int | None = None) -> str | None:
    """The nearest of `known`, the first in order of spelling; at most `limit` edits away.

    The limit is a third of the name's length, and at least one, unless it is given.
    """
    limit = max(1, len(name) // 3) if limit is None else limit
    distances = ((_distance(name.lower(), one.lower(), limit), one) for one in known)
    best = min(distances, default=(limit + 1, ""))
    return best[1] if best[0] <= limit else None


def _distance(first: str, second: str, limit: int) -> int:
    """Edits between two words, a swap of neighbours counted once; anything over `limit` is `limit + 1`."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row = row, [i]
        for j, b in enumerate(second, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before = above
    return row[-1]
