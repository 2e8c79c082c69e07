"""The GID search, which is one POSIX sh text: the container's start runs the same."""

from __future__ import annotations

import pkgutil
import subprocess

from rcc_node.errors import NodeError

SCRIPT = "enter/gid.sh"
_SECONDS = 10
_DIFFER = 2


class DifferentGidsError(NodeError):
    """The HCAs have no index in common: NCCL finds its own for each."""


def run(hca: str, fabric: str, sysfs: str = "/sys") -> str:
    """The index that all selected HCAs agree on, as text. `hca` is NCCL_IB_HCA's list, `fabric` the node's address."""
    text = pkgutil.get_data("rcc_node", SCRIPT)
    if text is None:
        raise AssertionError(f"{SCRIPT} is not packed")
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", text.decode(), SCRIPT, hca, fabric, f"{sysfs}/class/infiniband"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    reason = done.stderr.strip()
    if done.returncode == _DIFFER:
        raise DifferentGidsError("gid-differs", reason, "leave `NCCL_IB_GID_INDEX` unset, or make the tables alike")
    if done.returncode != 0:
        raise NodeError("gid", reason, "check cable, port and address of this node's fabric")
    return done.stdout.strip()
