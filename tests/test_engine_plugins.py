"""An engine of somebody else's: it builds as ours do, and a broken one is told on."""

from pathlib import Path

import pytest

from tests.support.cli import Ran, run_rcc
from tests.support.plugin import add_plugin

RECIPE = 'engine = "mine"\ndocker_image = "localhost/mine:1"\nmodel = "/srv/m"\nport = 9\nargs = ["--fast"]\n'
HEAD = "from rcc.engines.model import Engine, Objection, Process\n"
GOOD = f"""{HEAD}
def process(world):
    address = f"{{world.listen}}:{{world.port}}"
    return Process(world.entrypoint, (*world.args, "--model", world.model, "--bind", address))

engine = Engine("mine", ("my-engine",), process, uses_gpus=False, owned={{"--bind": "listen"}})
"""


def code_of(process: str, objections: str = "()") -> str:
    return f"""{HEAD}
engine = Engine("mine", ("my-engine",), lambda world: {process}, lambda recipe: {objections}, uses_gpus=False)
"""


def rcc(folder: Path, *words: str, plugins: Path) -> Ran:
    (folder / "x.recipe.toml").write_text(RECIPE)
    return run_rcc(*words, cwd=folder, env={"PYTHONPATH": str(plugins)})


def test_an_engine_of_a_plug_in_is_built(tmp_path: Path) -> None:
    plugins = add_plugin(tmp_path / "site", "rcc-mine", "mine", GOOD, "engine")

    plan = rcc(tmp_path, "plan", "x.recipe.toml", "--json", plugins=plugins).json()

    container = plan["ranks"][0]["container"]
    assert [*container["entrypoint"], *container["command"]] == [
        *("my-engine", "--fast", "--model", "/rcc/models/model", "--bind", "0.0.0.0:9")
    ]
    assert rcc(tmp_path, "build", "x.recipe.toml", "-t", "shell", plugins=plugins).code == 0
    ran = rcc(tmp_path, "lint", "x.recipe.toml", plugins=plugins)
    assert "warning[RCC502]: engine `mine` is not built in" in ran.out


def test_a_flag_that_a_plug_in_s_engine_gets_from_a_key_is_the_compiler_s(tmp_path: Path) -> None:
    plugins = add_plugin(tmp_path / "site", "rcc-mine", "mine", GOOD, "engine")
    (tmp_path / "y.recipe.toml").write_text(RECIPE.replace("--fast", "--bind=1"))

    ran = rcc(tmp_path, "build", "y.recipe.toml", plugins=plugins)

    assert "error[RCC501]: `--bind` is set by the compiler, from `listen`" in ran.err


BROKEN = {
    "cannot be imported": ("import no_such_module", "cannot be loaded: ModuleNotFoundError: No module named"),
    "ends the program": ("raise SystemExit(5)", "cannot be loaded: SystemExit: 5"),
    "is no engine": ("engine = 7", "is no `rcc.engines.model.Engine` of that name"),
    "has another name": (GOOD.replace('Engine("mine"', 'Engine("other"'), "is no `rcc.engines.model.Engine` of that"),
    "raises": (code_of("world.nothing"), "failed: AttributeError"),
    "gives no process": (code_of("['x']"), "failed: it gives ['x']"),
    "gives a number": (code_of("Process(('x',), (7,))"), "failed: it gives Process("),
    "raises on a recipe": (code_of("Process((), ())", "recipe.nothing"), "failed: AttributeError"),
    "objects in a string": (code_of("Process((), ())", "['no']"), "failed: it gives ('no',)"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_engine_is_told_on_and_nothing_is_written(fault: str, tmp_path: Path) -> None:
    code, said = BROKEN[fault]
    plugins = add_plugin(tmp_path / "site", "rcc-mine", "mine", code, "engine")

    ran = rcc(tmp_path, "build", "x.recipe.toml", plugins=plugins)

    assert ran.code == 1
    assert "error[RCC1091]: the engine `mine` of `rcc-mine` " + said in ran.err
    assert " --> x.recipe.toml:1:10" in ran.err
    assert "Traceback" not in ran.text
    assert not (tmp_path / "result").exists()


def test_an_objection_stands_at_its_key(tmp_path: Path) -> None:
    objection = '[Objection(("args", 0), "`--fast` is not to be had", "remove it")]'
    code = code_of("Process((), ())", objection)
    plugins = add_plugin(tmp_path / "site", "rcc-mine", "mine", code, "engine")

    ran = rcc(tmp_path, "build", "x.recipe.toml", plugins=plugins)

    assert "error[RCC517]: `--fast` is not to be had\n --> x.recipe.toml:5:9" in ran.err


def test_two_distributions_with_one_engine_are_both_named(tmp_path: Path) -> None:
    plugins = add_plugin(tmp_path / "site", "rcc-one", "mine", GOOD, "engine")
    add_plugin(plugins, "rcc-two", "mine", GOOD, "engine")

    ran = rcc(tmp_path, "build", "x.recipe.toml", plugins=plugins)

    assert "error[RCC1092]: the engine `mine` comes from `rcc-one` and `rcc-two`" in ran.err


def test_an_engine_that_nobody_brings_is_named_with_those_there_are(tmp_path: Path) -> None:
    ran = rcc(tmp_path, "build", "x.recipe.toml", plugins=tmp_path)

    known = "`custom`, `llama-cpp`, `sglang`, `trtllm`, `vllm`"
    assert f"error[RCC502]: no engine is called `mine`; there are {known}" in ran.err
