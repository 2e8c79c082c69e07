"""The root of a small container image: busybox, its programs, and what a test adds."""

import io
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.skips import find

# Prints its own argv and environment as hex words, which no value can break.
DUMP = """#!/bin/sh
for part in cmdline environ; do od -An -v -tx1 "/proc/$$/$part" | tr -d ' \\n'; echo; done
"""


def busybox_root(files: Mapping[str, str | bytes]) -> bytes:
    """A tar file of the root: text files are executable, bytes are not. `/dump` is always there."""
    busybox = find("busybox")
    assert busybox
    programs = subprocess.run([busybox, "--list"], capture_output=True, check=True).stdout.decode().split()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        _add(tar, "bin/busybox", Path(busybox).read_bytes(), 0o755)
        _add(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n", 0o644)
        for folder, mode in {"tmp": 0o1777, "root": 0o700, "var": 0o755}.items():
            tar.addfile(_entry(folder, tarfile.DIRTYPE, mode))
        for program in programs:
            link = _entry(f"bin/{program}", tarfile.SYMTYPE, 0o777)
            link.linkname = "busybox"
            if program != "busybox":
                tar.addfile(link)
        for path, content in {"dump": DUMP, **files}.items():
            text = isinstance(content, str)
            _add(
                tar,
                path.lstrip("/"),
                content.encode() if isinstance(content, str) else content,
                0o755 if text else 0o644,
            )
    return out.getvalue()


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = _entry(name, tarfile.REGTYPE, mode)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


def read_dump(text: str) -> tuple[list[str], dict[str, str]]:
    """argv (after the shell's own word) and environment, from what `/dump` printed."""
    cmdline, environ = (bytes.fromhex(line).split(b"\0")[:-1] for line in text.split("\n")[:2])
    pairs = (entry.decode().partition("=") for entry in environ)
    return [word.decode() for word in cmdline[1:]], {name: value for name, _, value in pairs}
