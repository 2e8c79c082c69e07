"""Tags to digests at a real registry, judged by skopeo."""

import base64
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rcc.diagnostic import Findings
from rcc.fetch.changes import Change
from rcc.fetch.sources import Sources
from rcc.fetch.update import Upgrade, update
from rcc.fetch.verify import verify
from rcc.lock.model import Lock, LockedImage
from rcc.lock.wanted import Wanted, WantedImage
from rcc.recipe.reference import Reference, parse_reference
from tests.support.oci import DOCKER_LIST, INDEX, MANIFEST, Blobs
from tests.support.registry import PASSWORD, USER, Registry, needs_registry, run_registry
from tests.support.skips import needs, require

pytestmark = needs_registry


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    require("docker-registry", "skopeo")
    with run_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    require("docker-registry", "skopeo")
    with run_registry(tmp_path_factory.mktemp("private"), basic_auth=True) as running:
        yield running


@pytest.fixture(scope="module")
def multi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    blobs = Blobs()
    return blobs.write_layout(
        tmp_path_factory.mktemp("layout"), {"multi": blobs.multi_arch(), "single": blobs.image("linux", "arm64", "v8")}
    )


def wanted(reference: str) -> Wanted:
    parsed = parse_reference(reference)
    assert isinstance(parsed, Reference)
    return Wanted(images=(WantedImage("engine", parsed),))


def resolve(
    reference: str, environ: Mapping[str, str], old: Lock | None = None, upgrade: Upgrade | None = None
) -> tuple[Lock | None, tuple[Change, ...], Findings]:
    with Sources(environ) as sources:
        return update(wanted(reference), old, sources, upgrade or Upgrade())


def engine(answer: tuple[Lock | None, tuple[Change, ...], Findings]) -> LockedImage:
    lock, _, found = answer
    assert not found
    assert lock
    return lock.images["engine"]


def codes(answer: tuple[Lock | None, tuple[Change, ...], Findings]) -> list[str]:
    return [one.code for one in answer[2]]


def test_an_index_is_locked_with_what_each_platform_pulls(registry: Registry, multi: Path) -> None:
    registry.push(multi, "multi", "spark/serve:1")

    image = engine(resolve(f"{registry.host}/spark/serve:1", {}))

    assert image.digest == registry.digest("spark/serve:1")
    assert image.media_type == INDEX
    assert set(image.platforms) == {"linux/arm64", "linux/amd64"}
    for one in image.platforms.values():
        assert one.manifest
        assert one.config
        assert registry.digest(f"spark/serve@{one.manifest.digest}") == one.manifest.digest
        body = (multi / "blobs" / one.manifest.digest.replace(":", "/")).read_bytes()
        assert one.manifest.size == len(body)
        assert one.config.digest == json.loads(body)["config"]["digest"]
        assert one.config.size == (multi / "blobs" / one.config.digest.replace(":", "/")).stat().st_size


def test_a_single_manifest_says_in_its_config_what_it_is_for(registry: Registry, multi: Path) -> None:
    registry.push(multi, "single", "spark/single:1")

    image = engine(resolve(f"{registry.host}/spark/single:1", {}))

    assert (image.digest, image.media_type) == (registry.digest("spark/single:1"), MANIFEST)
    assert list(image.platforms) == ["linux/arm64"]


def test_a_layout_gives_the_same_answer_as_the_registry_that_it_was_pushed_to(registry: Registry, multi: Path) -> None:
    registry.push(multi, "multi", "spark/same:multi")
    reference = f"{registry.host}/spark/same:multi"

    with Sources({}, image_from=f"oci:{multi}") as sources:
        lock, _, found = update(wanted(reference), None, sources, Upgrade())

    assert not found
    assert lock == resolve(reference, {})[0]


def test_a_layout_that_skopeo_wrote(registry: Registry, multi: Path, tmp_path: Path) -> None:
    registry.push(multi, "multi", "spark/copied:1")
    registry.pull("spark/copied:1", tmp_path / "copy", "1")

    with Sources({}, image_from=f"oci:{tmp_path}/copy") as sources:
        lock, _, found = update(wanted(f"{registry.host}/spark/copied:1"), None, sources, Upgrade())

    assert not found
    assert lock == resolve(f"{registry.host}/spark/copied:1", {})[0]


def test_types_of_docker(registry: Registry, tmp_path: Path) -> None:
    blobs = Blobs()
    index = blobs.index([blobs.image("linux", "arm64"), blobs.image("linux", "amd64", None, b"\0" * 2048)])
    registry.push(blobs.write_layout(tmp_path, {"1": index}), "1", "spark/docker:1", "--format=v2s2")

    image = engine(resolve(f"{registry.host}/spark/docker:1", {}))

    assert (image.digest, image.media_type) == (registry.digest("spark/docker:1"), DOCKER_LIST)
    assert image.digest != index["digest"]
    assert set(image.platforms) == {"linux/arm64", "linux/amd64"}


def test_a_digest_in_the_recipe_is_authoritative(registry: Registry, multi: Path) -> None:
    registry.push(multi, "multi", "spark/pinned:1")
    digest = registry.digest("spark/pinned:1")

    assert engine(resolve(f"{registry.host}/spark/pinned:gone@{digest}", {})).digest == digest
    assert codes(resolve(f"{registry.host}/spark/pinned@sha256:{'0' * 64}", {})) == ["RCC1204"]


def test_what_is_not_there_is_named(registry: Registry) -> None:
    found = resolve(f"{registry.host}/spark/none:9", {})[2]

    assert [one.code for one in found] == ["RCC1204"]
    assert f"{registry.host}/spark/none:9" in found[0].message
    assert "engine" in " ".join(found[0].notes)


def test_a_moved_tag_is_seen_by_upgrade_and_verify_alone(registry: Registry, multi: Path) -> None:
    reference = f"{registry.host}/spark/moving:1"
    registry.push(multi, "multi", "spark/moving:1")
    first = resolve(reference, {})[0]
    assert first
    registry.push(multi, "single", "spark/moving:1")

    assert resolve(reference, {}, first)[:2] == (first, ())
    with Sources({}) as sources:
        assert [one.code for one in verify(first, sources)] == ["RCC1219"]
    lock, (change,), _ = resolve(reference, {}, first, Upgrade(images=True))
    assert lock
    assert lock.images["engine"].digest == registry.digest("spark/moving:1")
    assert first.images["engine"].digest in str(change.old)
    assert lock.images["engine"].digest in str(change.new)


def test_an_upgrade_to_the_same_changes_nothing(registry: Registry, multi: Path) -> None:
    registry.push(multi, "multi", "spark/still:1")
    lock, _, _ = resolve(f"{registry.host}/spark/still:1", {})

    assert resolve(f"{registry.host}/spark/still:1", {}, lock, Upgrade(everything=True)) == (lock, (), ())


def docker_config(folder: Path, host: str, user: str = USER, password: str = PASSWORD) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    return {"DOCKER_CONFIG": str(folder)}


def test_basic_auth_with_the_login_of_docker(private: Registry, multi: Path, tmp_path: Path) -> None:
    private.push(multi, "multi", "spark/secret:1")
    environ = docker_config(tmp_path, private.host)

    image = engine(resolve(f"{private.host}/spark/secret:1", environ))

    assert image.digest == private.digest("spark/secret:1")
    by_file = {"REGISTRY_AUTH_FILE": str(tmp_path / "config.json"), "DOCKER_CONFIG": "/nonexistent"}
    assert engine(resolve(f"{private.host}/spark/secret:1", by_file)) == image


def test_without_and_with_a_wrong_login_one_finding_without_the_password(
    private: Registry, multi: Path, tmp_path: Path
) -> None:
    private.push(multi, "multi", "spark/secret:2")
    reference = f"{private.host}/spark/secret:2"
    wrong = docker_config(tmp_path, private.host, password="not-this-one")

    for environ in ({}, wrong):
        found = resolve(reference, environ)[2]
        assert [one.code for one in found] == ["RCC1203"]
        assert "not-this-one" not in str(found)
        assert base64.b64encode(f"{USER}:not-this-one".encode()).decode() not in str(found)
    assert str(tmp_path / "config.json") in found[0].message


@pytest.mark.parametrize("stored", ["credsStore", "credHelpers"])
def test_a_credential_helper(private: Registry, multi: Path, tmp_path: Path, stored: str) -> None:
    private.push(multi, "multi", "spark/secret:3")
    helper = tmp_path / "docker-credential-mine"
    helper.write_text(f"""#!/bin/sh
read host
[ "$1 $host" = "get {private.host}" ] || exit 9
echo '{{"Username": "{USER}", "Secret": "{PASSWORD}"}}'
""")
    helper.chmod(0o755)
    config = {"credsStore": "mine"} if stored == "credsStore" else {"credHelpers": {private.host: "mine"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    environ = {"DOCKER_CONFIG": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}

    assert engine(resolve(f"{private.host}/spark/secret:3", environ)).digest == private.digest("spark/secret:3")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"credsStore": "none"}', "docker-credential-none"),
        ('{"credsStore": "broken"}', "exit code 7"),
        ('{"credHelpers": {"HOST": "chatty"}}', "docker-credential-chatty"),
        ('{"credsStore": "../evil"}', "a name that no program has"),
        ("{", "not valid JSON"),
        ('{"auths": {"HOST": {"auth": "%%%"}}}', "base64"),
    ],
)
def test_a_login_that_cannot_be_read_does_not_break_a_public_pull(
    private: Registry, registry: Registry, multi: Path, tmp_path: Path, config: str, said: str
) -> None:
    for name, script in {"broken": "exit 7", "chatty": f"echo Secret {PASSWORD}"}.items():
        (tmp_path / f"docker-credential-{name}").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / f"docker-credential-{name}").chmod(0o755)
    environ = {"DOCKER_CONFIG": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    registry.push(multi, "multi", "spark/public:1")
    private.push(multi, "multi", "spark/secret:4")

    (tmp_path / "config.json").write_text(config.replace("HOST", registry.host))
    lock, _, found = resolve(f"{registry.host}/spark/public:1", environ)
    assert lock
    assert not found  # nobody asked for a login

    (tmp_path / "config.json").write_text(config.replace("HOST", private.host))
    lock, _, found = resolve(f"{private.host}/spark/secret:4", environ)
    assert lock is None
    assert [one.code for one in found] == ["RCC1203", "RCC1210"]
    assert said in found[1].message
    assert PASSWORD not in str(found)


def test_a_registry_that_is_not_there(tmp_path: Path) -> None:
    found = resolve("127.0.0.1:1/spark/serve:1", {})[2]

    assert [one.code for one in found] == ["RCC1202"]
    assert "connection refused" in found[0].message


def test_a_name_that_is_not_known() -> None:
    found = resolve("registry.invalid/spark/serve:1", {})[2]

    assert [one.code for one in found] == ["RCC1202"]
    assert "its name is not known" in found[0].message


def test_raw_bytes_decide(registry: Registry, multi: Path) -> None:
    """The test's own layouts have manifests that no writer of ours would write, and skopeo agrees on their hash."""
    registry.push(multi, "multi", "spark/raw:1")
    index = json.loads((multi / "index.json").read_text())["manifests"][0]["digest"]
    raw = (multi / "blobs" / index.replace(":", "/")).read_bytes()

    assert "sha256:" + hashlib.sha256(raw).hexdigest() == registry.digest("spark/raw:1")
    assert raw.startswith(b"{\n   ")


@needs("podman")
def test_podman_gives_the_digest_that_it_pulled(registry: Registry, tmp_path: Path) -> None:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    blobs = Blobs()
    top = blobs.index([blobs.image("linux", "s390x", None, b"\0" * 2048), blobs.image("linux", machine)])
    registry.push(blobs.write_layout(tmp_path / "layout", {"1": top}), "1", "spark/pulled:1")
    reference = f"{registry.host}/spark/pulled:1"
    (tmp_path / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/root"\nrunroot = "{tmp_path}/run"\n'
    )
    environ = {
        "CONTAINERS_STORAGE_CONF": str(tmp_path / "storage.conf"),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }
    podman = ["podman", "pull", "--quiet", "--tls-verify=false", reference]
    subprocess.run(podman, env=environ, check=True, capture_output=True)
    by_another_name = {**environ, "DOCKER_HOST": f"unix://{tmp_path}/none"}

    with Sources(by_another_name, image_from="daemon") as sources:
        lock, _, found = update(wanted(reference), None, sources, Upgrade())

    assert not found
    assert lock
    assert lock.images["engine"].digest == registry.digest("spark/pulled:1") == top["digest"]
    assert list(lock.images["engine"].platforms) == [f"linux/{machine}"]
    with Sources(by_another_name, image_from="daemon") as sources:
        missing = update(wanted(f"{reference}2"), None, sources, Upgrade())[2]
    assert [one.code for one in missing] == ["RCC1209"]
    assert "`podman` does not have it" in missing[0].message
