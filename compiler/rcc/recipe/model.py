"""A recipe as written: typed, nothing decided, templates not yet filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rcc.quick import dataclass
from rcc.source import Path, Place
from rcc.syntax.document import Part

if TYPE_CHECKING:
    from rcc.recipe.layers import Layers


MAIN_MODEL = "model"
"""The id of the model that the recipe's own `model` names, in templates, plans and locks."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A string that may hold templates, and where it stands; only `resolve` makes a plain string of it."""

    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class FurtherModel:
    """An entry of `[[models]]`."""

    id: str
    model: str
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class ExtraMount:
    """An entry of `[[extra_mounts]]`; a relative `host` is a file beside the recipe."""

    host: Raw
    container: Raw
    read_only: bool = False
    sha256: str | None = None

    @property
    def carried(self) -> bool:
        """Whether the artifacts carry the file."""
        return not self.host.text.startswith(("/", "{{", "<<", "~"))


@dataclass(frozen=True, slots=True)
class StagingBlock:
    """An entry of `[[staging]]`; sizes in bytes."""

    kind: str
    id: str
    src: Raw
    dst: Raw
    format: str | None = None
    tensors: str | None = None
    manifest: str | None = None
    tiling: str = "base-rem"
    serve: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_free: int | None = None
    rate_limit: int | None = None


@dataclass(frozen=True, slots=True)
class HealthcheckKeys:
    """`[healthcheck]`: what the recipe changes of the engine's own; durations in seconds."""

    path: str | None = None
    interval: int | None = None
    timeout: int | None = None
    retries: int | None = None
    start_period: int | None = None


@dataclass(frozen=True, slots=True)
class AssertBlock:
    """An entry of `[[assert]]`."""

    path: Raw
    contains: Raw


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe, its bases merged in. Sizes in bytes, durations in seconds; None where a key is absent."""

    engine: str
    docker_image: str
    name: str | None = None
    id: str | None = None
    requires_rcc: str | None = None
    description: str | None = None
    model: str | None = None
    revision: str | None = None
    parent_model: str | None = None
    models: tuple[FurtherModel, ...] = ()
    port: int | None = None
    listen: str = "0.0.0.0"  # noqa: S104 - the documented default: clients are on other machines
    rendezvous_port: int | None = None
    required_nodes: int = 1
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    distributed_backend: str = "mp"
    topology: str | None = None
    shm_size: int | None = None
    memory: int | None = None
    ipc: str | None = None
    devices: tuple[str, ...] = ()
    cap_add: tuple[str, ...] = ()
    ulimits: Mapping[str, int | tuple[int, int]] = field(default_factory=dict)
    stop_grace: int | None = None
    user: str | None = None
    entrypoint: tuple[Raw, ...] | None = None
    args: tuple[Raw, ...] = ()
    secrets: tuple[str, ...] = ()
    env: Mapping[str, Raw] = field(default_factory=dict)
    extra_mounts: tuple[ExtraMount, ...] = ()
    staging: tuple[StagingBlock, ...] = ()
    staging_image: str | None = None
    healthcheck: HealthcheckKeys | None = None
    asserts: tuple[AssertBlock, ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A recipe, its id, and the files that it was read from.

    A linter gets a refused one as well: `lost` then names the keys that could not be read, as `rcc.recipe.rest` does.
    """

    recipe: Recipe
    id: str
    layers: Layers
    lost: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What people read: the recipe's `name`, else its id."""
        return self.recipe.name or self.id

    def place(self, path: Path, part: Part = "value") -> Place:
        """Where the value at `path` stands: in the recipe, or in the base that it comes from."""
        return self.layers.place(path, part)

    def has(self, *path: str | int) -> bool:
        """Whether a key was written, in the recipe or in a base."""
        return self.layers.has(path)
