"""The images of this machine's docker or podman (`daemon`) as a source."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from rcc.diagnostic import Findings
from rcc.fetch.failure import FetchError
from rcc.fetch.manifest import platform_name
from rcc.lock.model import LockedImage, Platform
from rcc.quick import dataclass
from rcc.recipe.reference import Reference, parse_reference

_SECONDS = 30
_HELP = "pull it there first, or lock from a registry or an OCI layout"


@dataclass(frozen=True, slots=True)
class Daemon:
    """Asks `docker image inspect`, else `podman image inspect`. Neither has the manifests, so the lock says less."""

    environ: Mapping[str, str]

    def resolve(self, reference: Reference, known: LockedImage | None) -> tuple[LockedImage, Findings]:
        """What an image was pulled as."""
        image = self._inspect(reference)
        digest = _digest(image, reference)
        descriptor = image.get("Descriptor")
        described = isinstance(descriptor, dict) and descriptor.get("digest") == digest
        kind = str(descriptor["mediaType"]) if described and isinstance(descriptor, dict) else None
        fields = {"os": image.get("Os"), "architecture": image.get("Architecture"), "variant": image.get("Variant")}
        return LockedImage(str(reference), digest, kind, {platform_name(fields): Platform(None, None)}), ()

    def digest(self, reference: Reference) -> str | None:
        """The digest that an image was pulled as."""
        return _digest(self._inspect(reference), reference)

    def remarks(self) -> Findings:
        """Nothing."""
        return ()

    def _inspect(self, reference: Reference) -> dict[str, Any]:
        name = f"{reference.name}@{reference.digest}" if reference.digest else str(reference)
        reasons = []
        for program in ("docker", "podman"):
            found = shutil.which(program, path=self.environ.get("PATH"))
            answer = self._run(found, name) if found else "is not installed"
            if isinstance(answer, dict):
                return answer
            reasons.append(f"`{program}` {answer}")
        raise FetchError("RCC1209", f"no local image `{name}`: {', '.join(reasons)}", _HELP)

    def _run(self, program: str, name: str) -> dict[str, Any] | str:
        command = [program, "image", "inspect", "--", name]
        try:
            done = subprocess.run(  # noqa: S603 - docker or podman, an argument that cannot be an option
                command, capture_output=True, timeout=_SECONDS, check=False, env=dict(self.environ)
            )
            images = json.loads(done.stdout) if done.returncode == 0 else []
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return "does not answer"
        if not isinstance(images, list) or not images or not isinstance(images[0], dict):
            reached = b"no such image" in done.stderr.lower() or b"not known" in done.stderr.lower()
            return "does not have it" if reached else "does not answer"
        return images[0]


def _digest(image: Mapping[str, Any], reference: Reference) -> str:
    """The digest that the image was pulled by: podman lists that of its manifest too, and `Digest` is the index's."""
    digests = []
    for text in image.get("RepoDigests") or []:
        parsed = parse_reference(str(text))
        if isinstance(parsed, Reference) and parsed.name == reference.name and parsed.digest:
            digests.append(parsed.digest)
    if reference.digest in digests:
        return reference.digest
    if image.get("Digest") in digests:
        return str(image["Digest"])
    if not digests:
        message = f"the local image `{reference}` was built or loaded here, so no registry has a digest of it"
        raise FetchError(
            "RCC1209", message, "push it to a registry and pull it again: nodes can only pull what one has"
        )
    return digests[0]
