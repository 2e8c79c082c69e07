"""`dataclass(frozen=True, slots=True)`, made quickly.

The standard decorator looks into every annotation, and writes and compiles the source of six methods for each class,
when the class is made. For the hundred classes that pass between the rooms this takes longer than everything else that
a command does. Here the methods are written once, over the names of the fields; to `fields`, `replace` and type
checkers the classes are dataclasses. One of which very many objects are made, as when thousands of recipes are linted,
gets the standard methods after all.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def replace(value: Any, **changes: Any) -> Any:
        """The same with some fields changed."""
        return type(value)(**{name: getattr(value, name) for name, _ in value._quick} | changes)

    def dataclass(*, frozen: bool, slots: bool, eq: bool = True) -> Any:
        """The decorator. Only what this project uses: frozen and slotted, equal by value or else by identity."""
        assert frozen
        assert slots
        methods = {"__init__": _init, "__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse}
        by_value = {"__eq__": _eq, "__hash__": _hash} if eq else {}

        def make(cls: type) -> type:
            names = tuple(cls.__annotations__)
            own = {name: value for name, value in cls.__dict__.items() if name not in (*names, *_UNWANTED)}
            made = type(cls)(
                cls.__name__,
                cls.__bases__,
                {
                    **own,
                    **methods,
                    **by_value,
                    "__slots__": names,
                    "__match_args__": names,
                    "__dataclass_fields__": _Fields(),
                    "_quick": tuple(_field(name, cls.__dict__.get(name, dataclasses.MISSING)) for name in names),
                },
            )
            made.__qualname__ = cls.__qualname__
            made._setters = tuple(made.__dict__[name].__set__ for name in names)
            return made

        return make


_UNWANTED = ("__dict__", "__weakref__")
_MANY = 500
_made: dict[type, int] = {}


class _Fields:
    """The standard description of a class's fields, made when somebody asks for it."""

    def __get__(self, instance: object, cls: Any) -> Any:
        cls.__dataclass_fields__ = _standard(cls).__dataclass_fields__
        return cls.__dataclass_fields__


_Field = tuple[str, dict[str, Any]]
"""A field's name, and what `dataclasses.field` is told of it."""


def _field(name: str, default: Any) -> _Field:
    if not isinstance(default, dataclasses.Field):
        return name, {"default": default}
    told = {"default": default.default, "compare": default.compare, "repr": default.repr}
    factory = default.default_factory
    return name, told if factory is dataclasses.MISSING else {**told, "default_factory": factory}


def _standard(cls: Any) -> Any:
    """A standard dataclass of the same fields."""
    fields = [(name, cls.__annotations__[name], dataclasses.field(**told)) for name, told in cls._quick]
    by_value = cls.__eq__ is not object.__eq__
    return dataclasses.make_dataclass(cls.__name__, fields, frozen=True, eq=by_value, repr=False)


def _init(self: Any, *args: Any, **named: Any) -> None:
    _count(type(self))
    fields: tuple[_Field, ...] = self._quick
    setters = self._setters  # those of the slots, since the class refuses to be changed
    if len(args) > len(fields):
        raise TypeError(f"{type(self).__name__} takes {len(fields)} values, not {len(args)}")
    for set_field, value in zip(setters, args, strict=False):
        set_field(self, value)
    for (name, told), set_field in zip(fields[len(args) :], setters[len(args) :], strict=True):
        if name in named:
            set_field(self, named.pop(name))
        elif "default_factory" in told:
            set_field(self, told["default_factory"]())
        elif told["default"] is not dataclasses.MISSING:
            set_field(self, told["default"])
        else:
            raise TypeError(f"{type(self).__name__} lacks `{name}`")
    if named:
        raise TypeError(f"{type(self).__name__} has no `{next(iter(named))}`")


def _count(cls: Any) -> None:
    _made[cls] = _made.get(cls, 0) + 1
    if _made[cls] == _MANY:
        standard = _standard(cls)
        cls.__init__ = standard.__init__
        if cls.__eq__ is _eq:
            cls.__eq__, cls.__hash__ = standard.__eq__, standard.__hash__


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, told in self._quick if told.get("repr", True))
    return f"{type(self).__name__}({', '.join(shown)})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name, told in self._quick if told.get("compare", True))


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(self: Any, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change `{name}` of a {type(self).__name__}")
