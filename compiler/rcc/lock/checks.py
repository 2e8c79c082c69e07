"""What may still be wrong with a lock that reads well: parts that do not belong together, another layout."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from rcc.diagnostic import Findings, finding
from rcc.lock.model import Lock, tree_hash
from rcc.lock.places import place_in
from rcc.lock.wanted import COMMIT
from rcc.lock.write import canonical, is_canonical
from rcc.source import Place, Source, Span

RESTORE = "restore it from version control, or delete it and run `rcc lock`"


def edited(source: Source, lock: Lock) -> Findings:
    """What cannot be so unless a hand, or a merge, changed one half of it."""
    return (*_wrong_models(source, lock), *_wrong_commits(source, lock))


def _wrong_models(source: Source, lock: Lock) -> Findings:
    return tuple(
        finding(
            "RCC615",
            f"the files of model `{id}` are not those that its `tree` was made of",
            place_in(source, ("models", id, "locked", "tree")),
            label=f"the hash over its files is `{tree[:19]}…`",
            help=RESTORE,
        )
        for id, model in lock.models.items()
        if (tree := tree_hash(model.files)) != model.tree
    )


def _wrong_commits(source: Source, lock: Lock) -> Findings:
    asked = [(("models", id), one.revision, one.commit) for id, one in lock.models.items()]
    asked += [(("staging", id), one.request.revision, one.commit) for id, one in lock.staging.items()]
    return tuple(
        finding(
            "RCC615",
            f"`{'.'.join(path)}` asks for a commit and is locked to another",
            place_in(source, (*path, "locked", "commit")),
            help=RESTORE,
        )
        for path, revision, commit in asked
        if COMMIT.fullmatch(revision) and revision != commit
    )


def layout_of_text(source: Source, values: Any) -> Findings:
    """A lock that another program has formatted: what it says stands, `git diff` of the next one will be large."""
    if is_canonical(source.text, values):
        return ()
    text, wanted = source.text, canonical(values)
    at = bisect_left(range(min(len(wanted), len(text))), True, key=lambda end: wanted[: end + 1] != text[: end + 1])
    what = "has Windows line ends" if "\r\n" in text else "is not laid out as `rcc lock` writes it"
    place = Place(source, Span(at, min(at + 1, len(text))))
    help = "keep formatters away from it, and run `rcc lock` to write it anew"
    return (finding("RCC616", f"the lock {what}", place, help=help),)
