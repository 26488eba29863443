"""Statistics that NumPy has and the vocabulary has in parts: order statistics, histograms, interpolation. Each records other functions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import functions as f
from ._elementary import is_floating
from ._shapes import as_tensor, extends, ravel
from ._tensor import Tensor
from ._types import ArrayLike

_Axis = int | Sequence[int] | None


@extends(f.std)
def std(x: ArrayLike, axis: _Axis = None, ddof: float | None = None, keepdims: bool = False, *, correction: float | None = None) -> Tensor:
    """`ddof` is NumPy's name for `correction`."""
    return f.std(x, axis, _correction(ddof, correction), keepdims)


@extends(f.var)
def var(x: ArrayLike, axis: _Axis = None, ddof: float | None = None, keepdims: bool = False, *, correction: float | None = None) -> Tensor:
    """`ddof` is NumPy's name for `correction`."""
    return f.var(x, axis, _correction(ddof, correction), keepdims)


def _correction(ddof: float | None, correction: float | None) -> float:
    if ddof is not None and correction is not None:
        raise TypeError("cleave: `ddof` and `correction` are two names for one number")
    return float(ddof if ddof is not None else correction or 0.0)


def average(x: ArrayLike, axis: _Axis = None, weights: ArrayLike | None = None) -> Tensor:
    """The mean, weighted if there are weights of the shape of x, or of its axis."""
    if weights is None:
        return f.mean(x, axis)
    x, weights = as_tensor(x), as_tensor(weights)
    if weights.shape != x.shape and weights.ndim == 1 and isinstance(axis, int):
        weights = f.reshape(weights, [-1] + [1] * (x.ndim - axis % x.ndim - 1))
    return f.divide(f.sum(f.multiply(x, weights), axis), f.sum(f.broadcast_to(weights, x.shape), axis))


def nansum(x: ArrayLike, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The sum of what is not NaN."""
    return f.sum(f.where(f.isnan(x), 0, x), axis, keepdims)


def nanmean(x: ArrayLike, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The mean of what is not NaN."""
    count = f.count_nonzero(f.logical_not(f.isnan(x)), axis, keepdims)
    return f.divide(nansum(x, axis, keepdims), count)


def nanmax(x: ArrayLike, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The largest of what is not NaN; NaN if there is nothing else."""
    return _without_nan(f.max, -np.inf, x, axis, keepdims)


def nanmin(x: ArrayLike, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest of what is not NaN; NaN if there is nothing else."""
    return _without_nan(f.min, np.inf, x, axis, keepdims)


def _without_nan(function: Any, least: float, x: ArrayLike, axis: _Axis, keepdims: bool) -> Tensor:
    if not is_floating(x):
        return as_tensor(function(x, axis, keepdims))
    nan = f.isnan(x)
    return f.where(f.all(nan, axis, keepdims), np.nan, function(f.where(nan, least, x), axis, keepdims))


def median(x: ArrayLike, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The middle of the sorted elements, or the mean of the two in the middle; NaN if there is one."""
    return quantile(x, 0.5, axis, keepdims=keepdims)


def percentile(x: ArrayLike, q: Any, axis: _Axis = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """`quantile(x, q / 100)`."""
    return quantile(x, f.divide(q, 100.0) if isinstance(q, Tensor) else np.asarray(q) / 100.0, axis, method=method, keepdims=keepdims)


def quantile(x: ArrayLike, q: Any, axis: _Axis = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The element below which the share `q` of the sorted elements is, between two elements interpolated: "linear", "lower", "higher" or
    "midpoint". Several `q` give a first axis; NaN if there is one."""
    x = as_tensor(x)
    if not is_floating(x):
        x = f.astype(x, "f32")
    axes = list(range(x.ndim)) if axis is None else [each % x.ndim for each in ([axis] if isinstance(axis, int) else axis)]
    rest = [each for each in range(x.ndim) if each not in axes]
    extents = [x.shape[each] for each in rest]
    n = int(np.prod([x.shape[each] for each in axes]))
    rows = f.sort(f.reshape(f.permute_dims(x, [*rest, *axes]), [*extents, n]), -1)
    below: Any
    above: Any
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise TypeError("cleave: `q` is a number or a vector of them")
        at = f.multiply(f.astype(q, x.dtype), float(n - 1))
        below, above = f.astype(f.floor(at), "i32"), f.astype(f.ceil(at), "i32")
        share: Any = f.subtract(at, f.floor(at))
        shape = q.shape
    else:
        shares = np.asarray(q, np.float64)
        if ((shares < 0) | (shares > 1)).any():
            raise ValueError("cleave: a quantile is from 0 to 1, a percentile from 0 to 100")
        places = shares * (n - 1)
        below, above, shape = np.floor(places).astype(np.int32), np.ceil(places).astype(np.int32), shares.shape
        share = (places - np.floor(places)).astype(x.dtype)
    low, high = f.take(rows, below, -1), f.take(rows, above, -1)
    result = _between(low, high, share, method)
    missing = f.any(f.isnan(rows), -1)
    if shape:
        result = f.moveaxis(result, -1, 0)
    result = f.where(missing, np.nan, result)
    return f.reshape(result, [*shape, *(1 if each in axes else x.shape[each] for each in range(x.ndim))]) if keepdims else result


def _between(low: Tensor, high: Tensor, share: Any, method: str) -> Tensor:
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "midpoint":
        return f.divide(f.add(low, high), 2)
    if method != "linear":
        raise ValueError(f"cleave: quantile has the methods linear, lower, higher and midpoint, not {method}")
    return f.add(low, f.multiply(f.subtract(high, low), share))


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Tensor:
    """The number of each element's bin, between edges in ascending order: `bins[i - 1] <= x < bins[i]`; with `right`, `<` and `<=`."""
    return f.searchsorted(bins, x, "left" if right else "right")


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 to below `minlength` occurs in a vector, or the sum of its weights. The length must be known while
    tracing, so that it is `minlength`; a number that is not within it is an error of the run."""
    if minlength < 1:
        raise ValueError("cleave: bincount(x, minlength=n) counts the numbers from 0 to below n: how many there are must be known while tracing")
    x = as_tensor(x)
    counted: Any = f.ones(x.shape, "i32") if weights is None else as_tensor(weights)
    if x._kind()[0] == "i":
        x = f.where(f.less(x, 0), minlength, x)  # a negative index would count from the end
    return f.scatter_add(f.zeros((minlength,), counted.dtype), x, counted)


def histogram_bin_edges(x: ArrayLike, bins: int | ArrayLike = 10, range: tuple[Any, Any] | None = None) -> Tensor:  # noqa: A002
    """The edges of `histogram`."""
    if not isinstance(bins, int):
        return as_tensor(bins)
    if range is not None and not any(isinstance(end, Tensor) for end in range):
        low, high = float(range[0]), float(range[1])
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        return as_tensor(np.linspace(low, high, bins + 1).astype(np.float64 if as_tensor(x)._kind() == "f64" else np.float32))
    x = as_tensor(x)
    ends = (f.min(x), f.max(x)) if range is None else range
    first, last = (f.astype(end, x.dtype if is_floating(x) else "f32") for end in ends)
    same = f.equal(first, last)
    first, last = f.where(same, f.subtract(first, 0.5), first), f.where(same, f.add(last, 0.5), last)
    shares = (np.arange(bins + 1) / bins).astype(np.float64 if first._kind() == "f64" else np.float32)
    edges = f.add(first, f.multiply(f.subtract(last, first), f.astype(shares, first.dtype)))
    return f.where(np.arange(bins + 1) == bins, last, edges)


def histogram(x: ArrayLike, bins: int | ArrayLike = 10, range: tuple[Any, Any] | None = None, density: bool = False,  # noqa: A002
              weights: ArrayLike | None = None) -> tuple[Tensor, Tensor]:
    """How many elements are in each of `bins` intervals, of equal width or between given edges, and the edges; the last interval has both of
    its ends. `density`: divided by the number of elements and the width."""
    edges = histogram_bin_edges(x, bins, range)
    x = ravel(x)
    count = edges.shape[0] - 1
    x = f.astype(x, edges.dtype) if x._kind() != edges._kind() else x
    place = f.subtract(f.searchsorted(edges, x, "right"), 1)
    place = f.where(f.equal(x, edges[-1]), count - 1, place)
    inside = f.logical_and(f.greater_equal(x, edges[0]), f.less_equal(x, edges[-1]))
    counted: Any = f.ones(x.shape, "i32") if weights is None else ravel(weights)
    sums = f.scatter_add(f.zeros((count,), counted.dtype), f.where(inside, place, 0), f.where(inside, counted, 0))
    if density:
        return f.divide(f.divide(sums, f.sum(sums)), f.diff(edges)), edges
    return sums, edges


def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None) -> Tensor:
    """The values at x of the straight lines through the points (xp, fp), xp ascending; outside of them `left` and `right`, or the ends."""
    x, xp, fp = as_tensor(x), as_tensor(xp), as_tensor(fp)
    if not is_floating(fp):
        fp = f.astype(fp, x.dtype if is_floating(x) else "f32")
    n = xp.shape[0]
    kind = f.add(f.add(x, xp[0]), f.astype(0, fp.dtype)).dtype if n else x.dtype
    x, xp = f.astype(x, kind), f.astype(xp, kind)
    if n == 1:
        inside = f.broadcast_to(f.astype(fp[0], fp.dtype), x.shape)
    else:
        at = f.clip(f.subtract(f.searchsorted(xp, x, "right"), 1), 0, n - 2)
        x0, x1, y0, y1 = f.take(xp, at, 0), f.take(xp, f.add(at, 1), 0), f.take(fp, at, 0), f.take(fp, f.add(at, 1), 0)
        inside = f.add(y0, f.multiply(f.divide(f.subtract(y1, y0), f.subtract(x1, x0)), f.subtract(x, x0)))
    inside = f.where(f.less(x, xp[0]), fp[0] if left is None else left, inside)
    inside = f.where(f.greater(x, xp[n - 1]), fp[n - 1] if right is None else right, inside)
    return f.where(f.equal(x, xp[n - 1]), fp[n - 1], inside)


def cov(x: ArrayLike, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Tensor:
    """The covariances of variables, which are the rows of x (or with `rowvar=False` its columns), observed in the columns."""
    x = as_tensor(x)
    x = f.reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else f.transpose(x)
    x = x if is_floating(x) else f.astype(x, "f32")
    centered = f.subtract(x, f.mean(x, 1, True))
    free = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    result = f.divide(f.matmul(centered, f.transpose(centered)), float(free))
    return f.reshape(result, ()) if result.shape == (1, 1) else result


def corrcoef(x: ArrayLike, rowvar: bool = True) -> Tensor:
    """The correlations of variables, as `cov`."""
    c = cov(x, rowvar)
    if c.ndim == 0:
        return f.divide(c, c)
    deviation = f.sqrt(f.diagonal(c))
    return f.clip(f.divide(f.divide(c, f.expand_dims(deviation, 1)), f.expand_dims(deviation, 0)), -1.0, 1.0)


__all__ = ["average", "bincount", "corrcoef", "cov", "digitize", "histogram", "histogram_bin_edges", "interp", "median", "nanmax", "nanmean",
           "nanmin", "nansum", "percentile", "quantile", "std", "var"]
