"""What a target gives, written to a folder as a build would."""

from hashlib import sha256
from pathlib import Path

from rcc.emit.model import Artifact, Target
from rcc.plan.model import Plan


def emitted(target: Target, plan: Plan) -> dict[str, Artifact]:
    """The artifacts by path; a finding fails the test."""
    made = target.emit(plan)
    assert not made.findings, made.findings
    assert made.artifacts
    return {artifact.path: artifact for artifact in made.artifacts}


def write_result(target: Target, plan: Plan, folder: Path) -> Path:
    """The artifacts and a manifest that names the build, below `folder`."""
    build = sha256()
    for path, artifact in sorted(emitted(target, plan).items()):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(artifact.data)
        file.chmod(0o555 if artifact.executable else 0o444)
        build.update(path.encode() + b"\0" + artifact.data)
    (folder / "manifest.json").write_text(f'{{\n  "build": "sha256:{build.hexdigest()}",\n  "version": 1\n}}\n')
    return folder
