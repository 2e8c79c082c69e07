"""Models of a local cache, in every layout: the same lock as from a hub, and damage found."""

import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from rcc.diagnostic import Findings, Severity
from rcc.fetch.hashing import Claim, damaged
from rcc.fetch.progress import Quiet
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.lock.model import FileId, Lock
from rcc.lock.wanted import StagingRequest, Wanted, WantedModel, WantedStaging
from tests.support.checkpoints import Content, sharded, table
from tests.support.hf_cache import LAYOUTS, Layout, write_cache
from tests.support.hub import Hub, run_hub

REPO = "spark/small"
COMMIT = "a" * 40
FILES = {
    **sharded({"model-00001-of-00002.safetensors": table(1, 10), "model-00002-of-00002.safetensors": table(14, 11)}),
    "sub/folder/notes.txt": Content.of(b"notes\n"),
    "empty": Content.of(b""),
}
REQUEST = StagingRequest("sparse-rows", f"{REPO}@main", "sparse-copy", "layers.*.engram.embed.*", "base-rem", 2)
WANTED = Wanted(models=(WantedModel("model", REPO, "main"),), staging=(WantedStaging("engram", REQUEST),))


def lock_of(
    cache: Path, wanted: Wanted = WANTED, old: Lock | None = None, rehash: bool = False
) -> tuple[Lock | None, Findings]:
    with Sources({}, model_from=f"cache:{cache}") as sources:
        lock, _, found = update(wanted, old, sources, Upgrade(), rehash)
    return lock, found


def refused(answer: tuple[Lock | None, Findings], code: str, *said: str) -> None:
    lock, found = answer
    assert lock is None
    assert [one.code for one in found] == [code]
    assert found[0].help
    for words in said:
        assert words in found[0].message


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("above", ["", "hub"])
def test_every_layout_gives_the_lock_of_the_hub(tmp_path: Path, layout: Layout, above: str) -> None:
    write_cache(tmp_path / above, REPO, FILES, layout)
    hub = Hub()
    hub.add(REPO, FILES)
    with run_hub(hub), Sources(hub.environ) as sources:
        from_hub, _, _ = update(WANTED, None, sources, Upgrade())

    assert from_hub
    assert lock_of(tmp_path) == (from_hub, ())
    assert lock_of(tmp_path, rehash=True) == (from_hub, ())


def test_a_commit_needs_no_branch(tmp_path: Path) -> None:
    write_cache(tmp_path, REPO, FILES, "classic")

    lock, found = lock_of(tmp_path, Wanted(models=(WantedModel("model", REPO, COMMIT),)))

    assert not found
    assert lock
    assert lock.models["model"].commit == COMMIT


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["model-00002-of-00002.safetensors", "config.json"])
def test_one_flipped_byte_is_found_by_hashing(tmp_path: Path, layout: Layout, name: str) -> None:
    snapshot = write_cache(tmp_path, REPO, FILES, layout)
    lock, _ = lock_of(tmp_path)
    path = (snapshot / name).resolve()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    assert lock_of(tmp_path, old=lock) == (lock, ())
    refused(lock_of(tmp_path, old=lock, rehash=True), "RCC1217", name)


def test_a_file_of_another_size_is_found_without(tmp_path: Path) -> None:
    snapshot = write_cache(tmp_path, REPO, FILES, "classic+tree")
    with (snapshot / "config.json").resolve().open("ab") as file:
        file.write(b"x")

    refused(lock_of(tmp_path), "RCC1217", "config.json")


def test_what_was_not_downloaded_is_a_remark(tmp_path: Path) -> None:
    snapshot = write_cache(tmp_path, REPO, FILES, "classic+tree")
    (snapshot / "empty").unlink()

    lock, found = lock_of(tmp_path)

    assert lock
    assert "empty" in lock.models["model"].files
    assert [(one.code, one.severity) for one in found] == [("RCC1216", Severity.WARNING)]
    assert "`empty`" in found[0].message


def test_what_staging_needs_must_be_there(tmp_path: Path) -> None:
    snapshot = write_cache(tmp_path, REPO, FILES, "classic+tree")
    (snapshot / "model-00002-of-00002.safetensors").unlink()

    lock, found = lock_of(tmp_path)

    assert lock is None
    assert any("model-00002-of-00002.safetensors" in one.message for one in found if one.severity is Severity.ERROR)


def test_a_link_to_nothing(tmp_path: Path) -> None:
    snapshot = write_cache(tmp_path, REPO, FILES, "classic")
    (snapshot / "config.json").resolve().unlink()

    refused(lock_of(tmp_path), "RCC1216", "config.json")


def test_a_link_out_of_the_cache(tmp_path: Path) -> None:
    snapshot = write_cache(tmp_path / "hub", REPO, FILES, "classic")
    (tmp_path / "outside").write_text("secret")
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to(tmp_path / "outside")

    refused(lock_of(tmp_path), "RCC1216", "config.json", "out of the cache")


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    snapshot = write_cache(tmp_path, REPO, FILES, "classic")
    with open(os.fsencode(snapshot) + b"/\xff", "wb"):
        pass

    refused(lock_of(tmp_path), "RCC1216", "UTF-8")


def test_what_the_cache_does_not_have(tmp_path: Path) -> None:
    write_cache(tmp_path, REPO, FILES, "classic")

    refused(lock_of(tmp_path / "none"), "RCC1216", REPO)
    refused(lock_of(tmp_path, Wanted(models=(WantedModel("model", "spark/other", "main"),))), "RCC1216", "spark/other")
    refused(lock_of(tmp_path, Wanted(models=(WantedModel("model", REPO, "dev"),))), "RCC1216", "dev")
    refused(lock_of(tmp_path, Wanted(models=(WantedModel("model", REPO, "../main"),))), "RCC1216", "../main")
    refused(lock_of(tmp_path, Wanted(models=(WantedModel("model", REPO, "b" * 40),))), "RCC1216", "b" * 40)


def test_a_tree_that_is_not_understood_is_not_used(tmp_path: Path) -> None:
    write_cache(tmp_path, REPO, FILES, "classic+tree")
    tree = next(tmp_path.rglob(f"trees/{COMMIT}.json"))
    lock, _ = lock_of(tmp_path)
    for text in ('{"format_version": 2, "files": {}}', "{", '{"format_version": 1, "files": {"../x": {"size": 1}}}'):
        tree.write_text(text)
        assert lock_of(tmp_path) == (lock, ())


def test_hashing_takes_no_memory(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(4)]
    for path in paths:
        path.write_bytes(os.urandom(1 << 20) * 24)
    threads = os.cpu_count() or 1
    claims = [
        Claim(path.name, str(path), FileId(24 << 20, sha256=hashlib.sha256(path.read_bytes()).hexdigest()))
        for path in paths
    ]

    tracemalloc.start()
    assert damaged(claims, threads, Quiet()) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (threads + 2) << 20
