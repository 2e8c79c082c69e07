"""OCI images without an image builder: manifests written by hand, as layouts on disk or as a registry's answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class Blobs:
    """Everything that was made, by digest."""

    data: dict[str, bytes] = field(default_factory=dict)

    def add(self, media_type: str, data: bytes, **more: Any) -> dict[str, Any]:
        """Keeps bytes, and gives their descriptor."""
        digest = sha256(data)
        self.data[digest] = data
        return {"mediaType": media_type, "digest": digest, "size": len(data), **more}

    def add_json(self, media_type: str, value: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        # Blanks as no writer of ours has them: the digest must be over the bytes, not over the values.
        return self.add(media_type, json.dumps(value, indent=3).encode(), **more)

    def image(self, os: str, architecture: str, variant: str | None = None, content: bytes = b"") -> dict[str, Any]:
        """An image of one layer for a platform; its descriptor names the platform."""
        platform = {"os": os, "architecture": architecture, **({"variant": variant} if variant else {})}
        layer = self.add(LAYER, content or b"\0" * 1024)
        config = {**platform, "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}, "config": {}}
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.add_json(CONFIG, config),
            "layers": [layer],
        }
        return self.add_json(MANIFEST, manifest, platform=platform)

    def attestation(self, of: Mapping[str, Any]) -> dict[str, Any]:
        """What BuildKit puts beside an image."""
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.add_json(CONFIG, {}), "layers": []}
        return self.add_json(
            MANIFEST,
            manifest,
            platform={"os": "unknown", "architecture": "unknown"},
            annotations={
                "vnd.docker.reference.digest": of["digest"],
                "vnd.docker.reference.type": "attestation-manifest",
            },
        )

    def index(self, entries: Iterable[Mapping[str, Any]], media_type: str = INDEX) -> dict[str, Any]:
        return self.add_json(
            media_type, {"schemaVersion": 2, "mediaType": media_type, "manifests": [dict(one) for one in entries]}
        )

    def multi_arch(self) -> dict[str, Any]:
        """An index for arm64 and amd64, with an attestation."""
        arm, amd = self.image("linux", "arm64", "v8", b"arm" * 400), self.image("linux", "amd64", None, b"amd" * 400)
        return self.index([arm, amd, self.attestation(arm)])

    def write_layout(self, folder: Path, tags: Mapping[str, Mapping[str, Any]]) -> Path:
        """Writes an OCI layout that has descriptors under tags."""
        for digest, data in self.data.items():
            path = folder / "blobs" / digest.replace(":", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        named = [{**one, "annotations": {"org.opencontainers.image.ref.name": tag}} for tag, one in tags.items()]
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": named}))
        return folder
