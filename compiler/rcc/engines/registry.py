"""Finds an engine by name: a built-in one, else one that an installed plug-in adds."""

from __future__ import annotations

from importlib import import_module

from rcc.engines.model import Engine

BUILT_IN = {"custom": "custom", "llama-cpp": "llama_cpp", "sglang": "sglang", "trtllm": "trtllm", "vllm": "vllm"}
GROUP = "rcc.engines"


class EngineError(Exception):
    """An engine that cannot be had, and why."""


def find_engine(name: str) -> Engine:
    """The engine of that name. Raises EngineError where there is none, or where its plug-in fails to import."""
    if name in BUILT_IN:
        return _checked(name, import_module(f"rcc.engines.{BUILT_IN[name]}").engine)
    return _plugged_in(name)


def _plugged_in(name: str) -> Engine:
    from importlib.metadata import entry_points

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        known = ", ".join(f"`{one}`" for one in sorted({*BUILT_IN, *(one.name for one in entry_points(group=GROUP))}))
        raise EngineError(f"no engine is called `{name}`; there are {known}")
    if len(found) > 1:
        homes = ", ".join(sorted(f"`{one.dist.name if one.dist else one.value}`" for one in found))
        raise EngineError(f"engine `{name}` is added by several distributions: {homes}")
    try:
        return _checked(name, found[0].load())
    except EngineError:
        raise
    except Exception as error:
        raise EngineError(f"the plug-in of engine `{name}` fails to import: {type(error).__name__}: {error}") from error


def _checked(name: str, engine: object) -> Engine:
    if not isinstance(engine, Engine):
        raise EngineError(f"the plug-in of engine `{name}` gives a {type(engine).__name__}, not an Engine")
    return engine
