"""`rcc init`: a first recipe and cluster file."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from rcc.cli.outcome import show, tell
from rcc.cli.path_type import PATH
from rcc.diagnostic import finding
from rcc.fetch.save import replace_file
from rcc.recipe.identity import proposed_id
from rcc.source import whole

RECIPE = """\
# One model on one machine. `rcc schema recipe` has all keys, and `rcc explain .` says where every value comes from.

id = "{id}"
engine = "sglang"
name = "Qwen3-8B"
docker_image = "lmsysorg/sglang:v0.5.23"
model = "Qwen/Qwen3-8B"
port = 30000
shm_size = "16gb"

# Flags of the engine. The model, addresses, ports and ranks are added by rcc.
args = [
    "--served-model-name", "qwen3-8b",
    "--context-length", "32768",
]
"""

CLUSTER = """\
# The machines, in rank order: the first one is the head. `rcc schema cluster` has all keys.

name = "my-cluster"
hf_cache = "/srv/huggingface"  # on every node; has hub/ below it
hardware = "cuda"              # or "dgx-spark", "cpu"; in its place a profile of your own: [hardware.<name>]
ssh_user = "spark"

[[nodes]]
name = "spark1"
host = "10.0.0.11"             # for ssh and clients
# fabric = "192.168.200.11"    # where ranks meet, if that is another address
"""

ATTRIBUTES = ("recipe.lock linguist-generated merge=binary", "*.recipe.lock linguist-generated merge=binary")
"""Two branches' locks cannot be merged line by line: one of them is taken, and `rcc lock` run."""


@click.command()
@click.argument("folder", type=PATH, default=".")
def command(folder: str) -> int:
    """Write a first recipe.toml and cluster.toml into FOLDER (default: here), and .gitattributes for locks."""
    place = Path(folder)
    name = proposed_id(os.path.join(os.path.realpath(place), "recipe.toml"))
    texts = {place / "recipe.toml": RECIPE.format(id=name).encode(), place / "cluster.toml": CLUSTER.encode()}
    there = [path for path in texts if path.exists() or path.is_symlink()]
    if there:
        help = "name another folder, or change what is there"
        return tell(finding("RCC1119", f"`{path}` is there already", whole(str(path)), help=help) for path in there)
    texts |= _attributes(place / ".gitattributes")
    place.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        replace_file(str(path), text)
        show([f"wrote {path}"])
    quoted = shlex.quote(str(place))
    show([f"next: change both files, then rcc lint {quoted}/*.toml and rcc build {quoted}"])
    return 0


def _attributes(path: Path) -> dict[Path, bytes]:
    """The file with the lines that it lacks; what is there stays."""
    text = path.read_bytes() if path.exists() else b""
    missing = [line for line in map(str.encode, ATTRIBUTES) if line not in text.splitlines()]
    start = text if text.endswith(b"\n") or not text else text + b"\n"
    return {path: start + b"\n".join(missing) + b"\n"} if missing else {}
