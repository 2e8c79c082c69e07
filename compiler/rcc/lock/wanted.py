"""What a recipe asks the lock to answer: the input of this room, of staleness and of `rcc lock`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field

from rcc.quick import dataclass
from rcc.recipe.reference import Reference
from rcc.source import Place

IMAGES = {"engine": "docker_image", "staging": "staging_image"}
"""The ids of the image that serves and the one that stages, each with the recipe's key."""


COMMIT = re.compile(r"[0-9a-f]{40}")
"""A revision that no push can move."""

Find = Callable[[], Place | None]
"""Where an entry is asked for; looked up only when something is to be said about it."""


def nowhere() -> None:
    """The place of what no file asks for."""
    return


@dataclass(frozen=True, slots=True)
class WantedImage:
    """An image by the role it has."""

    id: str
    reference: Reference
    find: Find = field(default=nowhere, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WantedModel:
    """A Hugging Face repository (`org/name`) and the branch, tag or commit asked for."""

    id: str
    repo: str
    revision: str
    find: Find = field(default=nowhere, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StagingRequest:
    """What decides a staged layout, and nothing else of the block. `source` is `org/name@revision`, as asked.

    `format`, `tensors`, `tiling` and `world` (ranks) are those of kind `sparse-rows`, `include` and `exclude` those of
    kind `snapshot`.
    """

    kind: str
    source: str
    format: str | None = None
    tensors: str | None = None
    tiling: str | None = None
    world: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def repo(self) -> str:
        """The repository that the data comes from."""
        return self.source.partition("@")[0]

    @property
    def revision(self) -> str:
        """The branch, tag or commit that the data comes from."""
        return self.source.partition("@")[2]


@dataclass(frozen=True, slots=True)
class WantedStaging:
    """A staging block by its id."""

    id: str
    request: StagingRequest
    find: Find = field(default=nowhere, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A file that artifacts carry, as it is now: its path beside the recipe, its sha256 in hex, the owner's x bit."""

    path: str
    sha256: str
    executable: bool
    find: Find = field(default=nowhere, compare=False, repr=False)

    @property
    def mode(self) -> str:
        """The mode that it is carried with."""
        return "0755" if self.executable else "0644"


Entry = WantedImage | WantedModel | WantedStaging | WantedFile


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything that a recipe's lock answers; of `unread` files nothing is known but that they are asked for."""

    images: tuple[WantedImage, ...] = ()
    models: tuple[WantedModel, ...] = ()
    staging: tuple[WantedStaging, ...] = ()
    files: tuple[WantedFile, ...] = ()
    unread: frozenset[str] = frozenset()

    def entries(self) -> Iterator[tuple[tuple[str, str], Entry]]:
        """Each entry with its path in the lock: section and key."""
        for image in self.images:
            yield ("images", image.id), image
        for model in self.models:
            yield ("models", model.id), model
        for block in self.staging:
            yield ("staging", block.id), block
        for file in self.files:
            yield ("files", file.path), file
