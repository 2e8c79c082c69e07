"""The health check as a command that runs in the head's container, or beside it."""

from __future__ import annotations

from rcc.plan.model import Healthcheck
from rcc_targets.common.encode import sh

HEALTH_PROGRAM = (
    "import sys, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(sys.argv[1], timeout=float(sys.argv[2]))"
)
"""Python that asks a URL once, with a timeout in seconds, and fails unless it is answered well."""


def health_url(check: Healthcheck, host: str | None = None) -> str:
    """Where a check is asked: by the head itself, or by those who reach it as `host`."""
    address = host or check.address
    return f"http://{f'[{address}]' if ':' in address else address}:{check.port}{check.path}"


def health_command(check: Healthcheck) -> str:
    """A line of `sh` that succeeds when the group serves: curl, wget or python3, the first that the image has.

    The way to oneself goes through no proxy, whatever the image's environment says.
    """
    url, limit = sh(health_url(check)), check.timeout
    return (
        f"if command -v curl >/dev/null; then curl -fsS --noproxy '*' -m {limit} -o /dev/null {url};"
        f" elif command -v wget >/dev/null; then http_proxy= wget -q -T {limit} -O /dev/null {url};"
        f" else python3 -c {sh(HEALTH_PROGRAM)} {url} {limit}; fi"
    )
