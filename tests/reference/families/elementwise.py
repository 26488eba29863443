"""Arithmetic, math and logic, one operation a case, on numbers, signed zeros, infinities and NaN."""
import numpy as np
from scipy import special

from case import Case, numbers

EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-30, 1e30])


def one(name, in_numpy, low=-3.0, high=3.0, edges=True, relative=None):
    for dtype in (np.float32, np.float64):
        x = numbers(37, low=low, high=high, dtype=dtype)
        if edges:
            x = np.concatenate([x, EDGES.astype(dtype)])
        yield Case(f"{name} {np.dtype(dtype)}", f"{name}(x)", {"x": x}, lambda x: in_numpy(x), relative)


def two(name, in_numpy, expression=None, relative=None):
    for dtype in (np.float32, np.float64):
        pairs = np.array(np.meshgrid(np.concatenate([numbers(9, dtype=dtype), EDGES.astype(dtype)]),
                                     np.concatenate([numbers(9, seed=2, dtype=dtype), EDGES.astype(dtype)]))).reshape(2, -1)
        yield Case(f"{name} {np.dtype(dtype)}", expression or f"{name}(a, b)", {"a": pairs[0], "b": pairs[1]}, lambda a, b: in_numpy(a, b),
                   relative)


def whole(name, in_numpy, expression=None, low=-40, high=40, second=None):
    for dtype in (np.int32, np.int64):
        pairs = np.array(np.meshgrid(numbers(15, low=low, high=high, dtype=dtype),
                                     numbers(15, seed=2, low=low, high=high, dtype=dtype) if second is None else second)).reshape(2, -1)
        pairs = pairs.astype(dtype)
        yield Case(f"{name} {np.dtype(dtype)}", expression or f"{name}(a, b)", {"a": pairs[0], "b": pairs[1]}, lambda a, b: in_numpy(a, b))


def cases():
    for name in ("abs", "sign", "square", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "reciprocal", "tanh", "sinh", "cosh",
                 "floor", "ceil", "trunc", "isnan", "isfinite", "isinf", "signbit", "negative"):
        yield from one(name, getattr(np, name))
    yield from one("round", np.rint)
    for name, of in (("sin", np.sin), ("cos", np.cos), ("tan", np.tan)):
        yield from one(name, of, edges=False)
    for name, of in (("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("asinh", np.arcsinh), ("acosh", np.arccosh),
                     ("atanh", np.arctanh), ("erf", special.erf), ("sigmoid", special.expit)):
        yield from one(name, of)
    yield from one("rsqrt", lambda x: 1 / np.sqrt(x))
    for name in ("add", "subtract", "multiply", "divide", "minimum", "maximum", "hypot", "logaddexp", "copysign"):
        yield from two(name, getattr(np, name))
    yield from two("atan2", np.arctan2)
    yield from two("pow", np.power)
    yield from two("floor_divide", np.floor_divide)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        yield from two(name, getattr(np, name))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "add", "subtract", "multiply", "minimum", "maximum"):
        yield from whole(name, getattr(np, name))
    nonzero = np.array([-7, -3, -2, -1, 1, 2, 5, 40])
    yield from whole("floor_divide", np.floor_divide, second=nonzero)
    yield from whole("remainder", np.remainder, second=nonzero)
    shifts = np.array([0, 1, 2, 7, 31, 64, 100])
    yield from whole("bitwise_left_shift", np.left_shift, second=shifts)
    yield from whole("bitwise_right_shift", np.right_shift, second=shifts)
    x = numbers(4, 5)
    yield Case("where", "where(x > 0, x, -1.0)", {"x": x}, lambda x: np.where(x > 0, x, np.float32(-1)))
    yield Case("clip", "clip(x, -1.0, 2.0)", {"x": x}, lambda x: np.clip(x, np.float32(-1), np.float32(2)))
    yield Case("astype", "astype(x, i32)", {"x": x}, lambda x: x.astype(np.int32))
