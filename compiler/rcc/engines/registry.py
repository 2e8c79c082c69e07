"""Finds an engine by name: a built-in one, else one that an installed plug-in adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeVar

from rcc.diagnostic import said
from rcc.engines.model import Engine, Objection, Process, World
from rcc.quick import replace
from rcc.recipe.model import Recipe

BUILT_IN = {"custom": "custom", "llama-cpp": "llama_cpp", "sglang": "sglang", "trtllm": "trtllm", "vllm": "vllm"}
GROUP = "rcc.engines"

_Answer = TypeVar("_Answer")


class EngineError(Exception):
    """An engine that cannot be had, or a plug-in that fails: the finding's code, its message, and what to do."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code = code
        self.help = help


def find_engine(name: str) -> Engine:
    """The engine of that name. Raises EngineError where there is none, or where its plug-in cannot be loaded."""
    if name in BUILT_IN:
        engine: Engine = import_module(f"rcc.engines.{BUILT_IN[name]}").engine
        return engine
    return _plugged_in(name)


def _plugged_in(name: str) -> Engine:
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        known = ", ".join(f"`{one}`" for one in sorted({*BUILT_IN, *(one.name for one in entry_points(group=GROUP))}))
        help = "correct the name, or install the plug-in that adds it"
        raise EngineError("RCC502", f"no engine is called `{name}`; there are {known}", help)
    homes = sorted({one.dist.name if one.dist else one.value for one in found})
    if len(homes) > 1:
        told = " and ".join(f"`{one}`" for one in homes)
        raise EngineError("RCC1092", f"the engine `{name}` comes from {told}", "remove one of them")
    what = f"the engine `{name}` of `{homes[0]}`"
    try:
        engine = found[0].load()
    except (Exception, SystemExit) as error:
        help = f"install a `{homes[0]}` that suits this rcc"
        raise EngineError("RCC1091", f"{what} cannot be loaded: {said(error)}", help) from error
    help = f"tell those who make `{homes[0]}`"
    if not isinstance(engine, Engine) or engine.name != name:
        raise EngineError("RCC1091", f"{what} is no `rcc.engines.model.Engine` of that name", help)
    return _guarded(engine, what, help)


def _guarded(engine: Engine, what: str, help: str) -> Engine:
    """A plug-in that raises, or answers with something else, is told on; of our own engines that is a bug."""

    def asked(question: Callable[[], _Answer], is_one: Callable[[_Answer], bool]) -> _Answer:
        try:
            answer = question()
        except Exception as error:
            raise EngineError("RCC1091", f"{what} failed: {said(error)}", help) from error
        if not is_one(answer):
            raise EngineError("RCC1091", f"{what} failed: it gives {answer!r}", help)
        return answer

    def process(world: World) -> Process:
        return asked(lambda: engine.process(world), _is_process)

    def objections(recipe: Recipe) -> Iterator[Objection]:
        yield from asked(
            lambda: tuple(engine.objections(recipe)), lambda told: all(isinstance(one, Objection) for one in told)
        )

    return replace(engine, process=process, objections=objections)


def _is_process(answer: object) -> bool:
    if not isinstance(answer, Process) or not all(
        isinstance(one, tuple) for one in (answer.entrypoint, answer.command)
    ):
        return False
    return all(isinstance(word, str) for word in (*answer.entrypoint, *answer.command))
