"""Distributions of somebody else's that bring a target or an engine, as an installer would leave them on the path."""

from pathlib import Path


def add_plugin(folder: Path, distribution: str, name: str, code: str, kind: str = "target") -> Path:
    """Puts a distribution with one module, which holds the target or engine `name`, into a folder for PYTHONPATH."""
    module = distribution.replace("-", "_")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rcc.{kind}s]\n{name} = {module}:{kind}\n")
    return folder


def target_code(name: str, body: str) -> str:
    """The code of a target whose `emit(plan)` has this body."""
    return f"""
import os
from rcc.emit.model import Artifact, Emitted, Target

def emit(plan):
    {body}

target = Target({name!r}, "a target of a test", emit)
"""
