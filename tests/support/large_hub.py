"""A hub with one model of 200 files, 48 of them shards with tables."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.checkpoints import Content, sharded, table
from tests.support.hub import Hub, run_hub

REPO = "spark/small"
SHARDS = 48
FILES = 200


@contextmanager
def large_hub() -> Iterator[Hub]:
    """The hub, on a free port of the loopback."""
    shards = {f"model-{n:05}-of-{SHARDS:05}.safetensors": table(n, 1000 + n) for n in range(1, SHARDS + 1)}
    model = sharded(shards)
    texts = {f"text/{n:03}.md": Content.of(b"%d\n" % n) for n in range(FILES - len(model))}
    hub = Hub()
    hub.add(REPO, {**model, **texts})
    with run_hub(hub):
        yield hub
