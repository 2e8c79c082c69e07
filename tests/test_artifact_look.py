"""Artifacts are made to be read: whatever optional parts fall away, no gap and no ragged end tells of them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from rcc.diagnostic import has_errors
from rcc.emit.model import Artifact, Target
from rcc.plan.model import Gid, Mount, Plan
from rcc_targets import compose, k8s, shell, systemd
from tests.support.k8s_cases import PLANS as OF_KUBERNETES
from tests.support.k8s_reader import read_manifests
from tests.support.plans import HEALTH, four, single, with_asserts, with_container, with_rank, with_secrets

TARGETS = [module.target for module in (compose, k8s, shell, systemd)]
CACHE = Mount("/var/cache/hello", "/rcc/cache", False, "cache")
PINNED = Mount("/srv/x", "/x", True, "bind", "sha256:" + "0" * 64)


def parts(plan: Plan) -> Iterator[Plan]:
    """The plan with and without each thing that a template has a part for."""
    for user, memory, mounts, check in product(
        (None, "1000:100"), (None, 1 << 30), ((), (CACHE,), (PINNED, CACHE)), (None, HEALTH)
    ):
        yield with_container(plan, user=user, memory=memory, mounts=mounts, healthcheck=check)


def several() -> Iterator[Plan]:
    yield from parts(single())
    yield from parts(with_rank(single(), ports=(), unified_memory=True))
    for one in (single(), four()):
        asserted = with_asserts(one, {"/a": "b"})
        secret = with_secrets(one, "HF_TOKEN")
        both = with_asserts(secret, {"/a": "b"})
        yield from (one, asserted, secret, both)
        yield from (with_rank(plan, staging=()) for plan in (one, asserted, secret, both))
        yield with_rank(with_container(one, late_env={}), gid=Gid("mlx5_0", "10.0.0.11"), staging=())
    yield from OF_KUBERNETES.values()
    yield with_container(single(), entrypoint=(), command=(), env={})
    yield replace(four(), ranks=four().ranks[:1])


@cache
def texts(target: Target) -> frozenset[str]:
    """Every text that a template gave, also within ConfigMaps; files of the recipe, of JSON and of Python apart."""
    emitted = [target.emit(plan) for plan in several()]
    taken = [one for one in emitted if not has_errors(one.findings)]
    assert len(taken) > 50
    found = {one.data.decode() for made in taken for one in made.artifacts if _is_ours(one)}
    return frozenset(found.union(*map(_scripts, found)))


def _scripts(manifest: str) -> Iterator[str]:
    """What pods find in a manifest's ConfigMaps."""
    if 'kind: "ConfigMap"' not in manifest:
        return
    maps = (one for one in read_manifests(manifest) if one["kind"] == "ConfigMap")
    yield from (text for one in maps for name, text in one.get("data", {}).items() if not name.endswith(".sh"))


def _is_ours(one: Artifact) -> bool:
    return not re.search(r"/carried/|\.pyz$|\.json$", one.path)


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "fault",
    [
        r"\n\n\n",
        r"[ \t]\n",
        r"\A\n",
        r"\n\n\Z",
        r"[^\n]\Z",
        r"[{(]\n\n",
        r"\n\n *[})]\n",
        r"\n\n *(fi|done|esac|then|;;)\n",
        r"(then|do|else)\n\n",
    ],
)
def test_no_part_that_fell_away_leaves_a_trace(target: Target, fault: str) -> None:
    found = {
        text[max(0, one.start() - 200) : one.end() + 100] for text in texts(target) for one in re.finditer(fault, text)
    }
    assert found == set()
