"""Plans made by hand, and generated ones: what targets are given, without the passes before them."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

from hypothesis import strategies as st

from rcc.plan.canonical import digest
from rcc.plan.model import (
    Assert,
    CarriedFile,
    Container,
    FileRef,
    Gid,
    Group,
    GroupHealth,
    Healthcheck,
    Image,
    K8s,
    Model,
    Mount,
    Plan,
    Rank,
    Staging,
    Unpinned,
)

DIGEST = "sha256:" + "1" * 64
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LAYOUT = "sha256:" + "2" * 64
SCRIPT = b'#!/bin/sh\nexec "$@"\n'
HUB = "/mnt/nas/ai/huggingface/hub"
HEALTH = Healthcheck(port=30000, path="/health", interval=30, timeout=30, retries=5, start_period=2700)
NO_K8S = K8s(None, None, None, None, (), (), {}, None, "lws")
ROWS = (
    {"1": (0, 96001542), "14": (0, 96004171)},
    {"1": (96001542, 192003084), "14": (96004171, 192008342)},
    {"1": (192003084, 288004626), "14": (192008342, 288012512)},
    {"1": (288004626, 384006168), "14": (288012512, 384016682)},
)


def sealed(plan: Plan) -> Plan:
    """The plan with its own hash in it; one that holds bytes that are no UTF-8, as no recipe can, has none."""
    try:
        return replace(plan, plan=digest(plan))
    except UnicodeEncodeError:
        return replace(plan, plan="sha256:" + "0" * 64)


def container(name: str = "hello-rank0", **fields: Any) -> Container:
    """A container of the `cpu` profile."""
    plain: dict[str, Any] = {
        "image": "localhost/rcc-hello:1",
        "platform": None,
        "enter": None,
        "entrypoint": ("/bin/serve",),
        "command": ("--port", "8080"),
        "env": {"GREETING": "hello"},
        "late_env": {},
        "secrets": (),
        "user": None,
        "mounts": (Mount("~/.cache/rcc/hello", "/rcc/cache", False, "cache"),),
        "shm_size": None,
        "memory": None,
        "network": "host",
        "ipc": "private",
        "gpus": None,
        "devices": (),
        "cap_add": (),
        "ulimits": {},
        "oom_score_adj": None,
        "stop_grace": 10,
        "restart": "unless-stopped",
        "healthcheck": None,
        "labels": {"dev.rcc.id": "hello", "dev.rcc.rank": "0"},
    }
    return Container(name, **{**plain, **fields})


def rank(number: int = 0, node: str = "spark1", made: Container | None = None, **fields: Any) -> Rank:
    """A rank on a node that is reached by ssh only where `ssh` says so."""
    plain: dict[str, Any] = {
        "host": "127.0.0.1",
        "fabric": "127.0.0.1",
        "head": number == 0,
        "ssh": None,
        "install_dir": "~/.rcc/hello",
        "arch": None,
        "gpus": 0,
        "unified_memory": False,
        "hf_cache": None,
        "cache_dir": "~/.cache/rcc/hello",
        "ports": (8080,),
        "gid": None,
        "asserts": (),
        "staging": (),
    }
    return Rank(number, node, container=made or container(), **{**plain, **fields})


def plan_of(*ranks: Rank, **fields: Any) -> Plan:
    """A plan of these ranks; workers start first."""
    head = ranks[0]
    check = head.container.healthcheck
    plain: dict[str, Any] = {
        "id": "hello",
        "name": "Hello",
        "plan": "",
        "locked": False,
        "unpinned": (Unpinned("image", "engine", "a tag can be moved"),),
        "image": Image(head.container.image, None),
        "staging_image": None,
        "models": (),
        "group": Group(
            size=len(ranks),
            start_order=tuple(reversed(range(len(ranks)))),
            health=GroupHealth(0, head.host, check) if check else None,
            restart="group" if len(ranks) > 1 else "self",
        ),
        "files": (),
        "k8s": NO_K8S,
        "ranks": ranks,
    }
    return sealed(Plan(**{**plain, **fields}))


def single(**fields: Any) -> Plan:
    """One node, nothing special: a `custom` engine with a health check. `fields` are the container's."""
    check = Healthcheck(port=8080, path="/health", interval=5, timeout=20, retries=3, start_period=60)
    return plan_of(rank(made=container(**{"healthcheck": check, **fields})))


def four() -> Plan:
    """Four nodes with everything that a group needs: RDMA, late-bound GID, staged rows, a carried wrapper."""
    return plan_of(
        *(_of_four(number) for number in range(4)),
        id="dsv41",
        name="A large model on four nodes",
        locked=True,
        unpinned=(),
        image=Image("docker.io/example/engine:1.6", DIGEST),
        models=(_MODEL,),
        files=(CarriedFile("launch.sh", "sha256:" + sha256(SCRIPT).hexdigest(), True, SCRIPT),),
    )


_SNAPSHOT = f"models--example--large/snapshots/{COMMIT}"
_MODEL = Model("model", "example/large", COMMIT, "sha256:" + "3" * 64, f"/rcc/hf/hub/{_SNAPSHOT}", f"{HUB}/{_SNAPSHOT}")
_NCCL = {"NCCL_NET": "IB", "NCCL_IB_HCA": "rocep1s0f0,roceP2p1s0f0", "NCCL_SOCKET_IFNAME": "enp1s0f0np0"}


def _of_four(number: int) -> Rank:
    fabric = f"192.168.200.{11 + number}"
    made = container(
        f"dsv41-rank{number}",
        image=f"docker.io/example/engine@{DIGEST}",
        platform="linux/arm64",
        enter=("sh", "/rcc/enter"),
        entrypoint=("sh", "/launch.sh"),
        command=(
            "--trust-remote-code",
            "--model-path", f"/rcc/hf/hub/{_SNAPSHOT}", "--tp", "4", "--nnodes", "4", "--node-rank", str(number),
            "--dist-init-addr", "192.168.200.11:25000", "--host", "0.0.0.0", "--port", "30000",
        ),
        env={**_NCCL, "NODE_RANK": str(number), "NNODES": "4", "HF_HUB_OFFLINE": "1", "JSON": '{"a": {"b": 1}}'},
        late_env={"B12X_ROCE_GID_INDEX": "node.gid_index"},
        mounts=(
            Mount(FileRef("launch.sh", "sha256:" + sha256(SCRIPT).hexdigest()), "/launch.sh", True, "file"),
            Mount("/home/spark/rows", "/rows", True, "staged"),
            Mount(HUB, "/rcc/hf/hub", True, "hub"),
            Mount("~/.cache/rcc/dsv41", "/rcc/cache", False, "cache"),
        ),
        shm_size=34359738368,
        gpus="all",
        devices=("/dev/infiniband",),
        cap_add=("IPC_LOCK",),
        ulimits={"memlock": -1, "stack": 67108864},
        oom_score_adj=500,
        stop_grace=120,
        restart="no",
        healthcheck=HEALTH if number == 0 else None,
        labels={
            "dev.rcc.id": "dsv41", "dev.rcc.rank": str(number), "dev.rcc.image": "docker.io/example/engine:1.6"
        },
    )  # fmt: skip
    return rank(
        number,
        f"spark{number + 1}",
        made,
        host=f"10.0.0.{11 + number}",
        fabric=fabric,
        ssh=f"spark@10.0.0.{11 + number}",
        install_dir="~/.rcc/dsv41",
        arch="arm64",
        gpus=1,
        unified_memory=True,
        hf_cache="/mnt/nas/ai/huggingface",
        cache_dir="~/.cache/rcc/dsv41",
        ports=(30000, 25000) if number == 0 else (),
        gid=Gid(_NCCL["NCCL_IB_HCA"], fabric),
        staging=(_staging(number),),
    )


def _staging(number: int) -> Staging:
    return Staging(
        id="engram",
        kind="sparse-rows",
        format="sparse-copy",
        src=_MODEL.host_path or "",
        dst="/home/spark/rows",
        tensors="layers.*.engram.embed.*",
        tiling="base-rem",
        manifest="engram-local.json",
        serve=False,
        include=(),
        exclude=(),
        min_free=None,
        rate_limit=None,
        source=f"example/large@{COMMIT}",
        layout=LAYOUT,
        rows=ROWS[number],
    )


def with_container(plan: Plan, number: int = 0, **fields: Any) -> Plan:
    """The plan with other fields in the container of one rank."""
    return with_rank(plan, number, container=replace(plan.ranks[number].container, **fields))


def with_rank(plan: Plan, number: int = 0, **fields: Any) -> Plan:
    """The plan with other fields in one rank."""
    ranks = tuple(replace(one, **fields) if one.rank == number else one for one in plan.ranks)
    return sealed(replace(plan, ranks=ranks))


def with_secrets(plan: Plan, *names: str) -> Plan:
    """The plan with these secrets on its first rank."""
    return with_container(plan, secrets=names, enter=("sh", "/rcc/enter"))


def with_asserts(plan: Plan, contents: Mapping[str, str]) -> Plan:
    """The plan with asserts, path to text, on its first rank."""
    checks = tuple(Assert(path, text) for path, text in contents.items())
    return with_rank(with_container(plan, enter=("sh", "/rcc/enter")), asserts=checks)


# --- generated -----------------------------------------------------------------------------------------------------

_AWKWARD = [*"${}()%\"'\\;#:=,-[]&*!|>?@~` aX0\n\t\r\x01\x7f\x85é\u2028\ufffe😀"]
_SNIPPETS = [
    "$HOME", "${X}", "${X:-d}", "${", "$(X)", "$$", "%h", "%%", "{{ x }}", "no", "y", "1e3", "0o17", "2001-01-01", "~",
    "null", "--", "-e", "'\\''", '"a"', "\\x41", "\r\n", "a b", "$(touch pwned)", "x; rm -rf", "`id`", "",
]  # fmt: skip
_ODD_NAMES = ["a.b", "a-b", "1A", "y", "no", "a b", "é", "1e3", "A$X", "null"]


class _Dice(Random):
    """Values that some format treats specially."""

    def text(self) -> str:
        pieces = [self.choice(_SNIPPETS if self.random() < 0.3 else _AWKWARD) for _ in range(self.randrange(8))]
        return "".join(piece if self.random() < 0.9 else chr(self.randrange(1, 0xD800)) for piece in pieces)

    def texts(self, most: int) -> tuple[str, ...]:
        return tuple(self.text() for _ in range(self.randrange(most + 1)))

    def program(self) -> str:
        text = self.text()
        return text if text and text[0] not in "[-" else "p" + text

    def name(self, odd: bool) -> str:
        if odd and self.random() < 0.3:
            return self.choice(_ODD_NAMES)
        return self.choice("ABXYZ") + "".join(self.choices("ABX_019", k=self.randrange(6)))

    def path(self) -> str:
        """A normalised absolute path that every version of docker reads alike."""
        parts = [self.text().replace("/", "").strip() for _ in range(self.randrange(1, 4))]
        kept = [part for part in parts if part not in ("", ".", "..") and "\r\n" not in part]
        return "/" + "/".join(kept or ["a"])


def plans(*, odd_names: bool = True, enter: bool = False) -> st.SearchStrategy[Plan]:
    """One-node plans with hard argv, environment, labels and mounts; with `enter`, all that survives a shell."""
    return st.integers(0, 2**64).map(lambda seed: random_plan(seed, odd_names=odd_names, enter=enter))


def random_plan(seed: int, *, odd_names: bool = True, enter: bool = False) -> Plan:
    """The plan of a seed: hypothesis itself would take longer to make one than a target does to say it."""
    dice = _Dice(seed)
    targets = dict.fromkeys(dice.path() for _ in range(dice.randrange(4)))
    return single(
        entrypoint=(dice.program(), *dice.texts(2)),
        command=dice.texts(5),
        env={dice.name(odd_names and not enter): dice.text() for _ in range(dice.randrange(6))},
        labels={"dev.rcc.id": "hello", "dev.rcc.rank": "0", "note": dice.text()},
        mounts=tuple(Mount(dice.path(), target, dice.random() < 0.5, "bind") for target in targets),
        enter=("sh", "/rcc/enter") if enter else None,
    )
