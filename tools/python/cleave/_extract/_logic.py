"""`and`, `or`, `not` and chained comparisons. The right side is evaluated only where Python would."""
from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._branches import choose, predicate_of
from ._extraction import Extraction, current

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "is": operator.is_,
    "is not": operator.is_not, "in": lambda a, b: in_(a, b), "not in": lambda a, b: not_in(a, b)}


def _traced(value: Any) -> bool:
    return isinstance(value, Tensor) and value._operand.literal is None


_total: dict[int, tuple[Any, bool]] = {}
_PLAIN = {"+", "-", "*", "&", "|", "^"}


def _is_total(later: Callable[[], Any]) -> bool:
    """Whether an expression may be evaluated where Python would not: it has no calls, indices, attributes or divisions, so that nothing
    happens and nothing fails."""
    code = later.__code__
    known = _total.get(id(code))
    if known is None:
        good = True
        for each in dis.get_instructions(code):
            name = each.opname
            if name.startswith(("CALL", "LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR", "STORE", "BINARY_SLICE")) and name != "CALL_INTRINSIC_1":
                good = False
            elif name == "BINARY_OP" and each.argrepr not in _PLAIN:
                good = False
            elif name.startswith("BINARY_") and name not in ("BINARY_OP", "BINARY_ADD", "BINARY_SUBTRACT", "BINARY_MULTIPLY"):
                good = False
        known = _total[id(code)] = (code, good)
    return known[1]


def _joined(ext: Extraction, first: Any, later: Callable[[], Any], both: bool, total: bool) -> Any:
    """`first and later()`, or with `or`, for a tensor `first`."""
    predicate = predicate_of(first, ext)
    if not isinstance(predicate, Tensor):
        return later() if predicate == both else first
    if total:
        second = later()
        if not isinstance(second, Tensor) and type(second) in (bool, np.bool_):
            return predicate if bool(second) == both else second
        if isinstance(second, Tensor) and second.size == 1 and second._known()[0] == "bool" and _is_bool(first):
            second = predicate_of(second, ext)
            return predicate & second if both else predicate | second
        known = second

        def later() -> Any:
            return known

    def kept() -> Any:
        return predicate if _is_bool(first) else first

    def found() -> Any:
        value = later()
        return predicate_of(value, ext) if isinstance(value, Tensor) and _is_bool(value) else value

    return choose(ext, predicate, found, kept, (), ()) if both else choose(ext, predicate, kept, found, (), ())


def _is_bool(value: Any) -> bool:
    return isinstance(value, Tensor) and value._known()[0] == "bool"


def and_(first: Any, *later: Callable[[], Any], total: bool | None = None) -> Any:
    ext = current()
    if not later:
        return first
    rest, total = later[0], _is_total(later[0]) if total is None else total
    if ext is None or not _traced(first):
        return and_(rest(), *later[1:]) if first else first
    value = _joined(ext, first, rest, True, total)
    return and_(value, *later[1:])


def or_(first: Any, *later: Callable[[], Any]) -> Any:
    ext = current()
    if not later:
        return first
    rest = later[0]
    if ext is None or not _traced(first):
        return first if first else or_(rest(), *later[1:])
    value = _joined(ext, first, rest, False, _is_total(rest))
    return or_(value, *later[1:])


def not_(value: Any) -> Any:
    ext = current()
    if ext is None or not _traced(value):
        return not value
    predicate = predicate_of(value, ext)
    return ~predicate if isinstance(predicate, Tensor) else not predicate


def compare(left: Any, *steps: Any) -> Any:
    """A chain such as `a < b < c`, of which each operand is evaluated once."""
    symbol, later = steps[0], steps[1]
    right = later()
    value = _OPERATORS[symbol](left, right)
    if len(steps) == 2:
        return value
    return and_(value, lambda: compare(right, *steps[2:]), total=all(_is_total(each) for each in steps[3::2]))


def in_(item: Any, container: Any) -> Any:
    """`item in container`."""
    ext = current()
    if ext is None or not (isinstance(item, Tensor) or isinstance(container, Tensor)
                           or isinstance(container, (list, tuple)) and any(isinstance(each, Tensor) for each in container)):
        return item in container
    if isinstance(container, Tensor):
        return (container == item).any()
    if isinstance(container, (range, dict, str)):
        ext.fail("unsupported", f"`in` of a tensor and a {type(container).__name__} cannot be extracted: compare with its bounds or items")
    value: Any = False
    for each in container:
        value = or_(value, lambda each=each: each == item)  # type: ignore[misc]
    return value


def not_in(item: Any, container: Any) -> Any:
    return not_(in_(item, container))
