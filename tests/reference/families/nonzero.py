"""Indices of nonzero elements."""
import numpy as np

from case import Case, numbers


def positions(x, size):
    found = np.array(np.nonzero(x))
    padded = np.zeros((x.ndim, size), np.int64)
    padded[:, :min(size, found.shape[1])] = found[:, :size]
    return padded, np.array(found.shape[1], np.int32)


def cases():
    x = numbers(5, 7, low=-1, high=1, dtype=np.int32)
    for size in (0, 8, 35, 50):
        yield Case(f"nonzero {size}", f"nonzero(x, size={size})", {"x": x}, lambda x, size=size: positions(x, size))
    yield Case("nonzero of all", "nonzero(x)", {"x": x}, lambda x: positions(x, np.count_nonzero(x)))
    yield Case("nonzero of truths", "nonzero(x > 0)", {"x": numbers(4, 3, 5)}, lambda x: positions(x > 0, np.count_nonzero(x > 0)))
    yield Case("nonzero of special numbers", "nonzero(x)", {"x": np.array([0, -0.0, np.nan, np.inf, 1e-40], np.float32)},
               lambda x: positions(x, np.count_nonzero(x)))
    for axis in (0, 1, -1):
        yield Case(f"compress along {axis}", f"compress(c, x, axis={axis})", {"c": numbers(5, low=-1, high=1, dtype=np.int32), "x": x},
                   lambda c, x, axis=axis: np.compress(c, x, axis=axis))
    yield Case("compress of all", "compress(c, x)", {"c": numbers(30, low=-1, high=1, dtype=np.int32), "x": x}, np.compress)
    yield Case("x[mask]", "x[x > 0]", {"x": numbers(4, 3, 5)}, lambda x: x[x > 0])
    yield Case("x[mask] of rows", "x[m > 0]", {"x": numbers(4, 3, 5), "m": numbers(4, 3)}, lambda x, m: x[m > 0])
