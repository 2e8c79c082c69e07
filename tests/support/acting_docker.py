"""A `docker` whose containers are plain processes of this machine: enough of one to run a group over ssh."""

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support import acting_docker_program as program
from tests.support.paths import ROOT

# Started often: without what site-packages would add.
_PROGRAM = """\
#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
from acting_docker_program import main
sys.exit(main({place!r}, sys.argv[1:]))
"""


@dataclass(frozen=True, slots=True)
class ActingDocker:
    """One machine's docker; `folder` has a folder for every container."""

    folder: Path

    def names(self) -> list[str]:
        return sorted(json.loads(path.read_text())["Name"] for path in self.folder.glob("*/container.json"))

    def pid(self, name: str) -> int:
        """The container's process."""
        return int((program.find(self.folder, name) / "pid").read_text())

    def kill(self, name: str) -> None:
        """What a crash of the container's process looks like."""
        os.kill(self.pid(name), signal.SIGKILL)

    def clear(self) -> None:
        for name in self.names():
            program.main(str(self.folder), ["rm", "--force", "--volumes", name])


def acting_docker(programs: Path, place: Path) -> ActingDocker:
    """Puts a `docker` into a folder of programs; its containers live below `place`."""
    place.mkdir(parents=True, exist_ok=True)
    docker = programs / "docker"
    docker.write_text(
        _PROGRAM.format(python=sys.executable, folder=str(ROOT / "tests/support"), place=str(place)),
    )
    docker.chmod(0o755)
    return ActingDocker(place)
