"""What an unknown flag may stand for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rcc.engines.flags import WITH_TABLES, FlagTable, engine_data, flag_table
from rcc.lint.typos import Typos

_THOROUGH = 20
"""For how many unknown flags of a recipe a search through all known ones is worth its milliseconds."""
_SHORTEST_WORD, _LONGEST_WORD = 3, 20
_SHORT = 5
"""Names with fewer letters are near to too many others by two edits."""


def known_like(table: FlagTable, spelled: str, number: int, owned: Mapping[str, str]) -> str:
    """What to do about the `number`th unknown flag of a recipe; `owned` are the flags that recipe keys decide."""
    letters = spelled.lstrip("-").replace("_", "-").lower()
    same, _ = table.lookup(f"--{letters}")
    if same and any(f"{one}-".startswith(f"--{letters}-") for one in same.spellings):
        return _instead(same.name, same.spellings, owned)
    meant = _off(table, letters) or _longer(table, letters)
    if meant and (found := table.find(meant)):
        return _instead(meant, found.spellings, owned)
    for engine in WITH_TABLES:
        other = flag_table(engine) if engine != table.engine else None
        flag = other.find(spelled) if other else None
        if flag:
            return _of_other(engine, table.engine, flag.spellings)
    thorough = number < _THOROUGH and len(letters) >= _SHORT
    near = _typos(table.engine).nearest(spelled, thorough=thorough)
    found = table.find(near) if near else None
    if near and found:
        return _instead(near, found.spellings, owned)
    return "a newer or patched engine may have it; then silence this with a comment that says so"


def _off(table: FlagTable, letters: str) -> str | None:
    """The flag that switches off what `--no-enable-x` or `--no-x` does in other releases."""
    name = f"--disable-{letters.removeprefix('no-').removeprefix('enable-')}"
    return name if letters.startswith("no-") and table.find(name) else None


def _longer(table: FlagTable, letters: str) -> str | None:
    """The flag of which the last word is written out, as in `--max-model-length`."""
    head, _, last = letters.rpartition("-")
    names = (f"--{head}-{last[:end]}" for end in range(min(len(last) - 1, _LONGEST_WORD), _SHORTEST_WORD - 1, -1))
    return next((name for name in names if table.find(name)), None) if head else None


def _instead(name: str, spellings: tuple[str, ...], owned: Mapping[str, str]) -> str:
    key = _owner(spellings, owned)
    return f"`{name}` is what the compiler sets: remove it and set `{key}`" if key else f"did you mean `{name}`?"


def _of_other(other: str, engine: str, spellings: tuple[str, ...]) -> str:
    key = _owner(spellings, engine_data(other).get("owned", {}))
    if key:
        return f"it is a flag of {other}: remove it and set `{key}`, which is the same for all engines"
    return f"it is a flag of {other}: look up what {engine} calls it"


def _owner(spellings: tuple[str, ...], owned: Mapping[str, str]) -> str | None:
    return next((key for flag, key in owned.items() if flag in spellings), None)


@cache
def _typos(engine: str) -> Typos:
    table = flag_table(engine)
    return Typos(table.spellings() if table else ())
