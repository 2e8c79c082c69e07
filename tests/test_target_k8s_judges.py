"""What those make of our manifests who share no code with us: schemas, kubectl, yamllint."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, ValidationError

from rcc.diagnostic import has_errors
from rcc.plan.model import Plan
from rcc_targets.k8s import target
from tests.support.examples import examples
from tests.support.k8s_cases import PLANS, accepted, files_of, manifests_of
from tests.support.paths import SHARED, needs_shared
from tests.support.plans import four, plans, single
from tests.support.skips import needs


@cache
def crd() -> Draft7Validator:
    """The schema of a LeaderWorkerSet, closed: an unknown field is an error."""
    path = SHARED / "crds/leaderworkerset.x-k8s.io_leaderworkersets.yaml"
    (version,) = yaml.load(path.read_bytes(), yaml.CSafeLoader)["spec"]["versions"]
    schema: dict[str, Any] = closed(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return Draft7Validator(schema)


def closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string") is True:
        return {"type": ["integer", "string"]}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made["additionalProperties"] = False
    return made


@needs_shared
@pytest.mark.parametrize("name", PLANS)
def test_the_schemas_of_kubernetes_take_every_object(name: str) -> None:
    for thing in manifests_of(PLANS[name]).objects:
        if thing["kind"] == "LeaderWorkerSet":
            crd().validate(thing)
            for kind in ("leaderTemplate", "workerTemplate"):
                pod = {"apiVersion": "v1", "kind": "Pod", **thing["spec"]["leaderWorkerTemplate"][kind]}
                kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)
        else:
            kubernetes_validate.validate(thing, kubernetes_validate.latest_version(), strict=True)


@needs_shared
def test_the_closed_schema_does_refuse() -> None:
    (workload,) = manifests_of(four()).of("LeaderWorkerSet")
    workload["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["hostNetwrok"] = True

    with pytest.raises(ValidationError, match="hostNetwrok"):
        crd().validate(workload)


def kubectl(*words: str, stdin: str = "") -> str:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "KUBECONFIG": "/dev/null", "HOME": "/nonexistent"}
    done = subprocess.run(["kubectl", *words], input=stdin.encode(), env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def json_stream(text: str) -> list[Any]:
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at = len(text) - len(text[at:].lstrip())
    return found


@needs("kubectl")
@examples(300, per_example=30)
@given(st.lists(plans(), min_size=30, max_size=30))
def test_kubectl_reads_generated_plans(several: list[Plan]) -> None:
    taken = [one for one in several if not has_errors(target.emit(one).findings)]
    assert taken
    named = [replace(one, id=f"plan-{number}") for number, one in enumerate(taken)]
    text = "---\n".join(text for one in named for path, text in files_of(one).items() if "kustomization" not in path)

    read = json_stream(kubectl("annotate", "--local", "-f", "-", "-o", "json", "rcc/x=1", stdin=text))

    workloads = {one["metadata"]["name"]: one for one in read if one["kind"] == "StatefulSet"}
    for one in named:
        (engine,) = workloads[one.id]["spec"]["template"]["spec"]["containers"]
        made = one.ranks[0].container
        assert {entry["name"]: entry["value"].replace("$$", "$") for entry in engine.get("env", [])} == dict(made.env)
        words = [*engine.get("command", []), *engine.get("args", [])]
        assert [word.replace("$$", "$") for word in words] == [*made.entrypoint, *made.command]


@needs("kubectl")
def test_kubectl_reads_hard_values_as_the_strings_they_are() -> None:
    short = [case for case in accepted() if len(case.text) < 100_000]
    env = {case.name + str(number): case.text for number, case in enumerate(short) if case.kind == "env"}
    words = tuple(case.text for case in short if case.kind == "arg")
    assert len(env) > 25
    plan = single(env=env, command=words)
    text = "---\n".join(text for path, text in files_of(plan).items() if "kustomization" not in path)

    read = json_stream(kubectl("annotate", "--local", "-f", "-", "-o", "json", "rcc/x=1", stdin=text))

    (workload,) = (one for one in read if one["kind"] == "StatefulSet")
    (engine,) = workload["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["value"].replace("$$", "$") for one in engine["env"]} == env
    assert [word.replace("$$", "$") for word in engine["args"]] == list(words)


@needs("kubectl")
@pytest.mark.parametrize("name", ["four", "statefulset", "single"])
def test_kustomize_reads_all_objects(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    for path, text in files_of(plan).items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    built = list(yaml.load_all(kubectl("kustomize", str(tmp_path / "k8s")), yaml.CSafeLoader))

    def key(thing: Any) -> tuple[str, str]:
        return thing["kind"], thing["metadata"]["name"]

    assert sorted(built, key=key) == sorted(manifests_of(plan).objects, key=key)


@pytest.mark.parametrize("name", PLANS)
def test_yamllint_is_silent(name: str, tmp_path: Path) -> None:
    for path, text in files_of(PLANS[name]).items():
        (tmp_path / Path(path).name).write_text(text)
    rules = "{extends: default, rules: {document-start: disable, line-length: disable}}"
    words = [str(Path(sys.executable).with_name("yamllint")), "--strict", "-d", rules, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("name", PLANS)
def test_names_are_those_that_kubernetes_takes(name: str) -> None:
    made = manifests_of(PLANS[name])
    objects = [thing["metadata"]["name"] for thing in made.objects]
    volumes = [one["name"] for rank in range(made.size) for one in made.pod(rank)[0]["spec"]["volumes"]]

    assert objects
    assert [one for one in objects if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", one)] == []
    assert volumes
    assert [one for one in volumes if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", one)] == []
