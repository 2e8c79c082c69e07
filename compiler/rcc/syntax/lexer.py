"""The lexer of rcc's grammars: contextual as lark's own, but without lines and columns, which nobody asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lark import Token
from lark.common import LexerConf
from lark.lexer import Lexer, LexerState

_Match = Callable[[str, int], re.Match[str] | None]


class UnexpectedError(Exception):
    """A text that the grammar has no place for at `offset`, where one of the terminals `expected` may stand."""

    def __init__(self, offset: int, expected: frozenset[str]) -> None:
        super().__init__(offset, expected)
        self.offset = offset
        self.expected = expected


class ContextualLexer(Lexer):
    """Tries the terminals that the parser's state takes, by priority, and skips what the grammar ignores."""

    __future_interface__ = 2

    def __init__(self, conf: LexerConf) -> None:
        shown = (one for one in conf.terminals if one.name not in conf.ignore)
        self._terminals = sorted(shown, key=lambda one: (-one.priority, one.name))
        ignored = (conf.terminals_by_name[name].pattern.to_regexp() for name in sorted(conf.ignore))
        self._blanks = f"(?:{'|'.join(ignored)})*"
        self._matchers: dict[Any, _Match] = {}

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        """The text's tokens; raises `UnexpectedError`."""
        text = str(getattr(lexer_state.text, "text", lexer_state.text))
        states, matchers, end = parser_state.state_stack, self._matchers, len(text)
        blanks = re.match(self._blanks, text)
        position = blanks.end() if blanks else 0
        while position < end:
            matcher = matchers.get(states[-1]) or self._matcher(parser_state)
            match = matcher(text, position)
            if match is None:
                raise UnexpectedError(position, accepted(parser_state))
            kind = match.lastgroup
            yield Token(kind, match[kind], position, None, None, None, None, match.end(kind))  # type: ignore[arg-type,index]
            position = match.end()

    def _matcher(self, parser_state: Any) -> _Match:
        accepts = accepted(parser_state)
        terminals = (f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in self._terminals if one.name in accepts)
        matcher = re.compile(f"(?:{'|'.join(terminals)}){self._blanks}").match
        self._matchers[parser_state.position] = matcher
        return matcher


def accepted(parser_state: Any) -> frozenset[str]:
    """The terminals that may come next."""
    return frozenset(name for name in parser_state.parse_conf.states[parser_state.position] if name.isupper())
