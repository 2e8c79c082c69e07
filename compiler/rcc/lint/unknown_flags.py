"""What an unknown flag may stand for."""

from __future__ import annotations

from functools import cache

from rcc.engines.flags import WITH_TABLES, FlagTable, flag_table
from rcc.lint.typos import Typos

_THOROUGH = 20
"""For how many unknown flags of a recipe a search through all known ones is worth its milliseconds."""


def known_like(table: FlagTable, spelled: str, number: int) -> str:
    """What to do about the `number`th unknown flag of a recipe."""
    near = _typos(table.engine).nearest(spelled, thorough=number < _THOROUGH)
    if near:
        return f"did you mean `{near}`?"
    for engine in WITH_TABLES:
        other = flag_table(engine)
        if engine != table.engine and other and other.find(spelled):
            return f"it is a flag of {engine}: look up what {table.engine} calls it"
    return "a newer or patched engine may have it; then silence this with a comment that says so"


@cache
def _typos(engine: str) -> Typos:
    table = flag_table(engine)
    return Typos(table.spellings() if table else ())
