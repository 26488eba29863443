"""Composite functions of arrays: those that are traced into other operations."""
import numpy as np
from scipy import special

from case import Case, numbers


def cases():
    x, y, v, w = numbers(3, 4, 5), numbers(4, 5, 2, seed=2), numbers(6, seed=3), numbers(6, seed=4)
    for name, expression, of in (
            ("tril", "tril(x)", np.tril), ("tril 1", "tril(x, k=1)", lambda x: np.tril(x, 1)), ("triu -2", "triu(x, k=-2)", lambda x: np.triu(x, -2)),
            ("diagonal", "diagonal(x)", lambda x: np.diagonal(x, axis1=-2, axis2=-1)),
            ("diagonal above", "diagonal(x, offset=2)", lambda x: np.diagonal(x, 2, -2, -1)),
            ("diagonal below", "diagonal(x, offset=-1)", lambda x: np.diagonal(x, -1, -2, -1)),
            ("trace", "trace(x)", lambda x: np.trace(x, axis1=-2, axis2=-1)),
            ("roll", "roll(x, 7)", lambda x: np.roll(x, 7)),
            ("roll of axes", "roll(x, [1, -3], axis=[0, 2])", lambda x: np.roll(x, (1, -3), (0, 2))),
            ("moveaxis", "moveaxis(x, 0, -1)", lambda x: np.moveaxis(x, 0, -1)),
            ("moveaxis of two", "moveaxis(x, [0, 1], [2, 0])", lambda x: np.moveaxis(x, (0, 1), (2, 0))),
            ("unstack", "unstack(x, axis=1)", lambda x: tuple(np.moveaxis(x, 1, 0))),
            ("split", "split(x, 2, axis=1)", lambda x: tuple(np.split(x, 2, axis=1))),
            ("zeros_like", "zeros_like(x)", np.zeros_like), ("ones_like", "ones_like(x, dtype=i64)", lambda x: np.ones_like(x, np.int64)),
            ("full_like", "full_like(x, 7)", lambda x: np.full_like(x, 7)),
            ("diff", "diff(x)", np.diff), ("diff twice", "diff(x, n=2, axis=1)", lambda x: np.diff(x, 2, axis=1)),
            ("logsumexp", "logsumexp(x * 50)", lambda x: special.logsumexp(x * np.float32(50))),
            ("logsumexp of an axis", "logsumexp(x, axis=1, keepdims=true)", lambda x: special.logsumexp(x, axis=1, keepdims=True)),
            ("count_nonzero", "count_nonzero(round(x), axis=0)", lambda x: np.count_nonzero(np.rint(x), axis=0).astype(np.int32))):
        yield Case(name, expression, {"x": x}, of)
    yield Case("logsumexp of infinities", "logsumexp(x, axis=0)", {"x": np.array([[-np.inf, np.inf, 1], [-np.inf, 0, np.nan]], np.float32)},
               lambda x: special.logsumexp(x, axis=0))
    yield Case("outer", "outer(v, w)", {"v": v, "w": w}, np.outer)
    yield Case("vecdot", "vecdot(v, w)", {"v": v, "w": w}, np.dot)
    yield Case("vecdot of an axis", "vecdot(x, x[:, :, :], axis=-2)", {"x": x}, lambda x: (x * x).sum(axis=-2))
    yield Case("tensordot", "tensordot(x, y)", {"x": x, "y": y}, np.tensordot)
    yield Case("tensordot of axes", "tensordot(x, y, a_axes=[2, 1], b_axes=[1, 0])", {"x": x, "y": y},
               lambda x, y: np.tensordot(x, y, ((2, 1), (1, 0))))
    yield Case("tensordot of none", "tensordot(v, w, axes=0)", {"v": v, "w": w}, lambda v, w: np.tensordot(v, w, 0))
    a, b = numbers(5, 3, seed=5), numbers(5, 3, seed=6)
    yield Case("cross", "cross(a, b)", {"a": a, "b": b}, np.cross)
    yield Case("cross of columns", "cross(a, b, axis=-2)", {"a": a.T, "b": b.T}, lambda a, b: np.cross(a, b, axis=0))
    for indexing in ("xy", "ij"):
        yield Case(f"meshgrid {indexing}", f'meshgrid([a, v, w], indexing="{indexing}")', {"a": numbers(4), "v": v, "w": w},
                   lambda a, v, w, indexing=indexing: tuple(np.meshgrid(a, v, w, indexing=indexing)))
    for words, of in (("0, 1, 5", {}), ("-2.5, 7, 11, endpoint=false", {}), ("3, 3, 1", {}), ("1, 0, 0", {})):
        start, stop, num = (float(each) for each in words.split(",")[:3])
        for dtype, own in (("f32", np.float32), ("f64", np.float64)):
            yield Case(f"linspace {words} {dtype}", f"linspace({words}, dtype={dtype})", {},
                       lambda start=start, stop=stop, num=num, own=own, words=words:
                       np.linspace(start, stop, int(num), endpoint="false" not in words).astype(own))
    for ord_ in ("fro", 1, -1, np.inf, -np.inf):
        yield Case(f"matrix_norm {ord_}", f'matrix_norm(x, ord="{ord_}")', {"x": x},
                   lambda x, ord_=ord_: np.linalg.norm(x, ord_, axis=(-2, -1)).astype(x.dtype))
    for ord_ in (0, 1, 2, 3, 0.5):
        yield Case(f"vector_norm {ord_}", f"vector_norm(x, axis=1, ord={ord_})", {"x": x},
                   lambda x, ord_=ord_: np.linalg.norm(x, ord_, axis=1).astype(x.dtype))
