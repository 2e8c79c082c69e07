"""What the controllers and the kubelet make of manifests: the pod of each rank, with what its containers see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.k8s_reader import expand, process, read_manifests
from tests.support.strict_yaml import UnfaithfulError

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mounted:
    """What a container sees at a path: a path of the node, the content of a ConfigMap's key, or neither."""

    path: str
    read_only: bool
    kind: str
    source: str | None = None
    content: bytes | None = None
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Seen:
    """A container of a rank as it is started, on the node that its volumes allow."""

    node: str | None
    container: Object
    argv: tuple[bytes, ...]
    env: Mapping[str, bytes]
    mounts: Mapping[str, Mounted]
    spec: Object


class Manifests:
    """All objects of a build."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.objects = [one for name in sorted(files) for one in read_manifests(files[name])]
        names = [(one["kind"], one.get("metadata", {}).get("name")) for one in self.objects]
        if len(set(names)) < len(names):
            raise UnfaithfulError(f"two objects of one name: {names}")

    def of(self, kind: str) -> list[Object]:
        return [one for one in self.objects if one["kind"] == kind]

    def named(self, kind: str, name: str) -> Object:
        (found,) = (one for one in self.of(kind) if one["metadata"]["name"] == name)
        return found

    def engines(self, secrets: Mapping[str, bytes]) -> list[Seen]:
        """The engine's container of every rank, in order."""
        return [self.container(rank, secrets) for rank in range(self.size)]

    @property
    def size(self) -> int:
        workload = self._workload()["spec"]
        return int(
            workload["leaderWorkerTemplate"]["size"] if "leaderWorkerTemplate" in workload else workload["replicas"]
        )

    def _workload(self) -> Object:
        (found,) = (*self.of("LeaderWorkerSet"), *self.of("StatefulSet"))
        return found

    def pod(self, rank: int) -> tuple[Object, str, list[Object], list[Object]]:
        """Template, pod's name, claim templates, and the variables that the controller puts first."""
        workload = self._workload()
        spec, name = workload["spec"], workload["metadata"]["name"]
        if workload["kind"] == "StatefulSet":
            label = {"name": "RCC_RANK", "value": str(rank)}
            return spec["template"], f"{name}-{rank}", spec.get("volumeClaimTemplates", []), [label]
        group = spec["leaderWorkerTemplate"]
        values = {
            "LWS_LEADER_ADDRESS": f"{name}-0",
            "LWS_GROUP_SIZE": str(group["size"]),
            "LWS_WORKER_INDEX": str(rank),
        }
        first = [{"name": variable, "value": value} for variable, value in values.items()]
        template = group["workerTemplate" if rank else "leaderTemplate"]
        return template, f"{name}-0-{rank}" if rank else f"{name}-0", group["volumeClaimTemplates"], first

    def container(self, rank: int, secrets: Mapping[str, bytes], init: str | None = None) -> Seen:
        """The engine of a rank, or one of the containers before it."""
        template, pod, claims, first = self.pod(rank)
        spec = template["spec"]
        wanted = spec["initContainers"] if init else spec["containers"]
        (container,) = (one for one in wanted if init in (None, one["name"]))
        given = {**secrets, "RCC_RANK": str(rank).encode()}
        own = {entry["name"] for entry in container.get("env", [])}
        set_first = [entry for entry in first if entry["name"] != "RCC_RANK" and entry["name"] not in own]
        argv, env = process({**container, "env": [*set_first, *container.get("env", [])]}, given)
        bound = {claim["metadata"]["name"]: self._volume(f"{claim['metadata']['name']}-{pod}") for claim in claims}
        mounts = [
            self._mounted(mount, spec.get("volumes", []), bound, env) for mount in container.get("volumeMounts", [])
        ]
        if len({one.path for one in mounts}) < len(mounts):
            raise UnfaithfulError("two mounts at one path")
        return Seen(self._node(spec, bound), container, tuple(argv), env, {one.path: one for one in mounts}, spec)

    def _volume(self, claim: str) -> Object:
        """The volume that is bound in advance to a claim, each naming the other."""
        wanted = self.named("PersistentVolumeClaim", claim)
        volume = self.named("PersistentVolume", wanted["spec"]["volumeName"])
        reference = volume["spec"]["claimRef"]
        same = ("storageClassName", "accessModes")
        if (reference["name"], reference["namespace"]) != (claim, wanted["metadata"]["namespace"]) or any(
            volume["spec"][key] != wanted["spec"][key] for key in same
        ):
            raise UnfaithfulError(f"{claim} and its volume do not name each other")
        return volume

    def _node(self, spec: Object, bound: Mapping[str, Object]) -> str | None:
        """The one node that selectors and volumes leave."""
        nodes = {spec.get("nodeSelector", {}).get("kubernetes.io/hostname")} - {None}
        for volume in bound.values():
            (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            (rule,) = term["matchExpressions"]
            assert (rule["key"], rule["operator"]) == ("kubernetes.io/hostname", "In")
            nodes.update(rule["values"])
        if len(nodes) > 1:
            raise UnfaithfulError(f"a pod that no node may run: {nodes}")
        return next(iter(nodes), None)

    def _mounted(
        self, mount: Object, volumes: list[Object], bound: Mapping[str, Object], env: Mapping[str, bytes]
    ) -> Mounted:
        path, read_only = mount["mountPath"], mount.get("readOnly", False)
        if mount["name"] in bound:
            return Mounted(path, read_only, "claim", bound[mount["name"]]["spec"]["hostPath"]["path"])
        (volume,) = (one for one in volumes if one["name"] == mount["name"])
        (kind,) = volume.keys() - {"name"}
        if kind == "configMap":
            key = mount.get("subPath") or expand(mount["subPathExpr"].encode(), env).decode()
            content = self._content(volume[kind]["name"], key)
            return Mounted(path, read_only, kind, None, content, volume[kind].get("defaultMode", 0o644))
        source = volume[kind].get("path") or volume[kind].get("claimName")
        return Mounted(path, read_only, kind, source)

    def _content(self, name: str, key: str) -> bytes:
        from base64 import b64decode

        found = self.named("ConfigMap", name)
        if key in found.get("data", {}):
            return str(found["data"][key]).encode()
        return b64decode(found["binaryData"][key], validate=True)


def strings(value: Any) -> Iterator[str]:
    """Every string in an object."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
