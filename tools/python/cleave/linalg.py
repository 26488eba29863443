"""Linear algebra by the names of numpy.linalg and the array API: `cleave.linalg.norm(x)`, inside of traced functions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import functions as f
from ._shapes import as_tensor, matrix_transpose
from ._tensor import Tensor
from ._types import ArrayLike
from .functions import cholesky, det, eigvalsh, inv, matmul, outer, solve, svdvals, tensordot, vecdot, vector_norm


class EighResult(NamedTuple):
    """Eigenvalues, smallest first, and eigenvectors in the columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its magnitude."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """`x = U * S @ Vh`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def eigh(x: ArrayLike, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric matrices, of which the lower triangle is read."""
    return EighResult(*f.eigh(x))


def qr(x: ArrayLike, /, *, mode: str = "reduced") -> QRResult:
    """Orthonormal columns, and an upper triangle whose diagonal is not negative (LAPACK, and so NumPy, leaves its signs open)."""
    if mode != "reduced":
        raise ValueError(f"cleave: qr has the mode \"reduced\", not {mode!r}")
    return QRResult(*f.qr(x))


def slogdet(x: ArrayLike, /) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its magnitude."""
    return SlogdetResult(*f.slogdet(x))


def svd(x: ArrayLike, /, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values, largest first, between orthonormal factors: `x = U * S @ Vh`. The factors have as many columns and rows as there are
    singular values: of matrices that are not square, write `full_matrices=False`."""
    x = as_tensor(x)
    if full_matrices and compute_uv and x.shape[-1:] != x.shape[-2:-1]:
        raise ValueError(f"cleave: svd of {x.type} gives reduced factors; write full_matrices=False")
    return SVDResult(*f.svd(x)) if compute_uv else f.svdvals(x)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of 3 elements along an axis."""
    return f.cross(x1, x2, axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes."""
    return f.diagonal(x, offset)


def trace(x: ArrayLike, /, *, offset: int = 0) -> Tensor:
    """The sum of a diagonal of the last two axes."""
    return f.trace(x, offset)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:  # noqa: A002
    """The norm of the matrices in the last two axes: "fro", "nuc", 1, -1, 2, -2, inf, -inf."""
    named = ord if isinstance(ord, str) else ("inf" if ord > 0 else "-inf") if np.isinf(ord) else str(int(ord))
    return f.matrix_norm(x, named, keepdims)


def norm(x: ArrayLike, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:  # noqa: A002
    """NumPy's norm: without `ord`, the root of the sum of all squares; else of a vector, or of a matrix if there are two axes."""
    x = as_tensor(x)
    axes = [axis] if isinstance(axis, (int, np.integer)) else None if axis is None else list(axis)
    if ord is None or ord == "fro" and (len(axes) if axes is not None else x.ndim) == 2:
        return f.vector_norm(x, axes, keepdims)
    if (len(axes) if axes is not None else x.ndim) == 1:
        return f.vector_norm(x, axes, keepdims, ord=float(ord))
    if axes is not None and [each % x.ndim for each in axes] != [x.ndim - 2, x.ndim - 1]:
        if keepdims:
            raise ValueError("cleave: norm of matrices with keepdims=True has them in the last two axes")
        axes = [each % x.ndim for each in axes]
        x = f.permute_dims(x, [*(each for each in range(x.ndim) if each not in axes), *axes])
    if axes is None and x.ndim != 2 or axes is not None and len(axes) != 2:
        raise ValueError("cleave: a norm with `ord` is one of vectors (one axis) or matrices (two axes)")
    return matrix_norm(x, keepdims=keepdims, ord=ord)


def matrix_power(x: ArrayLike, n: int) -> Tensor:
    """The product of n times the same square matrix; of its inverse if n is negative."""
    x = as_tensor(x)
    if n < 0:
        x, n = f.inv(x), -n
    result: Tensor | None = None
    while n:
        if n & 1:
            result = x if result is None else f.matmul(result, x)
        n >>= 1
        x = f.matmul(x, x) if n else x
    if result is not None:
        return result
    ones = f.eye(x.shape[-1], dtype=x.dtype)
    return ones if x.ndim == 2 else f.broadcast_to(ones, x.shape)


def pinv(x: ArrayLike, /, *, rtol: float | None = None) -> Tensor:
    """The pseudo-inverse; singular values below `rtol` times the largest one (by default 1e-15, as in NumPy) count as 0."""
    u, s, vh = f.svd(x)
    least = f.multiply(f.max(s, -1, True), 1e-15 if rtol is None else rtol)
    kept = f.greater(s, least)
    inverse = f.where(kept, f.reciprocal(f.where(kept, s, 1)), 0)
    return f.matmul(f.multiply(f.transpose(vh), f.expand_dims(inverse, -2)), f.transpose(u))


def matrix_rank(x: ArrayLike, /, *, rtol: float | None = None) -> Tensor:
    """The number of singular values above `rtol` times the largest one (by default the larger extent times the type's precision)."""
    s = f.svdvals(x)
    share = max(as_tensor(x).shape[-2:]) * float(np.finfo(s.dtype).eps) if rtol is None else rtol
    return f.count_nonzero(f.greater(s, f.multiply(f.max(s, -1, True), share)), -1)


def cond(x: ArrayLike, p: Any = None) -> Tensor:
    """The condition number: the largest singular value over the smallest, or `norm(x, p) * norm(inv(x), p)`."""
    if p is None or p == 2:
        s = f.svdvals(x)
        return f.divide(s[..., 0], s[..., -1])
    return f.multiply(matrix_norm(x, ord=p), matrix_norm(f.inv(x), ord=p))


def lstsq(a: ArrayLike, b: ArrayLike) -> Tensor:
    """The x of least norm that minimizes the norm of `a @ x - b`. NumPy returns it as the first of four results."""
    return f.matmul(pinv(a, rtol=float(np.finfo(np.float32).eps) * max(as_tensor(a).shape[-2:])), b)


def multi_dot(arrays: Sequence[ArrayLike]) -> Tensor:
    """The matrix product of several arrays, from the left."""
    given = [as_tensor(each) for each in arrays]
    result = given[0]
    for each in given[1:]:
        result = f.matmul(result, each)
    return result


def eig(x: ArrayLike, /) -> Any:
    """Not there: eigenvalues of a matrix that is not symmetric are complex."""
    raise TypeError("cleave: eigenvalues of a matrix that is not symmetric are complex numbers, which cleave does not have; eigh and eigvalsh take "
                    "symmetric matrices; a host function can call numpy.linalg.eig")


eigvals = eig

__all__ = ["EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
           "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
           "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]
