"""Shapes, slices, joining, order and matrix products."""
import numpy as np

from case import Case, numbers


def cases():
    x, y, v = numbers(3, 4, 5), numbers(3, 4, 5, seed=2), numbers(12, seed=3)
    for name, expression, of in (
            ("transpose", "transpose(x)", lambda x: np.swapaxes(x, -1, -2)),
            ("permute_dims", "permute_dims(x, [2, 0, 1])", lambda x: np.transpose(x, (2, 0, 1))),
            ("reshape", "reshape(x, [6, -1])", lambda x: x.reshape(6, -1)),
            ("expand_dims", "expand_dims(x, axis=1)", lambda x: np.expand_dims(x, 1)),
            ("squeeze", "squeeze(expand_dims(x, axis=2), axis=2)", lambda x: x),
            ("broadcast_to", "broadcast_to(x, [2, 3, 4, 5])", lambda x: np.broadcast_to(x, (2, 3, 4, 5))),
            ("flip", "flip(x, axis=[0, 2])", lambda x: np.flip(x, (0, 2))),
            ("repeat", "repeat(x, 3, axis=1)", lambda x: np.repeat(x, 3, axis=1)),
            ("tile", "tile(x, [2, 1, 3])", lambda x: np.tile(x, (2, 1, 3))),
            ("pad", "pad(x, [1, 0, 0, 2, 1, 1], value=7)", lambda x: np.pad(x, ((1, 0), (0, 2), (1, 1)), constant_values=7)),
            ("slice", "x[1:, ::-1, 1:4:2]", lambda x: x[1:, ::-1, 1:4:2]),
            ("index", "x[0, :, -1]", lambda x: x[0, :, -1]),
            ("sort", "sort(x, axis=1)", lambda x: np.sort(x, axis=1)),
            ("sort descending", "sort(x, descending=true)", lambda x: -np.sort(-x)),
            ("argsort", "argsort(x, axis=0)", lambda x: np.argsort(x, axis=0, kind="stable").astype(np.int32))):
        yield Case(name, expression, {"x": x}, of)
    yield Case("concat", "concat([x, y], axis=1)", {"x": x, "y": y}, lambda x, y: np.concatenate([x, y], axis=1))
    yield Case("stack", "stack([x, y], axis=-1)", {"x": x, "y": y}, lambda x, y: np.stack([x, y], axis=-1))
    yield Case("take", "take(x, i, axis=1)", {"x": x, "i": np.array([[3, 0], [-1, 1]], np.int32)}, lambda x, i: np.take(x, i, axis=1))
    yield Case("one_hot", "one_hot(i, 5)", {"i": np.array([0, 4, 2], np.int64)}, lambda i: np.eye(5, dtype=np.float32)[i])
    yield Case("top_k", "top_k(v, 4)", {"v": v}, lambda v: (-np.sort(-v)[:4], np.argsort(-v, kind="stable")[:4].astype(np.int32)))
    yield Case("arange", "arange(0, 1, 0.25)", {}, lambda: np.arange(0, 1, 0.25, np.float32))
    yield Case("eye", "eye(3, 5)", {}, lambda: np.eye(3, 5, dtype=np.float32))
    for dtype in (np.float32, np.float64, np.int32):
        a, b = numbers(2, 1, 3, 4, dtype=dtype), numbers(5, 4, 2, seed=2, dtype=dtype)
        yield Case(f"matmul {np.dtype(dtype)}", "matmul(a, b)", {"a": a, "b": b}, np.matmul)
        yield Case(f"matrix times vector {np.dtype(dtype)}", "matmul(b[:, :, 0], a[0, 0, 0])", {"a": a, "b": b},
                   lambda a, b: b[:, :, 0] @ a[0, 0, 0])
