"""What an engine is: how it is started, and what it needs around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from rcc.quick import dataclass


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
    """What an engine's arguments are made of, for one rank.

    `model` is a path in the container or, where no commit is known, a repo id; `meeting` is the head's fabric address.
    """

    rank: int
    nnodes: int
    model: str | None
    listen: str
    port: int | None
    meeting: str | None
    rendezvous_port: int | None
    tensor: int
    pipeline: int
    data: int
    backend: str

    @property
    def rendezvous(self) -> str:
        """Where the ranks meet, as `host:port`: an IPv6 address stands in brackets there."""
        host = f"[{self.meeting}]" if self.meeting and ":" in self.meeting else self.meeting
        return f"{host}:{self.rendezvous_port}"


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine.

    `command` starts it where the recipe has no entrypoint, `arguments` follow the recipe's own. `owned` maps a flag
    that the compiler appends to the recipe key that decides it. `caches` maps an environment variable to a folder
    below the container's cache folder. `address_variable` names the node's fabric address where ranks span nodes.
    `uses_gpus` is false where parallel sizes need not fit the GPUs; with `inner_data_flag` data parallelism happens
    inside the tensor group and takes none of its own. `backends` are the ways in which it spans nodes.
    """

    name: str
    command: tuple[str, ...]
    arguments: Callable[[World], tuple[str, ...]]
    port: int | None = None
    rendezvous_port: int | None = None
    health: Health | None = None
    owned: Mapping[str, str] = field(default_factory=dict)
    caches: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    address_variable: str | None = None
    uses_gpus: bool = True
    backends: tuple[str, ...] = ("mp",)
    inner_data_flag: str | None = None
