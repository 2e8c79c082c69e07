"""What `-o` may name: nothing yet, our own link, or a folder with our manifest in it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from rcc.diagnostic import Finding, Findings, finding
from rcc.emit.compare import Expected, differences
from rcc.emit.links import target
from rcc.emit.manifest import NAME, read_manifest
from rcc.emit.store import FOLDER
from rcc.source import whole

Occupant = Literal["nothing", "link", "folder"]
SHOWN = 5


def occupant(out: Path) -> tuple[Occupant | None, Findings]:
    """What is in the place of a result; None and why where it must not be replaced."""
    if FOLDER in Path(os.path.realpath(out.parent)).parts:
        return None, (_refused(out, f"is inside of a folder `{FOLDER}`"),)
    if re.search("[\ud800-\udfff]", out.name):
        return None, (_refused(out, "is no UTF-8, and the list of links has to state it"),)
    if not os.path.lexists(out):
        return "nothing", ()
    if out.is_symlink():
        if target(out.parent, out.name) is None:
            return None, (_refused(out, "is a link that rcc did not make"),)
        return "link", ()
    if not out.is_dir():
        return None, (_refused(out, "is a file"),)
    return _folder(out)


def _folder(out: Path) -> tuple[Occupant | None, Findings]:
    try:
        manifest, _ = read_manifest(str(out / NAME), (out / NAME).read_bytes())
    except OSError:
        manifest = None
    if manifest is None:
        return None, (_refused(out, "is a folder that rcc did not write"),)
    wanted = [Expected(one.path, one.sha256, one.mode) for one in manifest.outputs]
    extra = [path for path in differences(out, wanted, exact_modes=False).extra if path != NAME]
    if extra:
        listed = ", ".join(f"`{path}`" for path in extra[:SHOWN])
        more = f" and {len(extra) - SHOWN} more" if len(extra) > SHOWN else ""
        return None, (_refused(out, f"holds what rcc did not write: {listed}{more}"),)
    return "folder", ()


def _refused(out: Path, why: str) -> Finding:
    help = "name another place with `-o`, or move this away: rcc replaces only what it made"
    return finding("RCC1101", f"`{out}` {why}", whole(str(out)), help=help)
