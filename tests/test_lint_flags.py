"""Engine flags, read as the engines' own parsers read them."""

import json
from pathlib import Path

import pytest

from rcc.engines.flags import FlagTable, engine_data, flag_table, known_variables
from rcc.recipe.keys import LANGUAGE
from tests.support.cli import call_rcc, run_rcc
from tests.support.pages import completed
from tests.support.paths import ROOT, SHARED, needs_shared

DATA = ROOT / "compiler/rcc/engines/data"


def table(engine: str) -> FlagTable:
    found = flag_table(engine)
    assert found
    return found


def parsed(engine: str, *args: str) -> list[tuple[str, str, list[str]]]:
    """Each flag by its name (`?` for an unknown one, empty for a word), its dotted key, and its values."""
    return [
        (one.flag.name if one.flag else "?" if one.spelled else "", one.keys, [value.text for value in one.values])
        for one in table(engine).parse(args)
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--tp-size", "4"], [("--tp-size", "", ["4"])]),
        (["--tp", "4"], [("--tp-size", "", ["4"])]),
        (["--tensor-parallel-size=4"], [("--tp-size", "", ["4"])]),
        (["--model", "/m"], [("--model-path", "", ["/m"])]),
        (["--trust-remote-code", "x"], [("--trust-remote-code", "", []), ("", "", ["x"])]),
        (["--pp", "2", "x", "--port=1"], [("?", "", ["2", "x"]), ("--port", "", ["1"])]),
        (["--port"], [("--port", "", [])]),
        (["--port", "--host", "::"], [("--port", "", []), ("--host", "", ["::"])]),
        (["--random-seed", "-1"], [("--random-seed", "", ["-1"])]),
        (["--cuda-graph-bs-decode", "1", "2", "3", "--port=1"],
         [("--cuda-graph-bs-decode", "", ["1", "2", "3"]), ("--port", "", ["1"])]),
        (["--port", "1", "--", "--host"], [("--port", "", ["1"]), ("", "", ["--host"])]),
        (["--mem-fraction-static 0.8"], [("", "", ["--mem-fraction-static 0.8"])]),
        (["--nosuch=1"], [("?", "", ["1"])]),
        (["-", ""], [("", "", ["-"]), ("", "", [""])]),
    ],
)  # fmt: skip
def test_sglang(args: list[str], expected: list[tuple[str, str, list[str]]]) -> None:
    assert parsed("sglang", *args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-tp", "4", "-n4", "-r=1"],
         [("--tensor-parallel-size", "", ["4"]), ("--nnodes", "", ["4"]), ("--node-rank", "", ["1"])]),
        (["--tensor_parallel_size=4"], [("--tensor-parallel-size", "", ["4"])]),
        (["--speculative_config.method", "mtp"], [("--speculative-config", "method", ["mtp"])]),
        (["--compilation-config.pass_config.x=true"], [("--compilation-config", "pass_config.x", ["true"])]),
        (["-cc.mode", "3"], [("--compilation-config", "mode", ["3"])]),
        (["-O3", "-O=2", "-O", "1"], [("--optimization-level", "", [n]) for n in "321"]),
        (["--no-async-scheduling"], [("--async-scheduling", "", [])]),
        (["--served-model-name", "a", "b", "-q", "fp8"],
         [("--served-model-name", "", ["a", "b"]), ("--quantization", "", ["fp8"])]),
        (["org/model", "--port", "1"], [("", "", ["org/model"]), ("--port", "", ["1"])]),
    ],
)  # fmt: skip
def test_vllm(args: list[str], expected: list[tuple[str, str, list[str]]]) -> None:
    assert parsed("vllm", *args) == expected


def test_values_know_where_they_stand() -> None:
    joined, apart = table("sglang").parse(["--port=8000", "--host", "::"])

    assert [(one.index, one.offset) for one in (*joined.values, *apart.values)] == [(0, 7), (2, 0)]


def test_engines_without_a_table_have_none() -> None:
    assert flag_table("custom") is None
    assert known_variables("custom") == frozenset()


@needs_shared
@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_tables_are_those_of_the_engines_own_parsers(engine: str) -> None:
    from tools.engine_flags import flag_table as made_flags
    from tools.engine_flags import variable_table

    assert (DATA / f"{engine}.flags").read_text() == made_flags(SHARED / "flags", engine)
    assert (DATA / f"{engine}.variables").read_text() == variable_table(SHARED / "flags", engine)
    (source,) = (SHARED / "flags").glob(f"{engine}-*.json")
    for flag in json.loads(source.read_text())["flags"]:
        if flag["positional"]:
            continue
        ours = table(engine).find(flag["flags"][0])
        assert ours
        left_out_of_help = {f"--no-{one[2:]}" for one in flag["flags"] if flag["action"] == "EnableDisableAction"}
        assert set(flag["flags"]) <= set(ours.spellings) <= {*flag["flags"], *left_out_of_help}
        assert (ours.arity == "0") != flag["takes_value"]


def told(folder: Path, args: str, engine: str = "sglang") -> list[tuple[str, str]]:
    """Code and underlined text of what lint finds in `args`, the note about the KV pool apart."""
    text = completed(f'engine = "{engine}"\nargs = [{args}]\n')
    (folder / "x.recipe.toml").write_text(text)
    found = call_rcc("lint", "--format", "json", "--ignore", "RCC511", "x.recipe.toml", cwd=folder).json()["findings"]
    lines = text.splitlines()
    return [(one["code"], lines[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1]) for one in found]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ('"--context-length", "128k"', []),
        ('"--context-length", "1.5x"', [("RCC506", "1.5x")]),
        ('"--max-total-tokens", "1.5"', [("RCC506", "1.5")]),
        ('"--max-total-tokens", "1.5K"', [("RCC506", "1.5K")]),
        ('"--max-total-tokens", "128Ki"', [("RCC506", "128Ki")]),
        ('"--max-total-tokens", "1.5k", "--context-length", "2M", "--max-prefill-tokens", "-1"', []),
        ('"--mem-fraction-static=high"', [("RCC506", "high")]),
        ('"--log-requests-level", "7"', [("RCC507", "7")]),
        ('"--trust-remote-code=yes"', [("RCC506", "yes")]),
        ('"--served-model-name", "{{ id }}"', []),
        ('"--context-length", "{{ vars.length }}"', []),
        ('"--model", "x"', [("RCC501", "--model")]),
        ('"--nccl-init-addr=a:1"', [("RCC501", "--nccl-init-addr")]),
        ('"--tp=2", "--tp", "4"', [("RCC501", "--tp"), ("RCC501", "--tp")]),
        ('"--ep-size", "4", "--expert-parallel-size", "8"', [("RCC504", "--expert-parallel-size")]),
        ('"--json-model-override-args", \'{"a": [1, 2}\'', [("RCC508", "}")]),
        ('"--json-model-override-args={\\"a\\": tru}"', [("RCC508", "t")]),
        ('"--json-model-override-args", "{True: 1}"', [("RCC508", "T")]),
        ('"--json-model-override-args", "\\"{\\\\\\"a\\\\\\": 1}\\""', [("RCC509", '\\"')]),
        ('"--unknown", \'{"a": }\'', [("RCC503", "--unknown")]),
        ('"--served-model-name", \'{"a": }\'', [("RCC508", "}")]),
        ('"--disable-cuda-graph"', [("RCC514", "--disable-cuda-graph")]),
        ('"--max-model-len", "1"', [("RCC503", "--max-model-len")]),
        ('"--gruppe-ü", "1"', [("RCC503", "--gruppe-ü")]),
        ('"--new-list", "1", "2", "3"', [("RCC503", "--new-list")]),
        ('"--new-list", "1", "--trust-remote-code", "x"', [("RCC503", "--new-list"), ("RCC515", "x")]),
        ('"--cuda-graph-bs", "1", "2", "x"', [("RCC512", "--cuda-graph-bs")]),
        ('"--lora-paths a=/x b=/y"', [("RCC510", "--lora-paths a=/x b=/y")]),
        ('"--max-total-tokens", "--ep 4"', [("RCC510", "--ep 4")]),
        ('"--served-model-name=my model"', []),
        ('"--served-model-name=my model --ep 4"', [("RCC510", "--served-model-name=my model --ep 4")]),
        ('"--new-flag 3"', [("RCC510", "--new-flag 3")]),
        ('"--served-model-name", "--be brief"', []),
        ('"--trust-remote-code --tp 4"', [("RCC501", "--tp")]),
        ('"-tp", "4"', [("RCC503", "-tp")]),
    ],
)  # fmt: skip
def test_findings_and_their_places(args: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert told(tmp_path, args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ('"--default-chat-template-kwargs.thinking=true", "--default-chat-template-kwargs.effort=high"', []),
        ('"--hf-overrides.a.b", "1", "--hf-overrides.a.b=2"', [("RCC504", "--hf-overrides.a.b")]),
        ('"--max-model-len", "auto", "--max-num-batched-tokens", "8k"', []),
        ('"--max-model-len=-1"', []),
        ('"--max-model-len", "32,768"', [("RCC506", "32,768")]),
        ('"--speculative-config", \'{"method": "mtp"}\'', []),
        ('"--speculative-config", "None"', []),
        ('"--middleware", "a", "--middleware", "b"', []),
        ('"--async-scheduling", "--no-async-scheduling"', [("RCC504", "--no-async-scheduling")]),
        ('"--moe-backend", "Deep-Gemm"', []),
        ('"--context-length", "1"', [("RCC503", "--context-length")]),
        ('"--served-model-name", "a", "--max-model-len 4096"', [("RCC510", "--max-model-len 4096")]),
    ],
)
def test_vllm_findings(args: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert told(tmp_path, args, "vllm") == expected


@pytest.mark.parametrize(
    ("args", "key"),
    [
        ('"--tensor-parallel-size", "2"', "tensor_parallel_size"),
        ('"-tp", "2"', "tensor_parallel_size"),
        ('"--tensor_parallel_size=2"', "tensor_parallel_size"),
        ('"--tensor-par=2"', "tensor_parallel_size"),
        ('"--pipeline-parallel-size=2"', "pipeline_parallel_size"),
        ('"-dp", "2"', "data_parallel_size"),
        ('"--model", "x"', "model"),
        ('"--host", "::"', "listen"),
        ('"--port=1"', "port"),
        ('"-n4"', "required_nodes"),
        ('"--node-rank", "1"', "required_nodes"),
        ('"--headless"', "required_nodes"),
        ('"--master-addr", "a"', "rendezvous_port"),
        ('"--master-port", "1"', "rendezvous_port"),
        ('"--distributed-executor-backend", "ray"', "distributed_backend"),
    ],
)
def test_what_the_compiler_sets_for_vllm(args: str, key: str, tmp_path: Path) -> None:
    assert [code for code, _ in told(tmp_path, args, "vllm")] == ["RCC501"]
    assert f"remove it and set `{key}` instead" in call_rcc("lint", "x.recipe.toml", cwd=tmp_path).out


def test_vllm_takes_the_old_opposite_of_a_switch_which_its_help_leaves_out(tmp_path: Path) -> None:
    old = '"--no-enable-prefix-caching", "--no_enable_flashinfer_autotune", "--no-disable-hybrid-kv-cache-manager"'
    assert told(tmp_path, old, "vllm") == []
    assert [code for code, _ in told(tmp_path, '"--no-disable-log-stats"', "vllm")] == ["RCC503"]


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_every_flag_that_the_compiler_sets_is_one_of_the_engine(engine: str) -> None:
    owned = engine_data(engine)["owned"]
    assert owned
    assert [flag for flag in owned if table(engine).find(flag) is None] == []
    assert set(owned.values()) <= LANGUAGE.keys.keys()


@pytest.mark.parametrize(
    ("engine", "args", "help"),
    [
        ("sglang", '"-tp", "4"', "`--tp-size` is what the compiler sets: remove it and set `tensor_parallel_size`"),
        ("sglang", '"--master-port", "4"', "it is a flag of vllm: remove it and set `rendezvous_port`"),
        ("vllm", '"--tp-size", "4"', "it is a flag of sglang: remove it and set `tensor_parallel_size`"),
        ("sglang", '"--tp-siz", "4"', "set by the compiler"),
        ("sglang", '"--nodes", "4"', "`--nnodes` is what the compiler sets: remove it and set `required_nodes`"),
        ("sglang", '"--trust_remote_code"', "did you mean `--trust-remote-code`?"),
        ("vllm", '"--no-prefix-caching"', "did you mean `--disable-prefix-caching`?"),
        ("vllm", '"--max-model-length", "4"', "did you mean `--max-model-len`?"),
        ("vllm", '"--port-of-ours", "4"', "a newer or patched engine may have it"),
        ("sglang", '"-ab", "4"', "a newer or patched engine may have it"),
    ],
)
def test_what_an_unknown_flag_may_stand_for(engine: str, args: str, help: str, tmp_path: Path) -> None:
    told(tmp_path, args, engine)
    ran = call_rcc("lint", "x.recipe.toml", cwd=tmp_path)

    assert help in ran.out
    assert ("did you mean" in help) == ("--unsafe-fixes" in ran.out)


@pytest.mark.parametrize(
    ("string", "strings"),
    [
        ('"--max-total-tokens 1000"', '"--max-total-tokens", "1000"'),
        ('"--max-total-tokens 1000 --chunked-prefill-size 8"',
         '"--max-total-tokens", "1000", "--chunked-prefill-size", "8"'),
        ('"--trust-remote-code --ep 4"', '"--trust-remote-code", "--ep", "4"'),
        ('"--trust-remote-code "', '"--trust-remote-code"'),
        ('"--lora-paths a=/x b=/y"', '"--lora-paths", "a=/x", "b=/y"'),
        ("'--served-model-name \"my model\"'", "'--served-model-name', 'my model'"),
        ("'--json-model-override-args {\"a\": 1}'", "'--json-model-override-args', '{\"a\": 1}'"),
        ('"--served-model-name {{ id }}"', '"--served-model-name", "{{ id }}"'),
        ('"--served-model-name=x --ep=4"', '"--served-model-name=x", "--ep=4"'),
        ('"--chat-template /a b.jinja"', '"--chat-template", "/a b.jinja"'),
        ("'--json-model-override-args {\"a\":1} --ep 4'", None),
        ('"--trust-remote-code true"', None),
        ('"--chat-template \'x"', '"--chat-template", "\'x"'),
    ],
)  # fmt: skip
def test_a_string_of_several_words_is_divided_as_it_was_meant(string: str, strings: str | None, tmp_path: Path) -> None:
    assert [code for code, _ in told(tmp_path, string)] == ["RCC510"]
    shown = call_rcc("lint", "x.recipe.toml", cwd=tmp_path).out
    assert ("1 fixable" in shown) == (strings is not None)
    call_rcc("lint", "--fix", "x.recipe.toml", cwd=tmp_path)

    assert f"args = [{strings or string}]\n" in (tmp_path / "x.recipe.toml").read_text()


def test_a_flag_of_the_other_engine_is_named_as_such(tmp_path: Path) -> None:
    told(tmp_path, '"--max-model-len", "1"')
    ran = call_rcc("lint", "x.recipe.toml", cwd=tmp_path)

    assert "it is a flag of vllm" in ran.out


def test_an_engine_that_is_not_built_in_is_a_warning_and_its_flags_go_unchecked(tmp_path: Path) -> None:
    assert told(tmp_path, '"--whatever"', "sgl-next") == [("RCC502", '"sgl-next"')]
    assert call_rcc("lint", "x.recipe.toml", cwd=tmp_path).code == 0


def test_no_plug_in_is_loaded_to_lint(tmp_path: Path) -> None:
    told(tmp_path, '"--whatever"', "sgl-next")
    (tmp_path / "cluster.toml").write_text('hf_cache = "/mnt/hf"\n[[nodes]]\nname = "a"\nhost = "10.0.0.11"\n')
    python = "import atexit, sys; atexit.register(lambda: print('importlib.metadata' in sys.modules, file=sys.stderr))"
    (tmp_path / "sitecustomize.py").write_text(python)
    env = {"PYTHONPATH": str(tmp_path)}
    ran = run_rcc("lint", "-c", "cluster.toml", "--format", "concise", "x.recipe.toml", cwd=tmp_path, env=env)

    assert ran.err.endswith("False\n")
    assert ran.out.count("RCC502") == 1


@pytest.mark.parametrize(
    ("doubled", "single"),
    [
        ('\'{{"method": "mtp"}}\'', '\'{"method": "mtp"}\''),
        ('\'{{"a": {{"b": [1, {{}}]}}}}\'', '\'{"a": {"b": [1, {}]}}\''),
        ('"{{\\"a\\": 1}}"', '"{\\"a\\": 1}"'),
        ('\'{{"a": "{{ id }}"}}\'', None),
    ],
)
def test_json_with_doubled_braces_is_told_once_and_mended(doubled: str, single: str | None, tmp_path: Path) -> None:
    assert [code for code, _ in told(tmp_path, f'"--speculative-config", {doubled}', "vllm")] == ["RCC301"]
    shown = call_rcc("lint", "x.recipe.toml", cwd=tmp_path).out
    assert "doubled braces are how other tools escape them" in shown
    assert "{{ '{{' }}" not in shown
    call_rcc("lint", "--fix", "x.recipe.toml", cwd=tmp_path)

    assert f"{single or doubled}]\n" in (tmp_path / "x.recipe.toml").read_text()


@pytest.mark.parametrize(
    ("entrypoint", "args", "expected"),
    [
        ('"bash", "-lc"', '"exec vllm serve $MODEL"', []),
        ('"bash", "-c"', '"exec vllm serve $MODEL"', []),
        ('"/bin/sh", "-ec"', '"exec vllm serve $MODEL"', []),
        ('"/usr/bin/env", "bash", "-euo", "pipefail", "-c"', '"run $MODEL"', []),
        ('"tini", "--"', '"bash", "-lc", "run $MODEL"', []),
        ('"bash", "/serve.sh"', '"$MODEL"', ["RCC308"]),
        ('"bash", "-l", "/serve.sh"', '"$MODEL"', ["RCC308"]),
        ('"python3", "-mc"', '"$MODEL"', ["RCC308"]),
        ('"tini", "--"', '"$MODEL", "bash", "-lc", "run $MODEL"', ["RCC308"]),
    ],
)
def test_what_a_shell_reads_it_expands(entrypoint: str, args: str, expected: list[str], tmp_path: Path) -> None:
    text = completed(f'engine = "custom"\nentrypoint = [{entrypoint}]\nargs = [{args}]\n')
    (tmp_path / "x.recipe.toml").write_text(text)
    found = call_rcc("lint", "--format", "json", "x.recipe.toml", cwd=tmp_path).json()["findings"]

    assert [one["code"] for one in found] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${HOME}/a", ["${HOME}"]),
        ("a${HF_HOME:-/srv/hf}/b", ["${HF_HOME:-/srv/hf}"]),
        ("${A-x}${B%/*}", ["${A-x}", "${B%/*}"]),
        ("${A:-${B:-c}}/d", ["${A:-${B:-c}}"]),
        ("$HOME:$PWD", ["$HOME", "$PWD"]),
        ("a$(hostname -s)b", ["$(hostname -s)"]),
        ("5$ and ${", []),
        ("costs $5, {$a}", []),
    ],
)
def test_shell_syntax_that_nothing_expands_is_told_from_end_to_end(
    text: str, expected: list[str], tmp_path: Path
) -> None:
    assert told(tmp_path, f'"--served-model-name", "{text}"') == [("RCC308", one) for one in expected]
