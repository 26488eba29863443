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
    yield Case("nonzero of all", "nonzero(x)", {"x": x}, lambda x: positions(x, x.size))
    yield Case("nonzero of truths", "nonzero(x > 0)", {"x": numbers(4, 3, 5)}, lambda x: positions(x > 0, x.size))
    yield Case("nonzero of special numbers", "nonzero(x)", {"x": np.array([0, -0.0, np.nan, np.inf, 1e-40], np.float32)},
               lambda x: positions(x, x.size))
