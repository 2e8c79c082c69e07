"""The recipe language: every key, ids, sizes, `extends`."""

import pytest

from rcc.recipe.identity import default_id, proposed_id
from rcc.recipe.size import parse_duration, parse_size
from tests.support.texts import CUSTOM, ONE_NODE, load_texts, planned, refused

MODEL = "a Hugging Face repo id (`org/name`) or an absolute path without `..`"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("32gb", 32 << 30),
        ("32GiB", 32 << 30),
        ("55G", 55 << 30),
        ("512 MiB", 512 << 20),
        ("1.5k", 1536),
        ("0.1b", 0),
        ("2TB", 2 << 40),
        ("55GBs", None),
        ("gb", None),
        ("-1k", None),
        ("1  k", None),
        ("1k\n", None),
        ("8388607t", 8388607 << 40),
        ("8388608t", None),
        ("9" * 5000, None),
    ],
)
def test_sizes_are_docker_s(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("45m", 2700),
        ("1h30m", 5400),
        ("1.5m", 90),
        ("0.5s", None),
        ("90", None),
        ("", None),
        ("1d", None),
        ("90000ms", 90),
        ("1m29s1000ms", 90),
        ("1000000us", 1),
        ("500000µs500000μs", 1),
        ("1000000000ns", 1),
        ("500ms", None),
        ("1.0000000000001s", 1),
        ("596523h", 2147482800),
        ("596524h", None),
        ("9" * 5000 + "s", None),
    ],
)
def test_durations_are_docker_s_in_whole_seconds(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("2026-09-27_193307_engram-local.recipe.toml", "engram-local"),
        ("a/b/Big Model.recipe.toml", "big-model"),
        ("_x_.recipe.toml", "x"),
        ("70b.recipe.toml", "r-70b"),
        ("recipe.toml", None),
        ("--.recipe.toml", None),
        (".recipe.toml", None),
        (f"{'x' * 41}.recipe.toml", None),
    ],
)
def test_a_file_name_gives_an_id(name: str, id: str | None) -> None:
    assert default_id(name) == id


def test_a_recipe_toml_without_an_id_is_told_one() -> None:
    loaded, (found,) = load_texts('engine = "custom"\ndocker_image = "x:1"\n')

    assert loaded is None
    assert found.help == 'add `id = "my-recipe"`'
    assert proposed_id("models/Big.v2/recipe.toml") == "big-v2"


def test_an_id_is_never_altered() -> None:
    lines = refused(CUSTOM.replace("thing", "x" * 80, 1))

    assert lines == [
        f"RCC207 1:6 `id` must be 1 to 40 of `a-z`, `0-9` and `-`, a letter first and no `-` last, not `{'x' * 57}...`"
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('port = "30000"', "RCC202 4:8 `port` must be an integer, not a string"),
        ("port = true", "RCC202 4:8 `port` must be an integer, not a boolean"),
        ("port = 1.0", "RCC202 4:8 `port` must be an integer, not a float"),
        ("port = 70000", "RCC203 4:8 `port` must be 1 to 65535, not 70000"),
        ('shm_size = "55GBs"', "RCC205 4:12 `shm_size` must be a size such as `32gb`, not `55GBs`"),
        ('shm_size = "8388608t"', f"RCC203 4:12 `shm_size` must be at most {2**63 - 1} bytes, not `8388608t`"),
        (f"shm_size = {2**63}", f"RCC203 4:12 `shm_size` must be 1 to {2**63 - 1}, not {2**63}"),
        (
            'stop_grace = "596524h"',
            f"RCC203 4:14 `stop_grace` must be at most {2**31 - 1} seconds, not `596524h`",
        ),
        ('requires_rcc = ">=9999999999"', "RCC205 4:16 `>=9999999999` is not a version range"),
        ("prot = 1", "RCC201 4:1 unknown key `prot`"),
        (
            'model = "a/b/../../c"',
            f"RCC205 4:9 `model` must be {MODEL}, not `a/b/../../c`",
        ),
        (
            'ipc = "host"\nshm_size = "1g"',
            'RCC206 5:1 `shm_size` has no effect with `ipc = "host"`: docker ignores it, podman refuses it',
        ),
        ('requires_rcc = ">=99"', "RCC209 4:16 this recipe wants rcc >=99, and this is rcc 0.1.0"),
        ('requires_rcc = "new"', "RCC205 4:16 `new` is not a version range"),
        ('secrets = ["A"]\nenv.A = "1"', "RCC206 4:12 `A` is a secret and stands in `[env]` too"),
        ('args = ["a\\u0000b"]', "RCC205 4:9 `args[0]` holds a NUL, which no process can be given"),
        ('user = "root"', "RCC205 4:8 `user` must be `uid` or `uid:gid`, in numbers, not `root`"),
        (
            '[env]\n"A\\nB" = "1"',
            "RCC205 5:1 `env.A\\nB` must be of one line, not `A\\nB`",
        ),
        ("[env]\nPORT = 1", "RCC202 5:8 `env.PORT` must be a string, not an integer"),
        (
            '[[extra_mounts]]\nhost = "/x"\ncontainer = "/x"\nargs = []',
            "RCC101 7:1 `args` is read as `extra_mounts[0].args`",
        ),
        ("[env]\nport = 30000", "RCC101 5:1 `port` is read as `env.port`"),
        ('[env]\ntopology = "x"', "RCC101 5:1 `topology` is read as `env.topology`"),
        ('[healthcheck]\ncontainer = "/x"', "RCC102 5:1 `container` is read as `healthcheck.container`"),
        (
            '[extra_mounts]\nhost = "/x"',
            "RCC103 4:1 `[extra_mounts]` is one table, and `extra_mounts` is an array of tables",
        ),
    ],
)
def test_what_does_not_fit_is_said_at_its_place(line: str, expected: str) -> None:
    assert refused(f"{CUSTOM}{line}\n") == [expected]


def test_every_problem_of_a_file_is_reported() -> None:
    lines = refused('prot = 1\nport = "x"\nengine = "custom"\n')

    assert [line.split()[0] for line in lines] == ["RCC201", "RCC204", "RCC204", "RCC202"]


def test_every_missing_key_is_named() -> None:
    assert refused('id = "x"\nextra_mounts = [{}]\n') == [
        "RCC204 1:1 the file has no `docker_image`",
        "RCC204 1:1 the file has no `engine`",
        "RCC204 2:1 `extra_mounts[0]` has no `container`",
        "RCC204 2:1 `extra_mounts[0]` has no `host`",
    ]


def test_a_wrong_type_says_how_to_write_it() -> None:
    _, (found,) = load_texts(CUSTOM + 'port = "30000"\n')

    assert found.help == "write it without quotes: `30000`"


@pytest.mark.parametrize("recipe", [CUSTOM + 'name = "a\\u0000b"\n', CUSTOM.replace("thing", "x" * 80, 1)])
def test_a_value_that_cannot_be_says_what_to_do(recipe: str) -> None:
    _, (found,) = load_texts(recipe)

    assert found.help


def test_an_engine_needs_a_model() -> None:
    lines = refused('id = "x"\nengine = "sglang"\ndocker_image = "x:1"\n', ONE_NODE)

    assert lines == ["RCC204 1:1 engine `sglang` needs a `model`"]


BASE = """\
engine = "custom"
docker_image = "localhost/base:1"
args = ["--from-base", "1"]

[env]
A = "base"
B = "base"

[[extra_mounts]]
host = "/base"
container = "/base"
"""


OVER_BASE = """\
id = "x"
extends = "base.toml"
args = ["own"]

[env]
A = "own"

[[extra_mounts]]
host = "/own"
container = "/own"
"""


def test_extends_merges_tables_and_replaces_the_rest() -> None:
    plan = planned(OVER_BASE, base_toml=BASE)
    container = plan["ranks"][0]["container"]

    assert container["command"] == ["own"]
    assert container["image"] == "localhost/base:1"
    assert {"A": "own", "B": "base"}.items() <= container["env"].items()
    assert [one["source"] for one in container["mounts"]] == ["/own"]


def test_the_later_base_wins_and_unset_removes() -> None:
    plan = planned(
        'id = "x"\nextends = ["base.toml", "later.toml"]\nunset = ["env.B", "extra_mounts"]\n',
        base_toml=BASE,
        later_toml='docker_image = "localhost/later:1"\n',
    )
    container = plan["ranks"][0]["container"]

    assert container["image"] == "localhost/later:1"
    assert container["env"]["A"] == "base"
    assert "B" not in container["env"]
    assert container["mounts"] == []


def test_a_finding_about_an_inherited_value_points_into_the_base() -> None:
    _, (found,) = load_texts('id = "x"\nextends = "base.toml"\n', base_toml=BASE + "read_onyl = true\n")

    assert str(found.place) == "base.toml:12:1"


def test_a_loop_is_shown_whole() -> None:
    lines = refused('id = "x"\nextends = "a.toml"\n', a_toml='extends = "b.toml"\n', b_toml='extends = "a.toml"\n')

    assert lines == ["RCC208 1:11 `extends` is a loop: `a.toml` → `b.toml` → `a.toml`"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("extends = 5", "RCC202 4:11 `extends` must be a string, not an integer"),
        ("extends = []", "RCC203 4:11 `extends` must have at least 1 element"),
        ('extends = ["base.toml", 5]', "RCC202 4:25 `extends[1]` must be a string, not an integer"),
        ('extends = "a\\u0000b"', "RCC205 4:11 `extends` holds a NUL, which no process can be given"),
        ('unset = "env.X"', "RCC202 4:9 `unset` must be an array, not a string"),
        ('unset = ["a..b"]', "RCC205 4:10 `unset[0]` must be a dotted key, not `a..b`"),
        ('extends = "broken.toml"', "RCC202 2:9 `unset` must be an array, not an integer"),
    ],
)
def test_keys_that_merge_recipes_are_checked_in_every_file(lines: str, expected: str) -> None:
    files = {"base_toml": BASE, "broken_toml": "port = 1\nunset = 3\n"}

    assert refused(f"{CUSTOM}{lines}\n", None, None, **files) == [expected]


def test_a_chain_of_bases_has_an_end() -> None:
    files = {f"r{n}_toml": f'extends = "r{n + 1}.toml"\n' for n in range(2000)}

    lines = refused('id = "x"\nextends = "r0.toml"\n', None, None, **files)

    assert lines == ["RCC208 1:11 recipes extend each other more than 100 deep"]


def test_a_missing_base_is_named_where_it_is_stated() -> None:
    lines = refused('id = "x"\nextends = ["nope.toml"]\n')

    assert lines == ["RCC007 2:12 cannot read `nope.toml`: no such file or directory"]
