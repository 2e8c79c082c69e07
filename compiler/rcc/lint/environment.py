"""Environment variables: names that are misspelt, values that disagree with one another or with the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.diagnostic import Finding, Label, enough, finding
from rcc.engines.flags import WITH_TABLES, known_variables
from rcc.lint.nccl_table import PREFIX, is_number, nccl_variables
from rcc.lint.variables import Variables

_PREFIXES = (PREFIX, *(f"{engine.upper()}_" for engine in WITH_TABLES))
_ADAPTERS = ("NCCL_IB_HCA", "B12X_ROCE_HCA", "NVSHMEM_HCA_LIST", "UCX_NET_DEVICES")
_THOROUGH = 20
_MOST_NAMES = 32
_INTERFACES = (
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "MN_IF_NAME",
    "OMPI_MCA_btl_tcp_if_include",
)


def check(variables: Variables) -> Iterator[Finding]:
    """All checks of this family that need no recipe."""
    yield from enough(check_misspelt_variable(variables))
    yield from check_values(variables)


def check_values(variables: Variables) -> Iterator[Finding]:
    """All but the search for misspelt names, which is made once for all profiles of a file."""
    yield from enough(check_variable_name(variables))
    yield from check_hca_lists_differ(variables)
    yield from check_interfaces_differ(variables)
    yield from check_gloo_interface(variables)
    yield from check_pinned_gid_index(variables)


def check_variable_name(variables: Variables) -> Iterator[Finding]:
    """RCC405: shells and env files carry only names of letters, digits and `_`."""
    for name in variables:
        if not (name.isidentifier() and name.isascii()):
            message = f"`{name}` is a name that shells and env files do not carry"
            yield finding("RCC405", message, variables.place(name, "key"), help="use letters, digits and `_`")


def check_misspelt_variable(*several: Variables) -> Iterator[Finding]:
    """RCC406: an engine's own prefix, and a name that it does not read but nearly so."""
    unknown = [(own, one) for own in several for one in own if one.startswith(_PREFIXES) and _is_unknown(one)]
    if not unknown:
        return
    from rcc.lint.known_variables import known_like

    for index, (variables, name) in enumerate(unknown):
        near = known_like(name, thorough=index < _THOROUGH)
        if near:
            place = variables.place(name, "key")
            yield finding("RCC406", f"nothing reads `{name}`", place, help=f"did you mean `{near}`?")


def _is_unknown(name: str) -> bool:
    """Whether NCCL or the engine, whichever the prefix names, does not read a variable."""
    if name.startswith(PREFIX):
        return name not in nccl_variables()
    return name not in known_variables(name.partition("_")[0].lower())


def check_hca_lists_differ(variables: Variables) -> Iterator[Finding]:
    """RCC409: every reader of RDMA adapters must use the same ones."""
    lists = [(name, _names(text)) for name in _ADAPTERS if (text := variables.text(name)) and text[0] != "^"]
    first, others = (lists[0], lists[1:]) if lists else (("", set[str]()), [])
    for name, adapters in others:
        if _unmatched(adapters, first[1]) or _unused(first[1], adapters):
            yield _disagreement("RCC409", variables, name, first[0], "adapters")


def check_interfaces_differ(variables: Variables) -> Iterator[Finding]:
    """RCC410: every reader of interface names must use the same ones, or some of NCCL's."""
    lists = [(name, _names(text)) for name in _INTERFACES if (text := variables.text(name)) and text[0] != "^"]
    first, others = (lists[0], lists[1:]) if lists else (("", set[str]()), [])
    for name, interfaces in others:
        if _unmatched(interfaces, first[1]):
            yield _disagreement("RCC410", variables, name, first[0], "interfaces")


def _names(text: str) -> set[str]:
    """The names of a list as NCCL and its kin write it, without marks and ports; NCCL takes the first 32."""
    return {one.strip().partition(":")[0] for one in text.lstrip("^=").split(",")[:_MOST_NAMES] if one.strip()}


def _unmatched(names: set[str], prefixes: set[str]) -> bool:
    return any(not name.startswith(tuple(prefixes)) for name in names)


def _unused(prefixes: set[str], names: set[str]) -> bool:
    return any(not any(name.startswith(prefix) for name in names) for prefix in prefixes)


def _disagreement(code: str, variables: Variables, name: str, other: str, what: str) -> Finding:
    label = Label(variables.place(other), f"`{other}` has these")
    message = f"`{name}` and `{other}` name different {what}"
    return finding(code, message, variables.place(name), labels=[label], help="name the same in both")


def check_gloo_interface(variables: Variables) -> Iterator[Finding]:
    """RCC415: Gloo knows no `^`, no `=` and no prefixes."""
    text = variables.text("GLOO_SOCKET_IFNAME")
    if text and text[0] in "^=":
        message = f"Gloo looks for an interface that is called `{text}`"
        help = "write the name of one interface; `^` and `=` are NCCL's"
        yield finding("RCC415", message, variables.inside("GLOO_SOCKET_IFNAME", 0, 1), help=help)


def check_pinned_gid_index(variables: Variables) -> Iterator[Finding]:
    """RCC407: the index differs between nodes, and moves."""
    for name in variables:
        text = variables.text(name) if name.endswith("_GID_INDEX") else None
        if text and is_number(text) and not text.startswith("-"):
            from rcc.recipe.gid_index import pinned_index

            yield pinned_index(name, text, variables.place(name))
