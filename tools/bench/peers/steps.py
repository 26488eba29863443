"""Steps of training, as users would write them in cleave and in PyTorch: loss, gradient, AdamW. Both sides make the same steps from the same
parameters on the same batch, and end at the same loss."""
import dataclasses
import typing

import numpy as np

RATE, DECAY = 1e-3, 0.01


@dataclasses.dataclass
class Step:
    name: str
    steps: int  # in a run
    arrays: dict  # of the batch
    net: dict  # initial parameters by path, such as layer0.wq
    functions: str  # of the model
    forward: str  # statements of the model that end with `loss`
    loss: typing.Callable  # in PyTorch, of the parameters and the arrays of the batch
    clip: float = 0
    aim: float = 1  # the faster of PyTorch's over cleave's


def nested(flat):
    tree = {}
    for path, value in flat.items():
        *groups, name = path.split(".")
        inner = tree
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[name] = value
    return tree


def cleave_model(step, folder):
    """Writes the model and its data; returns the model's path. A run makes `steps` steps, and ends with the loss of the last one."""
    types = {"float32": "f32", "int32": "i32"}

    def declared(name, array):
        np.save(folder / f"{name}.npy", array)
        return f'{{type: "{types[str(array.dtype)]}{list(array.shape)}", file: {name}.npy}}'

    def group(tree, path, indent):
        text = ""
        for name, inner in tree.items():
            if isinstance(inner, dict):
                text += f"{indent}{name}:\n" + group(inner, f"{path}{name}.", indent + "  ")
            else:
                text += f"{indent}{name}: {declared(path + name, inner)}\n"
        return text

    clip = f"\n      - grads: clip_by_norm(grads, {step.clip})" if step.clip else ""
    forward = "".join(f"      {line}\n" for line in step.forward.strip("\n").split("\n"))
    text = f"""cleave: 1
model: measured
include: optimizers.yaml
inputs:
{group(step.arrays, "", "  ")}parameters:
  net:
{group(nested(step.net), "net.", "    ")}  m: {{like: net, value: 0}}
  v: {{like: net, value: 0}}
  step: {{type: "i32[]", value: 0}}
{"functions:" if step.functions else ""}{step.functions.rstrip()}
program:
  - last: 0.0
  - for: trip in {step.steps}
    do:
{forward}      - grads: gradient(loss, net){clip}
      - "net, m, v": each(adamw, net, grads, m, v, rate={RATE}, step=step, weight_decay={DECAY})
      - step: step + 1
      - last: loss
outputs: [last, net]
"""
    path = folder / "model.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def drawn(shapes, seed):
    """Parameters: matrices and windows spread by their inputs, zeros for biases (b…), ones for scales (s…)."""
    random, net = np.random.default_rng(seed), {}
    for path, shape in shapes.items():
        kind = path.split(".")[-1][0]
        if kind in "bs":
            net[path] = np.full(shape, kind == "s", np.float32)
        else:
            inputs = np.prod(shape[1:]) if len(shape) == 4 else shape[0] if kind == "w" else 2500
            net[path] = (random.standard_normal(shape) / np.sqrt(inputs)).astype(np.float32)
    return net


# --- a perceptron and a convolutional network for digits of 8x8 pixels ----------------------------------------------------------------
def digits(seed=0):
    random = np.random.default_rng(seed)
    return {"x": random.random((64, 64), np.float32), "y": random.integers(0, 10, 64, np.int32)}


def mlp_loss(net, x, y):
    from torch.nn import functional
    h = functional.relu(functional.linear(x, net["w1"].t(), net["b1"]))
    return functional.cross_entropy(functional.linear(h, net["w2"].t(), net["b2"]), y)


MLP = """
- h: relu(matmul(x, net.w1) + net.b1)
- loss: cross_entropy(matmul(h, net.w2) + net.b2, y)"""


def cnn_loss(net, x, y):
    from torch.nn import functional
    h = functional.relu(functional.conv2d(x.view(64, 1, 8, 8), net["k1"], net["b1"], padding=1))
    h = functional.relu(functional.conv2d(h, net["k2"], net["b2"], padding=1))
    h = functional.max_pool2d(h, 2).flatten(1)
    h = functional.relu(functional.linear(h, net["w3"].t(), net["b3"]))
    return functional.cross_entropy(functional.linear(h, net["w4"].t(), net["b4"]), y)


CNN = """
- h: relu(conv(reshape(x, [64, 1, 8, 8]), net.k1, net.b1, pads=1))
- h: relu(conv(h, net.k2, net.b2, pads=1))
- h: reshape(max_pool(h, kernel_shape=[2, 2], strides=2), [64, 512])
- h: relu(matmul(h, net.w3) + net.b3)
- loss: cross_entropy(matmul(h, net.w4) + net.b4, y)"""


# --- a transformer over characters ------------------------------------------------------------------------------------------------------
BATCH, LENGTH, WIDTH, HEADS, LETTERS = 16, 128, 128, 4, 65
DEPTH = WIDTH // HEADS


def transformer_shapes(layers):
    shapes = {"tokens": (LETTERS, WIDTH), "places": (LENGTH, WIDTH)}
    for i in range(layers):
        layer = {"s1": (WIDTH,), "b1": (WIDTH,), "wqkv": (WIDTH, 3 * WIDTH), "bqkv": (3 * WIDTH,), "wo": (WIDTH, WIDTH), "bo": (WIDTH,),
                 "s2": (WIDTH,), "b2": (WIDTH,), "wu": (WIDTH, 4 * WIDTH), "bu": (4 * WIDTH,), "wd": (4 * WIDTH, WIDTH), "bd": (WIDTH,)}
        shapes |= {f"layer{i}.{name}": shape for name, shape in layer.items()}
    return shapes | {"s": (WIDTH,), "b": (WIDTH,), "wl": (WIDTH, LETTERS), "bl": (LETTERS,)}


def letters(seed=0):
    text = np.random.default_rng(seed).integers(0, LETTERS, (BATCH, LENGTH + 1), np.int32)
    return {"x": np.ascontiguousarray(text[:, :-1]), "y": np.ascontiguousarray(text[:, 1:])}


def transformer_loss(layers):
    def loss(net, x, y):
        from torch.nn import functional

        def norm(h, scale, bias):
            return functional.layer_norm(h, (WIDTH,), net[scale], net[bias])

        def dense(h, name, layer=""):
            return functional.linear(h, net[f"{layer}w{name}"].t(), net[f"{layer}b{name}"])

        h = functional.embedding(x, net["tokens"]) + net["places"]
        for i in range(layers):
            of = f"layer{i}."
            parts = dense(norm(h, of + "s1", of + "b1"), "qkv", of).split(WIDTH, dim=2)
            q, k, v = (part.view(BATCH, LENGTH, HEADS, DEPTH).transpose(1, 2) for part in parts)
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + dense(a.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH), "o", of)
            h = h + dense(functional.gelu(dense(norm(h, of + "s2", of + "b2"), "u", of)), "d", of)
        logits = dense(norm(h, "s", "b"), "l")
        return functional.cross_entropy(logits.view(-1, LETTERS), y.view(-1))

    return loss


TRANSFORMER = f"""
  split:
    takes: [h]
    do:
      - h: permute_dims(reshape(h, [{BATCH}, {LENGTH}, {HEADS}, {DEPTH}]), [0, 2, 1, 3])
    returns: h
  block:
    takes: [h, p]
    do:
      - n: matmul(layer_norm(h, p.s1, p.b1), p.wqkv) + p.bqkv
      - "q, k, v": split(n, 3, axis=2)
      - a: attention(heads(q), heads(k), heads(v), causal=true)
      - h: h + matmul(reshape(permute_dims(a, [0, 2, 1, 3]), [{BATCH}, {LENGTH}, {WIDTH}]), p.wo) + p.bo
      - u: gelu(matmul(layer_norm(h, p.s2, p.b2), p.wu) + p.bu)
      - h: h + matmul(u, p.wd) + p.bd
    returns: h
""".replace("  split:", "  heads:", 1)


def transformer(layers, steps, aim):
    blocks = "".join(f"\n- h: block(h, net.layer{i})" for i in range(layers))
    forward = f"""
- h: take(net.tokens, x, axis=0) + net.places{blocks}
- logits: matmul(layer_norm(h, net.s, net.b), net.wl) + net.bl
- loss: cross_entropy(reshape(logits, [{BATCH * LENGTH}, {LETTERS}]), reshape(y, [{BATCH * LENGTH}]))"""
    return Step(f"char_transformer, {layers} layers", steps, letters(), drawn(transformer_shapes(layers), 3), TRANSFORMER, forward,
                transformer_loss(layers), clip=1.0, aim=aim)


def steps():
    return [
        Step("digits_mlp", 200, digits(), drawn({"w1": (64, 128), "b1": (128,), "w2": (128, 10), "b2": (10,)}, 1), "", MLP, mlp_loss, aim=6),
        Step("digits_cnn", 20, digits(), drawn({"k1": (16, 1, 3, 3), "b1": (16,), "k2": (32, 16, 3, 3), "b2": (32,), "w3": (512, 64),
                                                "b3": (64,), "w4": (64, 10), "b4": (10,)}, 2), "", CNN, cnn_loss, aim=2),
        transformer(4, 2, aim=1.25)]
