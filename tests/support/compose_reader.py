"""What docker compose makes of a compose file: strict YAML, then interpolation of every value, not of keys."""

import re
from typing import Any

from tests.support.strict_yaml import UnfaithfulError, read_documents


def read_compose(text: str) -> dict[str, Any]:
    """The one document of a compose file, interpolated with no variable known: a reference is a failure."""
    documents = read_documents(text)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise UnfaithfulError(f"{len(documents)} documents, wanted one mapping")
    return {key: interpolated(value) for key, value in documents[0].items()}


def interpolated(value: Any) -> Any:
    """`$$` is a dollar; any other dollar is one that compose would, in some version, read as a reference."""
    if isinstance(value, dict):
        return {key: interpolated(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [interpolated(inner) for inner in value]
    return _dollars(value) if isinstance(value, str) else value


def _dollars(text: str) -> str:
    if "$" in text.replace("$$", ""):
        raise UnfaithfulError(f"a dollar that is not doubled in {text[:200]!r}")
    return re.sub(r"\$\$", "$", text)


def process(service: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """argv and environment of a service whose entrypoint and command are both lists.

    Without an entrypoint they are what the image's own one gets.
    """
    entrypoint, command = service.get("entrypoint", []), service.get("command", [])
    if not isinstance(entrypoint, list) or not isinstance(command, list):
        raise UnfaithfulError("entrypoint or command is a string, which compose splits as a shell would")
    environment = service.get("environment", {})
    if not isinstance(environment, dict) or not all(isinstance(value, str | None) for value in environment.values()):
        raise UnfaithfulError("an environment that is no mapping of strings")
    return [*entrypoint, *command], {name: value for name, value in environment.items() if value is not None}


def passed_through(service: dict[str, Any]) -> set[str]:
    """Variables whose values compose takes from its own environment, if they are set there."""
    return {name for name, value in service.get("environment", {}).items() if value is None}
