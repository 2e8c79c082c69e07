"""How many made-up inputs a property is tried on."""

from hypothesis import settings


def count(plain: int, per_example: int = 1) -> int:
    """So many in a plain run; as many as the profile says where that is more, as in `make fuzz`."""
    assert settings.default
    return max(plain, settings.default.max_examples) // per_example


def examples(plain: int, per_example: int = 1) -> settings:
    """The same as a decorator; `per_example` is how many inputs one example holds."""
    return settings(max_examples=count(plain, per_example), deadline=None)
