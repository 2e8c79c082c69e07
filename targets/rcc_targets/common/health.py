"""The health check as a command that runs in the head's container."""

from __future__ import annotations

from rcc.plan.model import Healthcheck
from rcc_targets.common.encode import sh

_PYTHON = "import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=float(sys.argv[2]))"


def health_command(check: Healthcheck) -> str:
    """A line of `sh` that succeeds when the group serves: curl, wget or python3, the first that the image has."""
    address = f"[{check.address}]" if ":" in check.address else check.address
    url = sh(f"http://{address}:{check.port}{check.path}")
    limit = check.timeout
    return (
        f"if command -v curl >/dev/null; then curl -fsS -m {limit} -o /dev/null {url};"
        f" elif command -v wget >/dev/null; then wget -q -T {limit} -O /dev/null {url};"
        f" else python3 -c {sh(_PYTHON)} {url} {limit}; fi"
    )
