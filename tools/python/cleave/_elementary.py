"""Functions of elements, sums and products that NumPy, SciPy or PyTorch have and the vocabulary has in parts. Each records other functions."""
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import functions as f
from ._shapes import as_tensor, extends, ravel
from ._tensor import Tensor
from ._types import ArrayLike, DTypeLike

_Axis = int | Sequence[int] | None


def power(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """`x1 ** x2`."""
    return f.pow(x1, x2)


def absolute(x: ArrayLike) -> Tensor:
    """Magnitude."""
    return f.abs(x)


def positive(x: ArrayLike, /) -> Tensor:
    """x, a copy."""
    return as_tensor(x).copy()


def conj(x: ArrayLike, /) -> Tensor:
    """x: there are no complex numbers."""
    return as_tensor(x).copy()


def real(x: ArrayLike, /) -> Tensor:
    """x: there are no complex numbers."""
    return as_tensor(x).copy()


def exp2(x: ArrayLike) -> Tensor:
    """2 to the power of x."""
    return f.pow(2.0, x) if is_floating(x) else f.pow(2.0, f.astype(x, "f32"))


def is_floating(x: ArrayLike) -> bool:
    """Whether the elements of an operand have a fraction."""
    if isinstance(x, Tensor):
        return x._kind() in ("f16", "bf16", "f32", "f64")
    return isinstance(x, float) or np.asarray(x).dtype.kind == "f"


def deg2rad(x: ArrayLike) -> Tensor:
    """Degrees as radians."""
    return f.multiply(x, math.pi / 180)


def rad2deg(x: ArrayLike) -> Tensor:
    """Radians as degrees."""
    return f.multiply(x, 180 / math.pi)


def fmod(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """The rest of a division that rounds towards zero, with the sign of x1."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    rest = f.remainder(f.abs(x1), f.abs(x2))
    return f.copysign(rest, x1) if is_floating(rest) else f.where(f.less(x1, 0), f.negative(rest), rest)


def fmin(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """The smaller of two; of a NaN and a number the number."""
    return f.where(f.isnan(x1), x2, f.where(f.isnan(x2), x1, f.minimum(x1, x2)))


def fmax(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """The larger of two; of a NaN and a number the number."""
    return f.where(f.isnan(x1), x2, f.where(f.isnan(x2), x1, f.maximum(x1, x2)))


def heaviside(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """0 below zero, 1 above, x2 at zero; NaN stays."""
    x1 = as_tensor(x1)
    return f.where(f.isnan(x1), x1, f.where(f.equal(x1, 0), x2, f.astype(f.greater(x1, 0), x1.dtype)))


def sinc(x: ArrayLike) -> Tensor:
    """`sin(pi * x) / (pi * x)`, 1 at zero."""
    scaled = f.multiply(math.pi, x)
    zero = f.equal(scaled, 0)
    return f.where(zero, 1.0, f.divide(f.sin(scaled), f.where(zero, 1.0, scaled)))


def nan_to_num(x: ArrayLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """NaN becomes `nan`, infinities the largest and smallest number of the type, or `posinf` and `neginf`."""
    x = as_tensor(x)
    if not is_floating(x):
        return x.copy()
    largest: float = {"f16": 65504.0, "bf16": 3.3895313892515355e38}.get(x._kind()) or float(np.finfo(x.dtype).max)
    x = f.where(f.isnan(x), nan, x)
    x = f.where(f.equal(x, math.inf), largest if posinf is None else posinf, x)
    return f.where(f.equal(x, -math.inf), -largest if neginf is None else neginf, x)


def isclose(x1: ArrayLike, x2: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """`abs(x1 - x2) <= atol + rtol * abs(x2)`; infinities are close to themselves, NaN is with `equal_nan`."""
    near = f.less_equal(f.abs(f.subtract(x1, x2)), f.add(atol, f.multiply(rtol, f.abs(x2))))
    result = f.logical_or(f.logical_and(near, f.isfinite(x2)), f.equal(x1, x2))
    return f.logical_or(result, f.logical_and(f.isnan(x1), f.isnan(x2))) if equal_nan else result


def allclose(x1: ArrayLike, x2: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether all elements are close, a bool scalar."""
    return f.all(isclose(x1, x2, rtol, atol, equal_nan))


def array_equal(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """Whether the shapes and all elements are equal, a bool scalar."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    return f.all(f.equal(x1, x2)) if x1.shape == x2.shape else f.full((), False)


def isin(x: ArrayLike, values: ArrayLike, invert: bool = False) -> Tensor:
    """Whether each element is one of the values."""
    x, values = as_tensor(x), ravel(values)
    found = f.any(f.equal(f.expand_dims(x, -1), values), -1)
    return f.logical_not(found) if invert else found


def silu(x: ArrayLike) -> Tensor:
    """`x * sigmoid(x)`, also called swish."""
    return f.multiply(x, f.sigmoid(x))


def softplus(x: ArrayLike) -> Tensor:
    """`log(1 + exp(x))`, without overflow."""
    return f.logaddexp(x, 0.0)


def leaky_relu(x: ArrayLike, negative_slope: float = 0.01) -> Tensor:
    """x above zero, `negative_slope * x` below."""
    return f.where(f.greater(x, 0), x, f.multiply(x, negative_slope))


def elu(x: ArrayLike, alpha: float = 1.0) -> Tensor:
    """x above zero, `alpha * (exp(x) - 1)` below."""
    return f.where(f.greater(x, 0), x, f.multiply(alpha, f.expm1(f.minimum(x, 0.0))))


def as_type(x: ArrayLike, dtype: DTypeLike | None) -> ArrayLike:
    """x, converted if a type is given."""
    return x if dtype is None else f.astype(x, dtype)


@extends(f.sum)
def sum(x: ArrayLike, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """With `dtype` the elements are converted first: `sum(x, dtype=numpy.int64)`."""
    return f.sum(as_type(x, dtype), axis, keepdims)


@extends(f.prod)
def prod(x: ArrayLike, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """With `dtype` the elements are converted first."""
    return f.prod(as_type(x, dtype), axis, keepdims)


def cumsum(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Running sum along an axis; without one, of all elements in one axis."""
    x = as_tensor(as_type(x, dtype))
    return f.cumulative_sum(ravel(x) if axis is None else x, 0 if axis is None else axis)


def cumprod(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Running product along an axis; without one, of all elements in one axis."""
    x = as_tensor(as_type(x, dtype))
    return f.cumulative_prod(ravel(x) if axis is None else x, 0 if axis is None else axis)


def ptp(x: ArrayLike, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest."""
    return f.subtract(f.max(x, axis, keepdims), f.min(x, axis, keepdims))


def dot(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """NumPy's product: of vectors their inner product, of matrices the matrix product; else over the last axis of x1 and the last but one of
    x2; with a scalar, of each element."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return f.multiply(x1, x2)
    if x2.ndim <= 2:
        return f.matmul(x1, x2)
    return f.tensordot(x1, x2, a_axes=[-1], b_axes=[-2])


def inner(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """Products summed over the last axes of both."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return f.multiply(x1, x2)
    return f.tensordot(x1, x2, a_axes=[-1], b_axes=[-1])


def vdot(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """The inner product of all elements."""
    return f.matmul(ravel(x1), ravel(x2))


def kron(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """Kronecker's product: x2 times each element of x1, as blocks."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    axes = max(x1.ndim, x2.ndim)
    a, b = ((1,) * (axes - each.ndim) + each.shape for each in (x1, x2))
    spread = f.reshape(x1, [extent for each in a for extent in (each, 1)])
    blocks = f.multiply(spread, f.reshape(x2, [extent for each in b for extent in (1, each)]))
    return f.reshape(blocks, [first * second for first, second in zip(a, b)])


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Tensor:
    """The sum over k of `a[k] * v[n - k]` of two vectors: "full", "same" (as long as the longer one), or "valid"."""
    a, v = as_tensor(a), as_tensor(v)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    places = np.arange(n + m - 1)[:, None] + np.arange(m)[None, :]
    full = f.matmul(f.take(f.pad(a, [m - 1, m - 1]), places, 0), f.flip(v, 0))
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ValueError(f"cleave: convolve has the modes \"full\", \"same\" and \"valid\", not {mode!r}")
    return full[(m - 1) // 2:(m - 1) // 2 + n] if mode == "same" else full[m - 1:n]


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Tensor:
    """`convolve(a, flip(v))`."""
    if as_tensor(a).shape[0] < as_tensor(v).shape[0]:
        return f.flip(correlate(v, a, mode), 0)
    return convolve(a, f.flip(v, 0), mode)


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The integral of samples y at places x, or `dx` apart, by trapezoids."""
    y = as_tensor(y)
    axis %= y.ndim
    steps: Any = dx
    if x is not None:
        steps = f.diff(x)
        if as_tensor(x).ndim == 1:
            steps = f.reshape(steps, [-1] + [1] * (y.ndim - axis - 1))
    before = (slice(None),) * axis
    return f.sum(f.multiply(steps, f.divide(f.add(y[(*before, slice(1, None))], y[(*before, slice(None, -1))]), 2)), axis)


__all__ = ["absolute", "allclose", "array_equal", "conj", "convolve", "correlate", "cumprod", "cumsum", "deg2rad", "dot", "elu", "exp2", "fmax",
           "fmin", "fmod", "heaviside", "inner", "isclose", "isin", "kron", "leaky_relu", "nan_to_num", "positive", "power", "prod", "ptp",
           "rad2deg", "real", "silu", "sinc", "softplus", "sum", "trapezoid", "vdot"]
