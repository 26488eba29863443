"""The cases of one operation, or one chain of them: matrix products, element by element, rows, order."""
import numpy as np

from peers.case import Case, Target

try:
    import torch
    from torch.nn import functional
except ImportError:  # prediction needs the models alone
    torch = functional = None

LARGE = 16 * 1024 * 1024
SQRT_HALF = np.float32(0.5**0.5)


def numbers(*shape, seed=1, low=-1.0, high=1.0):
    return np.random.default_rng(seed).random(shape, np.float32) * np.float32(high - low) + np.float32(low)


def product(name, left, right, *, program="- y: matmul(a, b)", onnx="y = MatMul(a, b)", view_a=lambda a: a, view_b=lambda b: b,
            in_torch=None, target=Target(best=0.97), multiply_adds=0, result=None):
    shape = result or (left if len(left) == len(right) else (4096,))
    return Case(name, lambda: {"a": numbers(*left), "b": numbers(*right, seed=2)}, program,
                lambda a, b, out: np.matmul(view_a(a), view_b(b), out=out), target,
                torch=in_torch or (lambda a, b, out: torch.matmul(view_a(a), view_b(b), out=out)), onnx=onnx, shape=shape,
                multiply_adds=multiply_adds)


def products():
    for n in (64, 128, 256, 512, 2048):
        yield product(f"matmul {n}", (n, n), (n, n))
    yield product("matmul 1024", (1024, 1024), (1024, 1024), target=Target(best=0.97, roof=0.9, threads=1.8), multiply_adds=1024**3)
    yield product("matmul 32x128x128x128", (32, 128, 128), (32, 128, 128))
    yield product("matmul 1024, first transposed", (1024, 1024), (1024, 1024), program="- y: matmul(transpose(a), b)",
                  onnx="t = Transpose <perm = [1, 0]> (a) y = MatMul(t, b)", view_a=lambda a: a.T)
    yield product("matmul 1024, second transposed", (1024, 1024), (1024, 1024), program="- y: matmul(a, transpose(b))",
                  onnx="t = Transpose <perm = [1, 0]> (b) y = MatMul(a, t)", view_b=lambda b: b.T)
    yield product("matrix 4096 times vector", (4096, 4096), (4096,), in_torch=lambda a, b, out: torch.mv(a, b, out=out))
    yield product("vector times matrix 4096", (4096,), (4096, 4096), in_torch=lambda a, b, out: torch.mv(b.T, a, out=out))


def chain_numpy(x, out):
    np.multiply(x, np.float32(0.5), out=out)
    np.add(out, np.float32(1), out=out)
    np.multiply(out, x, out=out)
    np.subtract(out, np.float32(0.25), out=out)
    np.abs(out, out=out)
    np.maximum(out, np.float32(0.1), out=out)
    np.minimum(out, np.float32(2), out=out)
    np.square(out, out=out)
    np.multiply(out, np.float32(3), out=out)
    return np.add(out, x, out=out)


def chain_torch(x, out):
    y = torch.abs((x * 0.5 + 1) * x - 0.25)
    return out.copy_(torch.square(torch.clamp(y, 0.1, 2)) * 3 + x)


CHAIN_ONNX = """
half = Constant <value = float {0.5}> () one = Constant <value = float {1.0}> () quarter = Constant <value = float {0.25}> ()
low = Constant <value = float {0.1}> () high = Constant <value = float {2.0}> () three = Constant <value = float {3.0}> ()
c1 = Mul(x, half) c2 = Add(c1, one) c3 = Mul(c2, x) c4 = Sub(c3, quarter) c5 = Abs(c4) c6 = Max(c5, low) c7 = Min(c6, high)
c8 = Mul(c7, c7) c9 = Mul(c8, three) y = Add(c9, x)"""


def gelu_numpy(x, out):
    from scipy.special import erf
    np.multiply(x, SQRT_HALF, out=out)
    erf(out, out=out)
    np.add(out, np.float32(1), out=out)
    np.multiply(out, x, out=out)
    return np.multiply(out, np.float32(0.5), out=out)


def sigmoid_numpy(x, out):
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, np.float32(1), out=out)
    return np.reciprocal(out, out=out)


def elementwise():
    yield Case("chain of ten, 16M", lambda: {"x": numbers(LARGE)},
               "- y: square(minimum(maximum(abs((x * 0.5 + 1.0) * x - 0.25), 0.1), 2.0)) * 3.0 + x", chain_numpy,
               Target(roof=1 / 1.3, numpy=3, compiled=1), torch=chain_torch, onnx=CHAIN_ONNX, compiled=True, copied="x")
    for name, in_numpy, in_torch, in_onnx in (
            ("exp", lambda x, out: np.exp(x, out=out), lambda x, out: torch.exp(x, out=out), "Exp"),
            ("tanh", lambda x, out: np.tanh(x, out=out), lambda x, out: torch.tanh(x, out=out), "Tanh"),
            ("gelu", gelu_numpy, lambda x: functional.gelu(x), "Gelu"),
            ("sigmoid", sigmoid_numpy, lambda x, out: torch.sigmoid(x, out=out), "Sigmoid")):
        yield Case(f"{name}, 16M", lambda: {"x": numbers(LARGE, low=-4, high=4)}, f"- y: {name}(x)", in_numpy, Target(best=1),
                   torch=in_torch, onnx=f"y = {in_onnx}(x)", tolerance=2e-6)


def scalars():
    """Functions and element types beside the common ones."""
    several = 4 * 1024 * 1024

    def of_type(dtype, seed=1, low=-4.0, high=4.0):
        return numbers(several, seed=seed, low=low, high=high).astype(dtype)

    def one(op, kind, in_numpy, in_torch, *, tolerance=2e-6, **between):
        return Case(f"{op} {kind.__name__}, 4M", lambda: {"x": of_type(kind, **between)}, f"- y: {op}(x)",
                    lambda x, out: in_numpy(x, out=out), Target(best=1), torch=lambda x, out: in_torch(x, out=out), tolerance=tolerance)

    def two(op, kind, in_numpy, in_torch, *, tolerance=2e-6, divisor=None, **between):
        second = divisor or (lambda: of_type(kind, seed=2, **between))
        return Case(f"{op} {kind.__name__}, 4M", lambda: {"a": of_type(kind, **between), "b": second()}, f"- y: {op}(a, b)",
                    lambda a, b, out: in_numpy(a, b, out=out), Target(best=1), torch=lambda a, b, out: in_torch(a, b, out=out),
                    tolerance=tolerance)

    if torch is None:
        return
    for kind in (np.float32, np.float64):
        for op, name, bounds in (("atan", "arctan", {}), ("asin", "arcsin", {"low": -1, "high": 1}), ("tan", "tan", {}), ("sinh", "sinh", {}),
                                 ("cosh", "cosh", {})):
            yield one(op, kind, getattr(np, name), getattr(torch, op), **bounds)
        yield two("atan2", kind, np.arctan2, torch.atan2)
        yield two("floor_divide", kind, np.floor_divide, torch.floor_divide)
        yield two("remainder", kind, np.remainder, torch.remainder)
    for op in ("sin", "cos", "exp", "log", "tanh"):
        yield one(op, np.float64, getattr(np, op), getattr(torch, op), low=0.1)
    yield one("erf", np.float64, lambda x, out: __import__("scipy.special").special.erf(x, out=out), torch.erf)
    yield two("pow", np.float64, np.power, torch.pow, low=0.1)
    yield two("floor_divide", np.int32, np.floor_divide, torch.floor_divide, low=-1e9, high=1e9, divisor=lambda: of_type(np.int32, 2, 1, 1000),
              tolerance=0)
    yield two("remainder", np.int32, np.remainder, torch.remainder, low=-1e9, high=1e9, divisor=lambda: of_type(np.int32, 2, 1, 1000),
              tolerance=0)
    yield two("floor_divide", np.int64, np.floor_divide, torch.floor_divide, low=-1e9, high=1e9, divisor=lambda: of_type(np.int64, 2, 1, 1000),
              tolerance=0)
    yield two("floor_divide", np.uint8, np.floor_divide, torch.floor_divide, low=0, high=255, divisor=lambda: of_type(np.uint8, 2, 1, 20),
              tolerance=0)
    yield two("add", np.float16, np.add, torch.add, tolerance=2e-3)
    yield two("multiply", np.float16, np.multiply, torch.mul, tolerance=2e-3)
    yield one("exp", np.float16, np.exp, torch.exp, tolerance=2e-3)
    yield one("tanh", np.float16, np.tanh, torch.tanh, tolerance=2e-3)
    yield Case("sum float16, 4M", lambda: {"x": of_type(np.float16, low=0, high=0.01)}, "- y: sum(x)", lambda x: x.sum(), Target(best=1),
               torch=lambda x: x.sum(), tolerance=2e-3)
    yield Case("max float16, 4M", lambda: {"x": of_type(np.float16)}, "- y: max(x)", lambda x: x.max(), Target(best=1),
               torch=lambda x: x.max(), tolerance=0)


def softmax_numpy(x, out):
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    return np.divide(out, out.sum(axis=-1, keepdims=True), out=out)


def layer_norm_numpy(x, scale, shift, out):
    np.subtract(x, x.mean(axis=-1, keepdims=True), out=out)
    deviation = np.sqrt(np.einsum("ij,ij->i", out, out)[:, None] / np.float32(x.shape[-1]) + np.float32(1e-5))
    np.divide(out, deviation, out=out)
    np.multiply(out, scale, out=out)
    return np.add(out, shift, out=out)


LAYER_NORM = """
- centred: x - mean(x, axis=-1, keepdims=true)
- y: centred * rsqrt(mean(square(centred), axis=-1, keepdims=true) + 1.0e-5) * scale + shift"""


SOFTMAX_BY_HAND = """
- largest: max(x, axis=-1)
- e: exp(x - expand_dims(largest, 1))
- y: e / expand_dims(sum(e, axis=-1), 1)"""


def attention_numpy(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1]**-0.5)
    if causal:
        scores[..., ~np.tri(*scores.shape[-2:], dtype=bool)] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    return (scores / scores.sum(axis=-1, keepdims=True)) @ v


def attention():
    for name, query, keys, causal in (("BERT-base, batch 1", (1, 12, 128, 64), 128, False), ("BERT-base, batch 8", (8, 12, 128, 64), 128, False),
                                      ("GPT-2, one of 1,024", (1, 12, 1, 64), 1024, False), ("2,048", (1, 12, 2048, 64), 2048, False),
                                      ("2,048, causal", (1, 12, 2048, 64), 2048, True)):
        key = (*query[:2], keys, query[3])
        half = "" if not causal else "is_causal = 1, "
        yield Case(f"attention {name}",
                   lambda query=query, key=key: {"q": numbers(*query, low=-2, high=2), "k": numbers(*key, seed=2, low=-2, high=2), "v": numbers(*key, seed=3)},
                   f"- y: attention(q, k, v, causal={str(causal).lower()})", lambda q, k, v, causal=causal: attention_numpy(q, k, v, causal),
                   Target(best=0.9), torch=lambda q, k, v, causal=causal: functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
                   onnx=f"y = Attention <{half}scale = {query[3]**-0.5}> (q, k, v)", tolerance=2e-5)


def gate_numpy(x, out):
    np.negative(x[:, 512:], out=out)
    np.exp(out, out=out)
    np.add(out, np.float32(1), out=out)
    return np.divide(x[:, :512], out, out=out)


def rows():
    target = Target(best=0.9)
    yield Case("softmax by hand 8192x1024", lambda: {"x": numbers(8192, 1024, low=-4, high=4)}, SOFTMAX_BY_HAND, softmax_numpy, target,
               torch=lambda x, out: torch.softmax(x, -1, out=out), onnx="y = Softmax <axis = -1> (x)")
    yield Case("gate of halves 8192x1024", lambda: {"x": numbers(8192, 1024, low=-4, high=4)},
               "- y: x[:, 0:512] * sigmoid(x[:, 512:1024])", gate_numpy, target, torch=lambda x: functional.glu(x, 1), shape=(8192, 512))
    yield Case("softmax 8192x1024", lambda: {"x": numbers(8192, 1024, low=-4, high=4)}, "- y: softmax(x)", softmax_numpy, target,
               torch=lambda x, out: torch.softmax(x, -1, out=out), onnx="y = Softmax <axis = -1> (x)")
    yield Case("layer norm 8192x1024",
               lambda: {"x": numbers(8192, 1024), "scale": numbers(1024, seed=2), "shift": numbers(1024, seed=3)}, LAYER_NORM,
               layer_norm_numpy, target, torch=lambda x, scale, shift: functional.layer_norm(x, (1024,), scale, shift, 1e-5),
               onnx="y = LayerNormalization <axis = -1, epsilon = 1e-5> (x, scale, shift)", constants=("scale", "shift"))
    for axis in (0, 1):
        yield Case(f"sum 4096x4096, axis {axis}", lambda: {"x": numbers(4096, 4096, low=0)}, f"- y: sum(x, axis={axis})",
                   lambda x, axis=axis: x.sum(axis=axis), target, torch=lambda x, axis=axis: x.sum(axis),
                   onnx=f"axes = Constant <value_ints = [{axis}]> () y = ReduceSum <keepdims = 0> (x, axes)")
    yield Case("argmax 4096x4096", lambda: {"x": numbers(4096, 4096)}, "- y: argmax(x, axis=1)", lambda x: x.argmax(axis=1), target,
               torch=lambda x: x.argmax(1), onnx="y = ArgMax <axis = 1, keepdims = 0> (x)", tolerance=0)
    yield Case("cumulative sum 4096x4096", lambda: {"x": numbers(4096, 4096)}, "- y: cumulative_sum(x, axis=1)",
               lambda x, out: np.cumsum(x, axis=1, out=out), target, torch=lambda x, out: torch.cumsum(x, 1, out=out),
               onnx="axis = Constant <value_int = 1> () y = CumSum(x, axis)")


def short_rows():
    """Many rows of a few elements: shows the overhead of each row."""
    target, tall = Target(best=0.9), 16384
    axes = "axes = Constant <value_ints = [1]> () "
    yield Case("sum 16384x32, axis 1", lambda: {"x": numbers(tall, 32, low=0)}, "- y: sum(x, axis=1)", lambda x: x.sum(axis=1), target,
               torch=lambda x: x.sum(1), onnx=axes + "y = ReduceSum <keepdims = 0> (x, axes)")
    yield Case("max 16384x32, axis 1", lambda: {"x": numbers(tall, 32)}, "- y: max(x, axis=1)", lambda x: x.max(axis=1), target,
               torch=lambda x: x.amax(1), onnx=axes + "y = ReduceMax <keepdims = 0> (x, axes)", tolerance=0)
    yield Case("argmax 16384x32", lambda: {"x": numbers(tall, 32)}, "- y: argmax(x, axis=1)", lambda x: x.argmax(axis=1), target,
               torch=lambda x: x.argmax(1), onnx="y = ArgMax <axis = 1, keepdims = 0> (x)", tolerance=0)
    yield Case("softmax 16384x10", lambda: {"x": numbers(tall, 10, low=-4, high=4)}, "- y: softmax(x)", softmax_numpy, target,
               torch=lambda x, out: torch.softmax(x, -1, out=out), onnx="y = Softmax <axis = -1> (x)")
    yield product("matrix 16384x16 times vector", (tall, 16), (16,), in_torch=lambda a, b, out: torch.mv(a, b, out=out), target=target,
                  result=(tall,))
    yield product("matmul 16384x8 times 8x8", (tall, 8), (8, 8), target=target)


def top_k_numpy(x):
    largest = x[np.argpartition(x, -100)[-100:]]
    return np.sort(largest)[::-1]


def order():
    target = Target(best=0.9)
    yield Case("sort 1M", lambda: {"x": numbers(1000000)}, "- y: sort(x)", lambda x: np.sort(x), target, torch=lambda x: torch.sort(x)[0],
               tolerance=0)
    yield Case("top_k 100 of 1M", lambda: {"x": numbers(1000000)}, '- "y, places": top_k(x, 100)', top_k_numpy, target,
               torch=lambda x: torch.topk(x, 100)[0], onnx="k = Constant <value_ints = [100]> () y, i = TopK(x, k)", tolerance=0)
    yield Case("take 65536 of 100000x64",
               lambda: {"x": numbers(100000, 64), "i": np.random.default_rng(2).integers(0, 100000, 65536).astype(np.int32)},
               "- y: take(x, i, axis=0)", lambda x, i, out: np.take(x, i, axis=0, out=out, mode="clip"), target,
               torch=lambda x, i, out: torch.index_select(x, 0, i, out=out), onnx="y = Gather <axis = 0> (x, i)", shape=(65536, 64),
               tolerance=0)


TRACK = """
- y: zeros([2000, 1024])
- for: t in 2000
  do:
    - y: dynamic_update_slice(y, x, [t, 0])
"""


def track_numpy(x):
    track = np.zeros((2000, 1024), np.float32)
    for t in range(2000):
        track[t] = x
    return track


def track_torch(x):
    track = torch.zeros(2000, 1024)
    for t in range(2000):
        track[t] = x
    return track


def updates():
    target = Target(best=0.9)

    def places(*shape, below, dtype=np.int64):
        return np.random.default_rng(2).integers(0, below, shape).astype(dtype)

    def added_at(x, i, u):
        y = x.copy()
        np.add.at(y, i, u)
        return y

    yield Case("scatter_add 1M to 100000", lambda: {"x": numbers(100000), "i": places(1000000, below=100000), "u": numbers(1000000, seed=3)},
               "- y: scatter_add(x, i, u)", added_at, target, torch=lambda x, i, u: torch.index_add(x, 0, i, u), tolerance=1e-5)
    yield Case("scatter_add 65536 rows of 64", lambda: {"x": numbers(10000, 64), "i": places(65536, below=10000), "u": numbers(65536, 64, seed=3)},
               "- y: scatter_add(x, i, u)", added_at, target, torch=lambda x, i, u: torch.index_add(x, 0, i, u), tolerance=1e-5)
    yield Case("take_along_axis 4096x1024", lambda: {"x": numbers(4096, 1024), "i": places(4096, 1024, below=1024)},
               "- y: take_along_axis(x, i)", lambda x, i: np.take_along_axis(x, i, axis=1), target,
               torch=lambda x, i, out: torch.gather(x, 1, i, out=out), onnx="y = GatherElements <axis = 1> (x, i)", tolerance=0)
    yield Case("gather_nd 1M of 1000x1000", lambda: {"x": numbers(1000, 1000), "i": places(1000000, 2, below=1000)},
               "- y: gather_nd(x, i)", lambda x, i: x[i[:, 0], i[:, 1]], target, torch=lambda x, i: x[i[:, 0], i[:, 1]],
               onnx="y = GatherND (x, i)", shape=(1000000,), tolerance=0)
    yield Case("2000 rows of 1024 written in a loop", lambda: {"x": numbers(1024)}, TRACK, track_numpy, target, torch=track_torch,
               shape=(2000, 1024), tolerance=0, is_program=True)


def primitives():
    for family in (products, elementwise, scalars, rows, attention, short_rows, order, updates):
        yield from family()
