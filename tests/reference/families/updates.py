"""Gathers and scatters by computed indices, windows, running products, bits."""
import numpy as np

from case import Case, numbers, onnx_op


def places(*shape, extent, seed=5, dtype=np.int64):
    """Indices of an axis, counted from either end."""
    return np.random.default_rng(seed).integers(-extent, extent, shape).astype(dtype)


def added_at(x, i, u):
    y = x.copy()
    np.add.at(y, i, u)
    return y


def cumulated(op):
    def of(x):
        return op(x[:, ::-1], axis=1)[:, ::-1]
    return of


def cases():
    x = numbers(4, 5, 3)
    yield Case("take_along_axis", "take_along_axis(x, i, axis=1)", {"x": x, "i": places(4, 7, 3, extent=5)},
               lambda x, i: np.take_along_axis(x, i, axis=1))
    yield Case("take_along_axis, broadcast", "take_along_axis(x, i, axis=0)", {"x": x, "i": places(6, 1, 3, extent=4)},
               lambda x, i: np.take_along_axis(x, i, axis=0))
    yield Case("gather elements", "take_along_axis(x, i, axis=2)", {"x": x, "i": places(4, 5, 2, extent=3)},
               lambda x, i: onnx_op("GatherElements", [x, i], axis=2))
    yield Case("gather_nd", "gather_nd(x, i)", {"x": x, "i": places(2, 6, 2, extent=4)}, lambda x, i: x[i[..., 0], i[..., 1]])
    yield Case("gather_nd, batches", "gather_nd(x, i, batch_dims=1)", {"x": x, "i": np.abs(places(4, 2, 1, extent=5))[..., :1] % 5},
               lambda x, i: onnx_op("GatherND", [x, i], batch_dims=1))
    for reduction in ("none", "add", "mul", "max", "min"):
        yield Case(f"scatter {reduction}", f'scatter(x, i, u, axis=1, reduction="{reduction}")',
                   {"x": x, "i": np.arange(60).reshape(4, 5, 3) % 5, "u": numbers(4, 5, 3, seed=2)},
                   lambda x, i, u, r=reduction: onnx_op("ScatterElements", [x, i, u], axis=1, reduction=r))
        yield Case(f"scatter_nd {reduction}", f'scatter_nd(x, i, u, reduction="{reduction}")',
                   {"x": x, "i": np.array([[0, 1], [3, 4], [2, 2]]), "u": numbers(3, 3, seed=2)},
                   lambda x, i, u, r=reduction: onnx_op("ScatterND", [x, i, u], reduction=r))
    yield Case("scatter_add", "scatter_add(x, i, u)", {"x": x, "i": places(9, extent=4), "u": numbers(9, 5, 3, seed=2)}, added_at)
    yield Case("scatter_add of counts", "scatter_add(x, i, u)",
               {"x": np.zeros(5, np.int32), "i": places(100, extent=5), "u": np.ones(100, np.int32)}, added_at)
    yield Case("dynamic_slice", "dynamic_slice(x, [i, 1, 0], [2, 3, 3])", {"x": x, "i": np.array(2, np.int32)},
               lambda x, i: x[i:i + 2, 1:4, :])
    yield Case("dynamic_update_slice", "dynamic_update_slice(x, u, [i, 0, 0])",
               {"x": x, "u": numbers(5, 3, seed=2), "i": np.array(-1, np.int32)}, lambda x, u, i: np.concatenate([x[:3], u[None]]))
    m = numbers(3, 6, low=0.5, high=2, dtype=np.float64)
    yield Case("cumulative_prod", "cumulative_prod(x, axis=0)", {"x": m}, lambda x: np.cumprod(x, axis=0))
    yield Case("cumulative_sum reversed", "cumulative_sum(x, axis=1, reverse=true)", {"x": m}, cumulated(np.cumsum))
    yield Case("cumulative_prod reversed", "cumulative_prod(x, axis=1, reverse=true)", {"x": m}, cumulated(np.cumprod))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            yield Case(f"cumulative_sum {exclusive} {reverse}",
                       f"cumulative_sum(x, axis=1, exclusive={str(bool(exclusive)).lower()}, reverse={str(bool(reverse)).lower()})",
                       {"x": m}, lambda x, e=exclusive, r=reverse: onnx_op("CumSum", [x, np.array(1)], exclusive=e, reverse=r))
    yield Case("bitcast", "bitcast(x, dtype=i32)", {"x": x}, lambda x: x.view(np.int32))
    yield Case("bitcast to smaller", "bitcast(x, dtype=u8)", {"x": x}, lambda x: x.view(np.uint8).reshape(4, 5, 3, 4))
    yield Case("bitcast to larger", "bitcast(x, dtype=i64)", {"x": numbers(4, 2)}, lambda x: x.view(np.int64).reshape(4))
