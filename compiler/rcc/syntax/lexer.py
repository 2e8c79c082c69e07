"""Lexes and parses in one loop over the tables that lark makes of a grammar.

Lark's own loop makes an object of each token and asks three parties what it is for, which for the largest files takes
seconds. Here a state of the parser has one regular expression, of the terminals that it takes, and what it does with
each; lark is left with the end of the text. Nobody asks for lines and columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import lark
from lark.common import LexerConf
from lark.lexer import Lexer, LexerState
from lark.parsers.lalr_analysis import Shift

Token = re.Match[str]
"""What a terminal matched: the match's last group, which has the terminal's name. Behind it stand only blanks."""


class UnexpectedError(Exception):
    """A text that the grammar has no place for at `offset`, where one of the terminals `expected` may stand."""

    def __init__(self, offset: int, expected: frozenset[str]) -> None:
        super().__init__(offset, expected)
        self.offset = offset
        self.expected = expected


_Match = Callable[[str, int], re.Match[str] | None]
_Reduction = tuple[int, Callable[[list[Any]], Any], str]
"""How many parts a rule has, what makes its value of them, and its name."""


class _State:
    """What the parser does in a state: `shifts` before a terminal, or `reductions`, and where it is `after` a rule."""

    __slots__ = ("after", "match", "number", "reductions", "shifts")

    def __init__(self, number: Any) -> None:
        self.number = number
        self.match: _Match | None = None  # made when it is asked for, as most never are
        self.shifts: dict[str, _State] = {}
        self.reductions: dict[str, _Reduction] = {}
        self.after: dict[str, _State] = {}


class ParsingLexer(Lexer):
    """Tries the terminals that the parser's state takes, by priority, and skips what the grammar ignores."""

    __future_interface__ = 2

    def __init__(self, conf: LexerConf) -> None:
        shown = (one for one in conf.terminals if one.name not in conf.ignore)
        self._terminals = sorted(shown, key=lambda one: (-one.priority, one.name))
        ignored = (conf.terminals_by_name[name].pattern.to_regexp() for name in sorted(conf.ignore))
        self._blanks = f"(?:{'|'.join(ignored)})*"
        self._states: dict[Any, _State] = {}

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[lark.Token]:
        """Takes the parser to the end of the text, so that no token is left for lark; raises `UnexpectedError`."""
        text = str(getattr(lexer_state.text, "text", lexer_state.text))
        self._states = self._states or _states(parser_state.parse_conf)
        first = self._states[parser_state.position]
        parser_state.state_stack[:] = [one.number for one in self._parse(text, first, parser_state.value_stack)]
        return iter(())

    def _parse(self, text: str, state: _State, values: list[Any]) -> list[_State]:
        """The states that the parser is in at the end of the text."""
        states, end = [state], len(text)
        blanks = re.match(self._blanks, text)
        position = blanks.end() if blanks else 0
        while position < end:
            match = (state.match or self._matcher(state))(text, position)
            if match is None:
                raise UnexpectedError(position, frozenset((*state.shifts, *state.reductions)))
            kind: str = match.lastgroup  # type: ignore[assignment]
            while (following := state.shifts.get(kind)) is None:
                if kind not in state.reductions:
                    raise UnexpectedError(position, frozenset((*state.shifts, *state.reductions)))
                size, make, rule = state.reductions[kind]
                made = make(values[-size:])  # a rule without parts ends only before the end, which is lark's
                del values[-size:], states[-size:]
                values.append(made)
                state = states[-1].after[rule]
                states.append(state)
            values.append(match)
            states.append(following)
            state = following
            position = match.end()
        return states

    def _matcher(self, state: _State) -> _Match:
        """What finds the next terminal, and the blanks behind it."""
        wanted = (one for one in self._terminals if one.name in state.shifts or one.name in state.reductions)
        terminals = "|".join(f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in wanted)
        state.match = re.compile(f"(?:{terminals}){self._blanks}").match
        return state.match


def _states(conf: Any) -> dict[Any, _State]:
    """Lark's tables, by the states' numbers."""
    states = {number: _State(number) for number in conf.states}
    for number, state in states.items():
        for name, (action, told) in conf.states[number].items():
            if action is not Shift:
                assert told.expansion or name == "$END", f"`{told.origin.name}` may be empty before a terminal"
                state.reductions[name] = (len(told.expansion), conf.callbacks[told], told.origin.name)
            elif name.isupper():
                state.shifts[name] = states[told]
            else:
                state.after[name] = states[told]
    return states


def text_of(token: Token) -> str:
    """What a terminal matched."""
    return token[token.lastindex or 0]


def end_of(token: Token) -> int:
    """Where it ends; it begins where the match does."""
    return token.end(token.lastindex or 0)


def accepted(parser_state: Any) -> frozenset[str]:
    """The terminals that may come next."""
    return frozenset(name for name in parser_state.parse_conf.states[parser_state.position] if name.isupper())
