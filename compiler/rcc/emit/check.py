"""Whether what is on disk is what a build gives now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rcc.diagnostic import Finding, Findings, finding
from rcc.emit.bundle import Bundle
from rcc.emit.compare import Differences, differences
from rcc.emit.manifest import NAME, Manifest, read_manifest
from rcc.emit.store import expected
from rcc.plan.canonical import plain
from rcc.source import whole

_NOT_ARTIFACTS = ("inputs", "rcc")


def check(bundle: Bundle, out: Path) -> Findings:
    """Names every stale, missing and extra file; a result made from other texts with the same artifacts is a note."""
    try:
        former, found = read_manifest(str(out / NAME), (out / NAME).read_bytes())
    except OSError:
        return (finding("RCC1103", f"there is no result at `{out}`", whole(str(out)), help="build it"),)
    if former is None:
        return found
    differ = differences(out, expected(bundle), exact_modes=False)
    if differ == Differences((NAME,), (), (), ()) and _differs_in_inputs_alone(former, bundle):
        message = f"`{out}` was made from other texts, and a build gives the same artifacts"
        return (finding("RCC1110", message, whole(str(out))),)
    return tuple(_named(differ, out))


def _named(differ: Differences, out: Path) -> Iterator[Finding]:
    artifacts = [path for path in differ.changed if path != NAME]
    for path in artifacts or differ.changed:
        yield _about("RCC1105", out, path, "is stale")
    for path in differ.missing:
        yield _about("RCC1106", out, path, "is missing")
    for path in differ.extra:
        yield _about("RCC1107", out, path, "is extra: no build gives it")
    for path, mode in differ.modes:
        yield _about("RCC1108", out, path, f"has mode {mode}")


def _about(code: str, out: Path, path: str, what: str) -> Finding:
    return finding(code, f"`{path}` {what}", whole(str(out / path)))


def _differs_in_inputs_alone(former: Manifest, bundle: Bundle) -> bool:
    now, _ = read_manifest(NAME, bundle.manifest)
    return now is not None and _artifacts(former) == _artifacts(now)


def _artifacts(manifest: Manifest) -> dict[str, Any]:
    values: dict[str, Any] = plain(manifest)
    return {name: value for name, value in values.items() if name not in _NOT_ARTIFACTS}
