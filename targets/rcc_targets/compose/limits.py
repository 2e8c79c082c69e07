"""What a compose file cannot say, beyond what no target can."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rcc.diagnostic import Finding, Findings, finding, in_order
from rcc.plan.model import Plan, Rank
from rcc.source import Path
from rcc_targets.common.about import of_container, of_rank, texts_of
from rcc_targets.common.finding import shown
from rcc_targets.compose.volumes import MADE
from rcc_targets.compose.yaml import key

LONGEST_KEY = 1000
"""Characters of a mapping's key, as it is written, that YAML readers take."""


def refused_here(plan: Plan) -> Findings:
    """Findings of all ranks; each is an error."""
    return in_order(one for rank in plan.ranks for one in _of_rank(rank))


def _of_rank(rank: Rank) -> Iterator[Finding]:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", rank.container.name):
        yield finding(
            "RCC1007",
            f"the container's name `{shown(rank.container.name)}` cannot be that of a compose project",
            help="use lower-case letters, digits, `_` and `-`",
            about=of_container(rank, "name"),
        )
    for name, path in texts_of(rank.container, "env", "secrets", "labels"):
        if len(key(name)) > LONGEST_KEY:
            yield finding(
                "RCC1006",
                f"the name `{shown(name)}` is longer than the {LONGEST_KEY} characters of a key in a compose file",
                help="use a shorter name",
                about=of_container(rank, *path),
            )
    yield from _colons_refused(rank)


def _colons_refused(rank: Rank) -> Iterator[Finding]:
    """Where docker makes a missing folder, compose joins source and target with a colon (docker/compose#12553)."""
    for path, about in _made(rank):
        if ":" in path:
            yield finding(
                "RCC1005",
                f"the path `{shown(path)}` has a colon in it, and compose splits it there",
                help="rename the folder: compose makes it where it is missing, and takes no colon then",
                about=about,
            )


def _made(rank: Rank) -> Iterator[tuple[str, Path]]:
    for number, mount in enumerate(rank.container.mounts):
        if mount.kind in MADE and isinstance(mount.source, str):
            yield mount.source, of_container(rank, "mounts", number, "source")
            yield mount.target, of_container(rank, "mounts", number, "target")
    yield from ((block.dst, of_rank(rank, "staging", number, "dst")) for number, block in enumerate(rank.staging))
