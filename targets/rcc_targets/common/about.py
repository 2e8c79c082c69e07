"""Paths in the plan: what a finding is about, from which rcc finds where that stands in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rcc.plan.model import Container, Rank
from rcc.source import Path


def of_rank(rank: Rank, *path: str | int) -> Path:
    """A value of a rank."""
    return ("ranks", rank.rank, *path)


def of_container(rank: Rank, *path: str | int) -> Path:
    """A value of a rank's container."""
    return of_rank(rank, "container", *path)


def texts_of(container: Container, *fields: str) -> Iterator[tuple[str, Path]]:
    """The words of lists and the keys of tables, each with its path in the container."""
    for field in fields:
        value = getattr(container, field)
        if isinstance(value, Mapping):
            yield from ((key, (field, key)) for key in value)
        else:
            yield from ((word, (field, number)) for number, word in enumerate(value))


def of_longest(rank: Rank) -> Path:
    """The longest argument or variable; the container, where there is none."""
    words = [(len(word), path) for word, path in texts_of(rank.container, "entrypoint", "command")]
    words += [(len(name) + len(value), ("env", name)) for name, value in rank.container.env.items()]
    return of_container(rank, *max(words, key=lambda one: one[0], default=(0, ()))[1])
