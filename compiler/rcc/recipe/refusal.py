"""Makes findings of what a reader refuses: with places, and with the table that captured a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any, Protocol

from rcc.diagnostic import MOST, Finding, Findings, Label, finding, first_ones
from rcc.quick import dataclass
from rcc.recipe.shape import IN_QUOTES, Language, Problem, dotted, missing_key, unknown_key
from rcc.source import Path, Place
from rcc.syntax.document import Part

_OF_PROFILE = 3
"""How long the path of a hardware profile's key is; what is deeper there may have been meant for the profile."""


class Placed(Protocol):
    """Values that know where they stand: a document, or a recipe with its bases."""

    @property
    def values(self) -> dict[str, Any]:
        """The values as TOML gave them."""

    def place(self, path: Path, part: Part = "value") -> Place:
        """Where a value, its key or its header stands."""


def refused(file: Placed, problems: Iterable[Problem], language: Language) -> Findings:
    """The findings: the schema's where it says the same, and the reader's own for all else.

    A key that another table captured is not told as missing too.
    """
    problems = tuple(problems)
    by_schema = {(one.path, one.message): one for one in _schema_problems(file.values, problems, language)}
    said = [by_schema.get((one.path, one.message), one) for one in problems]
    captured = Counter((owner, one.path[-1]) for one in said if (owner := _owner(one, language)) is not None)
    left = [one for one in said if not _is_captured(one, captured)]
    return tuple(first_ones(_captured(file, one, language) or _placed(file, one) for one in left))


def outside(torn: frozenset[str], problems: Iterable[Problem]) -> list[Problem]:
    """The problems that are not about keys which the file tears in two, and which nobody knows whole."""
    return [one for one in problems if (str(one.path[0]) if one.path else one.lacks) not in torn]


def _is_captured(problem: Problem, captured: Counter[tuple[str, str | int]]) -> bool:
    """Whether the key that is missing stands elsewhere; each one that does is missing once."""
    key = (str(problem.path[0]) if problem.path else "", problem.lacks or "")
    captured[key] -= 1
    return captured[key] >= 0


def _placed(file: Placed, problem: Problem) -> Finding:
    place = file.place(problem.path, problem.part)
    help = problem.help
    if help == IN_QUOTES:
        help += f': `"{place.source.text[place.span.start : place.span.end]}"`'
    return finding(problem.code, problem.message, place, help=help)


def _schema_problems(values: dict[str, Any], of_reader: Iterable[Problem], language: Language) -> list[Problem]:
    """What JSON Schema says of keys that are missing or unknown, in the words of the reader."""
    in_doubt = [one.path for one in of_reader if one.code in ("RCC201", "RCC204")]
    if not 0 < len(in_doubt) <= MOST:
        return []  # the reader's own words will do
    from jsonschema import Draft7Validator

    from rcc_schema import load

    roots = {path[0] for path in in_doubt if path}  # of a large file the rest is not looked through again
    values = {name: value for name, value in values.items() if name in roots}
    problems: list[Problem] = []
    for error in islice(Draft7Validator(load(language.schema)).iter_errors(values), MOST):
        path: Path = tuple(error.absolute_path)
        if error.validator == "required":
            problems.extend(missing_key(path, name) for name in error.validator_value if name not in error.instance)
        elif error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            unknown = islice((name for name in error.instance if name not in known), MOST)
            problems.extend(unknown_key((*path, name), known, number) for number, name in enumerate(unknown))
    return problems


def _captured(file: Placed, problem: Problem, language: Language) -> Finding | None:
    """A key that TOML gave to another table than the one that reads it."""
    if problem.code == "RCC202" and len(problem.path) == 1 and problem.path[0] in language.tables:
        return _single_brackets(file, problem)
    owner = _owner(problem, language)
    if owner is None:
        return None
    name, captor = str(problem.path[-1]), captor_of(file, problem.path)
    message = f"`{name}` is read as `{dotted(problem.path)}`"
    place = file.place(problem.path, "key")
    label = f"`{owner}` has a key of this name" if owner else f"`{name}` is a top-level key"
    help = f"move it under `{owner}`" if owner else captor.help
    labels = captor.labels
    if not owner and name in file.values and not _has_tables(file.values[name]):
        own = file.place((name,), "key")
        if own.source is place.source:
            help = "remove one of the two, and write the other above the first table header"
            labels = (*labels, Label(own, "this one is read at the top level"))
    code = "RCC102" if owner else "RCC101"
    return finding(code, message, place, label=label, labels=labels, help=help)


def _has_tables(value: Any) -> bool:
    """Whether a value is a table or an array of them, so that there is room for another one in it."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


@dataclass(frozen=True, slots=True)
class Captor:
    """What gave a top-level key to a table: `labels` show the header if it is one that stands above the key.

    `help` says how the key gets out.
    """

    help: str
    labels: tuple[Label, ...] = ()


def captor_of(file: Placed, path: Path) -> Captor:
    """What gave the key at the end of the path to the table that it is in."""
    key, own, table = file.place(path, "key"), file.place(path), file.place(path[:-1])
    text, name = key.source.text, str(path[-1])
    if text.startswith("[", own.span.start) and own.span.start < key.span.start < own.span.end:
        brackets = "[[{}]]" if text.startswith("[[", own.span.start) else "[{}]"
        return Captor(f"write `{brackets.format(name)}`: a table of its own needs no other name before it")
    if text.startswith("{", table.span.start):
        return Captor("take it out of the braces, and write it above all table headers")
    if text.startswith("[", table.span.start):
        label = Label(file.place(path, "header"), "every key below belongs to this table")
        return Captor("move it above the first table header", (label,))
    return Captor(f"write `{name}` without `{dotted(path[:-1])}.` before it")


def _owner(problem: Problem, language: Language) -> str | None:
    """The table that reads a misplaced key, empty for the top level; None where the problem is another."""
    table, name = problem.path[:-1], problem.path[-1] if problem.path else None
    if not table or not isinstance(name, str) or not _is_misplaced(problem, language):
        return None
    if name in language.keys:
        return ""
    return next((one for one, keys in language.tables.items() if name in keys), None)


def _is_misplaced(problem: Problem, language: Language) -> bool:
    """Whether the key is wrong where it stands and known elsewhere."""
    at_top = problem.path[-1] in language.keys
    if problem.code == "RCC201":
        return at_top or problem.path[0] in language.tables or len(problem.path) == _OF_PROFILE
    if language.is_free(problem.path[:-1]):
        # In a table of the author's own keys a key of another table shows itself by its type alone.
        return at_top or problem.code == "RCC202"
    return at_top and len(problem.path) == 2 and problem.path[0] not in language.tables


def _single_brackets(file: Placed, problem: Problem) -> Finding | None:
    name = problem.path[0]
    if not isinstance(file.values.get(str(name)), dict):
        return None
    message = f"`[{name}]` is one table, and `{name}` is an array of tables"
    return finding("RCC103", message, file.place(problem.path), help=f"write `[[{name}]]`")
