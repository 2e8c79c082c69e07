"""Whether a result is still what was built: its artifacts against its manifest, and the manifest against its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rcc.diagnostic import Finding, Findings, finding, reason
from rcc.emit.compare import Expected, differences
from rcc.emit.manifest import NAME, Manifest, build_hash, key, read_manifest
from rcc.emit.store import FOLDER
from rcc.source import whole


def verify(folder: Path) -> tuple[Manifest | None, Findings]:
    """Every file that is changed, missing, extra or has another mode.

    In a store modes are exact; a plain folder may have been through `git`, which keeps only the bit for programs.
    """
    path = folder / NAME
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"there is no result at `{folder}`: {reason(error)}"
        return None, (finding("RCC1103", message, whole(str(folder)), help="name the folder that `rcc build` made"),)
    manifest, found = read_manifest(str(path), data)
    if manifest is None:
        return None, found
    place = Path(os.path.realpath(folder))
    stored = place.parts[-3:-1] == (FOLDER, "store")
    name = place.name if stored else None
    return manifest, (*_of_manifest(folder, data, manifest, name), *_of_outputs(folder, manifest, stored))


def _of_manifest(folder: Path, data: bytes, manifest: Manifest, stored: str | None) -> Iterator[Finding]:
    """A store names a result by its manifest's hash; everywhere the outputs give the build's hash."""
    name = f"{key(data)}-{manifest.id}"
    if build_hash(manifest.outputs) != manifest.build or stored not in (None, name):
        yield _about("RCC1109", folder, NAME, "is not as it was written")


def _of_outputs(folder: Path, manifest: Manifest, stored: bool) -> Iterator[Finding]:
    wanted = [Expected(one.path, one.sha256, one.mode) for one in manifest.outputs]
    modes = {one.path: one.mode for one in manifest.outputs}
    differ = differences(folder, wanted, exact_modes=stored)
    for path in differ.changed:
        yield _about("RCC1109", folder, path, "is not as it was written")
    for path in differ.missing:
        yield _about("RCC1106", folder, path, "is missing")
    for path in differ.extra:
        if path != NAME:
            yield _about("RCC1107", folder, path, "is extra: the manifest does not have it")
    for path, mode in differ.modes:
        yield _about("RCC1108", folder, path, f"has mode {mode}, not {modes[path]}")


def _about(code: str, folder: Path, path: str, what: str) -> Finding:
    return finding(code, f"`{path}` {what}", whole(str(folder / path)))
