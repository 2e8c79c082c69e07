"""Which variable a misspelt one stands for."""

from __future__ import annotations

from functools import cache

from rcc.engines.flags import known_variables
from rcc.lint.nccl_table import PREFIX, nccl_variables
from rcc.lint.typos import Typos


def known_like(name: str, *, thorough: bool) -> str | None:
    """The known variable that an unknown one, with the same prefix, may be a misspelling of."""
    return _typos(name[: name.index("_") + 1]).nearest(name, thorough=thorough)


@cache
def _typos(prefix: str) -> Typos:
    return Typos(nccl_variables() if prefix == PREFIX else known_variables(prefix[:-1].lower()))
