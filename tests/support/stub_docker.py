"""A `docker` that runs nothing: it writes down how it was called and answers as it was told."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

# Hex, since a text between separators is ambiguous once an argument is empty; one write, so that calls in parallel
# do not mix.
_PROGRAM = """\
#!{python} -IS
import json, os, sys
words = [os.fsencode(word) for word in sys.argv[1:]]
line = json.dumps([word.hex() for word in words]) + "\\n"
log = os.open({calls!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
os.write(log, line.encode())
try:
    answers = json.load(open({answers!r}))
except FileNotFoundError:
    answers = []
for begins, out, err, code in answers:
    if sys.argv[1 : 1 + len(begins)] == begins:
        sys.stdout.write(out)
        sys.stderr.write(err)
        sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class StubDocker:
    """The program is `folder/docker`: put `folder` first on PATH, or the program into RCC_DOCKER."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "docker"

    def answer(self, *begins: str, out: str = "", err: str = "", code: int = 0) -> None:
        """What a call whose words begin so gets from now on; the newest answer that fits counts."""
        path = self.folder / "answers.json"
        known = json.loads(path.read_text()) if path.exists() else []
        path.write_text(json.dumps([[list(begins), out, err, code], *known]))

    def calls(self, *begins: str) -> list[list[str]]:
        """The words of every call that began so, in order; bytes that are no UTF-8 come as surrogates."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        calls = [
            [bytes.fromhex(word).decode("utf-8", "surrogateescape") for word in json.loads(line)] for line in lines
        ]
        return [call for call in calls if call[: len(begins)] == list(begins)]

    def forget(self) -> None:
        (self.folder / "calls").unlink(missing_ok=True)


def stub_docker(folder: Path) -> StubDocker:
    """A stub in a folder, which is made; every call that has no answer prints nothing and succeeds."""
    folder.mkdir(parents=True, exist_ok=True)
    stub = StubDocker(folder)
    program = _PROGRAM.format(python=sys.executable, calls=str(folder / "calls"), answers=str(folder / "answers.json"))
    stub.program.write_text(program)
    stub.program.chmod(0o755)
    return stub
