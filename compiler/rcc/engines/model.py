"""What an engine is: how it is started, and what it needs around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from rcc.quick import dataclass
from rcc.recipe.model import Recipe
from rcc.source import Path


@dataclass(frozen=True, slots=True)
class Health:
    """An engine's own health check; durations in seconds."""

    path: str
    interval: int
    timeout: int
    retries: int
    start_period: int


@dataclass(frozen=True, slots=True)
class World:
    """What an engine's process is made of, for one rank.

    `addresses` are the ranks' own on the fabric. `model` is a path in the container or, where no commit is known, a
    repo id. `entrypoint` is the recipe's where it is `wrapped`, else the engine's command; `args` are the recipe's.
    `differing` are the variables that not all ranks have alike.
    """

    rank: int
    addresses: tuple[str | None, ...]
    model: str | None
    listen: str
    port: int | None
    rendezvous_port: int | None
    tensor: int
    pipeline: int
    data: int
    backend: str
    entrypoint: tuple[str, ...]
    wrapped: bool
    args: tuple[str, ...]
    differing: tuple[str, ...]

    @property
    def nnodes(self) -> int:
        """How many ranks there are."""
        return len(self.addresses)

    @property
    def rendezvous(self) -> str:
        """Where the ranks meet, as `host:port`: an IPv6 address stands in brackets there."""
        head = self.addresses[0]
        host = f"[{head}]" if head and ":" in head else head
        return f"{host}:{self.rendezvous_port}"


@dataclass(frozen=True, slots=True)
class Process:
    """What one rank runs: `entrypoint + command` is its argv."""

    entrypoint: tuple[str, ...]
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Objection:
    """Why an engine cannot run a recipe: the key, what is wrong with it, and what to do."""

    path: Path
    message: str
    help: str


def no_objections(recipe: Recipe) -> Iterator[Objection]:
    """Of an engine that takes every recipe."""
    yield from ()


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine.

    `command` starts it where the recipe has no entrypoint; `process` is the whole of what a rank runs, and `objections`
    what a recipe asks that it cannot do. `owned` maps a flag that the compiler appends to the recipe key that decides
    it; `unused` are keys that it has nothing to do with. `caches` maps an environment variable to a folder below the
    container's cache folder. `address_variable` names the node's fabric address where ranks span nodes.
    `uses_gpus` is false where parallel sizes need not fit the GPUs; with `inner_data_flag` data parallelism happens
    inside the tensor group and takes none of its own. `backends` are the ways in which it spans nodes.
    `only_head_serves` where the other ranks do not listen on `port`. `workers_lend` where they only lend their GPUs:
    they listen on `rendezvous_port`, and the head comes to them.
    """

    name: str
    command: tuple[str, ...]
    process: Callable[[World], Process]
    objections: Callable[[Recipe], Iterator[Objection]] = no_objections
    port: int | None = None
    rendezvous_port: int | None = None
    health: Health | None = None
    owned: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    caches: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    address_variable: str | None = None
    uses_gpus: bool = True
    backends: tuple[str, ...] = ("mp",)
    only_head_serves: bool = False
    workers_lend: bool = False
    inner_data_flag: str | None = None
