"""What every test may ask for by name."""

import os
from collections.abc import Generator

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.golden import GoldenFiles
from tests.support.skips import excused_in_ci


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Golden files of the test's module; see tests/support/golden.py."""
    return snapshot.use_extension(GoldenFiles)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skip is a failure, unless its reason is one of those that CI excuses."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not excused_in_ci(reason):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped in CI: {reason}"
    return report
