"""Reads a lock, strictly: what `rcc lock` has not written is explained, never guessed at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, NoReturn

from rcc.diagnostic import MOST, Finding, Findings, Label, finding, first_ones, has_errors
from rcc.lock.checks import RESTORE, edited, layout_of_text
from rcc.lock.model import REVISION, VERSION, Lock
from rcc.lock.places import place_in
from rcc.lock.shapes import lock_shape
from rcc.recipe.shape import Problem, shown
from rcc.source import Place, Source, Span, whole

MAX_BYTES = 2 * 1024 * 1024
"""Room for ten models of a thousand files each."""
_SURROGATE = re.compile(r"\\u[dD][89abAB]")
_MARKER = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?![<|=>]).*$", re.MULTILINE)


def read_lock(name: str, data: bytes) -> tuple[Lock | None, Findings]:
    """Reads the bytes of a lock file; `name` is what findings call it."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data)} bytes, more than the {MAX_BYTES} that rcc reads"
        return None, (finding("RCC005", message, whole(name), help=RESTORE),)
    try:
        source = Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return None, (finding("RCC001", f"byte {error.start + 1} is not valid UTF-8", whole(name), help=RESTORE),)
    merge = _merge_conflict(source)
    if merge:
        return None, (merge,)
    values, found = _parse(source)
    if found:
        return None, found
    newer, found = _versions(source, values)
    if found:
        return None, found
    return _read(source, values, newer)


def _merge_conflict(source: Source) -> Finding | None:
    markers = [Place(source, Span(*match.span())) for match in islice(_MARKER.finditer(source.text), 3)]
    if not markers:
        return None
    first = source.text[markers[0].span.start : markers[0].span.end]
    return finding(
        "RCC613",
        f"the lock holds git's merge markers, the first is `{first}`",
        markers[0],
        labels=[Label(place, "a further marker") for place in markers[1:]],
        help="take either side whole (`git checkout --ours` or `--theirs`, then the file), and run `rcc lock`",
    )


class _EnoughError(Exception):
    """There are more problems than anybody reads."""


class _Problems(list[Problem]):
    """What is wrong with a lock, of which a lock has room for a hundred thousand; raises `_EnoughError`."""

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) > MOST:
            raise _EnoughError

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)


class _UnfitError(ValueError):
    """A number that no lock holds."""


def _refuse_number(text: str) -> NoReturn:
    raise _UnfitError(f"`{text[:40]}` is no whole number, and a lock holds no other")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise KeyError
    return table


def _parse(source: Source) -> tuple[Any, Findings]:
    try:
        values = json.loads(
            source.text, object_pairs_hook=_unique, parse_float=_refuse_number, parse_constant=_refuse_number
        )
        if _SURROGATE.search(source.text):
            json.dumps(values, ensure_ascii=False).encode()
    except KeyError:
        return None, _duplicates(source)
    except json.JSONDecodeError as error:
        at = min(error.pos, len(source.text))
        place = Place(source, Span(at, min(at + 1, len(source.text))))
        return None, (finding("RCC612", _syntax(error, source.text), place, help=RESTORE),)
    except RecursionError:
        return None, (
            finding("RCC612", "the lock is nested deeper than any lock is", whole(source.name), help=RESTORE),
        )
    except UnicodeEncodeError:
        message = "the lock holds half of a surrogate pair, which is no text"
        return None, (finding("RCC612", message, whole(source.name), help=RESTORE),)
    except ValueError as error:
        message = str(error) if isinstance(error, _UnfitError) else "the lock holds a number of thousands of digits"
        return None, (finding("RCC612", message, whole(source.name), help=RESTORE),)
    return values, ()


def _syntax(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the lock is empty"
    if error.pos >= len(text.rstrip()):
        return "the lock ends in the middle"
    return f"the lock is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def _duplicates(source: Source) -> Findings:
    from rcc.lock.members import repeated

    twice = (
        finding(
            "RCC004",
            f"`{shown(key)}` is defined twice",
            Place(source, again),
            labels=[Label(Place(source, first), "first defined here")],
            help=RESTORE,
        )
        for key, first, again in repeated(source.text)
    )
    return tuple(first_ones(twice))


def _versions(source: Source, values: Any) -> tuple[bool, Findings]:
    """Whether the lock is of a newer revision; an unknown version is refused before anything else is looked at."""
    version = values.get("version") if type(values) is dict else None
    if type(version) is not int:
        path = () if version is None else ("version",)
        message = "this is no lock: it has no `version`"
        return False, (finding("RCC614", message, place_in(source, path), help=RESTORE),)
    if version != VERSION:
        message = f"the lock has version {version}, and this rcc reads version {VERSION}"
        help = "use the rcc that wrote it, or delete it and run `rcc lock`"
        return False, (finding("RCC614", message, place_in(source, ("version",)), help=help),)
    return _newer(values), ()


def _newer(values: dict[str, Any]) -> bool:
    revision = values.get("revision")
    return type(revision) is int and revision > REVISION


def newer_revision(source: Source) -> int | None:
    """The revision of a lock that reads well, where it may have fields that this rcc cannot write."""
    values = json.loads(source.text)
    return int(values["revision"]) if _newer(values) else None


def _read(source: Source, values: Any, newer: bool) -> tuple[Lock | None, Findings]:
    problems = _Problems()
    try:
        lock = lock_shape(newer)(values, (), problems)
    except _EnoughError:
        lock = None
    if problems:
        told = (finding("RCC612", one.message, place_in(source, one.path, one.part), help=RESTORE) for one in problems)
        return None, tuple(first_ones(told))
    found = (*edited(source, lock), *layout_of_text(source, values))
    return (None if has_errors(found) else lock), found
