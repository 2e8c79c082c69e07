"""Where a value of the plan stands in the user's files: what a target says that its finding is about."""

from __future__ import annotations

from rcc.cluster.model import ClusterFile
from rcc.plan.model import Mount, Plan
from rcc.quick import dataclass
from rcc.recipe.model import RecipeFile
from rcc.resolve.model import Resolved, ResolvedRank
from rcc.source import Path, Place

_OF_MOUNTS = {"source": "host", "target": "container"}
"""How a recipe calls a mount's fields."""


@dataclass(frozen=True, slots=True)
class Origins:
    """A plan with all that it was made of."""

    plan: Plan
    resolved: Resolved
    recipe: RecipeFile
    cluster: ClusterFile

    def find(self, about: Path) -> Place | None:
        """The place of the value at a path of the plan, as `("ranks", 0, "container", "command", 3)`.

        None for a value that nobody wrote, such as a default, and for a path that leads nowhere.
        """
        try:
            return self._find(about)
        except (IndexError, ValueError):
            return None

    def _find(self, about: Path) -> Place | None:
        match about:
            case ("ranks", int(number), "container", str(field), *rest):
                return self._of_container(self.resolved.ranks[number], field, tuple(rest))
            case ("ranks", int(number), str(field), *rest):
                return self._of_rank(self.resolved.ranks[number], field, tuple(rest))
            case ("group", "health", *_):
                return self._written("listen") or self._written("port")
            case ("k8s", "node_names", str(name)) if name in self.cluster.cluster.k8s.node_names:
                return self.cluster.place(about)
        return None

    def _written(self, *path: str | int) -> Place | None:
        return self.recipe.place(path) if self.recipe.has(*path) else None

    def _of_rank(self, rank: ResolvedRank, field: str, rest: Path) -> Place | None:
        match field:
            case "asserts":
                return self._written("assert", *rest) or self._written("assert")
            case "staging":
                return self._written("staging", *rest) or self._written("staging")
            case "node":
                return self._of_node(rank, "name")
            case "ssh":
                return self._of_node(rank, "ssh") or self._of_node(rank, "name")
        return self._of_node(rank, field)

    def _of_node(self, rank: ResolvedRank, key: str) -> Place | None:
        """A key of the node, else that of the same name for all nodes."""
        cluster = self.cluster.cluster
        if getattr(rank.node, key, None) is not None:
            return self.cluster.node_place(rank.node, key)
        return self.cluster.place((key,)) if getattr(cluster, key, None) is not None else None

    def _of_container(self, rank: ResolvedRank, field: str, rest: Path) -> Place | None:
        match (field, *rest):
            case ("entrypoint", *_):
                return self._written("entrypoint", *rest) or self._written("engine")
            case ("command", *_):
                return self._written("args", *rest) or self._written("engine")
            case ("env" | "late_env", str(name)):
                return next((one.origin.find() for one in rank.env if one.name == name), None)
            case ("mounts", int(number), *fields):
                return self._of_mount(rank, number, fields[0] if fields else None)
            case ("labels", str(key)):
                return self._of_label(key)
            case ("devices", int(number)):
                return self._of_device(self.plan.ranks[rank.rank].container.devices[number])
            case ("image", *_):
                return self._written("docker_image")
            case ("name", *_):
                return self._written("id")
            case ("gpus", *_):
                return self._of_node(rank, "gpus") or self._of_hardware("gpus")
        return self._written(field, *rest) or self._of_hardware(field, *rest)

    def _of_mount(self, rank: ResolvedRank, number: int, field: str | int | None) -> Place | None:
        if number < len(rank.mounts):
            key = () if field is None else (_OF_MOUNTS.get(str(field), field),)
            return self._written("extra_mounts", number, *key) or self._written("extra_mounts", number)
        mount: Mount = self.plan.ranks[rank.rank].container.mounts[number]
        id = mount.target.rpartition("/")[2]
        match mount.kind:
            case "cache":
                return self._of_node(rank, "cache_dir")
            case "hub":
                return self._of_cache(rank)
            case "staged":
                return self._of_block(id, "dst")
        return self._of_model(id)

    def _of_cache(self, rank: ResolvedRank) -> Place | None:
        """The command line may have another one than the files."""
        stated = rank.node.hf_cache or self.cluster.cluster.hf_cache
        return self._of_node(rank, "hf_cache") if stated and stated.rstrip("/") == rank.hf_cache else None

    def _of_label(self, key: str) -> Place | None:
        match key.split(".", 3)[2:]:
            case ["image"]:
                return self._written("docker_image")
            case ["model", id]:
                return self._of_model(id)
            case ["layout", id]:
                return self._of_block(id, "id")
        return self._written("id")

    def _of_model(self, id: str) -> Place | None:
        further = [one.id for one in self.recipe.recipe.models]
        return self._written("models", further.index(id), "model") if id in further else self._written("model")

    def _of_block(self, id: str, key: str) -> Place | None:
        return self._written("staging", [one.id for one in self.recipe.recipe.staging].index(id), key)

    def _of_device(self, device: str) -> Place | None:
        own = self.recipe.recipe.devices
        if device in self.resolved.hardware.devices or device not in own:
            return self._of_hardware("devices")
        return self._written("devices", own.index(device))

    def _of_hardware(self, *path: str | int) -> Place | None:
        """A key of the cluster's own profile, else the name of the built-in one."""
        name = self.cluster.cluster.hardware
        if name is None or getattr(self.resolved.hardware, str(path[0]), None) in (None, (), {}):
            return None
        own = name in self.cluster.cluster.profiles
        return self.cluster.place(("hardware", name, *path) if own else ("hardware", "default"))
