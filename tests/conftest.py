"""What every test may ask for by name."""

import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from syrupy.assertion import SnapshotAssertion

from tests.support.golden import GoldenFiles
from tests.support.podman import Podman, own_podman
from tests.support.skips import excused_in_ci


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Golden files of the test's module; see tests/support/golden.py."""
    return snapshot.use_extension(GoldenFiles)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skip is a failure, unless its reason is one of those that CI excuses."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for whole modules."""
    report = yield
    _fail_if_skipped_in_ci(report)
    return report


def _fail_if_skipped_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or os.environ.get("CI") != "true":
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not excused_in_ci(reason):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped in CI: {reason}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests on made-up input, so that `make fuzz` finds them, and keeps those with one store in one process."""
    for item in items:
        if "podman" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("podman"))
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("fuzz")


settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fuzz", deadline=None, max_examples=10_000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """Real containers in a store of this run's own; see tests/support/podman.py."""
    with own_podman() as store:
        yield store
