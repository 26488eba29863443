"""BERT-base and a step of GPT-2, whole, with random weights: as models would be exported, layer by layer."""
import numpy as np

from peers.case import Case, Target
from peers.primitives import functional, numbers, torch

WIDTH, HEADS, DEPTH, LAYERS, WORDS, LENGTH = 768, 12, 64, 12, 30522, 128
GPT_WORDS, PAST = 50257, 1023


def weight(rows, columns, seed):
    return numbers(rows, columns, seed=seed) * np.float32(1.5 / rows**0.5)


def layer_weights(arrays, layer):
    seed = 100 * layer
    for i, (name, rows, columns) in enumerate((("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("o", WIDTH, WIDTH),
                                               ("u", WIDTH, 4 * WIDTH), ("d", 4 * WIDTH, WIDTH))):
        arrays[f"w{name}{layer}"] = weight(rows, columns, seed + i)
        arrays[f"b{name}{layer}"] = numbers(columns, seed=seed + 10 + i) * np.float32(0.1)
    for i, name in enumerate(("s1", "t1", "s2", "t2")):
        arrays[f"{name}_{layer}"] = numbers(WIDTH, seed=seed + 20 + i) * np.float32(0.1) + np.float32(name[0] == "s")


def norm_model(source, into, scale, shift):
    return f"""
- centred: {source} - mean({source}, axis=-1, keepdims=true)
- {into}: centred * rsqrt(mean(square(centred), axis=-1, keepdims=true) + 1.0e-5) * {scale} + {shift}"""


def norm_numpy(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * scale + shift


def gelu_numpy(x):
    from scipy.special import erf
    return x * (1 + erf(x * np.float32(0.5**0.5))) * np.float32(0.5)


def attention_numpy(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * np.float32(DEPTH**-0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True) @ v


# --- BERT-base: words to the vector of the first one ------------------------------------------------------------------------------------
def bert_inputs(batch):
    arrays = {"ids": np.random.default_rng(1).integers(0, WORDS, (batch, LENGTH)).astype(np.int32)}
    arrays["words"] = numbers(WORDS, WIDTH, seed=2)
    arrays["places"] = numbers(LENGTH, WIDTH, seed=3)
    arrays["s0"], arrays["t0"] = numbers(WIDTH, seed=4) + np.float32(1), numbers(WIDTH, seed=5)
    for layer in range(LAYERS):
        layer_weights(arrays, layer)
    arrays["wp"], arrays["bp"] = weight(WIDTH, WIDTH, 6), numbers(WIDTH, seed=7)
    return arrays


def bert_model(batch):
    text = "\n- e: take(words, ids, axis=0) + places" + norm_model("e", "x", "s0", "t0")
    for i in range(LAYERS):
        heads = "".join(f"\n- {h}: permute_dims(reshape(matmul(x, w{h}{i}) + b{h}{i}, [{batch}, {LENGTH}, {HEADS}, {DEPTH}]), [0, 2, 1, 3])"
                        for h in "qkv")
        text += heads + f"""
- a: reshape(permute_dims(attention(q, k, v), [0, 2, 1, 3]), [{batch}, {LENGTH}, {WIDTH}])
- z: x + (matmul(a, wo{i}) + bo{i})""" + norm_model("z", "m", f"s1_{i}", f"t1_{i}") + f"""
- z: m + (matmul(gelu(matmul(m, wu{i}) + bu{i}), wd{i}) + bd{i})""" + norm_model("z", "x", f"s2_{i}", f"t2_{i}")
    return text + "\n- y: tanh(matmul(x[:, 0], wp) + bp)"


def bert_numpy(ids, words, places, s0, t0, wp, bp, **w):
    x = norm_numpy(words[ids] + places, s0, t0)
    batch = len(ids)
    for i in range(LAYERS):
        q, k, v = ((x @ w[f"w{h}{i}"] + w[f"b{h}{i}"]).reshape(batch, LENGTH, HEADS, DEPTH).transpose(0, 2, 1, 3) for h in "qkv")
        a = attention_numpy(q, k, v).transpose(0, 2, 1, 3).reshape(x.shape)
        m = norm_numpy(x + a @ w[f"wo{i}"] + w[f"bo{i}"], w[f"s1_{i}"], w[f"t1_{i}"])
        x = norm_numpy(m + gelu_numpy(m @ w[f"wu{i}"] + w[f"bu{i}"]) @ w[f"wd{i}"] + w[f"bd{i}"], w[f"s2_{i}"], w[f"t2_{i}"])
    return np.tanh(x[:, 0] @ wp + bp)


def bert_torch(names):
    def run(*tensors):
        w = dict(zip(names, tensors))
        linear = lambda x, name: torch.addmm(w["b" + name], x.reshape(-1, x.shape[-1]), w["w" + name]).reshape(*x.shape[:-1], -1)
        norm = lambda x, scale, shift: functional.layer_norm(x, (WIDTH,), w[scale], w[shift], 1e-5)
        x = norm(functional.embedding(w["ids"], w["words"]) + w["places"], "s0", "t0")
        for i in range(LAYERS):
            q, k, v = (linear(x, f"{h}{i}").view(-1, LENGTH, HEADS, DEPTH).transpose(1, 2) for h in "qkv")
            a = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
            m = norm(x + linear(a, f"o{i}"), f"s1_{i}", f"t1_{i}")
            x = norm(m + linear(functional.gelu(linear(m, f"u{i}")), f"d{i}"), f"s2_{i}", f"t2_{i}")
        return torch.tanh(linear(x[:, 0], "p"))
    return run


def heads_onnx(source, i):
    """Queries, keys and values of a layer, [batch, heads, length, depth]."""
    return "".join(f"""
product_{h}{i} = MatMul({source}, w{h}{i}) sum_{h}{i} = Add(product_{h}{i}, b{h}{i}) apart_{h}{i} = Reshape(sum_{h}{i}, apart)
{h}{i} = Transpose <perm = [0, 2, 1, 3]> (apart_{h}{i})""" for h in "qkv")


def attended_onnx(i, key, value):
    return f"""
attended_{i} = Attention <scale = {DEPTH ** -0.5}> (q{i}, {key}, {value})
turned_{i} = Transpose <perm = [0, 2, 1, 3]> (attended_{i}) joined_{i} = Reshape(turned_{i}, together)
product_o{i} = MatMul(joined_{i}, wo{i}) o{i} = Add(product_o{i}, bo{i})"""


def grown_onnx(source, i, into):
    return f"""
product_u{i} = MatMul({source}, wu{i}) sum_u{i} = Add(product_u{i}, bu{i}) grown_{i} = Gelu(sum_u{i})
product_d{i} = MatMul(grown_{i}, wd{i}) {into} = Add(product_d{i}, bd{i})"""


def constants_onnx(batch, length):
    return f"""
apart = Constant <value_ints = [{batch}, {length}, {HEADS}, {DEPTH}]> () together = Constant <value_ints = [{batch}, {length}, {WIDTH}]> ()"""


def bert_onnx(batch):
    norm = "LayerNormalization <axis = -1, epsilon = 1e-5>"
    text = constants_onnx(batch, LENGTH) + f" looked = Gather <axis = 0> (words, ids) sum0 = Add(looked, places) x0 = {norm} (sum0, s0, t0)"
    for i in range(LAYERS):
        text += heads_onnx(f"x{i}", i) + attended_onnx(i, f"k{i}", f"v{i}") + f"""
z{i} = Add(x{i}, o{i}) m{i} = {norm} (z{i}, s1_{i}, t1_{i})""" + grown_onnx(f"m{i}", i, f"h{i}") + f"""
l{i} = Add(m{i}, h{i}) x{i + 1} = {norm} (l{i}, s2_{i}, t2_{i})"""
    return text + f" zero = Constant <value_int = 0> () first = Gather <axis = 1> (x{LAYERS}, zero) pp = MatMul(first, wp) ap = Add(pp, bp) y = Tanh(ap)"


def bert(batch):
    names = bert_names()
    return Case(f"BERT-base, batch {batch}", lambda: bert_inputs(batch), bert_model(batch), bert_numpy, Target(best=0.9),
                torch=bert_torch(names), onnx=bert_onnx(batch), constants=tuple(names[1:]), tolerance=2e-3, is_program=True)


def layer_names(layer):
    names = [f"{kind}{name}{layer}" for name in "qkvoud" for kind in "wb"]
    return names + [f"{name}_{layer}" for name in ("s1", "t1", "s2", "t2")]


def bert_names():
    return ["ids", "words", "places", "s0", "t0"] + [name for layer in range(LAYERS) for name in layer_names(layer)] + ["wp", "bp"]


# --- GPT-2: one word more behind 1,023 --------------------------------------------------------------------------------------------------
def gpt_names():
    past = [f"{kind}{layer}" for layer in range(LAYERS) for kind in ("pk", "pv")]
    return ["ids", *past, "words", "places"] + [name for layer in range(LAYERS) for name in layer_names(layer)] + ["s0", "t0"]


def gpt_inputs():
    arrays = {"ids": np.array([17], np.int32)}
    for layer in range(LAYERS):
        for i, kind in enumerate(("pk", "pv")):
            arrays[f"{kind}{layer}"] = numbers(1, HEADS, PAST, DEPTH, seed=50 + 2 * layer + i)
    arrays["words"], arrays["places"] = numbers(GPT_WORDS, WIDTH, seed=2) * np.float32(0.1), numbers(1, WIDTH, seed=3)
    for layer in range(LAYERS):
        layer_weights(arrays, layer)
    arrays["s0"], arrays["t0"] = numbers(WIDTH, seed=4) + np.float32(1), numbers(WIDTH, seed=5)
    return {name: arrays[name] for name in gpt_names()}


def gpt_model():
    text = f"\n- x: reshape(take(words, ids, axis=0) + places, [1, 1, {WIDTH}])"
    for i in range(LAYERS):
        heads = "".join(f"\n- {h}: reshape(matmul(n, w{h}{i}) + b{h}{i}, [1, {HEADS}, 1, {DEPTH}])" for h in "qkv")
        text += norm_model("x", "n", f"s1_{i}", f"t1_{i}") + heads + f"""
- a: reshape(attention(q, concat([pk{i}, k], axis=2), concat([pv{i}, v], axis=2)), [1, 1, {WIDTH}])
- x: x + (matmul(a, wo{i}) + bo{i})""" + norm_model("x", "n", f"s2_{i}", f"t2_{i}") + f"""
- x: x + (matmul(gelu(matmul(n, wu{i}) + bu{i}), wd{i}) + bd{i})"""
    return text + norm_model("x", "n", "s0", "t0") + f"\n- y: matmul(reshape(n, [1, {WIDTH}]), transpose(words))"


def gpt_numpy(ids, words, places, s0, t0, **w):
    x = (words[ids] + places)[None]
    for i in range(LAYERS):
        n = norm_numpy(x, w[f"s1_{i}"], w[f"t1_{i}"])
        q, k, v = ((n @ w[f"w{h}{i}"] + w[f"b{h}{i}"]).reshape(1, HEADS, 1, DEPTH) for h in "qkv")
        a = attention_numpy(q, np.concatenate([w[f"pk{i}"], k], 2), np.concatenate([w[f"pv{i}"], v], 2)).reshape(1, 1, WIDTH)
        x = x + a @ w[f"wo{i}"] + w[f"bo{i}"]
        n = norm_numpy(x, w[f"s2_{i}"], w[f"t2_{i}"])
        x = x + gelu_numpy(n @ w[f"wu{i}"] + w[f"bu{i}"]) @ w[f"wd{i}"] + w[f"bd{i}"]
    return norm_numpy(x, s0, t0)[0] @ words.T


def gpt_torch(names):
    def run(*tensors):
        w = dict(zip(names, tensors))
        linear = lambda x, name: torch.addmm(w["b" + name], x, w["w" + name])
        norm = lambda x, scale, shift: functional.layer_norm(x, (WIDTH,), w[scale], w[shift], 1e-5)
        x = functional.embedding(w["ids"], w["words"]) + w["places"]
        for i in range(LAYERS):
            n = norm(x, f"s1_{i}", f"t1_{i}")
            q, k, v = (linear(n, f"{h}{i}").view(1, HEADS, 1, DEPTH) for h in "qkv")
            a = functional.scaled_dot_product_attention(q, torch.cat([w[f"pk{i}"], k], 2), torch.cat([w[f"pv{i}"], v], 2))
            x = x + linear(a.view(1, WIDTH), f"o{i}")
            x = x + linear(functional.gelu(linear(norm(x, f"s2_{i}", f"t2_{i}"), f"u{i}")), f"d{i}")
        return torch.nn.functional.linear(norm(x, "s0", "t0"), w["words"])
    return run


def gpt_onnx():
    norm = "LayerNormalization <axis = -1, epsilon = 1e-5>"
    text = constants_onnx(1, 1) + " looked = Gather <axis = 0> (words, ids) sum0 = Add(looked, places) x0 = Reshape(sum0, together)"
    for i in range(LAYERS):
        text += f" n1_{i} = {norm} (x{i}, s1_{i}, t1_{i})" + heads_onnx(f"n1_{i}", i) + f"""
ck{i} = Concat <axis = 2> (pk{i}, k{i}) cv{i} = Concat <axis = 2> (pv{i}, v{i})""" + attended_onnx(i, f"ck{i}", f"cv{i}") + f"""
z{i} = Add(x{i}, o{i}) n2_{i} = {norm} (z{i}, s2_{i}, t2_{i})""" + grown_onnx(f"n2_{i}", i, f"h{i}") + f" x{i + 1} = Add(z{i}, h{i})"
    return text + f""" end = {norm} (x{LAYERS}, s0, t0) flat = Constant <value_ints = [1, {WIDTH}]> () row = Reshape(end, flat)
turned = Transpose <perm = [1, 0]> (words) y = MatMul(row, turned)"""


def gpt():
    names = gpt_names()
    past = [name for name in names if name.startswith(("pk", "pv")) and name != "places"]
    return Case("GPT-2 step, 1,024 keys", gpt_inputs, gpt_model(), gpt_numpy, Target(best=0.9), torch=gpt_torch(names), onnx=gpt_onnx(),
                constants=tuple(name for name in names if name != "ids" and name not in past), tolerance=2e-3, is_program=True)


def transformers():
    for batch in (1, 8):
        yield bert(batch)
    yield gpt()
