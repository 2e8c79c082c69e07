"""Shapes of values: what a key of a recipe or a cluster file may hold.

A shape takes what TOML gave and answers the typed value; what does not fit is a problem in the list that it is
handed, and the value it answers then counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rcc.nearest import meant_name, nearest_name
from rcc.quick import dataclass, replace
from rcc.source import Path
from rcc.syntax.document import Part


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that does not fit, before it has a place; `lacks` is the key that is missing there."""

    path: Path
    code: str
    message: str
    help: str | None = None
    part: Part = "value"
    lacks: str | None = None


Problems = list[Problem]
Shape = Callable[[Any, Path, Problems], Any]


@dataclass(frozen=True, slots=True)
class Language:
    """A kind of file: its schema's name, its top-level keys, and its tables of known keys.

    `free` are the tables whose keys are their author's own, so that one of the others goes unnoticed there; `None` in
    such a path is any name or number.
    """

    schema: str
    keys: Mapping[str, Shape]
    tables: Mapping[str, Mapping[str, Shape]]
    free: tuple[tuple[str | None, ...], ...]

    def is_free(self, table: Path) -> bool:
        """Whether the table is one of the `free` ones."""
        return any(
            len(one) == len(table) and all(part is None or part == own for part, own in zip(one, table, strict=True))
            for one in self.free
        )


LARGEST = 2**63 - 1
"""The largest integer that everybody who is handed one can read."""

_TYPES = {
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "an array",
    dict: "a table",
}


def kind_of(value: Any) -> str:
    """What TOML calls a value of this type."""
    return _TYPES.get(type(value), "a date or time")


def dotted(path: Path) -> str:
    """A path as people write it: `extra_mounts[0].host`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{shown(part)}"
    return text


IN_QUOTES = "write it in quotes"
"""The help for a value that should be a string; how the value is written is for whoever has the file to add."""


def _wrong_type(value: Any, path: Path, expected: str, problems: Problems, help: str | None = None) -> None:
    message = f"`{dotted(path)}` must be {expected}, not {kind_of(value)}"
    problems.append(Problem(path, "RCC202", message, help or _cast(value, expected)))


def _cast(value: Any, expected: str) -> str | None:
    if expected == "an integer" and isinstance(value, str) and re.fullmatch(r"-?(0|[1-9][0-9]*)", value):
        return f"write it without quotes: `{value}`"
    if expected == "a boolean" and value in ("true", "false"):
        return f"write it without quotes: `{value}`"
    if expected.startswith("a string") and not isinstance(value, list | dict):
        return IN_QUOTES
    if expected.startswith("an array") and isinstance(value, str):
        return "write it as an array of strings, one word each"
    return None


_compiled = cache(re.compile)


def string(
    pattern: str | None = None,
    what: str = "a string",
    code: str = "RCC205",
    *,
    hint: str | None = None,
    like: str | None = None,
) -> Shape:
    """A string without NUL, all of it matching `pattern` where one is given.

    `what` names it in messages; `like` is one that matches, for the help where there is no `hint`.
    """
    help = hint or (f"write it like `{like}`" if like else None)

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not str:
            fits = pattern is None or _compiled(pattern).fullmatch(str(value))
            _wrong_type(value, path, "a string", problems, None if fits else help)
        elif pattern and not _compiled(pattern).fullmatch(value):
            problems.append(_unlike(_compiled(pattern), value, path, Problem(path, code, what, help)))
        elif "\0" in value:
            message = f"`{dotted(path)}` holds a NUL, which no process can be given"
            problems.append(Problem(path, "RCC205", message, "remove it"))
        return value

    return shape


def _unlike(pattern: re.Pattern[str], value: str, path: Path, problem: Problem) -> Problem:
    """The problem of a value that does not match: what is wanted of it, and what to do about this one."""
    wanted, help = problem.message, problem.help
    if pattern.fullmatch(value.strip()):
        help = f"did you mean `{shown(value.strip())}`?"
    elif "\n" in value:
        wanted, help = "of one line", "take the line break out"
    return replace(problem, message=f"`{dotted(path)}` must be {wanted}, not `{shown(value)}`", help=help)


def shown(value: str) -> str:
    """A value for a message: one line, not too long."""
    text = value.replace("\r", "\\r").replace("\n", "\\n")
    return text if len(text) <= 60 else text[:57] + "..."


def integer(low: int, high: int = LARGEST) -> Shape:
    """An integer within bounds, both included."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not int:
            _wrong_type(value, path, "an integer", problems)
        elif not low <= value <= high:
            bounds = f"at least {low}" if value < low and high == LARGEST else f"{low} to {high}"
            problems.append(Problem(path, "RCC203", f"`{dotted(path)}` must be {bounds}, not {value}"))
        return value

    return shape


def boolean(value: Any, path: Path, problems: Problems) -> Any:
    """true or false."""
    if type(value) is not bool:
        _wrong_type(value, path, "a boolean", problems)
    return value


def free(value: Any, path: Path, problems: Problems) -> Any:
    """Anything: carried along, never interpreted."""
    return value


def choice(*values: str) -> Shape:
    """One of a closed list of strings."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not str:
            _wrong_type(value, path, "a string", problems)
        elif value not in values:
            listed = ", ".join(f"`{one}`" for one in values)
            near = nearest_name(value, values)
            help = f"did you mean `{near}`?" if near else f"write {' or '.join(f'`{one}`' for one in values)}"
            problems.append(
                Problem(path, "RCC205", f"`{dotted(path)}` must be one of {listed}, not `{shown(value)}`", help)
            )
        return value

    return shape


def known(names: tuple[str, ...], what: str, hint: str, prefix: str = "") -> Shape:
    """One of many names, of which messages name the nearest alone; `prefix` is one that others write before them."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not str:
            _wrong_type(value, path, "a string", problems)
        elif value not in names:
            near = nearest_name(value.upper().removeprefix(prefix) if prefix else value, names)
            help = f"did you mean `{near}`?" if near else hint
            problems.append(Problem(path, "RCC205", f"`{dotted(path)}` must be {what}, not `{shown(value)}`", help))
        return value

    return shape


def either(first: Shape, second: Shape, types: tuple[type, ...]) -> Shape:
    """The first shape for values of the given types, the second for all others."""
    return lambda value, path, problems: (first if type(value) in types else second)(value, path, problems)


def nullable(shape: Shape) -> Shape:
    """The shape, or JSON's `null`."""
    return either(lambda value, path, problems: None, shape, (type(None),))


def array(item: Shape, least: int = 0) -> Shape:
    """An array of one shape, as a tuple."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not list:
            _wrong_type(value, path, "an array", problems)
            return ()
        if len(value) < least:
            problems.append(Problem(path, "RCC203", f"`{dotted(path)}` must have at least {least} element"))
        return tuple([item(one, (*path, index), problems) for index, one in enumerate(value)])

    return shape


_text = string()


def mapping(item: Shape, key: Shape = _text) -> Shape:
    """A table whose keys the author chooses, all values of one shape."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not dict:
            _wrong_type(value, path, "a table", problems)
            return {}
        of_names: Problems = []
        for name in value:
            key(name, (*path, name), of_names)
        if of_names:
            problems.extend(replace(one, part="key") for one in of_names)
        return {name: item(one, (*path, name), problems) for name, one in value.items()}

    return shape


def record(make: Callable[..., Any], fields: Mapping[str, Shape], required: tuple[str, ...] = ()) -> Shape:
    """A table with known keys: `make` gets those that are there; missing ones have the defaults of `make`."""

    def shape(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not dict:
            _wrong_type(value, path, "a table", problems)
            return None
        before = len(problems)
        known = {}
        for name, one in value.items():
            check = fields.get(name)
            if check is None:
                problems.append(unknown_key((*path, name), fields, len(problems)))
            else:
                known[name] = check(one, (*path, name), problems)
        problems.extend(missing_key(path, name) for name in required if name not in value)
        return make(**known) if len(problems) == before else None

    return shape


_LISTED = 12
_SEARCHES = 50
"""For how many problems of a file the nearest known key is looked for: a file has room for ten thousand."""


def unknown_key(path: Path, known: Mapping[str, Any], before: int = 0) -> Problem:
    """The finding about a key that nobody reads, with the nearest one that somebody does; `before` others are known."""
    help = _known_instead(str(path[-1]), known) if before < _SEARCHES else "remove it"
    where = f" in `{dotted(path[:-1])}`" if len(path) > 1 else ""
    return Problem(path, "RCC201", f"unknown key `{path[-1]}`{where}", help, "key")


def _known_instead(name: str, known: Mapping[str, Any]) -> str:
    near = meant_name(name, known)
    if near:
        return f"did you mean `{near}`?"
    listed = [f"`{one}`" for one in sorted(known)]
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"known keys here: {', '.join(listed[:_LISTED])}{more}"


def missing_key(path: Path, name: str) -> Problem:
    """The finding about a key that must be there."""
    where = f"`{dotted(path)}`" if path else "the file"
    return Problem(path, "RCC204", f"{where} has no `{name}`", f"add `{name} = …`", "key", name)
