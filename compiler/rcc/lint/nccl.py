"""Variables that NCCL reads: numbers, lists and texts that mean something else to it than to their author."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rcc.diagnostic import Finding, Label, finding
from rcc.lint.nccl_table import PREFIX, is_number, nccl_variables, number_of, read_number
from rcc.lint.variables import Variables
from rcc.recipe.shape import shown

_MAX_ENTRIES = 32
_NUMBER, _TEXT = ("number",), ("text",)
_CHOICES: dict[str, tuple[str, ...]] = {
    "NCCL_ALGO": ("Ring", "Tree", "CollnetDirect", "CollnetChain", "Collnet", "NVLS", "NVLSTree", "PAT"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
}
_LISTS = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
_DEAD_WITH_GID = ("NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM")


def check(variables: Variables) -> Iterator[Finding]:
    """All checks of this family."""
    kinds = nccl_variables()
    # What NCCL does not read cannot be wrong.
    dead = dead_variables(variables)
    for name, text in variables.known():
        if not name.startswith(PREFIX) or name in dead:
            continue
        if not text:
            yield from check_empty_nccl_value(variables, name)
        elif kinds.get(name) == _NUMBER:
            yield from check_nccl_number(variables, name, text)
        elif name in _CHOICES or kinds.get(name, _TEXT) != _TEXT:
            yield from check_nccl_choice(variables, name, text)
    for name in _LISTS:
        if name not in dead:
            yield from check_nccl_list(variables, name)
    if "NCCL_IB_ADDR_RANGE" not in dead:
        yield from check_ignored_address_range(variables)
    if "NCCL_IB_SUBNET_PREFIX_LEN" not in dead:
        yield from check_subnet_prefix_length(variables)
    yield from check_rdma_off_and_required(variables)
    yield from check_dead_nccl_variable(variables)


def check_nccl_number(variables: Variables, name: str, text: str) -> Iterator[Finding]:
    """RCC411: NCCL reads numbers by strtoll and reports nothing."""
    if is_number(text):
        return
    help = f"write the number that is meant; for {read_number(text)} write `{read_number(text)}`"
    if name == "NCCL_IB_GID_INDEX":
        help = 'remove it: `gid_index = "auto"` in the cluster file finds the index on each node'
    elif "$" in text:
        help = "nothing expands it here: write the number, or a template such as `{{ vars.number }}`"
    message = f"NCCL reads `{shown(text)}` as {read_number(text)}"
    yield finding("RCC411", message, variables.place(name), label=f"`{name}` is a number", help=help)


def check_nccl_choice(variables: Variables, name: str, text: str) -> Iterator[Finding]:
    """RCC418: NCCL has a list of texts, and ignores others."""
    kind, *choices = nccl_variables()[name]
    if kind == "level":
        yield from _level(variables, name, text, choices)
        return
    choices = choices or list(_choices(name, text))
    known = {one.upper() for one in choices}
    unknown = [one for one in _words(text) if one.upper() not in known]
    if choices and unknown:
        listed = ", ".join(f"`{one}`" for one in choices)
        start = text.index(unknown[0])
        place = variables.inside(name, start, start + len(unknown[0]))
        yield finding("RCC418", f"NCCL knows no `{name}` `{shown(unknown[0])}`", place, help=f"it knows {listed}")


def _level(variables: Variables, name: str, text: str, levels: list[str]) -> Iterator[Finding]:
    """How far apart two devices may be: a name as NCCL writes it, or a number as it was once."""
    if text in levels or text[0] in "0123456789":
        return
    written = text.strip().upper()
    help = f"write `{written}`" if written in levels else f"it knows {', '.join(f'`{one}`' for one in levels)}"
    message = f"NCCL knows no `{name}` `{shown(text)}`, and goes on as if it were not set"
    yield finding("RCC418", message, variables.place(name), help=help)


def _choices(name: str, text: str) -> tuple[str, ...]:
    """The texts of the lists that NCCL takes; none for the newer form that names collectives."""
    return () if ":" in text or ";" in text else _CHOICES[name]


def _words(text: str) -> list[str]:
    return text.removeprefix("^").split(",")


def check_empty_nccl_value(variables: Variables, name: str) -> Iterator[Finding]:
    """RCC413: NCCL takes an empty text as unset, others as 0, and nccl.conf cannot set it any more."""
    message = f"`{name}` is empty, which NCCL takes as unset and other readers as 0"
    yield finding("RCC413", message, variables.place(name), help="remove it, or write the value")


def check_nccl_list(variables: Variables, name: str) -> Iterator[Finding]:
    """RCC414: entries are prefixes, blanks count, and `=` or `^` stand before the whole list."""
    text = variables.text(name)
    if not text:
        return
    start = 0
    for index, entry in enumerate(text.split(",")):
        bare = entry if index else entry.removeprefix("^").removeprefix("=")
        wrong = _wrong_entry(bare, index)
        if wrong:
            first = start if entry else max(start - 1, 0)
            place = variables.inside(name, first, max(start + len(entry), first + 1))
            yield finding("RCC414", wrong[0], place, help=wrong[1])
            return
        start += len(entry) + 1


def _wrong_entry(entry: str, index: int) -> tuple[str, str] | None:
    if entry != entry.strip():
        return "NCCL takes the blank as part of the name, so the entry matches nothing", "remove the blank"
    if not entry:
        return "an empty entry matches every name", "remove the comma, or write the name"
    if entry[0] in "=^":
        return f"`{entry[0]}` counts only before the whole list", f"write it once, at the start, or remove `{entry[0]}`"
    if index == _MAX_ENTRIES:
        return f"NCCL ignores all after the first {_MAX_ENTRIES} entries", "write a prefix that several names share"
    return None


def check_ignored_address_range(variables: Variables) -> Iterator[Finding]:
    """RCC416: without `/length`, or with a bad address, NCCL goes on as if the range were not there."""
    text = variables.text("NCCL_IB_ADDR_RANGE")
    if text and not _is_range(text):
        help = "write an address and a prefix length: `192.168.200.0/24`"
        message = f"NCCL ignores `{shown(text)}`, which is no address range"
        yield finding("RCC416", message, variables.place("NCCL_IB_ADDR_RANGE"), help=help)


def _is_range(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or _is_ipv4(address, length):
        return bool(slash)
    from ipaddress import ip_network  # too slow for every run

    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return text.rpartition("/")[2].isdigit()


def _is_ipv4(address: str, length: str) -> bool:
    numbers = [*address.split("."), length]
    plain = all(one.isascii() and one.isdigit() and (one == "0" or one[0] != "0") for one in numbers)
    return (
        plain and len(numbers) == 5 and all(len(one) <= 3 and int(one) <= 255 for one in numbers) and int(length) <= 32
    )


def check_subnet_prefix_length(variables: Variables) -> Iterator[Finding]:
    """RCC417: NCCL fails to start with another length."""
    length = number_of(variables.text("NCCL_IB_SUBNET_PREFIX_LEN"))
    if length is not None and not 1 <= length <= 32:
        place = variables.place("NCCL_IB_SUBNET_PREFIX_LEN")
        message = f"NCCL refuses a prefix length of {length}"
        yield finding("RCC417", message, place, help="write 1 to 32, as many bits as the fabric's subnet has")


def check_rdma_off_and_required(variables: Variables) -> Iterator[Finding]:
    """RCC419: NCCL_NET=IB makes a missing RDMA net fatal."""
    if (variables.text("NCCL_NET") or "").upper() == "IB" and number_of(variables.text("NCCL_IB_DISABLE")):
        label = Label(variables.place("NCCL_NET"), "RDMA is required here")
        message = "`NCCL_IB_DISABLE` switches off what `NCCL_NET` requires, so NCCL finds no network"
        yield finding(
            "RCC419", message, variables.place("NCCL_IB_DISABLE"), labels=[label], help="remove one of the two"
        )


def check_dead_nccl_variable(variables: Variables) -> Iterator[Finding]:
    """RCC408: variables that NCCL passes over because of another one."""
    for name, cause, why in _dead(variables):
        if name in variables:
            label = [Label(variables.place(cause), why)] if cause in variables else []
            yield _dead_variable(variables, name, label, () if cause in variables else (why,))


def check_dead_with_gid(variables: Variables) -> Iterator[Finding]:
    """RCC408, where the nodes of the cluster get their GID index from rcc."""
    for name in _DEAD_WITH_GID:
        if name in variables and not _is_off(variables):
            why = "each node's `gid_index` decides, so NCCL searches for none"
            yield _dead_variable(variables, name, (), (why,))


def _dead_variable(variables: Variables, name: str, labels: Iterable[Label], notes: Iterable[str]) -> Finding:
    message = f"NCCL does not read `{name}`"
    return finding("RCC408", message, variables.place(name, "key"), labels=labels, notes=notes, help="remove it")


def _dead(variables: Variables) -> Iterator[tuple[str, str, str]]:
    """Names, each with the variable that makes it dead and why."""
    gid = number_of(variables.text("NCCL_IB_GID_INDEX"))
    if _is_off(variables):
        why = "RDMA is off"
        cause = "NCCL_NET" if (variables.text("NCCL_NET") or "").lower() == "socket" else "NCCL_IB_DISABLE"
        names = [one for one in variables if one.startswith("NCCL_IB_") and one != "NCCL_IB_DISABLE"]
        yield from ((name, cause, why) for name in names)
        return
    if gid is not None and gid >= 0:
        yield from (
            (name, "NCCL_IB_GID_INDEX", "a GID index is set, so none is searched for") for name in _DEAD_WITH_GID
        )
    aware = "NCCL_IB_SUBNET_AWARE_ROUTING"
    if (aware not in variables or variables.text(aware) is not None) and not number_of(variables.text(aware)):
        yield "NCCL_IB_SUBNET_PREFIX_LEN", aware, f"it is read only with `{aware}` = 1"


def dead_variables(variables: Variables) -> frozenset[str]:
    """The names that NCCL does not read."""
    return frozenset(name for name, _, _ in _dead(variables))


def _is_off(variables: Variables) -> bool:
    net = (variables.text("NCCL_NET") or "").lower()
    return net == "socket" or (net != "ib" and bool(number_of(variables.text("NCCL_IB_DISABLE"))))
