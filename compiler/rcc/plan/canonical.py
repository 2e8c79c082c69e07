"""The plan as JSON, and its hash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from rcc.plan.model import CarriedFile, Plan


def plain(value: Any) -> Any:
    """Dataclasses and tuples as what JSON knows; the bytes of carried files are left out."""
    fields = getattr(value, "__match_args__", None)
    if fields is not None:
        return {
            name: plain(getattr(value, name))
            for name in fields
            if not (isinstance(value, CarriedFile) and name == "data")
        }
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in sorted(value.items())}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(plan: Plan) -> str:
    """`sha256:` over the canonical plan without `name` and `plan`: what runs, nothing else."""
    return digest_of(plain(plan))


def digest_of(plan: Mapping[str, Any]) -> str:
    """The same of a plan as JSON has it."""
    content = {name: value for name, value in plan.items() if name not in ("name", "plan")}
    return "sha256:" + sha256(canonical(content)).hexdigest()
