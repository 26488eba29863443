"""Functions of NumPy on values of the program: operations where the vocabulary has them, else host calls."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functions
from .._tensor import Tensor
from ._extraction import Extraction, dtype_of, tensor_of

_VIEWS = {"reshape", "ravel", "transpose", "swapaxes", "squeeze", "expand_dims", "moveaxis", "diagonal", "atleast_1d", "asarray"}


#: Functions of the vocabulary that take their arguments as NumPy's do.
_SAME = {**{name: name for name in ("sum", "max", "min", "mean", "any", "all", "prod", "argmax", "argmin", "stack", "where", "roll", "reshape",
                                    "expand_dims", "tile")}, "concatenate": "concat", "amax": "max", "amin": "min"}


def stacked(values: Any, ext: Extraction, dtype: Any = None) -> Any:
    """`numpy.array` of nested lists with tensors in them."""
    if isinstance(values, Tensor):
        result = values
    elif isinstance(values, (list, tuple)):
        parts = [stacked(each, ext) for each in values]
        result = functions.stack(_alike([tensor_of(each, ext) for each in parts]))
    else:
        return values
    return result.astype(dtype) if dtype is not None else result


def _alike(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors of one element type: that of their sum."""
    if len({each._known()[0] for each in tensors}) == 1:
        return tensors
    from .._types import dtype_name, numpy_dtype

    wanted = dtype_name(np.result_type(*[numpy_dtype(each._known()[0]) for each in tensors]))
    if {"f32"} >= {each._known()[0] for each in tensors if each._known()[0][0] == "f"}:
        wanted = "f32"
    return [each if each._known()[0] == wanted else each.astype(wanted) for each in tensors]


def _array(ext: Extraction, values: Any, dtype: Any = None, **named: Any) -> Any:
    return stacked(values, ext, dtype)


def _copy(ext: Extraction, value: Any) -> Any:
    return Tensor(tensor_of(value, ext)._operand, ext.owner)


def _isscalar(ext: Extraction, value: Any) -> bool:
    return not value.ndim


def _like(name: str) -> Callable[..., Any]:
    def made(ext: Extraction, value: Any, *rest: Any, dtype: Any = None, **named: Any) -> Any:
        shape = tuple(value.shape)
        wanted = value._known()[0] if dtype is None else dtype
        if name == "full":
            return functions.full(shape, rest[0], dtype=wanted)
        return functions.zeros(shape, dtype=wanted) if name == "zeros" else functions.ones(shape, dtype=wanted)

    return made


OWN: dict[Any, Callable[..., Any]] = {
    np.array: _array, np.asarray: _array, np.asanyarray: _array, np.copy: _copy, np.isscalar: _isscalar, np.zeros_like: _like("zeros"),
    np.empty_like: _like("zeros"), np.ones_like: _like("ones"), np.full_like: _like("full"),
    np.shape: lambda ext, x: x.shape, np.ndim: lambda ext, x: x.ndim, np.size: lambda ext, x: x.size}
for _name in ("float32", "float64", "int32", "int64"):
    OWN[getattr(np, _name)] = lambda ext, x, name=_name: tensor_of(x, ext).astype(name)


#: Functions that make an array, which the program may write to: it is a value of the program from the start.
ALLOCATING = {"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "eye", "identity", "array", "copy"}


def allocated(ext: Extraction, name: str, value: Any) -> Any:
    """The array that a function made, as a value of the program."""
    if not isinstance(value, np.ndarray) or not value.ndim or value.dtype.kind not in "biuf":
        return value
    dtype, shape = dtype_of(value, ext)
    if name.startswith(("zeros", "empty")):
        return functions.zeros(shape, dtype=dtype)
    if name.startswith("ones"):
        return functions.ones(shape, dtype=dtype)
    return tensor_of(value, ext)


def apply(ext: Extraction, function: Any, arguments: tuple[Any, ...], named: dict[str, Any], on_host: Callable[[str], Any]) -> Any:
    """`function(*arguments, **named)` of which some are values of the program."""
    own = OWN.get(function)
    if own is not None:
        return own(ext, *arguments, **named)
    name = function.__name__
    try:
        value = function(*arguments, **named)
    except TypeError as refused:
        if "cannot be traced" not in str(refused):
            raise
        if name not in _SAME:
            return on_host("no operation of the vocabulary computes it")
        value = getattr(functions, _SAME[name])(*arguments, **named)
    if name in _VIEWS and isinstance(value, Tensor) and arguments and isinstance(arguments[0], Tensor):
        return ext.view(value, arguments[0])
    return value
