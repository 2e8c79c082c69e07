"""The variables that engines and NCCL read."""

from __future__ import annotations

from functools import cache

from rcc.engines.flags import DATA, WITH_TABLES
from rcc.lint.nccl_table import PREFIX, nccl_variables
from rcc.lint.typos import Typos

PREFIXES = (PREFIX, *(f"{engine.upper()}_" for engine in WITH_TABLES))


def is_unknown(name: str) -> bool:
    """Whether a variable has the prefix of an engine or of NCCL, and neither reads it."""
    return name.startswith(PREFIXES) and name not in _known(_prefix(name))


def known_like(name: str, *, thorough: bool) -> str | None:
    """The known variable that an unknown one may be a misspelling of."""
    return _typos(_prefix(name)).nearest(name, thorough=thorough)


def _prefix(name: str) -> str:
    return name[: name.index("_") + 1]


@cache
def _known(prefix: str) -> frozenset[str]:
    if prefix == PREFIX:
        return frozenset(nccl_variables())
    names = (DATA / f"{prefix[:-1].lower()}.variables").read_text("utf-8").splitlines()[1:]
    return frozenset(prefix + name for name in names)


@cache
def _typos(prefix: str) -> Typos:
    return Typos(_known(prefix))
