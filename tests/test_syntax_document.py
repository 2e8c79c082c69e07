"""Reading documents: what is refused, with which code, where, and in which words."""

import subprocess
import sys

import pytest
import tomli

from rcc.diagnostic import Finding, Severity
from rcc.source import Place
from rcc.syntax.document import MAX_BYTES, Document, read_document
from rcc.syntax.edit import apply_fixes

HEAVY = ("lark", "jinja2", "jsonschema", "rich", "huggingface_hub", "importlib.resources", "importlib.metadata", "json")


def refuse(data: bytes | str) -> Finding:
    """The one error of a text that is refused."""
    document, findings = read_document("recipe.toml", data.encode() if isinstance(data, str) else data)
    assert document is None
    (error,) = (one for one in findings if one.severity is Severity.ERROR)
    return error


def read(data: str) -> Document:
    document, findings = read_document("recipe.toml", data.encode())
    assert document is not None
    assert findings == ()
    return document


def source_of(place: Place | None) -> str:
    assert place is not None
    return place.source.text[place.span.start : place.span.end]


def test_a_clean_file_is_read_without_anything_heavy() -> None:
    program = (
        "import sys; from rcc.syntax.document import read_document;"
        f"document, found = read_document('a', b'[env]\\na.b = [1]\\n'); assert document.values and not found;"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_places_fall_back_to_what_is_above() -> None:
    document = read("[env]\na = ['x']\n")
    assert str(document.place(("env", "a", 0))) == "recipe.toml:2:6"
    assert str(document.place(("env", "a", 0), "key")) == "recipe.toml:2:1"
    assert str(document.place(("env", "b"))) == "recipe.toml:1:1"
    assert str(document.place(("a", "b", 3))) == "recipe.toml:1:1"
    assert str(document.string_place(("env", "a", 0), 0, 1)) == "recipe.toml:2:7"
    assert str(document.string_place(("env", "a"), 0, 1)) == "recipe.toml:2:5"


@pytest.mark.parametrize("text", ["\ufeffa = 1\r\n", "\ufeff", "\ufeff# c\n[t]\n"])
def test_a_byte_order_mark_is_a_warning_with_a_fix(text: str) -> None:
    document, (warning,) = read_document("a", text.encode())
    assert document is not None
    assert (warning.code, warning.severity) == ("RCC002", Severity.WARNING)
    assert warning.fix is not None
    assert apply_fixes(text, [warning.fix]) == (text[1:], ())
    assert document.tree.values() == document.values == tomli.loads(text[1:])


def test_a_mark_does_not_hide_an_error_nor_shift_it() -> None:
    document, findings = read_document("a", "\ufeffa = 1\nb = x\n".encode())
    assert document is None
    assert [one.code for one in findings] == ["RCC002", "RCC003"]
    assert str(findings[1].place) == "a:2:5"


def test_what_is_not_utf8_is_shown_where_it_is() -> None:
    error = refuse("a = 1\nbé = ".encode() + b"'\xff'")
    assert (error.code, error.message, str(error.place)) == ("RCC001", "byte 14 is not valid UTF-8", "recipe.toml:2:7")
    assert "UTF-16" in (refuse("a = 1".encode("utf-16")).help or "")


def test_a_file_may_be_as_large_as_the_limit_and_no_larger() -> None:
    text = "#" * MAX_BYTES
    assert read_document("a", text.encode())[0] is not None
    assert refuse(text + "#").code == "RCC005"


@pytest.mark.parametrize(
    "text",
    [
        "a." * 64 + "b = 1",
        "[" + "a." * 64 + "b]",
        "[[" + "'a'." * 64 + "b]]",
        'x = {"a" .' + ' "b.c" .' * 64 + " d = 1}",
        "a = " + "[" * 101 + "]" * 101,
        "a = " + "{b=" * 101 + "1" + "}" * 101,
        "a = " + "{b.c.d.e.f.g.h.i.j=" * 13 + "1" + "}" * 13,
        "a = " + "[" * 60_000,
        "a = " + "[\n" * 99 + "[[1]]\n" + "]\n" * 99,
        "a = " + "[\n" * 100 + "[1]\n" + "]\n" * 100,
        "a = [\n" + '["]",\n' * 101,
        "a = [\n" + "[#]\n" * 101,
        "a = " + "{a=" * 40_000,
        "." * 120_000,
        "[" * 120_000,
        "a." * 60_000,
    ],
    ids=range(16),
)
def test_what_nests_too_deep_is_refused_before_it_is_parsed(text: str) -> None:
    error = refuse(text)
    assert error.code == "RCC006"
    assert source_of(error.place) in (".", "[", "{")


@pytest.mark.parametrize(
    "text",
    [
        "a." * 63 + "b = 1.5",
        "[" + "a." * 63 + "b]\n" + "c." * 63 + "d = 2",
        'a = "' + "x." * 500 + '"',
        "a = '" + "[" * 500 + "'  # " + "{." * 500,
        'a = """\n' + 'x.y"[\n' * 500 + '"""',
        '"' + "." * 500 + '" = 1',
        "a = " + "[" * 100 + "]" * 100,
        "a = " + "{b=" * 100 + "1" + "}" * 100,
        "a = [" + "[1.5]," * 500 + "]",
        "".join(f"[[a{i}.b.c]]\nd = [[1.5], {{e.f = [{{}}]}}]\n" for i in range(200)),
        "a = [" + "1.5, " * 500 + "]",
        "a = [\n" + "[1],\n[[2.5]],\n" * 500 + "]",
        "a = [\n" + "  'a.b.c', # x.y [\n" * 300 + "]",
    ],
    ids=range(13),
)
def test_dots_and_brackets_that_do_not_nest_are_not_counted(text: str) -> None:
    document = read(text)
    assert document.values == tomli.loads(text) == document.tree.values()


def test_a_duplicate_key_is_shown_at_both_places() -> None:
    error = refuse("port = 1\r\n\r\n[env]\r\n'a' = 1\r\na = 2\r\n")
    assert (error.code, error.message) == ("RCC004", "`a` is defined twice")
    assert (str(error.place), source_of(error.place)) == ("recipe.toml:5:1", "a")
    assert [(str(one.place), source_of(one.place)) for one in error.labels] == [("recipe.toml:4:1", "'a'")]


def test_a_merge_conflict_is_called_by_its_name() -> None:
    text = "a = 1\n<<<<<<< ours\nb = 1\n=======\nb = 2\n>>>>>>> theirs\n"
    for newline in ("\n", "\r\n"):
        error = refuse(text.replace("\n", newline))
        assert (error.code, error.message) == ("RCC003", "the file holds both sides of a merge conflict")
        assert str(error.place) == "recipe.toml:2:1"
        assert str(error.labels[0].place) == "recipe.toml:6:1"
    assert read(f"a = '''\n{text}'''").values == {"a": text}


SYNTAX = [
    ('a = "b', "the string is not closed", '"b', 'end it with `"`'),
    ('args = ["--a", "b,\n"c"]', "the string is not closed", '"b,', 'end it with `"`'),
    ("a = '''b\n", "the string is not closed", "'''", "end it with `'''`"),
    ('a = "C:\\q"', "`\\q` is no escape of TOML", "\\q", "single quotes"),
    ('a = "\\u12"', "`\\u12` is no escape of TOML", "\\u12", "takes 4 hexadecimal digits"),
    ('a = "\\ud800"', "`\\ud800` is no escape of TOML", "\\ud800", "takes 4 hexadecimal digits"),
    ("a = ", "`a` has no value", "=", "write one after the `=`"),
    ("a = # c\nb = 1", "`a` has no value", "=", "write one after the `=`"),
    ("a = {b = , c = 1}", "`b` has no value", ",", "write one after the `=`"),
    ("shm_size = 32gb", "`32gb` is no TOML value", "32gb", '`"32gb"`'),
    ("model = org/name # c", "`org/name` is no TOML value", "org/name", '`"org/name"`'),
    ("a = {{hf}}/x", "`{{hf}}/x` is no TOML value", "{{hf}}/x", '`"{{hf}}/x"`'),
    ("a = [x y, 1]", "`x y` is no TOML value", "x y", '`"x y"`'),
    ("a = True", "`True` is no TOML value", "True", "write `true`"),
    ("a = yes", "`yes` is no TOML value", "yes", "write `true`"),
    ("a = None", "`None` is no TOML value", "None", "leave the key out"),
    ("a = 007", "`007` begins with a zero", "007", "write the number as `7`"),
    ("a = 1__0", "`1__0` is no number", "1__0", "digits"),
    ("a = .5", "`.5` is no number", ".5", "digits"),
    ("a = 2026-13-01", "`2026-13-01` is no date or time", "2026-13-01", "2026-01-31"),
    ("a = 2026-02-30", "`2026-02-30` is on no calendar", "2026-02-30", "the day and the month"),
    ("a = " + "9" * 5_000, "an integer of 5000 digits is longer than rcc reads", "9" * 5_000, "quotes"),
    (
        "a = -" + "9_" * 5_000 + "9",
        "an integer of 5001 digits is longer than rcc reads",
        "-" + "9_" * 5_000 + "9",
        "quotes",
    ),
    ("a = 0x" + "f" * 5_000, "an integer of 5000 digits is longer than rcc reads", "0x" + "f" * 5_000, "quotes"),
    ("port 30000", "`=` is missing after the key `port`", "30000", "write `port = 30000`"),
    ("port: 30000", "`:` stands after the key `port`", ":", "`=` between key and value"),
    ("my key = 1", "`=` is missing after the key `my`", "key", "quotes"),
    ("clé = 1", "`é` stands in a key", "é", "quotes"),
    ("port", "`port` has neither `=` nor a value", "port", "write `port = …`"),
    ("a == 1", "`=` stands twice", "=", "one `=`"),
    ("= 1", "the key is missing before `=`", "=", "write the key"),
    ("a. = 1", "a part of a dotted key is missing", "=", "after the `.`"),
    ("@a = 1", "`@a` cannot begin a key", "@a", "quotes"),
    ("a = 1 b = 2", "`b` stands after the value", "b", "a line of its own"),
    ('a = "b"c"', "`c` stands after the value", "c", '`\\"`'),
    ("[a] b = 1", "`b` stands after the header", "b", "a line of its own"),
    ("a = [1 2]", "`,` is missing between two elements", "2", "comma"),
    ("a = ['x'\n'y']", "`,` is missing between two elements", "'", "comma"),
    ("a = {b = 1 c = 2}", "`,` is missing between two pairs", "c", "comma"),
    ("a = [1,,2]", "an element is missing before `,`", ",", "remove the comma"),
    ("a = [1}", "`}` closes what `[` opened", "}", "write `]`"),
    ("a = 1]", "`]` closes nothing", "]", "remove it"),
    ("args = [\n 'a',\n\nport = 1\n", "the array is not closed", "[", "add `]`"),
    ("a = ['b',\n[env]\nc = '1'\n", "the array is not closed", "[", "add `]`"),
    ("a = [\n  'b',\n\n[[extra.mounts]] # c\nc = '1'\n", "the array is not closed", "[", "add `]`"),
    ("a = [\n  [b],\n]\n", "`b` is no TOML value", "b", "in quotes"),
    ("a = {b = 1,\n[env]\n", "the inline table is not closed", "{", "add `}`"),
    ("a = [[1], [2", "the array is not closed", "[", "add `]`"),
    ("[a", "the header is not closed", "a", "`]`"),
    ("[[a]\nb = 1", "the header is not closed", "]", "`]]`"),
    ("[]", "the header has no name", "]", "name the table"),
    ("[a b]", "`b` stands in a header's name", "b", "quotes"),
    ("a = 1\0", "the control character U+0000 stands in the file", "\0", "delete it"),
    ("# c\x07", "the control character U+0007 stands in the file", "\x07", "delete it"),
    ("a = 'b\x01'", "the control character U+0001 stands in a string", "\x01", "`\\u0001`"),
    ("a = 1\rb = 2", "a carriage return stands without a line feed", "\r", "LF or CR LF"),
    ("a = 1\n\ufeffb = 2", "a byte order mark stands inside the file", "\ufeff", "delete it"),
    ('"""a""" = 1', "a key cannot be a string of several lines", '"""', 'one `"`'),
]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("text", "message", "source", "help_part"), SYNTAX, ids=range(len(SYNTAX)))
def test_a_syntax_error_says_what_is_wrong_where_and_what_to_do(
    text: str, message: str, source: str, help_part: str, newline: str
) -> None:
    error = refuse(f"# first\nx = 1\n{text}\n".replace("\n", newline))
    assert (error.code, error.message, source_of(error.place)) == ("RCC003", message, source)
    assert help_part in (error.help or "")
    assert error.message[-1] != "."
