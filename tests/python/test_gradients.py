"""Gradients and optimizers in Python."""
import re

import numpy as np
import pytest

import cleave


def run(function, *arrays):
    return cleave.trace(function, *arrays, device="none")(*arrays)


def test_the_gradient_of_a_tensor_is_a_tensor():
    x = np.float64([0.5, -1, 2])
    assert np.allclose(run(lambda x: cleave.gradient(cleave.sum(x ** 3), x), x), 3 * x ** 2)


def test_a_nest_gives_a_nest():
    def model(w, b, x):
        params = {"w": w, "layers": [b]}
        loss = cleave.sum((x @ params["w"] + params["layers"][0]) ** 2)
        return cleave.gradient(loss, params)

    w, b, x = np.arange(6.0).reshape(2, 3), np.ones(3), np.float64([[1, 2], [3, 4]])
    result = run(model, w, b, x)
    errors = x @ w + b
    assert np.allclose(result["w"], 2 * x.T @ errors)
    assert np.allclose(result["layers"][0], 2 * errors.sum(axis=0))


def test_several_values_give_a_tuple():
    a, b = run(lambda a, b: cleave.gradient(cleave.sum(a * b), a, b), np.float32([1, 2]), np.float32([3, 4]))
    assert a.tolist() == [3, 4] and b.tolist() == [1, 2]


def test_value_and_gradient():
    def loss_of(w, x):
        return cleave.mean(cleave.square(x * w)), {"product": x * w}

    def model(w, x):
        return cleave.value_and_gradient(loss_of, has_aux=True)(w, x)

    (loss, others), slope = run(model, np.float32([2]), np.float32([3]))
    assert loss == 36 and others["product"].tolist() == [6] and slope.tolist() == [36]


def test_stop_gradient():
    assert run(lambda x: cleave.gradient(cleave.sum(cleave.stop_gradient(x) * x), x), np.float32([3, 4])).tolist() == [3, 4]


def test_the_second_derivative():
    def model(x):
        return cleave.gradient(cleave.sum(cleave.gradient(cleave.sum(cleave.sin(x)), x)), x)

    x = np.float64([0.1, 0.7])
    assert np.allclose(run(model, x), -np.sin(x))


def test_a_mistake_is_an_error_at_its_line():
    with pytest.raises(cleave.UserError, match="the loss does not depend on `w`"):
        run(lambda w, x: cleave.gradient(cleave.sum(x), w), np.float32([1]), np.float32([1]))
    with pytest.raises(cleave.UserError, match="must be a floating-point scalar"):
        run(lambda w: cleave.gradient(w * 2, {"a": w, "b": [w]}), np.float32([1, 2]))


def reference(name, w, grads, *, rate=0.1, steps=5):
    """The optimizers in NumPy, from their papers."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(steps):
        g = grads(w)
        if name == "sgd":
            w = w - rate * g
        elif name == "momentum":
            m = 0.9 * m + g
            w = w - rate * m
        elif name == "nesterov":
            m = 0.9 * m + g
            w = w - rate * (g + 0.9 * m)
        elif name in ("adam", "adamw"):
            if name == "adamw":
                w = w * (1 - rate * 0.01)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w = w - rate * (m / (1 - 0.9 ** (t + 1))) / (np.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
        elif name == "adagrad":
            v = v + g * g
            w = w - rate * g / (np.sqrt(v) + 1e-10)
        elif name == "rmsprop":
            v = 0.99 * v + 0.01 * g * g
            w = w - rate * g / (np.sqrt(v) + 1e-8)
        elif name == "lion":
            w = w - rate * np.sign(0.9 * m + 0.1 * g)
            m = 0.99 * m + 0.01 * g
    return w


OPTIMIZERS = {
    "sgd": lambda o, w, g, m, v, i: (o.sgd(w, g, rate=0.1), m, v),
    "momentum": lambda o, w, g, m, v, i: (*o.momentum(w, g, m, rate=0.1), v),
    "nesterov": lambda o, w, g, m, v, i: (*o.momentum(w, g, m, rate=0.1, nesterov=True), v),
    "adam": lambda o, w, g, m, v, i: o.adam(w, g, m, v, rate=0.1, step=i),
    "adamw": lambda o, w, g, m, v, i: o.adamw(w, g, m, v, rate=0.1, step=i, weight_decay=0.01),
    "adagrad": lambda o, w, g, m, v, i: (lambda w, v: (w, m, v))(*o.adagrad(w, g, v, rate=0.1)),
    "rmsprop": lambda o, w, g, m, v, i: (lambda w, v: (w, m, v))(*o.rmsprop(w, g, v, rate=0.1)),
    "lion": lambda o, w, g, m, v, i: (*o.lion(w, g, m, rate=0.1), v),
}


@pytest.mark.filterwarnings("ignore::cleave.PlacementWarning")  # not every optimizer reads both moments
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_equal_their_papers(name):
    target = np.float64([[1, -2], [0.5, 3]])

    def model(w):
        def body(i, w, m, v):
            loss = cleave.sum(cleave.square(cleave.square(w["a"]) - target))
            return OPTIMIZERS[name](cleave.optim, w, cleave.gradient(loss, w), m, v, i)

        zeros = {"a": cleave.zeros_like(w)}
        return cleave.for_loop(5, ({"a": w}, zeros, zeros), body)[0]["a"]

    start = np.float64([[0.3, 0.7], [-0.2, 1.1]])
    wanted = reference(name, start, lambda w: 4 * w * (w * w - target))
    assert np.allclose(run(model, start), wanted, rtol=1e-6)


STEPS = {
    "sgd": ("net: each(sgd, net, grads, rate=0.1, weight_decay=0.01)",
            lambda o, n, g, s, t, i: (o.sgd(n, g, rate=0.1, weight_decay=0.01), s, t)),
    "momentum": ("'net, s': each(momentum, net, grads, s, rate=0.1)",
                 lambda o, n, g, s, t, i: (*o.momentum(n, g, s, rate=0.1), t)),
    "nesterov": ("'net, s': each(momentum, net, grads, s, rate=0.1, nesterov=true, weight_decay=0.01)",
                 lambda o, n, g, s, t, i: (*o.momentum(n, g, s, rate=0.1, nesterov=True, weight_decay=0.01), t)),
    "adam": ("'net, s, t': each(adam, net, grads, s, t, rate=0.1, step=step, beta2=0.99, weight_decay=0.01)",
             lambda o, n, g, s, t, i: o.adam(n, g, s, t, rate=0.1, step=i, beta2=0.99, weight_decay=0.01)),
    "adamw": ("'net, s, t': each(adamw, net, grads, s, t, rate=cosine(0.1, step, 1000), step=step)",
              lambda o, n, g, s, t, i: o.adamw(n, g, s, t, rate=o.cosine(0.1, i, 1000), step=i)),
    "adagrad": ("'net, s': each(adagrad, net, grads, s, rate=0.1)", lambda o, n, g, s, t, i: (*o.adagrad(n, g, s, rate=0.1), t)),
    "rmsprop": ("'net, s': each(rmsprop, net, grads, s, rate=0.1)", lambda o, n, g, s, t, i: (*o.rmsprop(n, g, s, rate=0.1), t)),
    "lion": ("'net, s': each(lion, net, grads, s, rate=0.1, weight_decay=0.01)",
             lambda o, n, g, s, t, i: (*o.lion(n, g, s, rate=0.1, weight_decay=0.01), t)),
    "clip_by_norm": ("net: each(sgd, net, clip_by_norm(grads, 0.5), constant(0.1, step))",
                     lambda o, n, g, s, t, i: (o.sgd(n, o.clip_by_norm(g, 0.5), rate=o.constant(0.1, i)), s, t)),
    "clip_by_value": ("net: each(sgd, net, each(clip_by_value, grads, 0.5), linear_warmup(0.1, step, 10))",
                      lambda o, n, g, s, t, i: (lambda c, r: (o.sgd(n, c, rate=r), s, t))(o.clip_by_value(g, 0.5),
                                                                                          o.linear_warmup(0.1, i, 10))),
    "as_bf16": ("net: each(as_bf16, net)", lambda o, n, g, s, t, i: (o.as_bf16(n), s, t)),
    "as_f16": ("net: each(as_f16, net)", lambda o, n, g, s, t, i: (o.as_f16(n), s, t)),
    "loss_scale": ("""'g, finite': unscale(grads, 1024.0)
  - next: each(sgd, net, g, rate=0.1)
  - net: each(update_if, finite, next, net)
  - 'rate, more': loss_scale(sum(net.b), step, finite, growth=4.0, backoff=0.25, interval=3)
  - s: each(sgd, s, net, rate=rate)
  - t: each(update_if, more > 1, t, s)""", lambda o, n, g, s, t, i: scaled_step(o, n, g, s, t, i)),
    "ema": ("s: each(ema, s, net)", lambda o, n, g, s, t, i: (n, o.ema(s, n), t)),
    "step_decay": ("net: each(sgd, net, grads, step_decay(0.1, step, 30))",
                   lambda o, n, g, s, t, i: (o.sgd(n, g, rate=o.step_decay(0.1, i, 30)), s, t)),
}


def scaled_step(o, n, g, s, t, i):
    """The lines of `loss_scale` in Python."""
    g, finite = o.unscale(g, 1024.0)
    n = o.update_if(finite, o.sgd(n, g, rate=0.1), n)
    rate, more = o.loss_scale(cleave.sum(n["b"]), i, finite, growth=4.0, backoff=0.25, interval=3)
    s = o.sgd(s, n, rate=rate)
    return n, s, o.update_if(more > 1, t, s)


def program_text(model):
    """The text of a program without names, places and scopes."""
    lines = [line for line in model.text().splitlines() if not re.match(r"(name|file|scope|cleave-graph) ", line)]
    text = "\n".join(re.sub(r" @[\d:/]+", "", line) for line in lines)
    return re.sub(r'output "[^"]*"', "output", re.sub(r'(%\d+) "[^"]*"', r"\1", re.sub(r"%[A-Za-z_]\w*\.(\d+)", r"%\1", text)))


@pytest.mark.parametrize("name", STEPS)
def test_steps_trace_to_the_program_of_the_yaml_library(name):
    yaml, update = STEPS[name]
    read = cleave.parse(f"""include: optimizers.yaml
inputs: {{x: "f32[4, 3]", step: "i32[]"}}
parameters:
  net: {{w: {{type: "f32[3, 2]", he: 3, seed: 1}}, b: {{type: "f32[2]", value: 0}}}}
  s: {{like: net, value: 0}}
  t: {{like: net, value: 0}}
program:
  - loss: mean(square(matmul(x, net.w) + net.b))
  - grads: gradient(loss, net)
  - {yaml}
outputs: [net, s, t]
""")

    def model(x, step):
        def group(name, **w):
            return {"w": cleave.parameter(name + ".w", "f32[3, 2]", **w), "b": cleave.parameter(name + ".b", "f32[2]", 0)}

        net, s, t = group("net", he=3, seed=1), group("s", value=0), group("t", value=0)
        loss, grads = cleave.value_and_gradient(lambda net: cleave.mean(cleave.square(x @ net["w"] + net["b"])))(net)
        return update(cleave.optim, net, grads, s, t, step)

    assert program_text(cleave.trace(model, "f32[4, 3]", "i32[]")) == program_text(read)


def test_parameters_begin_with_the_distributions_of_models():
    cases = {"uniform": ((-1, 1), "[-1, 1]"), "normal": ((0, 2), "[0, 2]"), "truncated_normal": ((1, 2), "[1, 2]"),
             "orthogonal": (2.0, "2.0"), "he": (8, "8"), "xavier": ((8, 4), "[8, 4]")}
    for key, (python, yaml) in cases.items():
        read = cleave.parse(f'parameters: {{w: {{type: "f32[8, 4]", {key}: {yaml}, seed: 3}}}}\nprogram:\n  - v: w + 0\noutputs: [v]\n')
        traced = cleave.trace(lambda: {"v": cleave.parameter("w", "f32[8, 4]", seed=3, **{key: python}) + 0})
        assert np.array_equal(traced.run(device="none")["v"], read.run(device="none")["v"]), key
    for wrong, message in (({"uniform": (1, -1)}, "low end"), ({"normal": (0, -1)}, "deviation"), ({"he": 0}, "inputs"),
                           ({"xavier": (1,)}, "two numbers"), ({"orthogonal": (1, 2)}, "one number")):
        with pytest.raises(cleave.UserError, match=message):
            cleave.trace(lambda: cleave.parameter("w", "f32[2]", **wrong))
    with pytest.raises(cleave.UserError, match="floating"):
        cleave.trace(lambda: cleave.parameter("w", "i32[2]", uniform=(0, 1)))
    with pytest.raises(TypeError, match="begins as one of"):
        cleave.trace(lambda: cleave.parameter("w", "f32[2]", 0, he=2))


def test_limits_and_schedules():
    a, b = np.float64([3, 0]), np.float64([[4]])
    clipped = run(lambda a, b: cleave.optim.clip_by_norm((a, b), 1.0), a, b)
    assert np.allclose(clipped[0], [0.6, 0]) and np.allclose(clipped[1], [[0.8]])
    assert np.allclose(run(lambda a: cleave.optim.clip_by_norm(a, 10.0), a), a)
    assert run(lambda a: cleave.optim.clip_by_value(a, 1.5), a).tolist() == [1.5, 0]
    step = np.int32(25)
    assert np.isclose(run(lambda i: cleave.optim.cosine(0.1, i, 100), step), 0.05 * (1 + np.cos(np.pi / 4)))
    assert np.isclose(run(lambda i: cleave.optim.linear_warmup(0.1, i, 100), step), 0.026)
    assert np.isclose(run(lambda i: cleave.optim.step_decay(0.1, i, 10, 0.5), step), 0.025)
    assert np.allclose(run(lambda a, b: cleave.optim.ema(a, b, decay=0.9), a, np.float64([1, 1])), [2.8, 0.1])


def test_nests_of_other_structure_are_refused():
    with pytest.raises(TypeError, match="nests of one structure"):
        run(lambda w: cleave.optim.sgd({"a": w}, [w], rate=0.1), np.float32([1]))


@cleave.custom_gradient
def rounded(x):
    """To whole numbers."""
    return cleave.round(x)


@rounded.gradient
def rounded_gradient(x, y, cotangent):
    return cotangent


def test_a_custom_gradient_replaces_that_of_the_function():
    x = np.float64([0.3, 1.7, -2.2])
    assert rounded.__name__ == "rounded" and rounded.__doc__ == "To whole numbers."
    assert run(lambda x: cleave.gradient(cleave.sum(rounded(x * 2) ** 2), x), x).tolist() == [4, 12, -16]
    assert run(lambda x: rounded(x), x).tolist() == [0, 2, -2]


def test_a_custom_gradient_takes_nests():
    @cleave.custom_gradient
    def line(p, x):
        return {"y": p["w"] * x + p["b"], "x": x}

    @line.gradient
    def _(p, x, results, cotangents):
        assert set(results) == set(cotangents) == {"y", "x"}
        return {"w": cotangents["y"] * x, "b": cleave.sum(cotangents["y"])}, cotangents["y"] * p["w"] + cotangents["x"]

    def model(w, b, x):
        found = line({"w": w, "b": b}, x)
        return cleave.gradient(cleave.sum(found["y"] ** 2) + cleave.sum(found["x"]), {"w": w, "b": b, "x": x})

    w, b, x = np.float64([1, 2]), np.float64(3), np.float64([4, 5])
    found, y = run(model, w, b, x), w * x + b
    assert np.allclose(found["w"], 2 * y * x) and np.allclose(found["b"], np.sum(2 * y)) and np.allclose(found["x"], 2 * y * w + 1)


@cleave.host_function(lambda x: x, pure=True)
def cube(x):
    return x ** 3


@cube.gradient(reads=["inputs"], seconds=1e-6)
def cube_gradient(x, cotangent):
    return 3 * x * x * cotangent


def test_a_host_function_has_a_host_function_as_its_gradient():
    def model(w):
        last = cleave.for_loop(2, w, lambda i, x: cube(x * 0.9))
        return cleave.gradient(cleave.sum(last), w)

    w, c = np.float64([1.1, -0.7]), 0.9 ** 3
    assert np.allclose(run(model, w), c ** 4 * 9 * w ** 8)
    assert cube(2.0) == 8  # outside of a trace it is the function
    assert np.allclose(run(lambda x: cleave.gradient(cleave.sum(cleave.host_call(
        np.sin, "f64[2]", x, gradient=lambda x, y, cotangent: np.cos(x) * cotangent)), x), w), np.cos(w))


def test_a_number_given_to_a_host_function_has_a_cotangent():
    def scaled(x):
        return cleave.host_call(lambda a, b: a * b, "f64[2]", x, 2.0, gradient=lambda a, b, y, c: (c * b, np.float32(np.sum(c * a))))

    assert run(lambda x: cleave.gradient(cleave.sum(scaled(x)), x), np.float64([1, 5])).tolist() == [2, 2]


def test_the_gradient_of_a_host_function_has_a_gradient():
    @cleave.host_function(lambda x: x, pure=True)
    def sixth(x):
        return x ** 6

    @sixth.gradient(reads=["inputs"])
    @cleave.host_function(lambda x, c: x, pure=True)
    def slope(x, cotangent):
        return 6 * x ** 5 * cotangent

    @slope.gradient(reads=["inputs"])
    def curve(x, cotangent, by_slope):
        return 30 * x ** 4 * cotangent * by_slope, 6 * x ** 5 * by_slope

    x = np.float64([1.1, -0.7])
    found = run(lambda x: cleave.gradient(cleave.sum(cleave.gradient(cleave.sum(sixth(x)), x)), x), x)
    assert np.allclose(found, 30 * x ** 4)


def test_mistakes_in_custom_gradients():
    @cleave.custom_gradient
    def twice(x):
        return x * 2

    x = np.float64([1, 2])
    with pytest.raises(TypeError, match="twice has no gradient yet"):
        run(lambda x: twice(x), x)
    twice.gradient(lambda x, y, cotangent: (cotangent, cotangent))
    with pytest.raises(cleave.UserError, match="the gradient of `twice` gives 2 values, but there is 1 floating operand"):
        run(lambda x: cleave.gradient(cleave.sum(twice(x)), x), x)
    twice.gradient(lambda x, y, cotangent: cleave.sum(cotangent))
    with pytest.raises(cleave.UserError, match=r"gives f64\[\] for operand 1, which is f64\[2\]"):
        run(lambda x: cleave.gradient(cleave.sum(twice(x)), x), x)
    with pytest.raises(TypeError, match="`reads` is a list"):
        cube.gradient(reads=["input"])(lambda x, c: c)


def deep_net(layers=12):
    """A step of a net whose values take far more memory than its weights."""
    def step(x, w):
        h = x
        for _ in range(layers):
            h = cleave.tanh(h @ w + 0.1)
        return cleave.gradient(cleave.mean(h * h), w)

    return step


def test_values_are_computed_again_where_the_memory_is_too_small():
    model = cleave.trace(deep_net(), "f32[512, 16]", "f32[16, 16]", device="simulated", placement="accelerator")
    peak = model.explain().json()["memory"][1]["peak_bytes"]
    little = {"accelerator_memory": 0.7 * peak}
    assert model.explain().json()["saved"] == []
    assert {each["how"] for each in model.explain(**little).json()["saved"]} == {"kept", "recomputed"}
    assert model.explain(accelerator_memory=f"{0.7 * peak / 1024} KiB").json()["saved"] == model.explain(**little).json()["saved"]
    x, w = np.random.default_rng(1).normal(size=(512, 16)).astype("f4"), np.eye(16, dtype="f4") / 2
    everything = model(x, w)
    for given in (model.run(x=x, w=w, **little), model.submit(x=x, w=w, **little).result()):
        assert (next(iter(given.values())) == everything).all()
    default = cleave.trace(deep_net(), "f32[512, 16]", "f32[16, 16]", device="simulated", placement="accelerator", **little)
    assert (default(x, w) == everything).all() and default.explain().json()["saved"]
    with pytest.raises(cleave.Error, match="fits into the .* KiB"):
        model.run(x=x, w=w, keep="all", **little)


@pytest.mark.parametrize("options, message", [
    ({"keep": "some"}, "no keep `some`: auto or all"),
    ({"accelerator_memory": 0}, "`accelerator_memory` is a positive number of bytes"),
    ({"accelerator_memory": "8 Gib"}, "`accelerator_memory`: there is no unit `Gib`; did you mean `GiB`?"),
])
def test_wrong_memory_options_are_refused(options, message):
    model = cleave.trace(deep_net(2), "f32[8, 4]", "f32[4, 4]", device="simulated")
    with pytest.raises(cleave.UsageError, match=re.escape(message)):
        model.explain(**options)


def test_pinned_values_are_computed_again():
    def loss(x, again):
        with cleave.recompute(again):
            h = cleave.exp(cleave.sin(x))
        return cleave.sum(h * cleave.tanh(h))

    models = [cleave.trace(lambda x, again=again: cleave.gradient(loss(x, again), x), "f32[4]", device="none") for again in (False, True)]
    assert ["computed again" in str(model.explain()) for model in models] == [False, True]
    x = np.float32([0.5, -1, 2, 0])
    assert (models[0](x) == models[1](x)).all()


def test_effects_are_not_computed_again():
    def step(x):
        with cleave.recompute(True):
            cleave.print("x", x)
        return cleave.gradient(cleave.sum(x * x), x)

    with pytest.raises(cleave.Error, match="`print` has an effect and cannot be computed again for a gradient") as raised:
        cleave.trace(step, "f32[4]", device="none").explain()
    assert "test_gradients.py" in str(raised.value)
