"""Builds twice where everything is different that must not matter, and compares the bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from rcc.cli.compiling import Compiled
from rcc.cli.options import as_arguments
from rcc.diagnostic import Finding, Findings, finding
from rcc.emit.bundle import Bundle
from rcc.emit.compare import differences
from rcc.emit.store import expected
from rcc.quick import dataclass
from rcc.resolve.model import Options
from rcc.source import whole


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a build must not see: names of folders, hash seed, time zone, locale, home, umask."""

    folder: str
    umask: int
    env: Mapping[str, str]


TWO = (
    Surroundings("first", 0o077, {"PYTHONHASHSEED": "1", "TZ": "XYZ-13:45", "LC_ALL": "C", "HOME": "/nonexistent"}),
    Surroundings("a second one", 0o002, {"PYTHONHASHSEED": "2", "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": "/"}),
)


def rebuild(compiled: Compiled, options: Options) -> Findings:
    """What differs between this build and two others, in processes of their own."""
    with tempfile.TemporaryDirectory(prefix="rcc-") as scratch:
        return tuple(one for other in TWO for one in _differing(compiled, options, Path(scratch, other.folder), other))


def _differing(compiled: Compiled, options: Options, folder: Path, other: Surroundings) -> Iterator[Finding]:
    inputs = compiled.planned.inputs
    moved = _move_inputs([*compiled.planned.loaded.read], folder / "inputs")
    cluster = ["-c", moved[inputs.cluster]] if inputs.cluster is not None else []
    targets = [word for name in compiled.targets for word in ("-t", name)]
    arguments = ["build", moved[inputs.recipe], *cluster, *targets, *as_arguments(options), "--copy", "-o", "out"]
    done = _rcc(arguments, folder, other)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        yield finding("RCC1111", f"in other surroundings the build ends with {done.returncode}", notes=last)
        return
    differ = differences(folder / "out", expected(compiled.bundle), exact_modes=True)
    for path in sorted({*differ.changed, *differ.missing, *differ.extra, *(path for path, _ in differ.modes)}):
        notes = _first_difference(compiled.bundle, path, folder / "out")
        yield finding("RCC1111", f"`{path}` comes out differently in other surroundings", whole(path), notes=notes)


def _move_inputs(paths: list[str], folder: Path) -> dict[str, str]:
    """Copies files, so that they lie to each other as before; gives where each is now."""
    root = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    moved = {path: str(folder / os.path.relpath(os.path.abspath(path), root)) for path in paths}
    for path, place in moved.items():
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(path, place)
    return moved


def _rcc(arguments: list[str], folder: Path, other: Surroundings) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    command = [sys.executable, "-P", "-m", "rcc.cli", *arguments]
    env = {**kept, **other.env}
    return subprocess.run(  # noqa: S603 - this very program
        command, cwd=folder, env=env, umask=other.umask, capture_output=True, text=True, check=False
    )


def _first_difference(bundle: Bundle, path: str, out: Path) -> list[str]:
    """The first line that two builds have differently, for a text that both gave."""
    here = next((file.data for file in bundle.files if file.path == path), None)
    if here is None or not (out / path).is_file():
        return []
    lines = zip(here.splitlines(), (out / path).read_bytes().splitlines(), strict=False)
    for number, (one, other) in enumerate(lines, 1):
        if one != other:
            return [f"line {number}: {one.decode(errors='replace')}", f"elsewhere: {other.decode(errors='replace')}"]
    return []
