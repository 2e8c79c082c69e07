"""Whether what is on disk is what a build gives now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    now, _ = read_manifest(NAME, bundle.manifest)
    assert now is not None, "it was just written"
    differ = differences(out, expected(bundle), exact_modes=False)
    if differ == Differences((NAME,), (), (), ()) and _artifacts(former) == _artifacts(now):
        message = f"`{out}` was made from other texts, and a build gives the same artifacts"
        return (finding("RCC1110", message, whole(str(out))),)
    return tuple(_named(differ, out, _targets(former), _targets(now)))


def held_targets(out: Path) -> tuple[str, ...] | None:
    """The targets that a result was built of, sorted; None where there is no result."""
    try:
        manifest, _ = read_manifest(NAME, (out / NAME).read_bytes())
    except OSError:
        return None
    return None if manifest is None else tuple(sorted(_targets(manifest)))


def _targets(manifest: Manifest) -> set[str]:
    return {one.target for one in manifest.outputs}


def _named(differ: Differences, out: Path, held: set[str], asked: set[str]) -> Iterator[Finding]:
    """A target that only one side has is named, and none of its files."""
    help = f"name the targets that it was built of: `-t {','.join(sorted(held))}`"
    if held - asked:
        message = f"`{out}` holds {_listed(held - asked)} besides"
        yield finding("RCC1107", message, whole(str(out)), help=help)
    if asked - held:
        yield finding("RCC1106", f"`{out}` does not hold {_listed(asked - held)}", whole(str(out)), help=help)
    artifacts = [path for path in differ.changed if path != NAME]
    for path in artifacts or (differ.changed if held == asked else ()):
        yield _about("RCC1105", out, path, "is stale")
    for path in differ.missing:
        if _target(path) not in asked - held:
            yield _about("RCC1106", out, path, "is missing")
    for path in differ.extra:
        if _target(path) not in held - asked:
            yield _about("RCC1107", out, path, "is extra: no build gives it")
    for path, mode in differ.modes:
        yield _about("RCC1108", out, path, f"has mode {mode}")


def _target(path: str) -> str:
    """A target's artifacts are below a folder of its name."""
    return path.partition("/")[0]


def _listed(names: Iterable[str]) -> str:
    *others, last = (f"`{name}`" for name in sorted(names))
    return f"{', '.join(others)} and {last}" if others else last


def _about(code: str, out: Path, path: str, what: str) -> Finding:
    return finding(code, f"`{path}` {what}", whole(str(out / path)))


def _artifacts(manifest: Manifest) -> dict[str, Any]:
    values: dict[str, Any] = plain(manifest)
    return {name: value for name, value in values.items() if name not in _NOT_ARTIFACTS}
