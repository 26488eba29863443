"""The cases that are whole programs, as users would write them: networks, and methods that loop."""
import numpy as np

from peers.case import Case, Target
from peers.primitives import functional, numbers, torch

TARGET = Target(best=1)


def relu_numpy(x):
    return np.maximum(x, 0, out=x)


def softmax_numpy(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.divide(x, x.sum(axis=-1, keepdims=True), out=x)


# --- a perceptron of three layers ---------------------------------------------------------------------------------------------------
MLP = """
- h: relu(matmul(x, w1) + b1)
- h: relu(matmul(h, w2) + b2)
- y: softmax(matmul(h, w3) + b3)"""
MLP_ONNX = """
p1 = MatMul(x, w1) a1 = Add(p1, b1) h1 = Relu(a1) p2 = MatMul(h1, w2) a2 = Add(p2, b2) h2 = Relu(a2)
p3 = MatMul(h2, w3) a3 = Add(p3, b3) y = Softmax <axis = -1> (a3)"""


def mlp_inputs(batch):
    arrays = {"x": numbers(batch, 784, low=0)}
    for i, (rows, columns) in enumerate(((784, 256), (256, 128), (128, 10)), 1):
        arrays[f"w{i}"] = numbers(rows, columns, seed=i) / np.float32(rows**0.5)
        arrays[f"b{i}"] = numbers(columns, seed=10 + i)
    return arrays


def mlp_numpy(x, w1, b1, w2, b2, w3, b3):
    h = relu_numpy(x @ w1 + b1)
    h = relu_numpy(h @ w2 + b2)
    return softmax_numpy(h @ w3 + b3)


def mlp_torch(x, w1, b1, w2, b2, w3, b3):
    h = torch.relu(torch.addmm(b1, x, w1))
    h = torch.relu(torch.addmm(b2, h, w2))
    return torch.softmax(torch.addmm(b3, h, w3), -1)


def mlp(batch):
    return Case(f"MLP 784-256-128-10, batch {batch}", lambda: mlp_inputs(batch), MLP, mlp_numpy, TARGET, torch=mlp_torch, onnx=MLP_ONNX,
                constants=("w1", "b1", "w2", "b2", "w3", "b3"), is_program=True)


# --- a transformer block ------------------------------------------------------------------------------------------------------------
WIDTH, HEADS, LENGTH, DEPTH = 256, 4, 128, 64


def transformer_inputs(batch):
    arrays = {"x": numbers(batch, LENGTH, WIDTH)}
    for i, name in enumerate(("wq", "wk", "wv", "wo"), 2):
        arrays[name] = numbers(WIDTH, WIDTH, seed=i) / np.float32(WIDTH**0.5)
    arrays["w1"] = numbers(WIDTH, 4 * WIDTH, seed=6) / np.float32(WIDTH**0.5)
    arrays["w2"] = numbers(4 * WIDTH, WIDTH, seed=7) / np.float32((4 * WIDTH)**0.5)
    arrays["ones"] = np.ones(WIDTH, np.float32)
    return arrays


def transformer_model(batch):
    def norm(x, into):
        return f"""
- centred: {x} - mean({x}, axis=-1, keepdims=true)
- {into}: centred * rsqrt(mean(square(centred), axis=-1, keepdims=true) + 1.0e-5) * ones"""

    heads = "".join(f"\n- {h}: permute_dims(reshape(matmul(n, w{h}), [{batch}, {LENGTH}, {HEADS}, {DEPTH}]), [0, 2, 1, 3])" for h in "qkv")
    return norm("x", "n") + heads + f"""
- a: matmul(softmax(matmul(q, transpose(k)) * {DEPTH ** -0.5}), v)
- z: x + matmul(reshape(permute_dims(a, [0, 2, 1, 3]), [{batch}, {LENGTH}, {WIDTH}]), wo)""" + norm("z", "m") + """
- y: z + matmul(gelu(matmul(m, w1)), w2)"""


def norm_numpy(x, scale):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * scale


def transformer_numpy(x, wq, wk, wv, wo, w1, w2, ones):
    from scipy.special import erf

    def split(t):
        return t.reshape(-1, LENGTH, HEADS, DEPTH).transpose(0, 2, 1, 3)

    n = norm_numpy(x, ones)
    q, k, v = split(n @ wq), split(n @ wk), split(n @ wv)
    a = softmax_numpy(q @ k.swapaxes(-1, -2) * np.float32(DEPTH**-0.5)) @ v
    z = x + a.transpose(0, 2, 1, 3).reshape(x.shape) @ wo
    h = norm_numpy(z, ones) @ w1
    return z + (h * (1 + erf(h * np.float32(0.5**0.5))) * np.float32(0.5)) @ w2


def transformer_torch(x, wq, wk, wv, wo, w1, w2, ones):
    def split(t):
        return t.view(-1, LENGTH, HEADS, DEPTH).transpose(1, 2)

    n = functional.layer_norm(x, (WIDTH,), ones)
    a = functional.scaled_dot_product_attention(split(n @ wq), split(n @ wk), split(n @ wv))
    z = x + a.transpose(1, 2).reshape(x.shape) @ wo
    return z + functional.gelu(functional.layer_norm(z, (WIDTH,), ones) @ w1) @ w2


def transformer_onnx(batch):
    split = "".join(f"""
p{h} = MatMul(n, w{h}) r{h} = Reshape(p{h}, apart) {h} = Transpose <perm = {[0, 2, 3, 1] if h == "k" else [0, 2, 1, 3]}> (r{h})"""
                    for h in "qkv")
    return f"""
apart = Constant <value_ints = [{batch}, {LENGTH}, {HEADS}, {DEPTH}]> () together = Constant <value_ints = [{batch}, {LENGTH}, {WIDTH}]> ()
scale = Constant <value = float {{{DEPTH ** -0.5}}}> ()
n = LayerNormalization <axis = -1, epsilon = 1e-5> (x, ones) {split}
s = MatMul(q, k) t = Mul(s, scale) p = Softmax <axis = -1> (t) a = MatMul(p, v)
b = Transpose <perm = [0, 2, 1, 3]> (a) c = Reshape(b, together) o = MatMul(c, wo) z = Add(x, o)
m = LayerNormalization <axis = -1, epsilon = 1e-5> (z, ones) h = MatMul(m, w1) g = Gelu(h) f = MatMul(g, w2) y = Add(z, f)"""


def transformer(batch):
    return Case(f"transformer block, batch {batch}", lambda: transformer_inputs(batch), transformer_model(batch), transformer_numpy,
                Target(best=1, threads=1.7 if batch > 1 else 0), torch=transformer_torch, onnx=transformer_onnx(batch),
                constants=("wq", "wk", "wv", "wo", "w1", "w2", "ones"), tolerance=1e-4, is_program=True)


# --- k-means, 20 trips --------------------------------------------------------------------------------------------------------------
CLUSTERS, TRIPS = 32, 20
KMEANS = f"""
- y: start
- for: trip in {TRIPS}
  do:
    - distance: sum(square(y), axis=1) - 2.0 * matmul(x, transpose(y))
    - member: one_hot(argmin(distance, axis=1), {CLUSTERS})
    - y: matmul(transpose(member), x) / expand_dims(maximum(sum(member, axis=0), 1.0), 1)"""
KMEANS_ONNX = f"""
trips = Constant <value_int = {TRIPS}> () go = Constant <value = bool {{1}}> ()
y = Loop <body = step (int64 trip, bool on, float[{CLUSTERS}, 64] c) => (bool still, float[{CLUSTERS}, 64] next) {{
  still = Identity(on) two = Constant <value = float {{2.0}}> () one = Constant <value = float {{1.0}}> ()
  last = Constant <value_ints = [1]> () first = Constant <value_ints = [0]> ()
  depth = Constant <value_int = {CLUSTERS}> () hot = Constant <value_floats = [0.0, 1.0]> ()
  squares = Mul(c, c) lengths = ReduceSum <keepdims = 0> (squares, last) turned = Transpose <perm = [1, 0]> (c)
  products = MatMul(x, turned) twice = Mul(products, two) distance = Sub(lengths, twice)
  nearest = ArgMin <axis = 1, keepdims = 0> (distance) member = OneHot <axis = -1> (nearest, depth, hot)
  flipped = Transpose <perm = [1, 0]> (member) sums = MatMul(flipped, x) counts = ReduceSum <keepdims = 0> (member, first)
  some = Max(counts, one) column = Unsqueeze(some, last) next = Div(sums, column) }}> (trips, go, start)"""


def kmeans_inputs():
    centres = numbers(CLUSTERS, 64, low=-4, high=4)
    x = np.repeat(centres, 10000 // CLUSTERS + 1, axis=0)[:10000] + numbers(10000, 64, seed=2)
    return {"x": x, "start": centres + numbers(CLUSTERS, 64, seed=3)}


def kmeans_numpy(x, start):
    y, eye = start, np.eye(CLUSTERS, dtype=np.float32)
    for _ in range(TRIPS):
        member = eye[((y * y).sum(axis=1) - 2 * (x @ y.T)).argmin(axis=1)]
        y = (member.T @ x) / np.maximum(member.sum(axis=0), 1)[:, None]
    return y


def kmeans_torch(x, start):
    y = start
    for _ in range(TRIPS):
        nearest = ((y * y).sum(1) - 2 * (x @ y.T)).argmin(1)
        member = functional.one_hot(nearest, CLUSTERS).to(torch.float32)
        y = (member.T @ x) / member.sum(0).clamp(min=1)[:, None]
    return y


# --- conjugate gradients, 50 trips --------------------------------------------------------------------------------------------------
GRADIENTS = """
- y: zeros([1024])
- r: b
- p: b
- before: sum(b * b)
- for: trip in 50
  do:
    - q: matmul(a, p)
    - alpha: before / sum(p * q)
    - y: y + alpha * p
    - r: r - alpha * q
    - after: sum(r * r)
    - p: r + after / before * p
    - before: after"""
GRADIENTS_ONNX = """
trips = Constant <value_int = 50> () go = Constant <value = bool {1}> () zero = Constant <value = float {0.0}> () none = Mul(b, zero)
squares = Mul(b, b) first = ReduceSum <keepdims = 0> (squares)
y, rl, pl, sl = Loop <body = step (int64 trip, bool on, float[1024] x0, float[1024] r0, float[1024] p0, float s0)
    => (bool still, float[1024] x1, float[1024] r1, float[1024] p1, float s1) {
  still = Identity(on) q = MatMul(a, p0) pq = Mul(p0, q) curvature = ReduceSum <keepdims = 0> (pq) alpha = Div(s0, curvature)
  ap = Mul(alpha, p0) x1 = Add(x0, ap) aq = Mul(alpha, q) r1 = Sub(r0, aq) rr = Mul(r1, r1) s1 = ReduceSum <keepdims = 0> (rr)
  beta = Div(s1, s0) bp = Mul(beta, p0) p1 = Add(r1, bp) }> (trips, go, none, b, b, first)"""


def gradients_inputs():
    root = numbers(1024, 1024) * np.float32((3 / 1024)**0.5)
    return {"a": root @ root.T + np.float32(0.1) * np.eye(1024, dtype=np.float32), "b": numbers(1024, seed=2)}


def gradients_numpy(a, b):
    y, r, p, before = np.zeros_like(b), b, b, b @ b
    for _ in range(50):
        q = a @ p
        alpha = before / (p @ q)
        y = y + alpha * p
        r = r - alpha * q
        after = r @ r
        p = r + after / before * p
        before = after
    return y


def gradients_torch(a, b):
    y, r, p, before = torch.zeros_like(b), b, b, b @ b
    for _ in range(50):
        q = a @ p
        alpha = before / (p @ q)
        y = y + alpha * p
        r = r - alpha * q
        after = r @ r
        p = r + after / before * p
        before = after
    return y


# --- PageRank, 50 trips -------------------------------------------------------------------------------------------------------------
RANK = """
- y: start
- for: trip in 50
  do:
    - y: 0.85 * matmul(links, y) + 0.000075"""
RANK_ONNX = """
trips = Constant <value_int = 50> () go = Constant <value = bool {1}> ()
y = Loop <body = step (int64 trip, bool on, float[2000] r0) => (bool still, float[2000] r1) {
  still = Identity(on) damping = Constant <value = float {0.85}> () rest = Constant <value = float {0.000075}> ()
  product = MatMul(links, r0) damped = Mul(product, damping) r1 = Add(damped, rest) }> (trips, go, start)"""


def rank_inputs():
    links = (numbers(2000, 2000, low=0) < 0.01).astype(np.float32) + np.eye(2000, dtype=np.float32)
    return {"links": links / links.sum(axis=0), "start": np.full(2000, 1 / 2000, np.float32)}


def rank_loop(links, start):
    y = start
    for _ in range(50):
        y = 0.85 * (links @ y) + 0.000075
    return y


def programs():
    for batch in (1, 32, 64):
        yield mlp(batch)
    for batch in (1, 32):
        yield transformer(batch)
    yield Case("k-means 10000x64, 32 clusters", kmeans_inputs, KMEANS, kmeans_numpy, TARGET, torch=kmeans_torch, onnx=KMEANS_ONNX,
               tolerance=1e-4, is_program=True)
    yield Case("conjugate gradients 1024", gradients_inputs, GRADIENTS, gradients_numpy, TARGET, torch=gradients_torch,
               onnx=GRADIENTS_ONNX, tolerance=1e-3, is_program=True)
    yield Case("PageRank, dense 2000", rank_inputs, RANK, rank_loop, TARGET, torch=rank_loop, onnx=RANK_ONNX, tolerance=1e-4,
               is_program=True)
