"""Attention, recurrent networks and einsum, compared with ONNX's reference evaluator and NumPy."""
import numpy as np

from case import Case, numbers, onnx_op


def attend(query, key, value, mask=None, causal=False, scale=None):
    """Attention in f64; the causal mask is aligned at the last query."""
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    group = query.shape[-3] // key.shape[-3]
    key, value = np.repeat(key, group, axis=-3), np.repeat(value, group, axis=-3)
    scores = query @ key.swapaxes(-1, -2) * (query.shape[-1]**-0.5 if scale is None else scale)
    keep = np.ones(scores.shape, bool)
    if mask is not None and mask.dtype == bool:
        keep &= mask
    elif mask is not None:
        scores = scores + mask
    if causal:
        keep &= np.tri(*scores.shape[-2:], scores.shape[-1] - scores.shape[-2], dtype=bool)
    scores = np.where(keep, scores, -np.inf)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=-1e30))
    total = weights.sum(axis=-1, keepdims=True)
    return weights @ value / np.where(total == 0, 1, total)


def attention():
    q, k, v = numbers(2, 4, 5, 8), numbers(2, 4, 7, 8, seed=2), numbers(2, 4, 7, 6, seed=3)
    few, fewer = numbers(2, 2, 7, 8, seed=4), numbers(2, 2, 7, 6, seed=5)
    given = {"q": q, "k": k, "v": v}
    added, kept = numbers(5, 7, seed=6), numbers(2, 1, 1, 7, seed=7) > 0
    kept[..., 0] = True
    as_onnx = lambda *inputs, **attributes: onnx_op("Attention", inputs, opset=23, **attributes)  # noqa: E731
    yield Case("attention", "attention(q, k, v)", given, as_onnx)
    yield Case("attention, scale", "attention(q, k, v, scale=0.3)", given, lambda q, k, v: as_onnx(q, k, v, scale=0.3))
    yield Case("attention, added mask", "attention(q, k, v, m)", {**given, "m": added}, as_onnx)
    yield Case("attention, bool mask", "attention(q, k, v, mask=m)", {**given, "m": kept}, lambda q, k, v, m: as_onnx(q, k, v, np.broadcast_to(m, (2, 4, 5, 7)).copy()))
    yield Case("attention, grouped heads", "attention(q, k, v)", {"q": q, "k": few, "v": fewer}, as_onnx)
    yield Case("attention, causal and square", "attention(q, k, v, causal=true)", {"q": q, "k": k[:, :, :5], "v": v[:, :, :5]},
               lambda q, k, v: as_onnx(q, k, v, is_causal=1))
    for dtype in (np.float32, np.float64, np.float16):
        cast = {name: x.astype(dtype) for name, x in (("q", q), ("k", few), ("v", fewer))}
        yield Case(f"attention, causal from the end, {np.dtype(dtype)}", "attention(q, k, v, causal=true)", cast,
                   lambda q, k, v: attend(q, k, v, causal=True).astype(q.dtype))
    yield Case("attention, queries that see nothing", "attention(q, k, v, causal=true)", {"q": k, "k": q, "v": v[:, :, :5]},
               lambda q, k, v: attend(q, k, v, causal=True).astype(np.float32))
    long = {"q": numbers(1, 6, 150, 40), "k": numbers(1, 2, 700, 40, seed=2), "v": numbers(1, 2, 700, 40, seed=3), "m": numbers(150, 700, seed=4) > 0}
    yield Case("attention, several tiles", "attention(q, k, v, m, causal=true)", long,
               lambda q, k, v, m: attend(q, k, v, m, causal=True).astype(np.float32))


def einsum():
    for equation, *shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
                              ("ii", (4, 4)), ("ii->i", (4, 4)), ("iji->ji", (3, 2, 3)), ("ij,kl->lijk", (2, 3), (4, 5)),
                              ("...ij,...jk", (2, 3, 4), (5, 1, 4, 6)), ("i...,i->...", (3, 2, 4), (3,)), ("ba", (2, 3)), ("ij->", (2, 3)),
                              ("ij,jk,kl,l->i", (2, 3), (3, 4), (4, 5), (5,)), ("i,j->i", (3,), (4,)), ("abc,cde,efa->bdf", (2, 3, 4), (4, 2, 5), (5, 3, 2))):
        names = [f"x{i}" for i in range(len(shapes))]
        given = {name: numbers(*shape, seed=i) for i, (name, shape) in enumerate(zip(names, shapes), 1)}
        yield Case(f"einsum {equation}", f"einsum(\"{equation}\", [{', '.join(names)}])", given,
                   lambda *operands, equation=equation: np.einsum(equation, *operands), absolute=5e-6)
    i = numbers(3, 4, dtype=np.int64)
    yield Case("einsum of integers", "einsum(\"ij,ij->i\", [x, x])", {"x": i}, lambda x: np.einsum("ij,ij->i", x, x))


def recurrent():
    length, batch, width, n = 6, 3, 5, 4
    for name, op, gates, results in (("lstm", "LSTM", 4, 3), ("gru", "GRU", 3, 2), ("rnn", "RNN", 1, 2)):
        for direction, both in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            given = {"x": numbers(length, batch, width), "w": numbers(both, gates * n, width, seed=2), "r": numbers(both, gates * n, n, seed=3)}
            rest = {"b": numbers(both, 2 * gates * n, seed=4), "h": numbers(both, batch, n, seed=5)}
            if name == "lstm":
                rest["c"] = numbers(both, batch, n, seed=6)
            words = f", direction=\"{direction}\""

            def with_onnx(x, w, r, *rest, op=op, results=results, direction=direction, **attributes):
                inputs = [x, w, r, *rest[:1], None, *rest[1:]] if rest else [x, w, r]
                return onnx_op(op, inputs, results=results, direction=direction, hidden_size=n, **attributes)

            yield Case(f"{name}, {direction}", f"{name}(x, w, r{words})", given, with_onnx)
            yield Case(f"{name}, {direction}, from a state", f"{name}(x, w, r, {', '.join(rest)}{words})", {**given, **rest}, with_onnx)
            if name == "gru":
                yield Case(f"gru, {direction}, linear before reset", f"gru(x, w, r, b, h, linear_before_reset=true{words})", {**given, **rest},
                           lambda *inputs, f=with_onnx: f(*inputs, linear_before_reset=1))


def cases():
    yield from attention()
    yield from einsum()
    yield from recurrent()
