"""Which codes a project wants to hear of: `select`, `ignore` and `per-file-ignores` of its settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from rcc.codes import CODES
from rcc.diagnostic import Finding, Findings, finding
from rcc.quick import dataclass
from rcc.recipe.shape import Problem, Problems, array, free, mapping, record, string
from rcc.source import Path, Place
from rcc.syntax.document import Part

NEVER = frozenset(("RCC001", "RCC003", "RCC004", "RCC005", "RCC006", "RCC007"))
"""Findings that hide all others, so that nobody may hide them."""

_FAMILY = re.compile(r"RCC([0-9]{1,2})xx")
_SHAPE = {
    "select": array(string()),
    "ignore": array(string()),
    "per-file-ignores": mapping(array(string())),
    "build": free,
}


@dataclass(frozen=True, slots=True)
class Choices:
    """Codes to show (None is all), codes not to show, and further ones not to show by a glob of the file's path.

    The globs start at `folder`; one of a name alone means files of that name in folders below it too.
    """

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()
    per_file: tuple[tuple[str, frozenset[str]], ...] = ()
    folder: str = ""

    def shown(self, findings: Iterable[Finding]) -> Findings:
        """The findings that are wanted. Those that hide all others are always shown."""
        return tuple(one for one in findings if one.code in NEVER or self._wants(one))

    def _wants(self, one: Finding) -> bool:
        if one.code in self.ignore or (self.select is not None and one.code not in self.select):
            return False
        globs = [glob for glob, codes in self.per_file if one.code in codes]
        if not globs or one.place is None:
            return True
        name = os.path.relpath(_real(one.place.source.name), _real(self.folder))
        return not any(_matches(name, glob) for glob in globs)


def _real(path: str) -> str:
    """A path by which two names of one file are compared; a link is a file of its own name."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _matches(name: str, glob: str) -> bool:
    if "/" not in glob:
        return fnmatchcase(os.path.basename(name), glob)
    glob = os.path.normpath(glob)
    return fnmatchcase(name, glob) or fnmatchcase(name, glob.replace("**/", ""))


def codes_of(names: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The codes that names stand for (`RCC601`, `floating-tag`, `RCC6xx`), and the names that stand for none."""
    known: set[str] = set()
    unknown = []
    for name in names:
        codes = _expanded(name)
        known |= codes
        if not codes:
            unknown.append(name)
    return frozenset(known), tuple(unknown)


def _expanded(name: str) -> set[str]:
    if name in CODES:
        return {name}
    family = _FAMILY.fullmatch(name)
    if family:
        return {code for code in CODES if code[3:-2] == family[1]}
    return {code for code, one in CODES.items() if one.name == name}


def read_choices(
    values: Mapping[str, Any], place: Callable[[Path, Part], Place], folder: str
) -> tuple[Choices, Findings]:
    """The choices of a settings table in a file of `folder`; `place` finds its values."""
    problems: Problems = []
    record(dict, _SHAPE)(dict(values), (), problems)
    if problems:
        return Choices(), tuple(_refused(one, place) for one in problems)
    found: list[Finding] = []

    def codes(path: Path, names: list[str]) -> frozenset[str]:
        known, unknown = codes_of(names)
        for name in unknown:
            found.append(_unknown(name, place((*path, names.index(name)), "value")))
        return known

    select = codes(("select",), values["select"]) if "select" in values else None
    ignore = codes(("ignore",), values.get("ignore", []))
    per_file = [
        (glob, codes(("per-file-ignores", glob), names)) for glob, names in values.get("per-file-ignores", {}).items()
    ]
    return Choices(select, ignore, tuple(per_file), folder), tuple(found)


def _refused(one: Problem, place: Callable[[Path, Part], Place]) -> Finding:
    return finding(one.code, one.message, place(one.path, one.part), help=one.help)


def _unknown(name: str, place: Place) -> Finding:
    return finding("RCC010", f"rcc has no code `{name}`", place, help="`rcc lint --explain all` lists the codes")
