"""The real systemd that tests hand units to; it also judges our own reader of unit files."""

import os
from pathlib import Path

from tests.support.images import DUMP
from tests.support.systemd import systemd, with_program
from tests.support.systemd_reader import exec_argv, read_unit

RAW = [
    "a",
    '"b c"',
    "'it\"s'",
    r'"\x41\u00e9\t"',
    "$$x",
    "a$$",
    "100%%",
    '""',
    r'"\\"',
    r"\;",
    'a"b"c',
    "é",
    "a$x",
    "#",
]


def test_our_reader_reads_as_systemd_does(tmp_path: Path) -> None:
    (tmp_path / "units").mkdir()
    (tmp_path / "dump").write_text(DUMP.replace("done", f"done >>{tmp_path}/out"))
    (tmp_path / "dump").chmod(0o755)
    unit = f"[Service]\nType=oneshot\nExecStart=/bin/true {' '.join(RAW)}\n"
    (tmp_path / "units/it.service").write_text(with_program(unit, f"{tmp_path}/dump"))

    with systemd(tmp_path / "units", tmp_path) as manager:
        manager.start("it.service")
        assert manager.state("it.service") == "inactive"

    argv = bytes.fromhex((tmp_path / "out").read_text().split("\n")[0]).decode().split("\0")[1:-1]
    assert argv[1:] == exec_argv(read_unit(unit).value("Service", "ExecStart"))[1:]


def test_a_unit_that_fails_is_seen_to_fail(tmp_path: Path) -> None:
    (tmp_path / "units").mkdir()
    (tmp_path / "units/it.service").write_text("[Service]\nExecStart=/bin/false\n")

    with systemd(tmp_path / "units", tmp_path) as manager:
        manager.systemctl("start", "--no-block", "it.service")
        manager.wait_for_state("it.service", "failed")

    assert not list(Path("/sys/fs/cgroup").rglob(f"rcc-test-{os.getpid()}"))
