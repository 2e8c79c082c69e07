"""The engines' command-line flags, and a list of arguments read as the engine's own parser reads it."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import tomli

from rcc.quick import dataclass

_HERE = os.path.dirname(__file__)
WITH_TABLES = ("sglang", "vllm")

_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


@dataclass(frozen=True, slots=True)
class Flag:
    """What a parser knows of a flag; the fields are those of data/README.md. `name` is the first of `spellings`."""

    spellings: tuple[str, ...]
    arity: str
    kind: str = ""
    nullable: bool = False
    deprecated: bool = False
    repeats: bool = False
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The spelling that rcc calls the flag by."""
        return self.spellings[0]


@dataclass(frozen=True, slots=True)
class Value:
    """A word that a flag takes: which argument holds it, from which code point on."""

    text: str
    index: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A flag in a list of arguments.

    `index` is the argument that `spelled` stands in (without its `=value` and its `.key`). `flag` is None where the
    engine has no such flag; then `candidates` are the spellings that an ambiguous abbreviation may stand for, and the
    values are all words that follow, since nobody knows how many it takes. A word that belongs to no flag has an empty
    `spelled`, and is its own value. `keys` is the dotted path that is set inside a JSON value; `joined` says that the
    value stands behind `=`.
    """

    index: int
    spelled: str
    flag: Flag | None = None
    candidates: tuple[str, ...] = ()
    keys: str = ""
    values: tuple[Value, ...] = ()
    joined: bool = False


_Read = tuple[str, str, str | None, Flag | None, tuple[str, ...]]


class FlagTable:
    """The flags of one release of an engine."""

    def __init__(self, engine: str, text: str) -> None:
        self.engine = engine
        first, *lines = text.splitlines()
        self.version = first.split()[-1]
        self._lines = {word: line for line in lines for word in _spellings(line)}
        self._sorted = sorted(self._lines)
        # vLLM rewrites its arguments before it parses them: `_` for `-`, `--a.b c` for `--a '{"b": "c"}'`, `-O3`.
        self._rewrites = engine == "vllm"

    def spellings(self) -> tuple[str, ...]:
        """Every spelling of every flag."""
        return tuple(self._lines)

    def find(self, spelled: str) -> Flag | None:
        """The flag of exactly this spelling."""
        line = self._lines.get(spelled)
        return _flag(line) if line else None

    def lookup(self, spelled: str) -> tuple[Flag | None, tuple[str, ...]]:
        """The flag that a spelling, or an unambiguous beginning of one, means; else the spellings it may stand for."""
        exact = self.find(spelled)
        if exact or len(spelled) < 2 or not spelled.startswith("-"):
            return exact, ()
        first, last = bisect_left(self._sorted, spelled), bisect_left(self._sorted, spelled + "\U0010ffff")
        candidates = tuple(self._sorted[first:last])
        flags = {self._lines[one] for one in candidates}
        return (_flag(flags.pop()), ()) if len(flags) == 1 else (None, candidates)

    def parse(self, args: Sequence[str]) -> tuple[Occurrence, ...]:
        """The arguments as the engine's parser divides them; a flag that lacks its value has no `values`."""
        return tuple(self._occurrences(args))

    def index(self, args: Sequence[str], flag: str) -> int | None:
        """The argument that sets a flag first, by any spelling of it."""
        return next((one.index for one in self.parse(args) if one.flag and flag in one.flag.spellings), None)

    def _occurrences(self, args: Sequence[str]) -> Iterator[Occurrence]:
        index, end = 0, args.index("--") if "--" in args else len(args)
        read = [self._read(arg) for arg in args[:end]]
        while index < end:
            one = _occurrence(args, read, index)
            yield one
            index += 1 if one.joined or not one.spelled else 1 + len(one.values)
        yield from (_word(args, index) for index in range(end + 1, len(args)))

    def _read(self, arg: str) -> _Read | None:
        """How a flag is spelled, its dotted key, the value that it holds itself, and what it means; None for a word."""
        line = self._lines.get(arg)
        if line is not None:
            return arg, "", None, _flag(line), ()
        if arg[:1] != "-" or arg == "-" or (arg[1] in ".0123456789" and _NUMBER.fullmatch(arg)):
            return None
        head, equals, rest = arg.partition("=")
        if self._rewrites and re.fullmatch(r"-O[^.=]+|-O=.+", arg):
            head, equals, rest = "-O", "=", arg[2:].removeprefix("=")
        elif arg[1] != "-" and head not in self._lines and arg[:2] in self._lines:
            head, equals, rest = arg[:2], "=", arg[2:]
        spelled, _, keys = head.partition(".") if self._rewrites else (head, "", "")
        flag, candidates = self.lookup(self._normal(spelled))
        if flag is None and not candidates and " " in head:
            return None
        return spelled, keys, rest if equals else None, flag, candidates

    def _normal(self, spelled: str) -> str:
        if self._rewrites and spelled == "-O":
            return "--optimization-level"
        return spelled.replace("_", "-") if self._rewrites else spelled


@cache
def flag_table(engine: str) -> FlagTable | None:
    """The flags of an engine, or None where rcc has no table of them."""
    if engine not in WITH_TABLES:
        return None
    return FlagTable(engine, _read("data", f"{engine}.flags"))


@cache
def known_variables(engine: str) -> frozenset[str]:
    """The environment variables with the engine's prefix that it or rcc sets or reads; none where there is no table."""
    if engine not in WITH_TABLES:
        return frozenset()
    names = (f"{engine.upper()}_{name}" for name in _read("data", f"{engine}.variables").splitlines()[1:])
    return frozenset((*names, engine_data(engine)["address_variable"]))


@cache
def engine_data(engine: str) -> Mapping[str, Any]:
    """What a built-in engine's data file says, as TOML has it; empty where there is none."""
    return tomli.loads(_read(f"{engine}.toml")) if os.path.isfile(os.path.join(_HERE, f"{engine}.toml")) else {}


def _read(*path: str) -> str:
    with open(os.path.join(_HERE, *path), encoding="utf-8") as file:
        return file.read()


def _occurrence(args: Sequence[str], read: Sequence[_Read | None], index: int) -> Occurrence:
    """What the argument at `index` is, with its values; `read` ends where flags do."""
    own = read[index]
    if own is None:
        return _word(args, index)
    spelled, keys, joined, flag, candidates = own
    if joined is not None:
        values: tuple[Value, ...] = (Value(joined, index, len(args[index]) - len(joined)),)
    elif flag is None or flag.arity != "0":
        end = index + 2 if flag and (flag.arity in "1?" or keys) else len(read)
        stop = index + 1
        while stop < min(end, len(read)) and read[stop] is None:
            stop += 1
        values = tuple([Value(args[at], at) for at in range(index + 1, stop)])
    else:
        values = ()
    return Occurrence(index, spelled, flag, candidates, keys, values, joined is not None)


def _word(args: Sequence[str], index: int) -> Occurrence:
    return Occurrence(index, "", values=(Value(args[index], index),))


def _spellings(line: str) -> Iterator[str]:
    for word in line.split(" "):
        if not word.startswith("-"):
            return
        yield word


@cache
def _flag(line: str) -> Flag:
    head, _, choices = line.partition(" : ")
    spellings = tuple(_spellings(line))
    arity, *rest = head.split(" ")[len(spellings) :]
    kind = rest[0] if arity != "0" else ""
    return Flag(spellings, arity, kind, "none" in rest, "deprecated" in rest, "repeats" in rest, tuple(choices.split()))
