"""Engine flags: names, values, and what the engine's own parser would refuse after minutes of starting."""

from __future__ import annotations

from collections.abc import Iterator

from rcc.diagnostic import Finding, Label, enough, finding
from rcc.engines.flags import FlagTable, Occurrence, flag_table
from rcc.lint.context import Context, is_plain
from rcc.lint.flag_values import check_values, flag_place, value_place
from rcc.recipe.shape import shown

_POOL = {
    "sglang": ("--mem-fraction-static", ("--max-total-tokens",)),
    "vllm": ("--gpu-memory-utilization", ("--kv-cache-memory-bytes", "--num-gpu-blocks-override")),
}
_SPARE = 0.85


def check(context: Context) -> Iterator[Finding]:
    """All checks of this family."""
    table = flag_table(context.recipe.engine)
    if table is None:
        return
    apart = context.owned_flags
    if any(" " in raw.text and raw.text[:1] == "-" for raw in context.recipe.args):
        from rcc.lint.joined_words import check_joined_words, joined_words

        joined = joined_words(context, table)
        yield from check_joined_words(context, table, joined)
        apart |= joined
    for number, one in enumerate(context.flags):
        if one.index in apart:
            continue
        if one.flag:
            if one.spelled not in one.flag.spellings:
                yield from check_shortened_flag(context, table, one)
            if one.flag.deprecated:
                yield from check_deprecated_flag(context, one)
            if one.values:
                yield from check_values(context, one, apart)
            elif one.flag.arity in "1+":
                yield from check_missing_flag_value(context, one)
        elif one.candidates:
            yield from check_ambiguous_flag(context, one)
        elif not one.spelled:
            yield from check_word(context, one, context.flags[number - 1] if number else None)
    yield from enough(check_unknown_flag(context, table))
    yield from enough(check_repeated_flag(context))
    yield from check_kv_pool_by_free_memory(context)


def check_shortened_flag(context: Context, table: FlagTable, one: Occurrence) -> Iterator[Finding]:
    """RCC513: an abbreviation works until the engine gets another flag that begins so."""
    assert one.flag
    full = _full_spelling(table, one)
    if full:
        message = f"`{one.spelled}` is short for `{full}`"
        yield finding(
            "RCC513", message, flag_place(context, one), help=f"write `{full}`: the next release may have two"
        )


def _full_spelling(table: FlagTable, one: Occurrence) -> str | None:
    assert one.flag
    spelled = one.spelled.replace("_", "-") if table.engine == "vllm" else one.spelled
    if not spelled.startswith("--") or spelled in one.flag.spellings:
        return None
    return next((full for full in one.flag.spellings if full.startswith(spelled)), None)


def check_deprecated_flag(context: Context, one: Occurrence) -> Iterator[Finding]:
    """RCC514: the engine itself says that the flag goes."""
    assert one.flag
    if one.flag.deprecated:
        message = f"{context.recipe.engine} is about to drop `{one.flag.name}`"
        yield finding(
            "RCC514", message, flag_place(context, one), help="see the engine's release notes for its successor"
        )


def check_missing_flag_value(context: Context, one: Occurrence) -> Iterator[Finding]:
    """RCC505: the next flag, or what the compiler appends, would be taken for the value, or refused."""
    assert one.flag
    if one.flag.arity in "1+" and not one.values:
        message = f"`{one.spelled}` takes a value, and none follows"
        yield finding("RCC505", message, flag_place(context, one), help="add the value as the next string")


def check_ambiguous_flag(context: Context, one: Occurrence) -> Iterator[Finding]:
    """RCC512: the parser refuses a beginning that several flags share."""
    listed = ", ".join(f"`{name}`" for name in one.candidates[:6])
    message = f"`{one.spelled}` may mean several flags"
    yield finding("RCC512", message, flag_place(context, one), help=f"write one of {listed}")


def check_word(context: Context, one: Occurrence, before: Occurrence | None) -> Iterator[Finding]:
    """RCC515: words that are no flag and no flag's value."""
    value = one.values[0]
    if is_plain(value.text):
        help = "remove it, or put the flag that it belongs to before it"
        if before and before.flag and before.flag.arity == "0":
            help = f"`{before.spelled}` takes no value: remove the word"
        yield finding("RCC515", f"no flag takes `{shown(value.text)}`", value_place(context, value), help=help)


def check_unknown_flag(context: Context, table: FlagTable) -> Iterator[Finding]:
    """RCC503: a newer or patched engine may know more, so this is a warning."""
    unknown = [one for one in context.flags if one.spelled and not one.flag and not one.candidates]
    if not unknown:
        return
    from rcc.lint.unknown_flags import known_like

    for number, one in enumerate(unknown):
        help = known_like(table, one.spelled, number, context.owned)
        message = f"{table.engine} {table.version} has no flag `{shown(one.spelled)}`"
        yield finding("RCC503", message, flag_place(context, one), help=help)


def check_repeated_flag(context: Context) -> Iterator[Finding]:
    """RCC504: the last one counts, in silence."""
    first: dict[tuple[str, str], Occurrence] = {}
    owned = context.owned_flags
    for one in context.flags:
        if one.flag is None or one.flag.repeats or one.index in owned:
            continue
        earlier = first.setdefault((one.flag.name, one.keys), one)
        if earlier is not one:
            label = Label(flag_place(context, earlier), "given here first")
            name = f"{one.flag.name}.{one.keys}" if one.keys else one.flag.name
            message = f"`{shown(name)}` is given twice, and the last one counts"
            yield finding("RCC504", message, flag_place(context, one), labels=[label], help="remove one of the two")


def check_kv_pool_by_free_memory(context: Context) -> Iterator[Finding]:
    """RCC511 and RCC516: how much of the memory the engine takes."""
    fraction, fixed = _POOL[context.recipe.engine]
    given = {one.flag.name: one for one in context.flags if one.flag}
    if not given.keys() & set(fixed):
        place = flag_place(context, given[fraction]) if fraction in given else context.file.place(("args",), "key")
        message = "the KV pool is as large as what is free at start allows, so two starts may differ"
        yield finding("RCC511", message, place, help=f"to fix its size, add `{fixed[0]}`")
    if fraction in given and given[fraction].values:
        yield from check_memory_fraction(context, given[fraction])


def check_memory_fraction(context: Context, one: Occurrence) -> Iterator[Finding]:
    """RCC516: where GPU and system share the memory, what the engine takes the system lacks."""
    if context.cluster is None:
        return
    from rcc.resolve.nodes import choose_hardware

    hardware, _ = choose_hardware(context.cluster)
    try:
        fraction = float(one.values[0].text)
    except ValueError:
        return
    if hardware and hardware.unified_memory and fraction > _SPARE:
        message = f"`{one.spelled}` {one.values[0].text} leaves too little memory for the system on these nodes"
        help = f"their GPU and system share one memory: stay at or under {_SPARE}"
        yield finding("RCC516", message, value_place(context, one.values[0]), help=help)
