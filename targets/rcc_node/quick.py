"""`dataclass(frozen=True, slots=True)` without the standard module, which takes as long as a whole check of a stage.

It writes and compiles the source of six methods for each class. Here they are written once, over the fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """The decorator, for classes whose fields are all annotated in the class itself."""
        assert frozen
        assert slots
        return _made


def as_dict(value: Any) -> dict[str, Any]:
    """The fields of a value of such a class, by name."""
    return {name: getattr(value, name) for name in value.__slots__}


def _made(cls: type) -> type:
    names = tuple(cls.__annotations__)
    body = {name: value for name, value in vars(cls).items() if name not in (*names, "__dict__", "__weakref__")}
    defaults = {name: value for name, value in vars(cls).items() if name in names}
    methods = {"__init__": _init, "__repr__": _repr, "__eq__": _eq, "__hash__": _hash, "__setattr__": _refuse}
    return type(cls.__name__, cls.__bases__, {**body, **methods, "__slots__": names, "_defaults": defaults})


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self.__slots__
    given = dict(zip(names, values, strict=False)) | named
    if len(given) != len(values) + len(named) or not given.keys() <= set(names):
        raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
    for name in names:
        object.__setattr__(self, name, given[name] if name in given else self._defaults[name])


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in as_dict(self).items())})"


def _eq(self: Any, other: Any) -> Any:
    return as_dict(self) == as_dict(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(tuple(as_dict(self).values()))


def _refuse(self: Any, name: str, _value: Any) -> None:
    raise AttributeError(f"`{name}` of {type(self).__name__} cannot be changed")
