"""llama.cpp: `llama-server` on the head, which spreads the layers over the `rpc-server` of every further rank."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.engines.load import load
from rcc.engines.model import Objection, Process, World
from rcc.recipe.model import Recipe

# `llama-server` ends at once where a worker does not listen yet; nothing but bash tells that in its usual images.
_WAIT = (
    "if command -v bash >/dev/null && command -v timeout >/dev/null; then for worker in $1; do "
    """until timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "${worker%:*}" "${worker##*:}" 2>/dev/null; do """
    'echo "waiting for the worker at $worker" >&2; sleep 2; done; done; fi; shift; exec "$@"'
)
# It takes no `=` between a flag and its value, and reads `_` as `-`.
_MODEL_FLAGS = frozenset(("-m", "--model", "--models-dir", "--models-preset"))


def process(world: World) -> Process:
    """The recipe's arguments are the head's alone: a worker knows its address and nothing of the model."""
    if world.rank:
        words = ["--host", str(world.addresses[world.rank]), "--port", str(world.rendezvous_port)]
        return Process(world.entrypoint if world.wrapped else ("rpc-server",), tuple(words))
    words = [] if _names_a_file(world.args) else ["--model", str(world.model)]
    workers = [f"{address}:{world.rendezvous_port}" for address in world.addresses[1:]]
    words += ["--rpc", ",".join(workers)] if workers else []
    before = ("sh", "-c", _WAIT, "wait", " ".join(workers)) if workers else ()
    words += ["--host", world.listen, "--port", str(world.port)]
    return Process((*before, *world.entrypoint), (*world.args, *words))


def objections(recipe: Recipe) -> Iterator[Objection]:
    """It loads one file: a model that is a path may be one, a repository is a folder of them."""
    if recipe.model and not recipe.model.startswith("/") and not _names_a_file([raw.text for raw in recipe.args]):
        message = f"`{recipe.model}` is a repository, and `llama-server` loads one file"
        help = 'name the file: `args = ["--model", "{{ model.path }}/….gguf"]`'
        yield Objection(("model",), message, help)


def _names_a_file(args: tuple[str, ...] | list[str]) -> bool:
    return any(word.replace("_", "-") in _MODEL_FLAGS for word in args)


engine = load("llama-cpp", process, objections)
