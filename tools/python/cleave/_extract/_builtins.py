"""Python's own functions, for values of the program."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functions
from .._tensor import Tensor
from ._extraction import Extraction
from ._texts import called, holds_values
from ._walks import Range, Side, Unrolled, walk_of


def _any_tensor(values: Any) -> bool:
    return any(isinstance(each, Tensor) for each in values)


def _range(ext: Extraction, *bounds: Any) -> Any:
    plain = [_literal(each) for each in bounds]
    return Range(*plain) if _any_tensor(plain) else range(*plain)


def _literal(value: Any) -> Any:
    known = value._operand.literal if isinstance(value, Tensor) else None
    return value if known is None else known


def _abs(ext: Extraction, value: Any) -> Any:
    return abs(value)


def _extreme(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def found(ext: Extraction, *values: Any, **named: Any) -> Any:
        items = list(values) if len(values) != 1 else None
        if items is None and isinstance(values[0], Tensor):
            items = list(values[0])
        elif items is None:
            items = list(values[0])
            values = (items,)
        if not _any_tensor(items):
            return plain(*values, **named)
        if named:
            ext.fail("unsupported", f"{plain.__name__}() of tensors takes no `{next(iter(named))}`")
        result = items[0]
        for each in items[1:]:
            result = getattr(functions, name)(result, each)
        return result

    return found


def _number(kind: Any, wanted: Callable[[Extraction, Any], str]) -> Callable[..., Any]:
    def made(ext: Extraction, *values: Any, **named: Any) -> Any:
        if not values or not isinstance(values[0], Tensor):
            return kind(*values, **named)
        value = values[0]
        if value.size != 1:
            ext.fail("shape", f"{kind.__name__}() takes a scalar, not {value.type}")
        value = value.reshape(()) if value.shape else value
        dtype = wanted(ext, value)
        if kind is bool:
            return value if value._known()[0] == "bool" else value != 0
        return value if value._known()[0] == dtype else value.astype(dtype)

    return made


def _integer_type(ext: Extraction, value: Tensor) -> str:
    return value._known()[0] if value._known()[0] in ("i32", "i64") else "i32"


def _float_type(ext: Extraction, value: Tensor) -> str:
    return value._known()[0] if value._known()[0] in ("f32", "f64") else ext.float_type


def _round(ext: Extraction, value: Any, digits: Any = None) -> Any:
    if not isinstance(value, Tensor):
        return round(value, digits) if digits is not None else round(value)
    if digits is not None:
        scale = 10.0 ** digits
        return functions.round(value * scale) / scale
    return functions.round(value).astype("i32") if value._known()[0][0] in "fb" and value._known()[0] != "bool" else value


def _len(ext: Extraction, value: Any) -> Any:
    if isinstance(value, Range):
        return walk_of(value, ext).count  # type: ignore[union-attr]
    return len(value)


def _sum(ext: Extraction, values: Any, start: Any = 0) -> Any:
    total = start
    for each in values:
        total = total + each
    return total


def _sides(ext: Extraction, values: Any) -> list[Any] | None:
    """How a loop goes through each of these, if it does not run at extraction."""
    if not _any_tensor(values) and not any(isinstance(each, (Range, Side)) for each in values):
        return None
    walks = []
    for each in values:
        walk = walk_of(each, ext)
        if walk is None:
            return None
        walks.append(walk)
    return walks


def _zip(ext: Extraction, *values: Any, **named: Any) -> Any:
    walks = _sides(ext, values)
    if walks is None or named:
        return zip(*values, **named)
    counts = [walk.count for walk in walks]
    count: Any = counts[0]
    for each in counts[1:]:
        count = min(count, each) if isinstance(count, int) and isinstance(each, int) else functions.minimum(count, each)
    return Side(count, lambda counter: tuple(walk.item(counter) for walk in walks))


def _enumerate(ext: Extraction, values: Any, start: Any = 0) -> Any:
    walks = _sides(ext, [values])
    if walks is None:
        return enumerate(values, start)
    return Side(walks[0].count, lambda counter: (counter if type(start) is int and start == 0 else counter + start, walks[0].item(counter)))


def _reversed(ext: Extraction, values: Any) -> Any:
    if isinstance(values, range):
        return values[::-1]
    return values[::-1] if isinstance(values, Tensor) else reversed(values)


def _isinstance(ext: Extraction, value: Any, kinds: Any) -> bool:
    if not isinstance(value, Tensor):
        return isinstance(value, kinds)
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if Tensor in wanted:
        return True
    from .._types import numpy_dtype

    if value.ndim:
        return issubclass(np.ndarray, wanted)
    plain = bool if value._known()[0] == "bool" else int if value._known()[0][0] in "iu" else float
    as_number, as_scalar = issubclass(plain, wanted), issubclass(numpy_dtype(value._known()[0]).type, wanted)
    if id(value) in ext.numbers or id(value) in ext.weak:
        return as_number
    if as_number != as_scalar and not any(value is each for each in ext.scalars):
        ext.fail("type", f"whether this number is of Python's type or of NumPy's is not known here: ask isinstance(x, (float, numpy.floating)) or "
                 "(int, numpy.integer)")
    return as_scalar


def _text_of(kind: Callable[..., Any]) -> Callable[..., Any]:
    def made(ext: Extraction, *arguments: Any, **named: Any) -> Any:
        return called(kind, arguments, named) if holds_values((arguments, named)) else kind(*arguments, **named)

    return made


def _all(ext: Extraction, values: Any) -> Any:
    from ._logic import and_

    if isinstance(values, Tensor):
        return values.all()
    result: Any = True
    for each in values:
        result = and_(result, lambda each=each: each, total=True)  # type: ignore[misc]
    return result


def _any(ext: Extraction, values: Any) -> Any:
    from ._logic import or_

    if isinstance(values, Tensor):
        return values.any()
    result: Any = False
    for each in values:
        result = or_(result, lambda each=each: each)  # type: ignore[misc]
    return result


def _pow(ext: Extraction, base: Any, exponent: Any, *modulus: Any) -> Any:
    return pow(base, exponent, *modulus)


def _divmod(ext: Extraction, a: Any, b: Any) -> Any:
    return (a // b, a % b) if _any_tensor((a, b)) else divmod(a, b)


def _sorted(ext: Extraction, values: Any, **named: Any) -> Any:
    items = list(values)
    if not _any_tensor(items):
        return sorted(items, **named)
    if set(named) - {"reverse"}:
        ext.fail("unsupported", f"sorted() of tensors takes no `{next(iter(named))}`")
    from ._numpy import stacked

    ordered = list(functions.sort(stacked(items, ext)))
    return ordered[::-1] if named.get("reverse") else ordered


def _list(ext: Extraction, *values: Any) -> Any:
    return list(*values)


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range, abs: _abs, min: _extreme("minimum", min), max: _extreme("maximum", max), int: _number(int, _integer_type),
    float: _number(float, _float_type), bool: _number(bool, lambda ext, value: "bool"), round: _round, len: _len, sum: _sum, zip: _zip,
    enumerate: _enumerate, reversed: _reversed, isinstance: _isinstance, str: _text_of(str), repr: _text_of(repr), format: _text_of(format),
    all: _all, any: _any, pow: _pow, divmod: _divmod, list: _list, sorted: _sorted}


def _fused(name: str) -> Callable[..., Any]:
    return lambda *values: getattr(functions, name)(*values)


MATH: dict[str, Callable[..., Any]] = {
    **{name: _fused(name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh",
                                       "acosh", "atanh", "atan2", "expm1", "log1p", "log2", "log10", "pow", "hypot", "erf", "isnan", "isinf",
                                       "isfinite", "copysign") if hasattr(functions, name)},
    "fabs": lambda x: abs(x), "floor": lambda x: functions.floor(x).astype("i32"), "ceil": lambda x: functions.ceil(x).astype("i32"),
    "trunc": lambda x: functions.trunc(x).astype("i32"), "radians": lambda x: x * (math.pi / 180), "degrees": lambda x: x * (180 / math.pi)}
_ = Unrolled
