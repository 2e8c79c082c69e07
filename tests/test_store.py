"""The store: whole or not at all, one build at a time, a way back, and nothing of others touched."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rcc.diagnostic import Findings
from rcc.emit.bundle import Bundle, bundle
from rcc.emit.gc import collect
from rcc.emit.manifest import Inputs
from rcc.emit.model import Artifact
from rcc.emit.publish import Published, publish
from rcc.emit.rollback import roll_back
from tests.support.mounts import tmpfs
from tests.support.skips import needs_root
from tests.support.small_plan import small_plan

PLAN = small_plan()
INPUTS = Inputs("0" * 64, (), None, None, {}, {})


def made(text: str = "one", id: str = "hello") -> Bundle:
    artifacts = (
        Artifact("shell/spark1/run.sh", f"#!/bin/sh\necho {text}\n".encode(), "script", executable=True, node="spark1"),
        Artifact("shell/spark1/files/node.pyz", b"z" * 20_000, "file", node="spark1"),
        Artifact("shell/spark2/files/node.pyz", b"z" * 20_000, "file", node="spark2"),
    )
    return bundle(small_plan(id=id), {"shell": artifacts}, INPUTS, "1.0")


def build(out: Path, one: Bundle | None = None, *, copy: bool = False) -> Published:
    published, found = publish(one or made(), PLAN, out, copy=copy, waiting=fail_to_wait)
    assert published is not None, found
    return published


def refused(out: Path, *, copy: bool = False) -> Findings:
    published, found = publish(made(), PLAN, out, copy=copy, waiting=fail_to_wait)
    assert published is None
    return found


def fail_to_wait() -> None:
    pytest.fail("nobody else holds the lock")


def listing(folder: Path) -> dict[str, tuple[str, bytes]]:
    return {
        str(path.relative_to(folder)): (f"{stat.S_IMODE(path.stat().st_mode):04o}", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("strict_umask")
def test_a_link_names_a_result_whose_modes_owe_nothing_to_the_umask(tmp_path: Path) -> None:
    one = made()
    build(tmp_path / "result", one)
    assert (tmp_path / "result").readlink() == Path(".rcc/store") / one.name
    files = listing(tmp_path / "result")
    assert files["shell/spark1/run.sh"] == ("0555", b"#!/bin/sh\necho one\n")
    assert files["manifest.json"] == ("0444", one.manifest)
    folders = [path for path in (tmp_path / "result/").rglob("*") if path.is_dir()]
    assert folders
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o755}
    assert (tmp_path / ".rcc/.gitignore").read_text() == "*\n"


def test_the_name_in_the_store_is_the_manifest_s_hash_and_the_id(tmp_path: Path) -> None:
    build(tmp_path / "result")
    told = subprocess.run(
        ["sha256sum", "result/manifest.json"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert (tmp_path / "result").readlink().name == told[:32] + "-hello"


@pytest.mark.parametrize("copy", [False, True])
def test_large_files_of_the_same_bytes_lie_in_the_store_once_and_in_a_copy_each_by_itself(
    tmp_path: Path, copy: bool
) -> None:
    build(tmp_path / "result", copy=copy)
    first, second = ((tmp_path / f"result/shell/spark{n}/files/node.pyz").stat().st_ino for n in (1, 2))
    assert (first == second) != copy


def test_the_same_build_again_is_no_news(tmp_path: Path) -> None:
    assert build(tmp_path / "result").changed
    assert not build(tmp_path / "result").changed


def test_a_damaged_result_is_made_whole_by_the_next_build(tmp_path: Path) -> None:
    build(tmp_path / "result")
    victim = tmp_path / "result/shell/spark1/run.sh"
    victim.chmod(0o755)
    victim.write_text("gone wrong")
    assert build(tmp_path / "result").changed
    assert victim.read_text() == "#!/bin/sh\necho one\n"


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("kind", ["file", "folder", "foreign link", "dangling link"])
def test_what_rcc_did_not_make_is_refused_and_left_alone(tmp_path: Path, kind: str, copy: bool) -> None:
    out = tmp_path / "result"
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/letter").write_text("dear")
    if kind == "file":
        out.write_text("dear")
    elif kind == "folder":
        (tmp_path / "precious").rename(out)
    else:
        out.symlink_to("precious" if kind == "foreign link" else "nowhere")
    before = sorted(tmp_path.rglob("*"))
    assert [one.code for one in refused(out, copy=copy)] == ["RCC1101"]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_copy_is_a_plain_folder_that_is_replaced_whole(tmp_path: Path) -> None:
    build(tmp_path / "deploy", made("one"), copy=True)
    build(tmp_path / "deploy", made("two"), copy=True)
    assert not (tmp_path / "deploy").is_symlink()
    assert listing(tmp_path / "deploy")["shell/spark1/run.sh"][1] == b"#!/bin/sh\necho two\n"
    assert not list((tmp_path / ".rcc").glob("old-*"))


def test_a_copy_with_a_stranger_s_file_in_it_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "deploy", copy=True)
    (tmp_path / "deploy/notes.txt").write_text("mine")
    found = refused(tmp_path / "deploy", copy=True)
    assert "`notes.txt`" in found[0].message
    assert (tmp_path / "deploy/notes.txt").read_text() == "mine"


def test_a_copy_stays_one_when_it_is_built_without_copy(tmp_path: Path) -> None:
    build(tmp_path / "deploy", copy=True)
    build(tmp_path / "deploy", made("two"))
    assert not (tmp_path / "deploy").is_symlink()


def test_rollback_goes_back_step_by_step_to_builds_of_the_same_id(tmp_path: Path) -> None:
    out = tmp_path / "result"
    a, b, other, c = made("a"), made("b"), made("x", id="other"), made("c")
    for one in (a, b, other, c):
        build(out, one)
    assert [roll_back(out, fail_to_wait)[0] for _ in range(2)] == [b.name, a.name]
    name, found = roll_back(out, fail_to_wait)
    assert name is None
    assert [one.code for one in found] == ["RCC1112"]
    assert out.readlink().name == a.name


def test_after_a_rollback_and_a_new_build_the_former_one_is_what_ran_before(tmp_path: Path) -> None:
    out = tmp_path / "result"
    a, b, c = made("a"), made("b"), made("c")
    build(out, a)
    build(out, b)
    roll_back(out, fail_to_wait)
    build(out, c)
    assert roll_back(out, fail_to_wait)[0] == a.name


def test_rollback_passes_over_a_former_build_that_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "result"
    a, b, c = made("a"), made("b"), made("c")
    for one in (a, b, c):
        build(out, one)
    shutil.rmtree(tmp_path / ".rcc/store" / b.name)
    assert roll_back(out, fail_to_wait)[0] == a.name


def test_gc_keeps_what_a_link_or_one_of_the_last_three_entries_names(tmp_path: Path) -> None:
    builds = [made(str(number)) for number in range(6)]
    build(tmp_path / "pinned", builds[0])
    for one in builds[1:]:
        build(tmp_path / "result", one)
    collected, _ = collect(tmp_path, fail_to_wait)
    assert collected is not None
    assert set(collected.removed) == {builds[1].name, builds[2].name}
    left = {path.name for path in (tmp_path / ".rcc/store").iterdir()}
    assert left == {one.name for one in (builds[0], *builds[3:])}
    assert len(json.loads((tmp_path / ".rcc/links.json").read_text())["links"]) == 4


@pytest.mark.parametrize("what", ["folder", "text"])
def test_gc_leaves_folders_of_others_alone(tmp_path: Path, what: str) -> None:
    build(tmp_path / "result")
    stranger = tmp_path / "web/manifest.json"
    (stranger if what == "folder" else stranger.parent).mkdir(parents=True)
    if what == "text":
        stranger.write_text("{}")
    collected, found = collect(tmp_path, fail_to_wait)

    assert collected is not None, found
    assert stranger.exists()


@needs_root
def test_gc_makes_room_on_a_full_disk(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "disk", "1m") as disk:
        for number in range(6):
            build(disk / "result", made(str(number)))
        with (disk / "fill").open("wb", buffering=0) as fill, suppress(OSError):
            while fill.write(b"x" * 4096):
                pass
        collected, found = collect(disk, fail_to_wait)

        assert collected is not None, found
        assert len(collected.removed) == 3


def test_gc_where_nothing_was_ever_built_does_nothing(tmp_path: Path) -> None:
    collected, found = collect(tmp_path, fail_to_wait)
    assert collected is not None
    assert not found
    assert not list(tmp_path.iterdir())


STEPS = ("os.rename", "os.symlink", "os.chmod", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")


def build_and_die(out: Path, after: int, *, copy: bool) -> int:
    """Builds in a process that kills itself before a step on the disk; gives its wait status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    left = after

    def count(event: str, _: object) -> None:
        nonlocal left
        left -= event in STEPS
        if event in STEPS and left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(count)
        build(out, made("two"), copy=copy)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize("copy", [False, True])
def test_a_build_killed_at_any_step_leaves_the_old_result_or_the_new_one(tmp_path: Path, copy: bool) -> None:
    old, new = made("one"), made("two")
    for steps in range(200):
        out = tmp_path / str(steps) / "result"
        build(out, old, copy=copy)
        died = build_and_die(out, steps, copy=copy)
        collect(out.parent, fail_to_wait)
        assert listing(out)["manifest.json"][1] in (old.manifest, new.manifest)
        assert not [path for path in (out.parent / ".rcc").iterdir() if path.name.startswith(("tmp-", "old-"))]
        if died == 0:
            break
        assert os.WTERMSIG(died) == signal.SIGKILL
    assert died == 0
    assert steps > 5


def test_builds_at_the_same_time_take_turns(tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from tests.test_store import *; "
    script += "publish(made(sys.argv[2]), PLAN, Path(sys.argv[1]), copy=False, waiting=lambda: None)"
    running = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path / "result", str(number)]) for number in range(4)
    ]
    assert [one.wait() for one in running] == [0] * 4
    assert len(json.loads((tmp_path / ".rcc/links.json").read_text())["links"]) == 4
    assert listing(tmp_path / "result")["manifest.json"][1] in [made(str(number)).manifest for number in range(4)]


def test_an_order_of_builds_that_cannot_be_read_is_said_and_kept(tmp_path: Path) -> None:
    build(tmp_path / "result")
    (tmp_path / ".rcc/links.json").write_text("<<<<<<< HEAD\n")
    assert [one.code for one in refused(tmp_path / "result")] == ["RCC1104"]
    assert (tmp_path / ".rcc/links.json").read_text() == "<<<<<<< HEAD\n"


def test_a_result_inside_of_the_store_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "result")
    assert [one.code for one in refused(tmp_path / "result/again")] == ["RCC1101"]
