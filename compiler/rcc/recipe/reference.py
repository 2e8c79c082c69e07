"""Image references, read as the registries read them: strictly, without a network."""

from __future__ import annotations

import re

from rcc.quick import dataclass

DOCKER_HUB = "docker.io"
DEFAULT_TAG = "latest"
MAX_NAME = 255

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REGISTRY = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:.]+\])(?::[0-9]{{1,5}})?")
_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|<<[A-Za-z_].*?>>")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reference:
    """An image, its registry and `library/` filled in: `registry` `docker.io`, `repository` `library/busybox`.

    With a `digest` the tag is only a memory of where it came from. Neither is filled in where none was written.
    """

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    @property
    def name(self) -> str:
        """Registry and repository: what stands before the tag or the digest."""
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        """The normalised reference, with the tag that no tag means."""
        tag = self.tag or (None if self.digest else DEFAULT_TAG)
        return self.name + (f":{tag}" if tag else "") + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True, slots=True)
class BadReference:
    """Why a text is no image reference, and which half-open range of its code points is to blame."""

    reason: str
    start: int
    end: int


def parse_reference(text: str) -> Reference | BadReference:
    """Reads `[registry[:port]/]path[:tag][@digest]`. Only sha256 digests are known."""
    template = _TEMPLATE.search(text)
    if template:
        return BadReference("its lock must not depend on the cluster, so it takes no template", *template.span())
    rest, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        reason = "a digest is `sha256:` and 64 hex digits in lower case"
        return BadReference(reason, len(rest) + 1, len(text))
    name, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        name, colon, tag = rest, "", ""
    if colon and not _TAG.fullmatch(tag):
        reason = "a tag is at most 128 letters, digits, `_`, `.` and `-`, and begins with none of the last two"
        return BadReference(reason, len(name) + 1, len(rest))
    parsed = _parse_name(name)
    if isinstance(parsed, BadReference):
        return parsed
    return Reference(*parsed, tag or None, digest or None)


def _parse_name(name: str) -> tuple[str, str] | BadReference:
    first, slash, path = name.partition("/")
    if not slash or not _is_registry(first):
        registry, path, start = DOCKER_HUB, name, 0
    elif not _REGISTRY.fullmatch(first):
        return BadReference(f"`{first}` is no registry: a host name, with `:port` where it needs one", 0, len(first))
    else:
        registry, start = first.lower(), len(first) + 1
    wrong = _wrong_path(path, start)
    if wrong:
        return wrong
    if registry in ("index.docker.io", "registry-1.docker.io"):
        registry = DOCKER_HUB
    if registry == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    if len(registry) + 1 + len(path) > MAX_NAME:
        return BadReference(f"a name has at most {MAX_NAME} characters", 0, len(name))
    return registry, path


def _is_registry(first: str) -> bool:
    """Docker's own rule for what the first component is."""
    return "." in first or ":" in first or first == "localhost" or first != first.lower()


def _wrong_path(path: str, start: int) -> BadReference | None:
    if not path:
        return BadReference("there is no repository name", start, start)
    if re.fullmatch(r"[0-9a-f]{64}", path):
        return BadReference("64 hex digits are an image's id, which no registry knows", start, start + len(path))
    for component in path.split("/"):
        if not _COMPONENT.fullmatch(component):
            return BadReference(_why(component), start, start + len(component))
        start += len(component) + 1
    return None


def _why(component: str) -> str:
    if not component:
        return "there is nothing between two slashes"
    if component != component.lower() and _COMPONENT.fullmatch(component.lower()):
        return "a repository name is in lower case"
    return f"`{component}` is no part of a repository name: `a-z` and digits, joined by `.`, `_`, `__` or `-`"
