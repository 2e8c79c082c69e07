"""Plans by their hash, beside the store: a result states only the hash, and `rcc diff` wants to read the plan."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rcc.emit.store import FOLDER, Store
from rcc.plan.canonical import canonical, digest_of, plain
from rcc.plan.model import Plan

_FOLDER = "plans"


def keep_plan(store: Store, plan: Plan) -> None:
    """Keeps the plan of what was just built."""
    path = store.root / _FOLDER / _name(plan.plan)
    if not path.exists():
        store.write(path, canonical(plain(plan)))


def kept_plan(result: Path, plan: str) -> dict[str, Any] | None:
    """The plan with this hash, as JSON values, if the store of a result still has it, unchanged."""
    place = Path(os.path.realpath(result))
    for root in (place.parent / FOLDER, place.parent.parent):
        try:
            values = json.loads((root / _FOLDER / _name(plan)).read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(values, dict) and digest_of(values) == plan:
            return values
    return None


def forget_plans(store: Store, wanted: set[str]) -> None:
    """Removes the plans whose hash is not wanted."""
    names = {_name(plan) for plan in wanted}
    for path in sorted((store.root / _FOLDER).glob("*.json")):
        if path.name not in names:
            path.unlink()


def _name(plan: str) -> str:
    return plan.removeprefix("sha256:") + ".json"
