"""The plan: command lines, mounts and hashes, on the seed and on small recipes."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from rcc.pipeline import Options
from tests.support.paths import SHARED, needs_shared
from tests.support.texts import CUSTOM, FOUR_NODES, FOUR_RANKS, ONE_NODE, plan_texts, planned, refused

COMMIT = "0123456789abcdef0123456789abcdef01234567"
STAGED = f"""{FOUR_RANKS}revision = "{COMMIT}"
[[staging]]
kind = "sparse-rows"
id = "engram"
src = "{{{{ model.host_path }}}}"
dst = "/data/engram"
"""


def command(plan: dict[str, Any], rank: int = 0) -> list[str]:
    container = plan["ranks"][rank]["container"]
    return [*container["entrypoint"], *container["command"]]


def test_sglang_is_started_with_what_the_plan_decides() -> None:
    plan = planned(FOUR_RANKS + 'args = ["--trust-remote-code"]\n', FOUR_NODES)

    assert command(plan, 3) == [
        *("python3", "-m", "sglang.launch_server", "--trust-remote-code", "--model-path", "org/big", "--tp", "4"),
        *("--nnodes", "4", "--node-rank", "3", "--dist-init-addr", "192.168.200.11:25000"),
        *("--host", "0.0.0.0", "--port", "30000"),
    ]


@pytest.mark.parametrize(
    ("written", "pulled", "digest"),
    [
        ("localhost/x", "localhost/x:latest", None),
        ("localhost:5000/x:1", "localhost:5000/x:1", None),
        (f"localhost/x:1@sha256:{'0' * 64}", f"localhost/x@sha256:{'0' * 64}", f"sha256:{'0' * 64}"),
    ],
)
def test_a_digest_in_the_recipe_decides_and_no_tag_is_latest(written: str, pulled: str, digest: str | None) -> None:
    plan = planned(CUSTOM.replace("localhost/thing:1", written))

    assert plan["ranks"][0]["container"]["image"] == pulled
    assert plan["image"]["digest"] == digest
    assert [one["kind"] for one in plan["unpinned"]] == ([] if digest else ["image"])


def test_a_single_node_gets_no_rendezvous() -> None:
    recipe = FOUR_RANKS.replace("required_nodes = 4", 'listen = "127.0.0.1"').replace("4", "1")

    plan = planned(recipe, ONE_NODE)

    assert command(plan)[3:] == ["--model-path", "org/big", "--tp", "1", "--host", "127.0.0.1", "--port", "30000"]
    assert plan["group"]["health"]["host"] is None
    assert plan["group"]["restart"] == "self"
    assert plan["ranks"][0]["container"]["restart"] == "unless-stopped"


def test_a_commit_gives_the_model_s_path_and_a_branch_does_not() -> None:
    pinned = planned(FOUR_RANKS + f'revision = "{COMMIT}"\n', FOUR_NODES)
    floating = planned(FOUR_RANKS, FOUR_NODES)

    assert f"/rcc/hf/hub/models--org--big/snapshots/{COMMIT}" in command(pinned)
    assert "org/big" in command(floating)
    assert [one["kind"] for one in pinned["unpinned"]] == ["image"]
    assert [one["kind"] for one in floating["unpinned"]] == ["image", "model"]


def test_the_cache_s_hub_is_mounted_whole_and_nothing_above_it() -> None:
    mounts = planned(FOUR_RANKS, FOUR_NODES)["ranks"][0]["container"]["mounts"]

    assert [(one["source"], one["target"], one["read_only"]) for one in mounts] == [
        ("/mnt/nas/hf/hub", "/rcc/hf/hub", True),
        ("~/.cache/rcc/big", "/rcc/cache", False),
    ]


def test_a_staged_snapshot_stands_in_for_the_hub() -> None:
    served = STAGED.replace('"sparse-rows"', '"snapshot"\nserve = true').replace("engram", "weights")

    rank = planned(served, FOUR_NODES)["ranks"][0]

    assert [one["source"] for one in rank["container"]["mounts"]] == ["/data/weights", "~/.cache/rcc/big"]
    assert "/rcc/staged/weights" in rank["container"]["command"]
    assert "HF_HUB_CACHE" not in rank["container"]["env"]


def test_a_model_may_be_a_folder_on_the_nodes() -> None:
    plan = planned(FOUR_RANKS.replace("org/big", "/srv/models/big"), FOUR_NODES.replace("hf_cache", "name", 1))

    assert "/rcc/models/model" in command(plan)
    assert plan["ranks"][0]["container"]["mounts"][0]["source"] == "/srv/models/big"
    assert [one["id"] for one in plan["unpinned"]] == ["engine", "model"]


def test_further_models_have_names_of_their_own() -> None:
    recipe = f"""{FOUR_RANKS}args = ["--draft", "{{{{ models.draft.path }}}}"]
[[models]]
id = "draft"
model = "org/draft"
revision = "{COMMIT}"
"""

    assert f"/rcc/hf/hub/models--org--draft/snapshots/{COMMIT}" in command(planned(recipe, FOUR_NODES))


def test_rows_are_known_to_the_lock_alone() -> None:
    assert refused(STAGED + '[env]\nROWS = "{{ staging.engram.rows }}"\n', FOUR_NODES) == [
        "RCC304 14:9 `staging.engram.rows` is known only to the lock"
    ]


def test_a_staging_source_names_the_commit_that_is_served() -> None:
    source = f"{{{{ hf }}}}/hub/models--org--big/snapshots/{COMMIT}"
    recipe = STAGED.replace("{{ model.host_path }}", source).replace(f'revision = "{COMMIT}"\n', "")

    plan = planned(recipe, FOUR_NODES)

    assert plan["models"][0]["commit"] == COMMIT
    assert plan["ranks"][0]["staging"][0]["source"] == f"org/big@{COMMIT}"


@pytest.mark.parametrize(
    "change",
    [
        ("", "# a comment\n"),
        ("", 'name = "Other"\n'),
        ("", 'description = "text"\n'),
        ("", "[measured]\ntokens = 1.5\n"),
    ],
)
def test_what_does_not_run_leaves_the_hash_as_it_is(change: tuple[str, str]) -> None:
    before, after = change

    assert planned(before + FOUR_RANKS + after, FOUR_NODES)["plan"] == planned(FOUR_RANKS, FOUR_NODES)["plan"]


def test_nodes_that_are_not_used_leave_the_hash_as_it_is() -> None:
    more = FOUR_NODES.replace("[nccl", '[[nodes]]\nname = "spark5"\nhost = "10.0.0.15"\n\n[nccl')
    names = '[k8s.node_names]\nspark1 = "n1"\n'

    assert planned(FOUR_RANKS, more)["plan"] == planned(FOUR_RANKS, FOUR_NODES)["plan"]
    more += f'{names}spark5 = "n5"\n'
    assert planned(FOUR_RANKS, more)["plan"] == planned(FOUR_RANKS, FOUR_NODES + names)["plan"]


def test_what_runs_changes_the_hash() -> None:
    hashes = {
        planned(recipe, cluster)["plan"]
        for recipe, cluster in (
            (FOUR_RANKS, FOUR_NODES),
            (FOUR_RANKS + 'args = ["--x"]\n', FOUR_NODES),
            (FOUR_RANKS + '[env]\nA = ""\n', FOUR_NODES),
            (FOUR_RANKS, FOUR_NODES.replace("192.168.200.14", "192.168.200.24")),
        )
    }

    assert len(hashes) == 4


def test_the_hash_is_over_the_canonical_plan_without_name_and_itself() -> None:
    plan = planned(FOUR_RANKS, FOUR_NODES)
    stated = plan.pop("plan")
    del plan["name"]
    canonical = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert stated == "sha256:" + sha256(canonical.encode()).hexdigest()


def test_recipe_keys_add_to_the_hardware_profile() -> None:
    keys = """
shm_size = "32gb"
memory = "100g"
devices = ["/dev/fuse"]
cap_add = ["SYS_NICE"]
ulimits = { nofile = { soft = 1024, hard = 4096 }, memlock = 64 }
user = "1000:1000"
stop_grace = "90s"
"""
    container = planned(FOUR_RANKS + keys, FOUR_NODES)["ranks"][0]["container"]

    assert container["shm_size"] == 32 << 30
    assert container["memory"] == 100 << 30
    assert container["ipc"] == "private"
    assert container["devices"] == ["/dev/infiniband", "/dev/fuse"]
    assert container["cap_add"] == ["IPC_LOCK", "SYS_NICE"]
    assert container["ulimits"] == {"memlock": 64, "nofile": [1024, 4096], "stack": 67108864}
    assert (container["user"], container["stop_grace"], container["oom_score_adj"]) == ("1000:1000", 90, 500)


def test_health_is_the_head_s_and_the_recipe_may_change_it() -> None:
    plan = planned(FOUR_RANKS + '[healthcheck]\nstart_period = "1h"\npath = "/ready"\n', FOUR_NODES)
    head, worker = (plan["ranks"][rank]["container"]["healthcheck"] for rank in (0, 1))

    assert head == {
        "port": 30000,
        "path": "/ready",
        "interval": 30,
        "timeout": 30,
        "retries": 5,
        "start_period": 3600,
        "address": "127.0.0.1",
    }
    assert worker is None
    assert plan["group"]["start_order"] == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("listen", "host"), [("0.0.0.0", "10.0.0.11"), ("10.0.0.11", "10.0.0.11"), ("192.168.200.11", None), ("::1", None)]
)
def test_where_others_perhaps_do_not_reach_it_the_head_alone_is_asked_for_health(listen: str, host: str | None) -> None:
    plan = planned(f'listen = "{listen}"\n{FOUR_RANKS}', FOUR_NODES)

    assert plan["group"]["health"]["host"] == host
    assert plan["ranks"][0]["container"]["healthcheck"]["address"] == ("127.0.0.1" if listen == "0.0.0.0" else listen)


def test_locked_says_of_each_thing_what_would_pin_it() -> None:
    recipe = FOUR_RANKS + '[[extra_mounts]]\nhost = "/data"\ncontainer = "/data"\n'
    _, found = plan_texts(recipe, FOUR_NODES, Options(locked=True))

    helps = {one.message.split("`")[0]: one.help for one in found}
    assert helps["image "] == "run `rcc lock recipe.toml`"
    assert "`sha256`" in str(helps["mount "])


def test_locked_makes_an_error_of_what_is_not_pinned() -> None:
    (line,) = refused(CUSTOM, options=Options(locked=True))

    assert line == "RCC618 0:0 image `engine` is not pinned: `localhost/thing:1` is a tag, which can be moved"


@needs_shared
def test_the_seed_gives_what_its_launcher_ran() -> None:
    (seed,) = sorted((SHARED / "seed").glob("*.recipe.toml"))
    recipe = Path(seed).read_text()
    plan = planned(recipe.replace('engine = "sglang"', 'engine = "sglang"\nid = "engram-local"', 1), FOUR_NODES)
    snapshot = "models--deepseek-ai--DeepSeek-V4.1-Flash/snapshots/dba1be0a40aa45a94ad051997016db3960a90277"

    for rank in range(4):
        words = command(plan, rank)
        assert words[:2] == ["sh", "/aiden4x-launch.sh"]
        assert words[-14:] == [
            *("--model-path", f"/rcc/hf/hub/{snapshot}", "--tp", "4", "--nnodes", "4", "--node-rank", str(rank)),
            *("--dist-init-addr", "192.168.200.11:25000", "--host", "0.0.0.0", "--port", "30000"),
        ]
    container = plan["ranks"][0]["container"]
    assert container["env"]["NCCL_PROTO"] == "^LL128"
    assert container["shm_size"] == 32 << 30
    assert [one["target"] for one in container["mounts"]] == [
        *("/aiden4x-launch.sh", "/engram-local", "/rcc/hf/hub", "/rcc/cache"),
    ]
    assert plan["ranks"][0]["staging"][0]["src"] == f"/mnt/nas/hf/hub/{snapshot}"
