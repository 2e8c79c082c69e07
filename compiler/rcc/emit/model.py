"""What a target is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from rcc.diagnostic import Findings
from rcc.plan.model import Plan
from rcc.quick import dataclass


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of the result: `path` is relative and POSIX; `kind` one of compose, script, unit, manifest, file."""

    path: str
    data: bytes = field(repr=False)
    kind: str
    executable: bool = False
    node: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Emitted:
    """A target's files, all of them or, where a finding is an error, none."""

    artifacts: tuple[Artifact, ...]
    findings: Findings = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """A field of the plan that a target says in another way or not at all: one row of the conversion matrix."""

    field: str
    how: str


@dataclass(frozen=True, slots=True)
class Target:
    """A way to run a plan. `emit` is pure; `losses` are what the format cannot say, for the documentation."""

    name: str
    summary: str
    emit: Callable[[Plan], Emitted]
    losses: tuple[Loss, ...] = ()
