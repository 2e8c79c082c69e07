"""The cluster file: every key, and the shape of its value."""

from __future__ import annotations

from typing import Any

from rcc.cluster.model import Cluster, Hardware, K8sKeys, Node
from rcc.quick import replace
from rcc.recipe.keys import absolute, capability, device, env_name, limits, raw, size, text
from rcc.recipe.paths import is_system_folder, system_folder
from rcc.recipe.shape import (
    Language,
    Problem,
    Problems,
    Shape,
    array,
    boolean,
    choice,
    either,
    integer,
    mapping,
    missing_key,
    record,
    string,
)
from rcc.source import Path

NODE_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*"
"""A name, an IPv4 or an IPv6 address, and no port: what has a single colon is none of them."""
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{_BYTE}(\.{_BYTE}){{3}}"
SSH = r"([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]{1,5})?"
FOLDER = r"(~/|/)(?!/)(?!(.*/)?\.\.(/|$))[^\0\n]*"

host = string(HOST, "a host name or an address", like="10.0.0.11")
_folder = string(FOLDER, "an absolute path, or one that starts with `~/`, without `..`", like="~/rcc")


def _own(shape: Shape) -> Shape:
    """A folder of rcc's own: as the shape has it, and none of the system's."""

    def own(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is str and is_system_folder(value):
            problems.append(Problem(path, "RCC711", *system_folder(value)))
        return shape(value, path, problems)

    return own


folder, hf_cache = _own(_folder), _own(absolute)
gid_index = either(integer(0, 255), choice("auto", "nccl"), (int,))
dns_name = string(
    r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?",
    "a Kubernetes name",
    hint="use `a-z`, digits, `.` and `-`, a letter or digit first and last, as in `llm-serving`",
)

NODE = {
    "name": string(
        NODE_NAME, "a name of letters, digits, `.`, `_` and `-`, a letter or digit first and last", like="spark1"
    ),
    "host": host,
    "fabric": host,
    "ssh": string(SSH, "an ssh alias or `user@host:port`", like="spark@10.0.0.11:22"),
    "install_dir": folder,
    "arch": choice("amd64", "arm64"),
    "gpus": integer(0),
    "memory": size,
    "hf_cache": hf_cache,
    "cache_dir": folder,
    "hca": text,
    "ifname": text,
    "gid_index": gid_index,
    "vars": mapping(text),
    "env": mapping(raw, env_name),
}
TOLERATION = mapping(either(integer(0), text, (int,)))
K8S = {
    "namespace": dns_name,
    "storage_class": dns_name,
    "runtime_class": dns_name,
    "rdma_resource": string(
        r"[A-Za-z0-9]([A-Za-z0-9./_-]*[A-Za-z0-9])?",
        "a resource name such as `rdma/hca_shared_devices_a`",
        hint="write the name that the device plug-in gives it",
    ),
    "image_pull_secrets": array(dns_name),
    "tolerations": array(TOLERATION),
    "node_names": mapping(dns_name),
    "hf_claim": dns_name,
}
HARDWARE = {
    "arch": choice("amd64", "arm64"),
    "gpus": integer(0),
    "memory": size,
    "unified_memory": boolean,
    "rdma": boolean,
    "devices": array(device),
    "cap_add": array(capability),
    "ulimits": limits,
    "ipc": choice("host", "private"),
    "oom_score_adj": integer(-1000, 1000),
    "env": mapping(text, env_name),
}
hardware_profile = record(Hardware, HARDWARE)


def _hardware(value: Any, path: Path, problems: Problems) -> Any:
    """The name of a profile, or profiles of one's own; `default` names the one to use, which may be a built-in one."""
    if type(value) is not dict:
        return text(value, path, problems), {}
    own = {name: one for name, one in value.items() if name != "default"}
    profiles = {name: hardware_profile(one, (*path, name), problems) for name, one in own.items()}
    if "default" not in value and len(profiles) != 1:
        problems.append(missing_key(path, "default") if profiles else _NO_PROFILE)
        return None, profiles
    chosen = value.get("default", next(iter(profiles), None))
    return text(chosen, (*path, "default"), problems), profiles


_NO_PROFILE = Problem(("hardware",), "RCC204", "`hardware` holds no profile", "add `[hardware.<name>]`", "key")


CLUSTER = {
    "name": text,
    "hf_cache": hf_cache,
    "topology": text,
    "hardware": _hardware,
    "ssh_user": string(r"[A-Za-z_][A-Za-z0-9_.-]*", "a user name", like="spark"),
    "nodes": array(record(Node, NODE, ("name",)), least=1),
    "nccl": mapping(mapping(raw, env_name)),
    "vars": mapping(text),
    "k8s": record(K8sKeys, K8S),
}
LANGUAGE = Language(
    "cluster",
    CLUSTER,
    {"nodes": NODE, "k8s": K8S},
    (
        ("vars",),
        ("nccl", None),
        ("nodes", None, "env"),
        ("nodes", None, "vars"),
        ("hardware", None, "env"),
        ("k8s", "node_names"),
    ),
)


def _make(**values: Any) -> Cluster:
    values["hardware"], values["profiles"] = values.get("hardware", (None, {}))
    values["nodes"] = tuple(replace(node, index=index) for index, node in enumerate(values["nodes"]))
    return Cluster(**values)


CLUSTER_SHAPE = record(_make, CLUSTER, ("nodes",))
