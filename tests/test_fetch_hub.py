"""Models of a hub: commits, hashes, layouts from headers alone, and what a hub may refuse."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rcc.diagnostic import Findings, Severity
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.fetch.verify import verify
from rcc.fetch.wire import Limits
from rcc.lock.model import Lock
from rcc.lock.wanted import StagingRequest, Wanted, WantedModel, WantedStaging
from tests.support.checkpoints import INDEX, Content, index, shard, sharded, table
from tests.support.hub import TOKEN, Hub, run_hub
from tests.support.large_hub import large_hub
from tests.support.server import Reply, Server

REPO = "spark/small"
CALM = Limits(connect=10, read=10, total=20, patience=3)
HASTY = Limits(connect=1, read=0.5, total=2, patience=1)
FIRST, SECOND = "a" * 40, "b" * 40
ROWS = {
    "model-00001-of-00002.safetensors": {**table(1, 10), "norm": ("BF16", (4,))},
    "model-00002-of-00002.safetensors": table(14, 11),
}


def asked(revision: str = "main", staging: StagingRequest | None = None) -> Wanted:
    blocks = (WantedStaging("engram", staging),) if staging else ()
    return Wanted(models=(WantedModel("model", REPO, revision),), staging=blocks)


def rows(revision: str = "main", world: int = 4, tiling: str = "base-rem") -> StagingRequest:
    return StagingRequest("sparse-rows", f"{REPO}@{revision}", "sparse-copy", "layers.*.engram.embed.*", tiling, world)


def lock_of(
    hub: Hub, wanted: Wanted, old: Lock | None = None, upgrade: Upgrade | None = None, limits: Limits = CALM
) -> tuple[Lock | None, Findings]:
    with Sources(hub.environ, limits=limits) as sources:
        lock, _, found = update(wanted, old, sources, upgrade or Upgrade())
    return lock, found


def refused(answer: tuple[Lock | None, Findings], code: str, *said: str) -> None:
    lock, found = answer
    assert lock is None
    assert [one.code for one in found] == [code]
    assert found[0].help
    assert found[0].notes
    for words in said:
        assert words in found[0].message
    assert TOKEN not in str(found)


@pytest.fixture(autouse=True)
def no_token_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr("huggingface_hub.constants.AGENT_HARNESSES_PATH", str(tmp_path / "harnesses"))


def test_a_commit_and_the_hashes_of_its_files(tmp_path: Path) -> None:
    files = sharded(ROWS)
    hub = Hub()
    hub.add(REPO, files)
    with run_hub(hub):
        lock, found = lock_of(hub, asked())
    assert hub.server

    assert not found
    assert lock
    model = lock.models["model"]
    assert (model.repo, model.revision, model.commit) == (REPO, "main", FIRST)
    assert set(model.files) == set(files)
    for path, content in files.items():
        on_disk = tmp_path / "file"
        on_disk.write_bytes(content.data)
        locked = model.files[path]
        assert locked.size == len(content.data)
        if content.lfs:
            assert printed("sha256sum", on_disk) == locked.sha256
        else:
            assert printed("git", "hash-object", on_disk) == locked.git_sha1
    assert hub.server.lines == [f"GET /api/models/{REPO}/revision/main"]


def printed(*command: Any) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, check=True).stdout.decode().split()[0]


@pytest.mark.parametrize("page", [1, 2, 100])
def test_a_hub_that_describes_no_files_is_asked_for_its_tree(page: int) -> None:
    hub = Hub(described=False, page=page)
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        listed = lock_of(hub, asked())
        hub.described = True
        assert listed == lock_of(hub, asked())


def test_a_next_page_elsewhere_is_not_asked_for() -> None:
    hub = Hub(described=False)
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub), Server(lambda asked: Reply(500)) as elsewhere:
        assert hub.server
        inner = hub.answer
        hub.server.answer = lambda asked: replace(inner(asked), headers={"Link": f'<{elsewhere.url}/x>; rel="next"'})
        refused(lock_of(hub, asked()), "RCC1214")

    assert not elsewhere.asked


def test_layouts_come_from_headers_alone() -> None:
    hub = Hub()
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub, cdn=True):
        lock, found = lock_of(hub, asked(staging=rows()))
    assert hub.cdn

    assert not found
    assert lock
    block = lock.staging["engram"]
    assert block.ranks[0] == {"1": (0, 3), "14": (0, 3)}
    assert block.ranks[3] == {"1": (8, 10), "14": (9, 11)}
    assert set(block.shards) == set(ROWS)
    assert block.tensors["layers.14.engram.embed.scale"].shape == (11, 8)
    for one in hub.cdn.asked:
        first, last = one.headers["range"].removeprefix("bytes=").split("-")
        assert int(first) == 0
        assert int(last) < 1000


@pytest.mark.parametrize(
    ("tiling", "bounds"),
    [("base-rem", (96004171, 192008342, 288012512)), ("floor", (96004170, 192008341, 288012511))],
)
def test_tables_of_the_size_that_they_really_have(tiling: str, bounds: tuple[int, int, int]) -> None:
    shards = {
        "model-00001-of-00002.safetensors": table(1, 384_006_168),
        "model-00002-of-00002.safetensors": table(14, 384_016_682),
    }
    files = {
        **sharded({}),
        **{name: shard(one, claimed="c" * 64) for name, one in shards.items()},
        INDEX: index(shards),
    }
    hub = Hub()
    hub.add(REPO, files)
    with run_hub(hub):
        lock, found = lock_of(hub, asked(staging=rows(tiling=tiling)))

    assert not found
    assert lock
    ranks = [rank["14"] for rank in lock.staging["engram"].ranks]
    assert ranks == [(0, bounds[0]), (bounds[0], bounds[1]), (bounds[1], bounds[2]), (bounds[2], 384_016_682)]


def test_a_large_model_in_few_requests() -> None:
    with large_hub() as hub:
        assert hub.server
        lock, found = lock_of(hub, asked(staging=rows()))
        assert not found
        assert lock
        assert len(hub.server.asked) <= 60

        hub.server.asked.clear()
        assert lock_of(hub, asked(staging=rows()), lock) == (lock, ())
        assert not hub.server.asked

        assert lock_of(hub, asked(staging=rows()), lock, Upgrade(models=frozenset(["model"]))) == (lock, ())
        assert len(hub.server.asked) == 1


def test_a_branch_that_moves_takes_its_rows_along() -> None:
    hub = Hub()
    repo = hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        first, _ = lock_of(hub, asked(staging=rows()))
        repo.commits[SECOND] = sharded({**ROWS, "model-00002-of-00002.safetensors": table(14, 99)})
        repo.branches["main"] = SECOND

        assert lock_of(hub, asked(staging=rows()), first) == (first, ())
        assert first
        with Sources(hub.environ) as sources:
            assert [one.code for one in verify(first, sources)] == ["RCC1219"]
        second, found = lock_of(hub, asked(staging=rows()), first, Upgrade(models=frozenset(["model"])))

    assert not found
    assert second
    assert second.models["model"].commit == second.staging["engram"].commit == SECOND
    assert second.staging["engram"].ranks[3]["14"] == (75, 99)


def test_a_locked_commit_that_is_gone() -> None:
    hub = Hub()
    repo = hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        lock, _ = lock_of(hub, asked())
        repo.commits = {SECOND: repo.commits[FIRST]}
        assert lock
        with Sources(hub.environ) as sources:
            found = verify(lock, sources)

    assert [one.code for one in found] == ["RCC1220"]
    assert FIRST in found[0].message


def test_a_revision_that_is_gone() -> None:
    hub = Hub()
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        refused(lock_of(hub, asked("dev")), "RCC1213", REPO, "dev")
        refused(lock_of(hub, asked("e" * 40)), "RCC1213", "e" * 40)


def test_a_private_model(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    hub.add(REPO, sharded(ROWS)).private = True
    with run_hub(hub):
        refused(lock_of(hub, asked()), "RCC1212", REPO, "without a login")
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        assert lock_of(hub, asked())[0]
        monkeypatch.setenv("HF_TOKEN", TOKEN.upper())
        refused(lock_of(hub, asked()), "RCC1212", REPO)


def test_a_gated_model(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    hub.add(REPO, sharded(ROWS)).gated = True
    with run_hub(hub, cdn=True):
        assert lock_of(hub, asked())[0]  # what the files are is public
        refused(lock_of(hub, asked(staging=rows())), "RCC1211", REPO)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        assert lock_of(hub, asked(staging=rows()))[0]
    assert hub.cdn
    assert hub.cdn.asked


def test_a_busy_hub() -> None:
    hub = Hub(busy=["1"])
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        assert lock_of(hub, asked())[0]
        hub.busy = ["3600"]
        refused(lock_of(hub, asked()), "RCC1205", "3600 s")


def test_a_model_that_has_moved() -> None:
    hub = Hub()
    hub.add("spark/large", sharded(ROWS))
    hub.add(REPO, {}).moved_to = "spark/large"
    with run_hub(hub):
        lock, found = lock_of(hub, asked(staging=rows()))

    assert lock
    assert [(one.code, one.severity) for one in found] == [("RCC1218", Severity.WARNING)]
    assert "spark/large" in found[0].message


def test_a_hub_that_is_not_there_or_hangs() -> None:
    hub = Hub()
    with run_hub(hub):
        pass
    refused(lock_of(hub, asked()), "RCC1202", "connection refused")
    with run_hub(hub):
        assert hub.server
        hub.server.answer = lambda asked: Reply(hang=True)
        refused(lock_of(hub, asked(), limits=HASTY), "RCC1202", "no answer within 0.5 s")


def test_offline_mode_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hub = Hub()
    with run_hub(hub):
        refused(lock_of(hub, asked()), "RCC1202", "HF_HUB_OFFLINE")
    assert hub.server
    assert not hub.server.asked


def test_nothing_else_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a day huggingface_hub would ask for a list of agents."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", False)
    hub = Hub()
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        assert hub.server
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.server.url)
        lock_of(hub, asked())

    assert [line for line in hub.server.lines if "models" not in line] == []


ANSWERS: dict[str, Callable[[], Reply]] = {
    "no JSON": lambda: Reply(200, body=b"<html>"),
    "no object": lambda: Reply(200, body=b"[]"),
    "nothing": lambda: Reply(200, body=b'{"id": "spark/small"}'),
    "no files": lambda: Reply(200, body=b'{"id": "spark/small", "sha": "%s"}' % FIRST.encode()),
    "no hash": lambda: Reply(
        200, body=b'{"id": "spark/small", "sha": "%s", "siblings": [{"rfilename": "x"}]}' % FIRST.encode()
    ),
    "a path out": lambda: Reply(
        200,
        body=b'{"id": "spark/small", "sha": "%s", "siblings": [{"rfilename": "../x", "size": 1, "blobId": "%s"}]}'
        % (FIRST.encode(), FIRST.encode()),
    ),
    "a failure": lambda: Reply(500),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_hub_that_misbehaves(answer: Callable[[], Reply]) -> None:
    hub = Hub()
    with run_hub(hub):
        assert hub.server
        hub.server.answer = lambda asked: answer()
        refused(lock_of(hub, asked()), "RCC1214", hub.server.url)


def test_a_hub_that_knows_no_ranges_is_not_read_whole() -> None:
    hub = Hub(ranges=False)
    hub.add(
        REPO, {**sharded(ROWS), "model-00001-of-00002.safetensors": shard({**table(1, 10), "big": ("U8", (1 << 20,))})}
    )
    with run_hub(hub):
        refused(lock_of(hub, asked(staging=rows())), "RCC1214", "parts of files")


def broken(files: dict[str, Content]) -> list[Any]:
    first = "model-00001-of-00002.safetensors"
    cap = (100_000_001).to_bytes(8, "little")
    return [
        ("over the cap", {**files, first: Content(cap + b"{", 1 << 28, True, "d" * 64)}, "RCC1215", "100000001"),
        ("no JSON", {**files, first: Content.of((8).to_bytes(8, "little") + b"{nothing", lfs=True)}, "RCC1215", first),
        ("too short", {**files, first: Content.of(b"\1", lfs=True)}, "RCC1215", first),
        ("missing shard", {path: one for path, one in files.items() if path != first}, "RCC1215", first),
        ("index is no JSON", {**files, INDEX: Content.of(b"{")}, "RCC1215", "index"),
        ("other header", {**files, first: shard({"norm": ("BF16", (4,))})}, "RCC1215", first),
        ("no safetensors", {"config.json": files["config.json"]}, "RCC1215", "safetensors"),
    ]


@pytest.mark.parametrize(("name", "files", "code", "said"), broken(sharded(ROWS)))
def test_checkpoints_that_cannot_be_staged(name: str, files: dict[str, Content], code: str, said: str) -> None:
    hub = Hub()
    hub.add(REPO, files)
    with run_hub(hub):
        lock, found = lock_of(hub, asked(staging=rows()))

    assert lock is None
    assert {one.code for one in found} == {code}, name
    assert said in found[0].message
    assert "asked for staging `engram`" in found[0].notes


def test_an_index_that_is_not_what_its_hash_says() -> None:
    files = sharded(ROWS)
    hub = Hub()
    repo = hub.add(REPO, files)
    with run_hub(hub):
        lock, _ = lock_of(hub, asked())
        repo.commits[FIRST] = {**files, INDEX: Content.of(files[INDEX].data.replace(b"norm", b"form"))}
        refused(lock_of(hub, asked(staging=rows()), lock), "RCC1217", INDEX)


def test_one_file_without_an_index() -> None:
    hub = Hub()
    hub.add(REPO, {"model.safetensors": shard(table(1, 10))})
    with run_hub(hub):
        lock, found = lock_of(hub, asked(staging=rows(world=3)))
    assert hub.server

    assert not found
    assert lock
    assert [rank["1"] for rank in lock.staging["engram"].ranks] == [(0, 4), (4, 7), (7, 10)]
    sizes = [one.headers["range"] for one in hub.server.asked if "range" in one.headers]
    assert sizes[0] == "bytes=0-7"
    assert len(sizes) == 2


def test_a_snapshot_is_staged_by_its_globs() -> None:
    request = StagingRequest("snapshot", f"{REPO}@main", include=("*.json", "*.safetensors"), exclude=("model-00002*",))
    hub = Hub()
    hub.add(REPO, sharded(ROWS))
    with run_hub(hub):
        lock, found = lock_of(hub, asked(staging=request))
        nothing = lock_of(hub, asked(staging=StagingRequest("snapshot", f"{REPO}@main", include=("*.gguf",))))

    assert not found
    assert lock
    assert set(lock.staging["engram"].files) == {"model-00001-of-00002.safetensors", INDEX, "config.json"}
    refused(nothing, "RCC1215", "leave no file")


def test_a_source_that_is_none_of_the_models() -> None:
    hub = Hub()
    hub.add(REPO, sharded(ROWS))
    hub.add("spark/other", sharded(ROWS), SECOND)
    request = StagingRequest(
        "sparse-rows", f"spark/other@{SECOND}", "sparse-copy", "layers.*.engram.embed.*", "floor", 2
    )
    with run_hub(hub):
        lock, found = lock_of(hub, asked(staging=request))

    assert not found
    assert lock
    assert lock.staging["engram"].commit == SECOND
    assert list(lock.models) == ["model"]


def test_an_upgrade_of_a_model_that_there_is_none_of() -> None:
    hub = Hub()
    with run_hub(hub):
        lock, found = lock_of(hub, asked(), upgrade=Upgrade(models=frozenset(["draft"])))

    assert lock is None
    assert [one.code for one in found] == ["RCC1221"]
    assert "`model`" in str(found[0].help)
