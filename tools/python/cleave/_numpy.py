"""NumPy's own functions on tensors: `np.sum(x)`, `np.concatenate([x, y])`, `np.add.reduce(x)` record what the functions of this package do.
Where NumPy and the vocabulary read a name or an argument differently, NumPy's reading counts here."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _elementary as elementary, _shapes as shapes, _statistics as statistics, functions as f
from ._masked import Selection
from ._tensor import Tensor

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _as_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    _FUNCTIONS["numpy." + function.__name__.strip("_")] = function
    return function


@_as_numpy
def transpose(a: Any, axes: Any = None) -> Tensor:
    """The axes in another order; by default reversed."""
    x = shapes.as_tensor(a)
    return x.transpose() if axes is None else x.transpose(axes)


def first_axes_last(a: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes, by default NumPy's first two, as the last ones."""
    x = shapes.as_tensor(a)
    axis1, axis2 = axis1 % x.ndim, axis2 % x.ndim
    rest = [axis for axis in range(x.ndim) if axis not in (axis1, axis2)]
    return x if rest + [axis1, axis2] == list(range(x.ndim)) else f.permute_dims(x, [*rest, axis1, axis2])


@_as_numpy
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal of two axes, by default the first two."""
    return f.diagonal(first_axes_last(a, axis1, axis2), offset)


@_as_numpy
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of a diagonal of two axes, by default the first two."""
    return f.trace(first_axes_last(a, axis1, axis2), offset)


@_as_numpy
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """No element below `a_min` or above `a_max`; None: no limit."""
    low, high = a_min if min is None else min, a_max if max is None else max
    x = shapes.as_tensor(a)
    if low is not None:
        x = f.maximum(x, low)
    return x if high is None else f.minimum(x, high)


@_as_numpy
def round(a: Any, decimals: int = 0) -> Tensor:  # noqa: A001
    """Rounded to so many decimals, ties to even."""
    x = shapes.as_tensor(a)
    if decimals == 0:
        return f.round(x)
    scale = 10.0 ** abs(decimals)
    return f.divide(f.round(f.multiply(x, scale)), scale) if decimals > 0 else f.multiply(f.round(f.divide(x, scale)), scale)


@_as_numpy
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; the positions where it holds, if they are left out."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("cleave: where takes a condition, or a condition and two values")
    return f.where(condition, x, y)


@_as_numpy
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Equal parts along an axis, or parts cut at positions."""
    if isinstance(indices_or_sections, int) and shapes.as_tensor(ary).shape[axis] % indices_or_sections:
        raise ValueError("cleave: split into equal parts does not go without a rest; array_split allows one")
    return shapes.array_split(ary, indices_or_sections, axis)


@_as_numpy
def meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """An array for each vector: its elements over all combinations."""
    return f.meshgrid(list(xi), indexing)


@_as_numpy
def einsum(subscripts: str, *operands: Any) -> Tensor:
    """A sum of products by letters of axes."""
    return f.einsum(subscripts, list(operands))


@_as_numpy
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Products summed over axes."""
    if isinstance(axes, int):
        return f.tensordot(a, b, axes)
    first, second = ([each] if isinstance(each, int) else list(each) for each in axes)
    return f.tensordot(a, b, a_axes=first, b_axes=second)


@_as_numpy
def outer(a: Any, b: Any) -> Tensor:
    """Products of each element with each."""
    return f.outer(shapes.ravel(a), shapes.ravel(b))


@_as_numpy
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0.0) -> Tensor:
    """Elements put around an array: "constant", "edge", "wrap", "reflect" or "symmetric"."""
    x = shapes.as_tensor(array)
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    if mode == "constant":
        return f.pad(x, [int(width) for width in widths.ravel()], constant_values)
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise ValueError(f"cleave: pad has the modes constant, edge, wrap, reflect and symmetric, not {mode}")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            places = np.pad(np.arange(x.shape[axis]), (int(before), int(after)), mode=mode)  # type: ignore[call-overload]
            x = f.take(x, places.astype(np.int32), axis)
    return x


@_as_numpy
def nonzero(a: Any) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, along each axis; a run gives as many as there are."""
    positions, _ = f.nonzero(shapes.as_tensor(a))
    return tuple(positions[axis] for axis in range(positions.shape[0]))


@_as_numpy
def flatnonzero(a: Any) -> Tensor:
    """The positions of the elements that are not zero, in order."""
    positions: tuple[Tensor, ...] = nonzero(f.reshape(shapes.as_tensor(a), [-1]))
    return positions[0]


@_as_numpy
def argwhere(a: Any) -> Tensor:
    """The positions of the elements that are not zero, in rows."""
    return f.transpose(f.nonzero(shapes.as_tensor(a))[0])


@_as_numpy
def compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    """The elements along an axis where the condition holds; a run gives as many as there are."""
    return f.compress(condition, a, axis)


@_as_numpy
def extract(condition: Any, arr: Any) -> Tensor:
    """The elements where the condition holds, in order."""
    return f.compress(f.reshape(shapes.as_tensor(condition), [-1]), arr)


@_as_numpy
def unique(ar: Any) -> Any:
    """Not there: the number of elements depends on data."""
    raise TypeError("cleave: how many distinct elements there are is known only at run time; cleave.unique(x) gives as many as x has, filled up with "
                    "the last, and their number")


@_as_numpy
def gradient(a: Any, *spacing: Any) -> Any:
    """Not there: cleave.gradient is another function."""
    raise TypeError("cleave: numpy.gradient, the differences of neighbors, is not there (diff is); cleave.gradient(loss, x) is a derivative")


@_as_numpy
def shape(a: Any) -> tuple[int, ...]:
    """The sizes."""
    return shapes.as_tensor(a).shape


@_as_numpy
def ndim(a: Any) -> int:
    """The number of axes."""
    return shapes.as_tensor(a).ndim


@_as_numpy
def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, all or along an axis."""
    x = shapes.as_tensor(a)
    return x.size if axis is None else x.shape[axis]


@_as_numpy
def copy(a: Any) -> Tensor:
    """A copy."""
    return shapes.as_tensor(a).copy()


@_as_numpy
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first largest element."""
    return f.argmax(a, axis, keepdims)


@_as_numpy
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first smallest element."""
    return f.argmin(a, axis, keepdims)


@_as_numpy
def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean."""
    return f.mean(elementary.as_type(a, dtype), axis, keepdims)


@_as_numpy
def fill_diagonal(a: Any, val: Any) -> None:
    """The diagonal of a matrix set to a value."""
    places = np.arange(min(a.shape))
    a[places, places] = val


@_as_numpy
def copyto(dst: Any, src: Any) -> None:
    """All elements of a tensor replaced."""
    dst[...] = src


#: Functions that read as NumPy's do.
_SAME = ["all", "any", "argsort", "astype", "broadcast_to", "concat", "count_nonzero", "cross", "diff", "expand_dims", "flip", "full_like", "max",
         "min", "moveaxis", "ones_like", "permute_dims", "reshape", "roll", "searchsorted", "sort", "stack", "take_along_axis", "tile", "tril", "triu",
         "unstack", "zeros_like", "vecdot", "matrix_transpose", "cumulative_sum", "cumulative_prod", "logaddexp"]
_OTHER_NAMES = {"amax": f.max, "amin": f.min, "round_": round, "around": round, "trapz": elementary.trapezoid}


def _table() -> dict[str, Callable[..., Any]]:
    from . import linalg

    table = {f"numpy.{name}": getattr(f, name) for name in _SAME if hasattr(f, name)}
    for module in (elementary, shapes, statistics):
        table.update({f"numpy.{name}": getattr(module, name) for name in module.__all__})
    table.update({f"numpy.linalg.{name}": getattr(linalg, name) for name in linalg.__all__ if name[0].islower()})
    table.update({f"numpy.{name}": function for name, function in _OTHER_NAMES.items()})
    table.update(_FUNCTIONS)
    return table


_known: dict[str, Callable[..., Any]] = {}


def function(called: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A call of one of NumPy's functions with a tensor among its arguments."""
    if not _known:
        _known.update(_table())
    module = "numpy.fft" if "fft" in (called.__module__ or "") else "numpy.linalg" if "linalg" in (called.__module__ or "") else "numpy"
    name = f"{module}.{called.__name__}"
    if module == "numpy.fft":
        raise TypeError(f"cleave: {name} gives complex numbers, which cleave does not have; cleave.fft.{called.__name__} has pairs of real and imaginary "
                        "part in a last axis")
    own = _known.get(name)
    if own is None:
        raise TypeError(f"cleave: {name} cannot be traced; a host function can call it (cleave.host_function)")
    given = {key: value for key, value in named.items() if key != "out" or value is not None}
    try:
        inspect.signature(own).bind(*arguments, **given)
    except TypeError as error:
        raise TypeError(f"cleave: {name} of a tensor: {error}; it takes {inspect.signature(own)}") from None
    return own(*arguments, **given)


#: NumPy's names for functions of elements, where they differ.
_UFUNCS = {"absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
           "arctanh": "atanh", "bitwise_not": "bitwise_invert", "degrees": "rad2deg", "fabs": "abs", "invert": "bitwise_invert",
           "left_shift": "bitwise_left_shift", "mod": "remainder", "power": "pow", "radians": "deg2rad", "right_shift": "bitwise_right_shift",
           "rint": "round", "true_divide": "divide", "conjugate": "conj", "float_power": "pow"}
_REDUCED: dict[str, Callable[..., Any]] = {"add": elementary.sum, "multiply": elementary.prod, "maximum": f.max, "minimum": f.min, "logical_and": f.all,
                                           "logical_or": f.any}
_ACCUMULATED: dict[str, Callable[..., Any]] = {"add": elementary.cumsum, "multiply": elementary.cumprod}
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "maximum": "max", "minimum": "min"}


def _named(ufunc: Any) -> Callable[..., Any] | None:
    name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
    return getattr(f, name, None) or getattr(elementary, name, None)


def ufunc(called: Any, method: str, inputs: Sequence[Any], named: dict[str, Any]) -> Any:
    """A call of one of NumPy's functions of elements, or of one of its methods, with a tensor among its arguments."""
    own = _named(called)
    name = f"numpy.{called.__name__}"
    if any(isinstance(each, Selection) for each in inputs):
        return NotImplemented
    out = named.pop("out", (None,))[0]
    dtype = named.pop("dtype", None)
    if out is not None and not isinstance(out, Tensor):
        raise TypeError("cleave: an array of NumPy cannot take a tensor's elements, which are not known yet; make it a tensor first: "
                        "a = cleave.asarray(a)")
    if method == "reduce" and called.__name__ in _REDUCED:
        given = {"axis": named.pop("axis", 0), **({"keepdims": True} if named.pop("keepdims", False) else {})}
        result = _without_rest(name, named, lambda: _REDUCED[called.__name__](elementary.as_type(inputs[0], dtype), **given))
    elif method == "accumulate" and called.__name__ in _ACCUMULATED:
        result = _without_rest(name, named, lambda: _ACCUMULATED[called.__name__](elementary.as_type(inputs[0], dtype), named.pop("axis", 0)))
    elif method == "outer" and own is not None:
        first, second = (shapes.as_tensor(each) for each in inputs)
        spread = f.reshape(first, [*first.shape, *([1] * second.ndim)])
        result = _without_rest(name, named, lambda: own(spread, second))
    elif method == "at" and called.__name__ in _AT and isinstance(inputs[0], Tensor):
        from ._update import updated
        from ._views import assign

        assign(inputs[0], updated(inputs[0], inputs[1], inputs[2], _AT[called.__name__]))
        return None
    elif method == "__call__" and own is not None:
        result = _without_rest(name, named, lambda: own(*(elementary.as_type(each, dtype) for each in inputs)))
    else:
        shown = name if method == "__call__" else f"{name}.{method}"
        raise TypeError(f"cleave: {shown} cannot be traced; a host function can call it (cleave.host_function)")
    if out is not None:
        out[...] = result
        return out
    return result


def _without_rest(name: str, named: dict[str, Any], call: Callable[[], Any]) -> Any:
    rest = [key for key, value in named.items() if key != "axis" and value is not None and not (key == "where" and value is True)]
    if rest:
        raise TypeError(f"cleave: {name} of a tensor takes no `{rest[0]}`")
    return call()
