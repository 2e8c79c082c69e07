"""The rules that our own test runs follow, tried on small suites in folders of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import PATH
from tests.support.paths import ROOT

CONFTEST = """\
from pathlib import Path
from tests.conftest import *
from tests.support.golden import GoldenFiles
GoldenFiles.root = Path(__file__).parent / "golden"
"""
TWO_FILES = """\
def test_files(golden):
    assert golden(name="a/run.sh") == "one\\n"
    assert golden(name="b.yaml") == {second!r}
"""
SKIPS = """\
import pytest
@pytest.mark.skip(reason={reason!r})
def test_marked(): pass
def test_inside(): pytest.skip({reason!r})
@pytest.mark.xfail(strict=True)
def test_expected_to_fail(): assert False
"""


def suite(folder: Path, text: str, *options: str, ci: bool = False) -> tuple[int, str]:
    """Exit code and output of pytest on one module in a folder."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_kind.py").write_text(text)
    env = {"PATH": PATH, "PYTHONPATH": str(ROOT), "HOME": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "syrupy", "-p", "no:cacheprovider", "-c", os.devnull]
    words += ["--rootdir", str(folder), "--import-mode=importlib", "--snapshot-details", *options]
    env |= {"CI": "true"} if ci else {}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, check=False)
    return done.returncode, done.stdout.decode()


def test_golden_files_are_real_files_and_a_difference_is_shown(tmp_path: Path) -> None:
    accepted, _ = suite(tmp_path, TWO_FILES.format(second="two\n"), "--snapshot-update")
    other, said = suite(tmp_path, TWO_FILES.format(second="three\n"))

    assert (accepted, other) == (0, 1)
    assert (tmp_path / "golden/kind/a/run.sh").read_text() == "one\n"
    assert "three" in said
    assert "two" in said


def test_a_golden_file_that_no_test_names_fails_the_run_until_it_is_deleted(tmp_path: Path) -> None:
    orphan = tmp_path / "golden/kind/old/run.sh"
    orphan.parent.mkdir(parents=True)
    orphan.write_text("")
    for path, text in {"a/run.sh": "one\n", "b.yaml": "two\n"}.items():
        (tmp_path / "golden/kind" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "golden/kind" / path).write_text(text)

    failed, said = suite(tmp_path, TWO_FILES.format(second="two\n"), "-p", "xdist", "-n", "2")
    suite(tmp_path, TWO_FILES.format(second="two\n"), "--snapshot-update")

    assert failed == 1
    assert "old/run.sh" in said
    assert not orphan.exists()


def test_a_carriage_return_is_a_difference(tmp_path: Path) -> None:
    (tmp_path / "golden/kind/a").mkdir(parents=True)
    (tmp_path / "golden/kind/a/run.sh").write_bytes(b"one\r\n")
    (tmp_path / "golden/kind/b.yaml").write_bytes(b"two\n")

    assert suite(tmp_path, TWO_FILES.format(second="two\n"))[0] == 1


def test_golden_files_have_a_test_module_each() -> None:
    modules = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")}

    assert {path.name for path in (ROOT / "golden").glob("*")} <= modules


@pytest.mark.parametrize(
    ("reason", "ci", "code"),
    [("because", False, 0), ("because", True, 1), ("there is no `shared` folder beside the repository", True, 0)],
)
def test_ci_takes_no_skip_but_those_it_knows(tmp_path: Path, reason: str, *, ci: bool, code: int) -> None:
    ended, said = suite(tmp_path, SKIPS.format(reason=reason), ci=ci)

    assert ended == code, said
    assert "1 xfailed" in said
    assert not code or "test_inside was skipped in CI" in said
