"""The program behind tests/support/acting_docker.py. It imports little: a test starts it a hundred times.

It knows the calls that the shell target makes, and fails on any other. Mounts, images and limits are taken as given.
"""

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

SWITCHES = {"--detach", "--no-healthcheck"}


def main(place: str, words: list[str]) -> int:
    """One call of the program."""
    folder = Path(place)
    match words:
        case ["version", *_] | ["image", "inspect", *_] | ["inspect", *_]:
            return 0
        case ["run", "--detach", *_]:
            return _run(folder, words[1:])
        case ["ps", *rest]:
            return _list(folder, [word for word in rest if "=" in word])
        case ["container", "inspect", "--format", template, name]:
            return _inspect(find(folder, name), template)
        case ["logs", *_, name]:
            os.write(1, (find(folder, name) / "log").read_bytes())
            return 0
        case ["stop", name]:
            return _stop(find(folder, name))
        case ["rm", "--force", "--volumes", name]:
            return _remove(find(folder, name))
    sys.stderr.write(f"no such call here: {words}\n")
    return 125


def find(folder: Path, name: str) -> Path:
    """A container's folder, by its short id or its name."""
    for path in folder.glob("*/container.json"):
        if name in (path.parent.name, json.loads(path.read_text())["Name"]):
            return path.parent
    sys.stderr.write(f"no such container: {name}\n")
    sys.exit(1)


def _run(folder: Path, words: list[str]) -> int:
    options, at = [], 0
    while words[at].startswith("-"):
        alone = words[at] in SWITCHES
        options.append((words[at], "" if alone else words[at + 1]))
        at += 1 if alone else 2
    number = os.urandom(32).hex()
    made = folder / number[:12]
    made.mkdir()
    labels = dict(value.split("=", 1) for name, value in options if name == "--label")
    about = {"Id": number, "Name": dict(options)["--name"], "Labels": labels}
    env = dict(value.split("=", 1) for name, value in options if name == "--env" and "=" in value)
    if os.fork() == 0:
        _hold(made, [dict(options)["--entrypoint"], *words[at + 1 :]], {**os.environ, **env})
    _wait_for((made / "pid").exists)
    (made / "container.json").write_text(json.dumps(about))
    return 0


def _hold(made: Path, argv: list[str], env: dict[str, str]) -> None:
    """The parent of a container's process, away from everything, that notes how it ends."""
    os.setsid()
    log = os.open(made / "log", os.O_WRONLY | os.O_CREAT, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, number in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, number)
    pid = os.posix_spawnp(argv[0], argv, env)
    (made / "pid.new").write_text(str(pid))
    (made / "pid.new").rename(made / "pid")
    _, status = os.waitpid(pid, 0)
    if made.exists():
        (made / "ended.new").write_text(str(os.waitstatus_to_exitcode(status)))
        (made / "ended.new").rename(made / "ended")
    os._exit(0)


def _state(container: Path) -> tuple[str, int]:
    ended = container / "ended"
    return ("exited", int(ended.read_text())) if ended.exists() else ("running", 0)


def _list(folder: Path, filters: list[str]) -> int:
    for path in sorted(folder.glob("*/container.json")):
        labels = json.loads(path.read_text())["Labels"]
        known = {f"label={key}={value}" for key, value in labels.items()} | {f"status={_state(path.parent)[0]}"}
        if known.issuperset(filters):
            print(path.parent.name)
    return 0


def _inspect(container: Path, template: str) -> int:
    known = json.loads((container / "container.json").read_text())
    status, code = _state(container)
    text = re.sub(r"\{\{(?:if|with) [^}]*\}\}.*?\{\{end\}\}", "", template)
    text = re.sub(r'\{\{index \.Config\.Labels "([^"]*)"\}\}', lambda found: str(known["Labels"].get(found[1])), text)
    values = {
        "{{.State.Status}}": status,
        "{{.State.ExitCode}}": str(code),
        "{{.Id}}": known["Id"],
        "{{json .State}}": json.dumps({"Status": status, "ExitCode": code}),
    }
    for part, value in values.items():
        text = text.replace(part, value)
    if "{{" in text:
        sys.stderr.write(f"no such format here: {template}\n")
        return 1
    print(text)
    return 0


def _stop(container: Path) -> int:
    if _state(container)[0] == "running":
        os.kill(int((container / "pid").read_text()), signal.SIGKILL)
        _wait_for((container / "ended").exists)
    return 0


def _remove(container: Path) -> int:
    _stop(container)
    shutil.rmtree(container)
    return 0


def _wait_for(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        if time.monotonic() > deadline:
            sys.exit("waited in vain")
        time.sleep(0.01)
