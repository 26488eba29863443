"""Texts with values of the program in them: they are formatted on the host when the values are there."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ._extraction import current


class Text:
    """A text that is known only when the program runs: `made(values)` is the text, of the values of `parts`."""

    def __init__(self, parts: Any, made: Callable[[Any], str]) -> None:
        self.parts, self.made = parts, made

    def __add__(self, other: Any) -> Any:
        return Text((self, other), lambda values: values[0] + values[1]) if isinstance(other, (str, Text)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Text((other, self), lambda values: values[0] + values[1]) if isinstance(other, str) else NotImplemented

    def _none(self, *_: Any) -> Any:
        raise TypeError("cleave: a text with values of the program in it is known only when the program runs; it can be printed, or be the "
                        "message of an error")

    __bool__ = __len__ = __iter__ = __getitem__ = __str__ = __format__ = __hash__ = __mul__ = _none


def holds_values(value: Any, depth: int = 0) -> bool:
    """Whether something, or a container in it, has values of the program."""
    if isinstance(value, (Tensor, Text)):
        return True
    if depth > 8:
        return False
    if isinstance(value, (list, tuple, set)):
        return any(holds_values(each, depth + 1) for each in value)
    if isinstance(value, dict):
        return any(holds_values(each, depth + 1) for each in value.values())
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, type):
        return any(isinstance(each, (Tensor, Text)) for each in vars(value).values())
    return False


_CONVERTED: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def _formatted(part: Any) -> str:
    if isinstance(part, str):
        return part
    value, conversion, spec = part
    if conversion in _CONVERTED:
        value = _CONVERTED[conversion](value)
    return format(value, spec)


def text(*parts: Any) -> Any:
    """An f-string: texts, and values with a conversion and a format."""
    if current() is not None and holds_values(parts):
        return Text(parts, lambda values: "".join(_formatted(each) for each in values))
    return "".join(_formatted(each) for each in parts)


def percent(template: str, values: Any) -> Any:
    """`template % values`."""
    if current() is not None and holds_values((template, values)):
        return Text((template, values), lambda found: found[0] % found[1])
    return template % values


def called(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function such as `str.format` or `repr`, of values of which some are the program's."""
    return Text((arguments, named), lambda values: function(*values[0], **values[1]))
