"""A recipe with every template filled and every default decided, for the nodes that it runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from rcc.cluster.model import Hardware, K8sKeys, Node
from rcc.engines.model import Engine, Health
from rcc.quick import dataclass
from rcc.recipe.model import MAIN_MODEL, Recipe
from rcc.source import Place


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line decides: `nodes`, `topology`, `hf_cache` and `id` stand in for what the files say."""

    nodes: tuple[str, ...] | None = None
    topology: str | None = None
    hf_cache: str | None = None
    id: str | None = None
    k8s_workload: str = "lws"
    locked: bool = False
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from, in words, and its place where it stands in a file (found only when asked for)."""

    what: str
    find: Callable[[], Place | None] = field(default=lambda: None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EnvValue:
    """A variable of one rank's environment: its value, or the late-bound name that gives it on the node."""

    name: str
    value: str
    late: str | None
    origin: Origin
    overrode: tuple[tuple[str, Origin], ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedFile:
    """A file that the artifacts carry, under its own name."""

    file: str
    sha256: str
    executable: bool
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ResolvedMount:
    """A mount of the recipe's: `source` an absolute path on the node or a carried file."""

    source: str | ResolvedFile
    target: str
    read_only: bool
    sha256: str | None


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model: a repo and the commit that is served, where one is known; or `repo` is an absolute path on the nodes."""

    id: str
    repo: str
    revision: str
    commit: str | None
    tree: str | None

    @property
    def is_path(self) -> bool:
        """Whether the recipe gave a folder on the nodes in place of a Hub repository."""
        return self.repo.startswith("/")

    @property
    def folder(self) -> str:
        """The repository's folder in a Hugging Face cache."""
        return "models--" + self.repo.replace("/", "--")


@dataclass(frozen=True, slots=True)
class ResolvedStaging:
    """What one rank has on its own disk before the engine starts, also in the plan.

    `layout` and `rows` (layer to half-open range) are None without a lock. `source` is `org/name@commit` where known.
    """

    id: str
    kind: str
    format: str | None
    src: str
    dst: str
    tensors: str | None
    tiling: str | None
    manifest: str | None
    serve: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    min_free: int | None
    rate_limit: int | None
    source: str | None
    layout: str | None
    rows: Mapping[str, tuple[int, int]] | None


@dataclass(frozen=True, slots=True)
class ResolvedImage:
    """An image: as asked, the name to which a digest is added, and the digest where one is known."""

    asked: str
    name: str
    digest: str | None

    @property
    def reference(self) -> str:
        """What a container engine is given: by digest where one is known, and then without a tag."""
        return f"{self.name}@{self.digest}" if self.digest else self.asked


@dataclass(frozen=True, slots=True)
class ResolvedRank:
    """One rank's values. `gid_index` is `auto`, `nccl` or a number; `hca` is the final `NCCL_IB_HCA`."""

    rank: int
    node: Node
    hf_cache: str | None
    cache_dir: str
    install_dir: str
    ssh: str | None
    env: tuple[EnvValue, ...]
    entrypoint: tuple[str, ...] | None
    args: tuple[str, ...]
    mounts: tuple[ResolvedMount, ...]
    staging: tuple[ResolvedStaging, ...]
    asserts: tuple[tuple[str, str], ...]
    gid_index: str | int
    hca: str

    @property
    def needs_gid(self) -> bool:
        """Whether it starts with a GID index or not at all: a search that may come to nothing leaves NCCL its own."""
        return self.gid_index not in ("auto", "nccl") or any(one.late for one in self.env)

    def is_entered(self, secrets: tuple[str, ...]) -> bool:
        """Whether something must happen in the container before the engine's process is exec'ed."""
        late = any(one.late for one in self.env)
        return bool(late or self.gid_index == "auto" or self.staging or self.asserts or secrets)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A recipe on its nodes. `recipe` gives the values that need no deciding; `origins` where written keys stand."""

    id: str
    name: str
    recipe: Recipe
    engine: Engine
    hardware: Hardware
    topology: str | None
    image: ResolvedImage
    staging_image: ResolvedImage | None
    models: tuple[ResolvedModel, ...]
    port: int | None
    rendezvous_port: int | None
    health: Health | None
    ranks: tuple[ResolvedRank, ...]
    k8s: K8sKeys
    k8s_workload: str
    locked: bool

    @property
    def main_model(self) -> ResolvedModel | None:
        """What the recipe's own `model` names."""
        return next((one for one in self.models if one.id == MAIN_MODEL), None)

    @property
    def ipc(self) -> str:
        """Whose shared memory the containers see: a size of their own needs an own one."""
        return self.recipe.ipc or ("private" if self.recipe.shm_size is not None else self.hardware.ipc)

    @property
    def devices(self) -> tuple[str, ...]:
        """Those of the hardware profile, then those of the recipe."""
        return tuple(dict.fromkeys((*self.hardware.devices, *self.recipe.devices)))

    @property
    def cap_add(self) -> tuple[str, ...]:
        """Capabilities of the hardware profile and the recipe."""
        return tuple(sorted({*self.hardware.cap_add, *self.recipe.cap_add}))

    @property
    def ulimits(self) -> Mapping[str, int | tuple[int, int]]:
        """Limits of the hardware profile, where the recipe has no other."""
        return {**self.hardware.ulimits, **self.recipe.ulimits}

    @property
    def stop_grace(self) -> int:
        """Seconds that an engine gets to end by itself: freeing a hundred gigabytes takes a while."""
        return 120 if self.recipe.stop_grace is None else self.recipe.stop_grace
