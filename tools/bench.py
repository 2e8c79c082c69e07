"""How long rcc takes, as ratios within one run, so that the machine's speed does not matter.

Every round runs each command once, one after the other; the medians of the rounds are compared.
"""

from __future__ import annotations

import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rcc.emit.registry import BUILT_IN
from tools import bench_fetch, bench_hostile, bench_staging
from tools.clean import PINNED, RECIPES, write_clean_recipe, write_group, write_pinned_recipe
from tools.processor import processor_seconds

RCC = (sys.executable, str(Path(sys.executable).with_name("rcc")))
ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 25
MANY = 1000
VERY_MANY = 10_000


@dataclass(frozen=True, slots=True)
class Measured:
    """A command, and how many times the yardstick's time it may take."""

    what: str
    words: tuple[str, ...]
    at_most: float


def main() -> int:
    """Prints a line per figure; 1 where one is over its bound. With names of parts as arguments, only those."""
    # What pip does for an installed package, and for click; PYTHONDONTWRITEBYTECODE may have kept it from these.
    for folder in ("compiler", "schema", "targets"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    wanted = sys.argv[1:] or list(PARTS)
    if not PARTS.keys() >= {*wanted}:
        raise SystemExit(f"the parts are {', '.join(PARTS)}")
    late = [PARTS[name]() for name in wanted]
    return int(any(late))


def _commands() -> bool:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        write_clean_recipe(work)
        write_pinned_recipe(work)
        for nodes in (4, 64):
            write_group(work, nodes)
        return any([*_ratios(work), _nodes(work), *_each(work), _real(work)])


def _build(recipe: str, *targets: str) -> tuple[str, ...]:
    words = [word for target in targets for word in ("-t", target)]
    return (*RCC, "build", recipe, "--frozen", *words, "-o")


def _ratios(work: Path) -> list[bool]:
    """Whole processes against Python with click."""
    yardstick = Measured('python -c "import click"', (sys.executable, "-c", "import click"), 1)
    commands = (
        yardstick,
        Measured("rcc lint, a clean recipe", (*RCC, "lint", "pinned.recipe.toml"), 1.6),
        Measured("rcc lint, a clean recipe with its lock", (*RCC, "lint", "recipe.toml"), 1.8),
        Measured("rcc build, two targets, four nodes", _build("recipe.toml", "compose", "shell"), 4),
        Measured("rcc build, all targets, four nodes", _build("recipe.toml"), 6),
    )
    medians = _medians(commands, work)
    one = medians[yardstick]
    print(f"{yardstick.what}: {one * 1000:.0f} ms")
    return [_tell(command.what, medians[command] / one, command.at_most, "x") for command in commands[1:]]


def _nodes(work: Path) -> bool:
    """Sixteen times the nodes."""
    few, many = (
        Measured(f"rcc build, all targets, {nodes} nodes", _build(f"group-{nodes}.recipe.toml", *BUILT_IN), 3)
        for nodes in (4, 64)
    )
    medians = _medians((few, many), work)
    return _tell("rcc build, 64 nodes for 4", medians[many] / medians[few], many.at_most, "x")


def _medians(commands: tuple[Measured, ...], work: Path) -> dict[Measured, float]:
    times: dict[Measured, list[float]] = {command: [] for command in commands}
    for number in range(ROUNDS):
        for index, command in enumerate(commands):
            more = (f"out-{index}-{number}/result",) if command.words[-1] == "-o" else ()
            times[command].append(_time((*command.words, *more), work))
    return {command: statistics.median(taken) for command, taken in times.items()}


def _each(work: Path) -> list[bool]:
    """Many recipes in one process, without the cost of the process itself."""
    for number in range(MANY):
        write_pinned_recipe(work / "pinned", str(number))
        write_clean_recipe(work / "locked", f"{number}.recipe")
    return [
        _tell(f"rcc lint, each of {MANY} clean recipes", _milliseconds(work, "pinned"), 2, "ms"),
        _tell(f"rcc lint, each of {MANY} with their locks", _milliseconds(work, "locked"), 4, "ms"),
    ]


def _real(work: Path) -> bool:
    """Very many in one process, those of the repository with their locks among them: 400 a second on one processor."""
    (work / "real").mkdir()
    recipes = [PINNED, *sorted(RECIPES.glob("*/recipe.toml"))]
    files = []
    for number in range(VERY_MANY):
        recipe = recipes[number % len(recipes)]
        files.append(f"real/{number}.recipe.toml")
        shutil.copy(recipe, work / files[-1])
        if recipe.with_suffix(".lock").exists():
            shutil.copy(recipe.with_suffix(".lock"), work / f"real/{number}.recipe.lock")
    took = processor_seconds((*RCC, "lint", *files), work, worst=1)
    return _tell(f"rcc lint, each of {VERY_MANY} recipes, real ones too", took / VERY_MANY * 1000, 2.5, "ms")


def _milliseconds(work: Path, folder: str) -> float:
    """For one recipe more in a process."""
    files = [f"{folder}/{number}.recipe.toml" for number in range(MANY)]
    one, all_of_them = ((*RCC, "lint", *some) for some in (files[:1], files))
    pairs = [(_time(one, work), _time(all_of_them, work)) for _ in range(3)]
    return statistics.median((long - short) / (MANY - 1) for short, long in pairs) * 1000


def _time(words: tuple[str, ...], work: Path) -> float:
    """Seconds that a command takes, which must end well."""
    env = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
    start = time.perf_counter()
    done = subprocess.run(words, cwd=work, env=env, capture_output=True, text=True, check=False)
    took = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:4])}: {done.stdout}{done.stderr}")
    return took


def _tell(what: str, value: float, at_most: float, unit: str) -> bool:
    late = value > at_most
    print(f"{what:<40} {value:6.2f} {unit:<2} (at most {at_most:g} {unit}){'  TOO SLOW' if late else ''}")
    return late


PARTS = {
    "commands": _commands,
    "hostile": bench_hostile.main,
    "fetch": bench_fetch.main,
    "staging": bench_staging.main,
}

if __name__ == "__main__":
    sys.exit(main())
