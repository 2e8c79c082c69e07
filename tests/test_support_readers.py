"""The readers of artifacts, held to texts that the real programs were seen to decode, and to naive encoders."""

import json
import shlex

import pytest
import yaml

from tests.support import compose_reader, docker_argv, k8s_reader, strict_yaml, systemd_reader
from tests.support.hardcases import HardCase, hard_cases
from tests.support.paths import needs_shared
from tests.support.strict_yaml import UnfaithfulError


def written(target: str, *kinds: str) -> list[tuple[HardCase, str]]:
    """Cases with the exact text that a format has for them."""
    cases = [(case, case.expect[target]) for case in hard_cases(*kinds) if target in case.expect and not case.argv0]
    # `<VALUE>` is the escaped run of a long case: the value itself where nothing in it needs an escape.
    return [
        (case, text.replace("<VALUE>", case.text))
        for case, text in cases
        if not text.startswith("refuse:") and ("<VALUE>" not in text or case.text.isalnum())
    ]


@needs_shared
def test_compose_texts_decode() -> None:
    cases = written("compose", "env")
    assert cases
    for case, text in cases:
        document = compose_reader.read_compose("environment: {" + text + "}\n")

        assert document["environment"] == {case.name: case.text}, case.id


@needs_shared
def test_compose_arguments_decode() -> None:
    cases = written("compose", "arg")
    assert cases
    for case, text in cases:
        assert compose_reader.read_compose("command: [" + text + "]\n")["command"] == [case.text], case.id


@needs_shared
def test_kubernetes_texts_decode() -> None:
    cases = [case for case in written("k8s_yaml", "env") if k8s_reader.ENV_NAME.fullmatch(case[0].name)]
    assert cases
    for case, text in cases:
        (entry,) = strict_yaml.read_documents(text + "\n")
        container = {"env": [{"name": "X", "value": "VAL"}, entry], "command": ["sh"]}
        if case.name != "X":
            assert k8s_reader.process(container)[1][case.name] == case.value, case.id


@needs_shared
def test_docker_run_texts_decode() -> None:
    cases = written("docker_run", "env")
    assert cases
    for case, text in cases:
        run = docker_argv.docker_run(["run", *shlex.split(text), "image"])

        assert run.env == {case.name: case.text}, case.id


@needs_shared
def test_docker_mounts_decode() -> None:
    cases = [case for case in written("docker_run", "path") if case[0].role in {"source", "target"}]
    assert cases
    for case, text in cases:
        (mount,) = docker_argv.docker_run(["run", *shlex.split(text), "image"]).mounts

        assert mount[case.role] == case.text, case.id


@needs_shared
@pytest.mark.parametrize(("target", "prefix"), [("systemd_exec", ""), ("systemd_exec_colon", ":")])
def test_exec_lines_decode(target: str, prefix: str) -> None:
    cases = written(target, "arg")
    assert cases
    for case, text in cases:
        unit = systemd_reader.read_unit(f"[Service]\nExecStart={prefix}/bin/x {text}\n")

        assert systemd_reader.exec_argv(unit.value("Service", "ExecStart")) == ["/bin/x", case.text], case.id


@needs_shared
def test_unit_environments_decode() -> None:
    cases = written("systemd_environment", "env")
    assert cases
    for case, text in cases:
        unit = systemd_reader.read_unit(f"[Service]\n{text}\n")

        assert systemd_reader.environment(unit.values("Service", "Environment")) == {case.name: case.text}, case.id


HARD = hard_cases("env", "arg")


@pytest.mark.parametrize(
    "naive",
    [
        lambda text: f"command: [{text}]\n",
        lambda text: f"command: [{json.dumps(text)}]\n",
        lambda text: yaml.safe_dump({"command": [text]}),
    ],
    ids=["plain", "json without doubled dollars", "yaml library"],
)
def test_naive_compose_is_refused_or_decodes_wrong(naive: object) -> None:
    assert callable(naive)
    assert any(_differs(lambda case: compose_reader.read_compose(naive(case.text))["command"], case) for case in HARD)


@pytest.mark.parametrize(
    "naive",
    [shlex.quote, lambda text: f'"{text}"', lambda text: json.dumps(text).replace("$", "$$")],
    ids=["shell quotes", "bare quotes", "without doubled percent"],
)
def test_naive_units_are_refused_or_decode_wrong(naive: object) -> None:
    assert callable(naive)
    assert any(_differs(lambda case: systemd_reader.exec_argv(f"/bin/x {naive(case.text)}")[1:], case) for case in HARD)


def _differs(decode: object, case: HardCase) -> bool:
    assert callable(decode)
    try:
        return bool(decode(case) != [case.text])
    except (UnfaithfulError, yaml.YAMLError):
        return True


@pytest.mark.parametrize(
    "text",
    [
        "a: no\n",
        "a: plain\n",
        "a: 1e3\n",
        "a: 010\n",
        "a: 12345678901\n",
        "a: ~\n",
        "a: Null\n",
        "a:\n",
        "a: 'single'\n",
        "a: |\n  block\n",
        'y: "1"\n',
        '1: "1"\n',
        'a: "1"\na: "2"\n',
        'a: "one\n  two"\n',
        'a: "ü"\n',
        'a: "\\ud83d\\ude00"\n',
        "a: &x [1]\nb: *x\n",
        'a: "1"',
        'a: "1"\n\n',
        f'"{"k" * 1001}": 1\n',
    ],
)
def test_yaml_that_readers_differ_on_is_refused(text: str) -> None:
    with pytest.raises((UnfaithfulError, yaml.YAMLError)):
        strict_yaml.read_documents(text)


def test_kubelet_expansion() -> None:
    known = {"X": b"VAL"}

    assert k8s_reader.expand(b"a$(X)b$(Y)$$(X)$$$(X)", known) == b"aVALb$(Y)$(X)$VAL"
    assert k8s_reader.expand("$é".encode(), known) == "$\u00c3".encode() + b"\xa9"
    assert k8s_reader.expand(b"$(X", known) == b"$(X"
    assert k8s_reader.expand(b"end$", known) == b"end$"


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "--unheard-of", "image"],
        ["run", "-v", "/a:/b", "image"],
        ["run", "--name", "a", "--name", "b", "image"],
        ["run", "--rm"],
        ["run", "--name"],
        ["exec", "image"],
    ],
)
def test_docker_options_that_are_not_understood(argv: list[str]) -> None:
    with pytest.raises(UnfaithfulError):
        docker_argv.docker_run(argv)


def test_docker_argv_after_the_image_is_left_alone() -> None:
    run = docker_argv.docker_run(["run", "--rm", "-e", "A=", "--entrypoint=sh", "image", "-e", "--", "", "--help"])

    assert (run.argv, run.env, run.image) == (["sh", "-e", "--", "", "--help"], {"A": ""}, "image")


@pytest.mark.parametrize(
    "value",
    ["/x $HOME", "/x ${HOME}", "/x %h", '/x "open', r"/x \q", "/x a ; /y", "@/x y", r"/x \xff", r"/x \x00"],
)
def test_exec_lines_that_systemd_would_fill_in_or_refuse(value: str) -> None:
    with pytest.raises(UnfaithfulError):
        systemd_reader.exec_argv(value)


def test_unit_lines_are_joined_and_comments_skipped() -> None:
    text = "[Service]\nExecStart=/x \\\n# between\n  a\n; also\nExecStartPre=\nExecStartPre=/y\n"

    unit = systemd_reader.read_unit(text)

    assert systemd_reader.exec_argv(unit.value("Service", "ExecStart")) == ["/x", "a"]
    assert unit.values("Service", "ExecStartPre") == ["/y"]
