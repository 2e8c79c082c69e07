"""`dataclass(frozen=True, slots=True)`, made quickly.

The standard decorator writes the source of six methods for each class and compiles it when the class is made. For the
hundred classes that pass between the rooms this takes longer than everything else that a command does. Here the same
methods are written once, over the fields; the classes stay dataclasses to `fields`, `replace` and type checkers. One of
which very many objects are made, as when thousands of recipes are linted, gets the standard methods after all.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, eq: bool = True) -> Any:
        """The decorator. Only what this project uses: frozen and slotted, equal by value or else by identity."""
        assert frozen
        assert slots

        def make(cls: type) -> type:
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
            made.__init__ = _init
            made.__repr__ = _repr
            made.__setattr__ = _refuse
            made.__delattr__ = _refuse
            if eq:
                made.__eq__ = _eq
                made.__hash__ = _hash
            return made

        return make


_MANY = 500
_made: dict[type, int] = {}
_set = object.__setattr__


def _init(self: Any, *args: Any, **named: Any) -> None:
    _count(type(self))
    fields = self.__dataclass_fields__.values()
    if len(args) > len(fields):
        raise TypeError(f"{type(self).__name__} takes {len(fields)} values, not {len(args)}")
    for index, one in enumerate(fields):
        if index < len(args):
            _set(self, one.name, args[index])
        elif one.name in named:
            _set(self, one.name, named.pop(one.name))
        elif one.default is not dataclasses.MISSING:
            _set(self, one.name, one.default)
        elif one.default_factory is not dataclasses.MISSING:
            _set(self, one.name, one.default_factory())
        else:
            raise TypeError(f"{type(self).__name__} lacks `{one.name}`")
    if named:
        raise TypeError(f"{type(self).__name__} has no `{next(iter(named))}`")


def _count(cls: Any) -> None:
    _made[cls] = _made.get(cls, 0) + 1
    if _made[cls] == _MANY:
        fields = [(one.name, one.type, _like(one)) for one in dataclasses.fields(cls)]
        by_value = cls.__eq__ is _eq
        standard: Any = dataclasses.make_dataclass(cls.__name__, fields, frozen=True, eq=by_value, repr=False)
        cls.__init__ = standard.__init__
        if by_value:
            cls.__eq__, cls.__hash__ = standard.__eq__, standard.__hash__


def _like(one: dataclasses.Field[Any]) -> Any:
    """The same field again; one that belongs to a class cannot be another's too."""
    if one.default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=one.default_factory, compare=one.compare)
    return dataclasses.field(default=one.default, compare=one.compare)


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in self.__dataclass_fields__.values() if one.repr)
    return f"{type(self).__name__}({', '.join(shown)})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, one.name) for one in self.__dataclass_fields__.values() if one.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(self: Any, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change `{name}` of a {type(self).__name__}")
