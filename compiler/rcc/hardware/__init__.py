"""Hardware profiles: what containers need on a kind of machine, as data files."""

from __future__ import annotations

from pathlib import Path

import tomli

from rcc.cluster.keys import hardware_profile
from rcc.cluster.model import Hardware
from rcc.recipe.shape import Problems

BUILT_IN = ("cpu", "cuda", "dgx-spark")


def built_in(name: str) -> Hardware | None:
    """The built-in profile of that name."""
    if name not in BUILT_IN:
        return None
    problems: Problems = []
    values = tomli.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    profile = hardware_profile(values, (), problems)
    assert isinstance(profile, Hardware), problems
    return profile
