"""Reductions, running sums, softmax and variance, over one axis, several and all."""
import numpy as np
from scipy import special

from case import Case, numbers


def over(name, in_numpy, of, **options):
    x = numbers(3, 5, 4, dtype=of)
    for axis in (None, 0, -1, (0, 2)):
        if isinstance(axis, tuple) and name.startswith("arg"):
            continue
        for keepdims in (False, True):
            words = [] if axis is None else [f"axis={list(axis) if isinstance(axis, tuple) else axis}"]
            words += ["keepdims=true"] if keepdims else []
            yield Case(f"{name} {np.dtype(of)} axis {axis} {'kept' if keepdims else ''}", f"{name}({', '.join(['x', *words])})", {"x": x},
                       lambda x, axis=axis, keepdims=keepdims: in_numpy(x, axis=axis, keepdims=keepdims, **options))


def index(in_numpy):
    return lambda x, axis, keepdims: in_numpy(x, axis=axis, keepdims=keepdims).astype(np.int32)


def cases():
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        yield from over("sum", np.sum, dtype, dtype=dtype)
        yield from over("prod", np.prod, dtype, dtype=dtype)
        for name in ("max", "min"):
            yield from over(name, getattr(np, name), dtype)
        for name in ("argmax", "argmin"):
            yield from over(name, index(getattr(np, name)), dtype)
    for dtype in (np.float32, np.float64):
        yield from over("mean", np.mean, dtype)
        yield from over("var", np.var, dtype)
        yield from over("std", np.std, dtype)
        x = numbers(4, 7, dtype=dtype)
        yield Case(f"var with correction {np.dtype(dtype)}", "var(x, axis=1, correction=1)", {"x": x}, lambda x: np.var(x, axis=1, ddof=1))
        yield Case(f"softmax {np.dtype(dtype)}", "softmax(x)", {"x": x}, lambda x: special.softmax(x, axis=-1))
        yield Case(f"softmax of columns {np.dtype(dtype)}", "softmax(x, axis=0)", {"x": x}, lambda x: special.softmax(x, axis=0))
        yield Case(f"log_softmax {np.dtype(dtype)}", "log_softmax(x)", {"x": x}, lambda x: special.log_softmax(x, axis=-1))
        yield Case(f"cumulative_sum {np.dtype(dtype)}", "cumulative_sum(x, axis=1)", {"x": x}, lambda x: np.cumsum(x, axis=1))
    p = numbers(3, 5) > 0
    yield Case("any", "any(p, axis=0)", {"p": p}, lambda p: p.any(axis=0))
    yield Case("all", "all(p, axis=1)", {"p": p}, lambda p: p.all(axis=1))
