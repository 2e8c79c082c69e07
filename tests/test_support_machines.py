"""The machines that tests log in to."""

import subprocess
from pathlib import Path

from tests.support.sshd import ssh_machines


def test_two_machines_are_apart(tmp_path: Path) -> None:
    with ssh_machines(tmp_path, 2) as machines:
        (machines[1].programs / "docker").write_text("#!/bin/sh\necho stub\n")
        (machines[1].programs / "docker").chmod(0o755)

        assert machines.run(0, "echo one > ~/name; pwd") == f"{machines[0].home}\n"
        assert machines.run(1, "docker; ls") == "stub\n"
        assert (machines[0].home / "name").read_text() == "one\n"


def test_a_stopped_machine_cannot_be_reached(tmp_path: Path) -> None:
    with ssh_machines(tmp_path, 2) as machines:
        machines[0].stop()
        words = [str(machines.ssh), "-oBatchMode=yes", machines[0].address, "true"]

        assert subprocess.run(words, capture_output=True, check=False).returncode == 255
        assert machines.run(1, "echo up") == "up\n"


def test_a_machine_without_its_key_is_refused(tmp_path: Path) -> None:
    with ssh_machines(tmp_path, 1) as machines:
        (tmp_path / "known_hosts").write_text("")
        words = [str(machines.ssh), "-oBatchMode=yes", machines[0].address, "true"]

        assert subprocess.run(words, capture_output=True, check=False).returncode == 255
