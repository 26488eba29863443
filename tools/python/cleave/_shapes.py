"""Functions that NumPy has and the vocabulary has under another name or in parts: shapes, joining, creation. Each records other functions."""
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from . import functions as f
from ._tensor import Tensor, constant_of
from ._types import ArrayLike, DTypeLike, dtype_name

_Function = TypeVar("_Function", bound=Callable[..., Any])


def extends(function: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Marks a function that takes more than that of the vocabulary: its docstring is added to that one's."""
    def mark(own: _Function) -> _Function:
        own.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    {own.__doc__ or ''}\n    "
        return own

    return mark


def asarray(obj: Any, /, *, dtype: DTypeLike | None = None, copy: bool | None = None, device: Any = None) -> Tensor:
    """A tensor of a tensor, an array, a number or a list of numbers or tensors; of a tensor itself, unless `copy` or `dtype` ask for another
    one. Python's integers are i32 and its floats f32, as everywhere."""
    if isinstance(obj, Tensor):
        if dtype is not None and dtype_name(dtype) != obj._kind():
            return f.astype(obj, dtype)
        return obj.copy() if copy else obj
    if isinstance(obj, (list, tuple)) and any(isinstance(each, (Tensor, list, tuple)) and not _plain(each) for each in obj):
        return f.stack([asarray(each, dtype=dtype) for each in obj])
    from ._trace import constant

    if dtype is None and not hasattr(obj, "dtype"):
        kind = np.asarray(obj).dtype.kind
        dtype = {"f": "f32", "i": "i32", "u": "i32"}.get(kind)
    return constant(obj, dtype)


def _plain(obj: Any) -> bool:
    return not isinstance(obj, Tensor) and (not isinstance(obj, (list, tuple)) or all(_plain(each) for each in obj))


def array(obj: Any, dtype: DTypeLike | None = None) -> Tensor:
    """As `asarray`; of a tensor, a copy."""
    return asarray(obj, dtype=dtype, copy=True)


def as_tensor(x: ArrayLike) -> Tensor:
    """A tensor of an operand."""
    return x if isinstance(x, Tensor) else asarray(x)


def empty(shape: int | Sequence[int], dtype: DTypeLike = "f32") -> Tensor:
    """Zeros: nothing in a program is without a value."""
    return f.zeros(shape, dtype)


def empty_like(x: ArrayLike, /, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and the type of x."""
    return f.zeros_like(x, dtype)


def identity(n: int, dtype: DTypeLike = "f32") -> Tensor:
    """1 on the diagonal of n rows and columns, else 0."""
    return f.eye(n, dtype=dtype)


def tri(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike = "f32") -> Tensor:
    """1 on and below diagonal `k`, else 0."""
    return constant_of(np.tri(rows, columns, k)).astype(dtype)


def logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0) -> Tensor:
    """`num` powers of the base whose exponents go from start to stop in equal steps."""
    return f.pow(base, f.linspace(start, stop, num, endpoint))


def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    x = as_tensor(x)
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return f.permute_dims(x, axes)


def matrix_transpose(x: ArrayLike, /) -> Tensor:
    """The last two axes exchanged."""
    return f.transpose(x)


def ravel(x: ArrayLike) -> Tensor:
    """The elements in one axis, in row-major order."""
    return f.reshape(x, (-1,))


@extends(f.repeat)
def repeat(x: ArrayLike, repeats: int, axis: int | None = None) -> Tensor:
    """Without an axis, of all elements in one axis, as the array API has it."""
    x = as_tensor(x)
    return f.repeat(ravel(x), repeats, 0) if axis is None else f.repeat(x, repeats, axis)


def concatenate(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Tensor:
    """Joins arrays along an axis that they have; along None, all elements in one axis."""
    return concat(arrays, axis=axis)


@extends(f.concat)
def concat(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Tensor:
    """Along None, all elements in one axis."""
    return f.concat([ravel(each) for each in arrays], 0) if axis is None else f.concat(arrays, axis)


def _at_least(x: ArrayLike, axes: int) -> Tensor:
    x = as_tensor(x)
    return x if x.ndim >= axes else f.reshape(x, (1,) * (axes - x.ndim) + x.shape)


def atleast_1d(x: ArrayLike) -> Tensor:
    """x with an axis, if it has none."""
    return _at_least(x, 1)


def atleast_2d(x: ArrayLike) -> Tensor:
    """x with two axes at least; new ones stand in front."""
    return _at_least(x, 2)


def vstack(arrays: Sequence[ArrayLike]) -> Tensor:
    """Joins along the first axis; vectors are rows."""
    return f.concat([atleast_2d(each) for each in arrays], 0)


def hstack(arrays: Sequence[ArrayLike]) -> Tensor:
    """Joins along the second axis, vectors along the first."""
    given = [atleast_1d(each) for each in arrays]
    return f.concat(given, 0 if given[0].ndim == 1 else 1)


def column_stack(arrays: Sequence[ArrayLike]) -> Tensor:
    """Joins along the second axis; vectors are columns."""
    given = [as_tensor(each) for each in arrays]
    return f.concat([f.expand_dims(each, 1) if each.ndim == 1 else each for each in given], 1)


def dstack(arrays: Sequence[ArrayLike]) -> Tensor:
    """Joins along the third axis."""
    given = [atleast_2d(f.expand_dims(as_tensor(each), 0) if as_tensor(each).ndim == 1 else each) for each in arrays]
    return f.concat([f.expand_dims(each, 2) if each.ndim == 2 else each for each in given], 2)


def broadcast_arrays(*arrays: ArrayLike) -> tuple[Tensor, ...]:
    """The arrays in their common shape."""
    given = [as_tensor(each) for each in arrays]
    shape = np.broadcast_shapes(*[each.shape for each in given])
    return tuple(each if each.shape == shape else f.broadcast_to(each, shape) for each in given)


def fliplr(x: ArrayLike) -> Tensor:
    """The second axis reversed."""
    return f.flip(x, 1)


def flipud(x: ArrayLike) -> Tensor:
    """The first axis reversed."""
    return f.flip(x, 0)


def rot90(x: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned by `k` quarters in the plane of two axes, from the first towards the second."""
    x = as_tensor(x)
    for _ in range(k % 4):
        x = swapaxes(f.flip(x, axes[1]), *axes)
    return x


@extends(f.squeeze)
def squeeze(x: ArrayLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """Without `axis`, all of them."""
    x = as_tensor(x)
    if axis is None:
        axis = [at for at, extent in enumerate(x.shape) if extent == 1]
    return f.squeeze(x, axis)


def array_split(x: ArrayLike, sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Parts along an axis: as equal as they can be, or cut at positions."""
    x = as_tensor(x)
    axis %= x.ndim
    extent = x.shape[axis]
    if isinstance(sections, int):
        small, longer = divmod(extent, sections)
        cuts = list(np.cumsum([small + (number < longer) for number in range(sections)])[:-1])
    else:
        cuts = [int(cut) for cut in sections]
    bounds = [0, *cuts, extent]
    return [x[(slice(None),) * axis + (slice(int(a), int(b)),)] for a, b in zip(bounds, bounds[1:])]


def vsplit(x: ArrayLike, sections: int | Sequence[int]) -> list[Tensor]:
    """Parts along the first axis."""
    return array_split(x, sections, 0)


def hsplit(x: ArrayLike, sections: int | Sequence[int]) -> list[Tensor]:
    """Parts along the second axis, of a vector along the first."""
    return array_split(x, sections, 0 if as_tensor(x).ndim == 1 else 1)


def select(conditions: Sequence[ArrayLike], choices: Sequence[ArrayLike], default: Any = 0) -> Tensor:
    """For each element the choice whose condition is the first that holds, else `default`."""
    result: Any = default
    for condition, choice in zip(reversed(list(conditions)), reversed(list(choices))):
        result = f.where(condition, choice, result)
    return as_tensor(result)


def diag(x: ArrayLike, k: int = 0) -> Tensor:
    """The diagonal `k` of a matrix, or the matrix with a vector on its diagonal `k`."""
    x = as_tensor(x)
    if x.ndim != 1:
        return f.diagonal(x, k)
    n = x.shape[0] + abs(k)
    rows = np.arange(x.shape[0]) + max(-k, 0)
    return f.scatter_nd(f.zeros((n, n), x.dtype), np.stack([rows, rows + k], axis=-1), x)


@extends(f.take)
def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Tensor:
    """Without an axis, of all elements in one axis."""
    x = as_tensor(x)
    if axis is None and x.ndim != 1:
        x = ravel(x)
    return f.take(x, indices, 0 if axis is None else axis)


__all__ = ["array", "array_split", "asarray", "atleast_1d", "atleast_2d", "broadcast_arrays", "column_stack", "concat", "concatenate", "diag",
           "dstack", "empty", "empty_like", "fliplr", "flipud", "hsplit", "hstack", "identity", "logspace", "matrix_transpose", "ravel", "repeat",
           "rot90", "select", "squeeze", "swapaxes", "take", "tri", "vsplit", "vstack"]
