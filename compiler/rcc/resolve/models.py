"""Where models lie: on the nodes, in the container, and what that means for the environment."""

from __future__ import annotations

from collections.abc import Sequence

from rcc.engines.model import Engine
from rcc.recipe.targets import RESERVED
from rcc.resolve.model import ResolvedModel, ResolvedStaging

HUB = f"{RESERVED}/hf/hub"
CACHE = f"{RESERVED}/cache"
MODELS = f"{RESERVED}/models"
STAGED = f"{RESERVED}/staged"


def host_path(model: ResolvedModel, hf_cache: str | None) -> str | None:
    """The model's folder on the nodes, where it is known."""
    if model.is_path:
        return model.repo
    if model.commit is None or hf_cache is None:
        return None
    return f"{hf_cache}/hub/{model.folder}/snapshots/{model.commit}"


def served(model: ResolvedModel, staging: Sequence[ResolvedStaging]) -> ResolvedStaging | None:
    """The staging block that the engine loads the model from."""
    for block in staging:
        if block.kind == "snapshot" and block.serve and (block.source or "").partition("@")[0] == model.repo:
            return block
    return None


def needs_hub(models: Sequence[ResolvedModel], staging: Sequence[ResolvedStaging]) -> bool:
    """Whether a model is loaded from the cache's `hub/`."""
    return any(not model.is_path and not served(model, staging) for model in models)


def model_paths(models: Sequence[ResolvedModel], staging: Sequence[ResolvedStaging]) -> dict[str, str]:
    """Where each model lies in the container, as far as it is known, by model id."""
    paths = {}
    for model in models:
        block = served(model, staging)
        if model.is_path:
            paths[model.id] = f"{MODELS}/{model.id}"
        elif block is not None:
            paths[model.id] = f"{STAGED}/{block.id}"
        elif model.commit is not None:
            paths[model.id] = f"{HUB}/{model.folder}/snapshots/{model.commit}"
    return paths


def needs_cache(engine: Engine, models: Sequence[ResolvedModel]) -> bool:
    """Whether anything is written to the node's cache folder."""
    return bool(engine.caches) or any(not model.is_path for model in models)


def engine_env(engine: Engine, models: Sequence[ResolvedModel], staging: Sequence[ResolvedStaging]) -> dict[str, str]:
    """The engine's own variables, and where Hugging Face's and the engine's caches lie."""
    env = dict(engine.env)
    if any(not model.is_path for model in models):
        env["HF_HUB_OFFLINE"] = "1"
        env["HF_HOME"] = f"{CACHE}/huggingface"
        env["HF_MODULES_CACHE"] = f"{CACHE}/huggingface/modules"
    if needs_hub(models, staging):
        env["HF_HUB_CACHE"] = HUB
    if needs_cache(engine, models):
        env["XDG_CACHE_HOME"] = f"{CACHE}/xdg"
    env.update({name: f"{CACHE}/{folder}" for name, folder in engine.caches.items()})
    return env
