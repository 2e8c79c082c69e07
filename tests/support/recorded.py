"""What a generated `run.sh` hands to docker, read without docker: its `container` function under a real shell."""

import subprocess
from collections.abc import Iterable

from tests.support.cli import PATH
from tests.support.shells import shell_words

# A count before the words, so that no word can be taken for the end of them.
_RECORD = r"""
recorded() {
    printf '%s\0' "$#"
    for word; do printf '%s\0' "$word"; done
}
"""
HERE = "/somewhere/shell/node"
HOME = "/home/spark"


def recorded(scripts: Iterable[str], shell: str = "dash") -> list[list[str]]:
    """For each script the words after `docker`; all in one process."""
    calls = [f"{_container(script)}\ncontainer recorded run --detach\n" for script in scripts]
    done = subprocess.run(
        [*shell_words(shell), "-eu", "-s"],
        input="".join(["here=", HERE, _RECORD, *calls]).encode("utf-8", "surrogateescape"),
        env={"PATH": PATH, "HOME": HOME},
        capture_output=True,
        check=True,
    )
    return _records(done.stdout)


def _container(script: str) -> str:
    end = '\n    "$@"\n}\n'
    return script[script.index("\ncontainer() {\n") : script.index(end)] + end


def _records(output: bytes) -> list[list[str]]:
    words = [word.decode("utf-8", "surrogateescape") for word in output.split(b"\0")[:-1]]
    found, at = [], 0
    while at < len(words):
        end = at + 1 + int(words[at])
        found.append(words[at + 1 : end])
        at = end
    return found
