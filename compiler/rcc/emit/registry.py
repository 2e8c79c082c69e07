"""Targets by name, found through the entry point group `rcc.targets`; the built-in ones come by the same door."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from operator import attrgetter

from rcc.diagnostic import Finding, Findings, finding, said
from rcc.emit.advertised import Advertised, advertised
from rcc.emit.model import Artifact, Target
from rcc.nearest import nearest_name
from rcc.plan.model import Plan
from rcc.quick import dataclass

BUILT_IN = ("compose", "k8s", "shell", "systemd")
"""What a build gives when no target is named: the same on every machine, whatever is installed beside rcc."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A target and the distribution that it comes from."""

    target: Target
    distribution: str

    @property
    def name(self) -> str:
        """The target's name."""
        return self.target.name

    def emit(self, plan: Plan) -> tuple[tuple[Artifact, ...], Findings]:
        """What the target gives for a plan. A plug-in that raises is told on; of our own targets that is a bug."""
        try:
            emitted = self.target.emit(plan)
        except Exception as error:
            if self.distribution == "rcc":
                raise
            message = f"the target `{self.name}` of `{self.distribution}` failed: {said(error)}"
            return (), (finding("RCC1091", message, help=f"tell those who make `{self.distribution}`"),)
        return emitted.artifacts, emitted.findings


def choose(names: Iterable[str]) -> tuple[tuple[Chosen, ...], Findings]:
    """The targets of these names, sorted, each once; an unknown or broken one is a finding."""
    known = _entry_points()
    chosen: list[Chosen] = []
    found: list[Finding] = []
    for name in sorted(set(names)):
        if name not in known:
            found.append(_unknown(name, known))
            continue
        target, problem = _load(name, known[name])
        chosen.extend([target] if target else [])
        found.extend([problem] if problem else [])
    return tuple(chosen), tuple(found)


def installed() -> tuple[tuple[Chosen, ...], Findings]:
    """All targets that are installed, sorted, and what is wrong with the others."""
    return choose(_entry_points())


def _entry_points() -> dict[str, list[Advertised]]:
    known: dict[str, list[Advertised]] = {}
    for point in advertised():
        known.setdefault(point.name, []).append(point)
    return known


def _load(name: str, points: list[Advertised]) -> tuple[Chosen | None, Finding | None]:
    distributions = sorted({point.distribution for point in points})
    if len(distributions) > 1:
        told = " and ".join(f"`{one}`" for one in distributions)
        return None, finding("RCC1092", f"the target `{name}` comes from {told}", help="remove one of them")
    module, _, attribute = points[0].value.partition(":")
    try:
        target = attrgetter(attribute.strip())(import_module(module.strip()))
    except (Exception, SystemExit) as error:
        message = f"the target `{name}` of `{distributions[0]}` cannot be loaded: {said(error)}"
        return None, finding("RCC1091", message, help=f"install a `{distributions[0]}` that suits this rcc")
    if not isinstance(target, Target) or target.name != name:
        message = f"the target `{name}` of `{distributions[0]}` is no `rcc.emit.model.Target` of that name"
        return None, finding("RCC1091", message, help=f"tell those who make `{distributions[0]}`")
    return Chosen(target, distributions[0]), None


def _unknown(name: str, known: Iterable[str]) -> Finding:
    names = sorted(known)
    near = nearest_name(name, names)
    listed = ", ".join(f"`{one}`" for one in names)
    help = f"did you mean `{near}`?" if near else f"the targets are {listed}"
    return finding("RCC1090", f"there is no target `{name}`", help=help)
