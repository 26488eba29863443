"""Traced functions: their arguments, their results, and every function of the vocabulary."""
import dataclasses
import inspect
import typing

import numpy as np
import pytest

import cleave
from cleave import _cleave


def run(function, *arrays, **options):
    """Traces a function for the types of arrays, runs it on them, and returns its results."""
    return cleave.trace(function, *arrays, device="none", **options)(*arrays)


X = np.arange(12, dtype=np.float32).reshape(3, 4)
I = np.arange(6, dtype=np.int32)


@pytest.mark.parametrize("function", [
    lambda x: x + 1, lambda x: 1 + x, lambda x: x - 2, lambda x: 2 - x, lambda x: x * x, lambda x: x / 2, lambda x: 3 / (x + 1),
    lambda x: x // 2, lambda x: 7 // (x + 1), lambda x: x % 3, lambda x: x ** 2, lambda x: 2 ** x, lambda x: -x, lambda x: +x,
    lambda x: abs(-x), lambda x: x @ x.T, lambda x: x < 3, lambda x: x <= 3, lambda x: x > 3, lambda x: x >= 3, lambda x: x == 3,
    lambda x: x != 3, lambda x: (x > 1) & (x < 5), lambda x: (x > 1) | (x < 5), lambda x: (x > 1) ^ (x < 5), lambda x: ~(x > 1),
    lambda x: np.float32(2) * x, lambda x: np.ones(4, np.float32) + x,
], ids=lambda f: inspect.getsource(f).strip()[:1])
def test_operators_are_numpys(function):
    expected = function(X)
    result = run(function, X)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert result.dtype == expected.dtype


@pytest.mark.parametrize("function", [lambda x: x << 2, lambda x: x >> 1, lambda x: x & 3, lambda x: x | 8, lambda x: x ^ 5, lambda x: ~x])
def test_operators_of_integers_are_numpys(function):
    np.testing.assert_array_equal(run(function, I), function(I))


@pytest.mark.parametrize("index", [
    0, -1, (1, 2), (slice(None), 1), slice(1, 3), slice(None, None, 2), slice(None, None, -1), (Ellipsis, 0), (None, 1), (slice(None), None),
    (1, slice(1, 3)), slice(5, 9), (slice(-2, None), slice(None, -1)), [0, 2], ([2, 0], slice(1, 3)), (slice(None), [1, 1, 0]), Ellipsis,
    np.array([[0, 1], [1, 2]]), (slice(2, 0, -1), -1), X > 3, ([0, 2], [1, 3]), ([[0], [2]], [1, 3]), (1, [0, 2]), ([], slice(None)),
    np.array([True, False, True]), (slice(None), np.array([True, False, True, False])),
], ids=str)
def test_indices_are_numpys(index):
    np.testing.assert_array_equal(run(lambda x: x[index], X), X[index])


def test_an_index_may_be_a_tensor():
    result = run(lambda x, i: (x[i], x[:, i], x[cleave.arange(2)]), X, np.int32(2))
    for one, other in zip(result, (X[2], X[:, 2], X[:2])):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("index, words", [(7, "index 7 is outside axis 0"), ((0, 0, 0), "3 indices for 2 axes")])
def test_a_wrong_index_is_an_error_of_its_line(index, words):
    with pytest.raises(cleave.Error, match=words) as caught:
        run(lambda x: x[index], X)
    assert caught.value.file == __file__


@pytest.mark.parametrize("index", [True, 0.5, np.array([0.5]), ([0], None, Ellipsis, Ellipsis), "a"], ids=str)
def test_other_indices_are_index_errors(index):
    with pytest.raises((IndexError, TypeError)):
        run(lambda x: x[index], X)


def test_a_tensor_knows_its_type():
    def look(x):
        assert (x.shape, x.ndim, x.size, len(x), x.itemsize, x.nbytes) == ((3, 4), 2, 12, 3, 4, 48)
        assert x.dtype == np.float32 and x.dtype == np.dtype("float32") and x.dtype == "float32" and np.zeros(3, x.dtype).dtype == np.float32
        assert x.dtype.itemsize == 4 and np.finfo(x.dtype).eps == np.finfo(np.float32).eps
        assert x.T.shape == (4, 3) and x.reshape(2, -1).shape == (2, 6) and x.reshape((12,)).shape == (12,)
        assert x.transpose().shape == (4, 3) and x.flatten().shape == (12,)
        assert repr(x) == "<Tensor x: f32[3, 4]>"
        assert x.type == "f32[3, 4]"
        return cleave.stack([row for row in x])

    np.testing.assert_array_equal(run(look, X), X)


def test_methods_are_numpys():
    result = run(lambda x: (x.sum(axis=1), x.mean(), x.max(axis=0), x.astype("i32"), x.argmax(axis=1), x.clip(1, 5)), X)
    expected = (X.sum(axis=1), X.mean(), X.max(axis=0), X.astype(np.int32), X.argmax(axis=1), X.clip(1, 5))
    for one, other in zip(result, expected):
        np.testing.assert_allclose(one, other)


def test_every_function_of_the_vocabulary_is_there():
    for entry in _cleave.vocabulary():
        name = entry["name"]
        function = getattr(cleave, name)
        assert name in cleave.__all__
        assert function.__doc__, name
        if name in ("host_call", "trace", "fft"):
            continue
        assert entry["summary"].split("`")[0] in function.__doc__
        words = [word.strip(" []?") for word in entry["signature"].split("(", 1)[1].rstrip(")").split(",")]
        assert set(words) - {""} <= set(inspect.signature(function).parameters), name
        assert typing.get_type_hints(function, {**vars(cleave.functions), **function.__globals__, "Tensor": cleave.Tensor})["return"] is not None


def test_functions_with_several_results():
    values, indices = run(lambda x: cleave.top_k(x, 2), X)
    np.testing.assert_array_equal(values, [[3, 2], [7, 6], [11, 10]])
    np.testing.assert_array_equal(indices, [[3, 2]] * 3)
    parts = run(lambda x: cleave.unstack(x, axis=1), X)
    assert len(parts) == 4


def test_what_nothing_reads_is_a_warning():
    def model(x, like, key):
        square = x * x  # noqa: F841
        return cleave.zeros(like.shape) + cleave.sum(x)

    traced = cleave.trace(model, "f32[4]", "f32[8]", "f32[]", device="none")
    assert [(each.kind, each.message) for each in traced.check()] == [
        ("unused", "the input `key` is never read"), ("unused", "`square` is never read")]
    assert cleave.trace(model, "f32[4]", "f32[8]", "f32[]", device="none", warn=["no-unused"]).check() == []


def test_functions_with_lists_and_attributes():
    np.testing.assert_array_equal(run(lambda x: cleave.concat([x, x], axis=1), X), np.concatenate([X, X], axis=1))
    np.testing.assert_allclose(run(lambda x: cleave.einsum("ij,kj->ik", [x, x]), X), X @ X.T)
    assert run(lambda x: cleave.zeros(x.shape, dtype=np.int64), X).dtype == np.int64
    assert run(lambda x: cleave.where(x > 3, x, 0), X).dtype == np.float32
    np.testing.assert_array_equal(run(lambda x: cleave.trace(x), X[:, :3]), 0 + 5 + 10)


def test_the_path_and_the_label_come_first():
    for function, name in ((lambda x: cleave.write_npy(x, "x.npy"), "path"), (lambda x: cleave.print(x, "label"), "label")):
        with pytest.raises(TypeError, match=f"the {name} comes first"):
            run(function, X)


def test_an_operand_behind_one_that_is_left_out_is_a_type_error():
    with pytest.raises(TypeError, match="left out"):
        run(lambda x: cleave.rnn(x, x, x, None, x), X)


def test_weak_literals_and_promotion():
    half = np.ones(2, np.float16)
    assert run(lambda x: x * 2.5, half).dtype == np.float16
    assert run(lambda x: x * 2, I).dtype == np.int32
    assert run(lambda x: x * 2.5, I).dtype == np.float32
    assert run(lambda x: x * np.pi, half).dtype == np.float16  # a Python number
    assert run(lambda x: x * np.float32(2), half).dtype == np.float32  # NumPy's numbers have a type
    assert run(lambda x: x * np.float64(2), half).dtype == np.float64  # so has this one, although it is also a Python float
    assert run(lambda x: cleave.for_loop(3, np.float64(1), lambda i, s: s + x.sum()), np.ones(2)).dtype == np.float64


def test_integers_that_do_not_fit_are_reported_at_their_line():
    for function, message in ((lambda x: x + 2**40, "`1099511627776` does not fit in i32"),
                              (lambda x: x * -2**31 * 2**31, "`2147483648` does not fit in i32"),
                              (lambda x: x + 2**64, "`18446744073709551616` fits in no integer type"),
                              (lambda x: x + 2**64 - 1, "`18446744073709551616` fits in no integer type"),
                              (lambda x: cleave.parameter("w", "u8[2]", 300), "300, which its type u8[2] does not hold"),
                              (lambda x: cleave.parameter("w", "i32[2]", 2.5), "2.5, which its type i32[2] does not hold"),
                              (lambda x: cleave.parameter("w", "i32[2]", float("nan")), "which its type i32[2] does not hold"),
                              (lambda x: cleave.parameter("w", "i64[2]", 2**70), "which its type i64[2] does not hold"),
                              (lambda x: cleave.full((2,), 3e9, dtype="i32"), "is no i32"),
                              (lambda x: cleave.full((2,), 300, dtype="uint8"), "does not fit in u8")):
        with pytest.raises(cleave.Error, match=message.replace("[", r"\[")) as raised:
            run(function, I)
        assert raised.value.line is not None
    for function, message in ((lambda x: cleave.constant(2**40), "1099511627776 does not fit in i32"),
                              (lambda x: cleave.constant([300, 1], "uint8"), r"300 at \[0\] does not fit in u8"),
                              (lambda x: cleave.parameter("w", "u8[2]", [300, 1]), r"parameter `w`: 300 at \[0\] does not fit in u8"),
                              (lambda x: cleave.sum(x, axis=2**70), "`axis` is 1180591620717411303424")):
        with pytest.raises((cleave.UserError, ValueError), match=message):
            run(function, I)


def test_large_integers_stay_what_they_are():
    large = np.array([1, 2**64 - 1], np.uint64)
    np.testing.assert_array_equal(run(lambda x: cleave.maximum(x, 2**64 - 2), large), [2**64 - 2, 2**64 - 1])
    least = np.array([0, 1], np.int64)
    np.testing.assert_array_equal(run(lambda x: x + -2**63, least), [-2**63, -2**63 + 1])
    model = cleave.trace(lambda x: x + cleave.parameter("w", "i64[2]", 2**53 + 1), "i64[2]", device="none")
    np.testing.assert_array_equal(model(least), [2**53 + 1, 2**53 + 2])


def test_outputs_are_named_by_whoever_names_them():
    @dataclasses.dataclass
    class Layer:
        w: object
        b: object

    def names(function, **options):
        return list(cleave.trace(function, "f32[2]", **options).outputs)

    assert names(lambda x: x + 1) == ["output0"]
    assert names(lambda x: cleave.named("y", x + 1)) == ["y"]
    assert names(lambda x: {"a": x, "b": {"c": x + 1}}) == ["a", "b.c"]
    assert names(lambda x: Layer(x, x + 1)) == ["w", "b"]
    assert names(lambda x: (x + 1, cleave.named("y", x))) == ["output0", "y"]
    assert names(lambda x: cleave.named("y", cleave.for_loop(3, x, lambda i, v: v * 2))) == ["y"]
    assert names(lambda x: cleave.for_loop(3, x, lambda i, v: cleave.named("y", v * 2))) == ["y"]
    assert names(lambda x: cleave.named("y", cleave.cond(x.sum() > 0, lambda: x, lambda: -x))) == ["y"]
    assert names(lambda x: cleave.named("y", cleave.while_loop(lambda v: v.sum() < 9, x, lambda v: v * 2))) == ["y"]
    assert names(lambda x: (x, cleave.named("y", x), cleave.named("z", x))) == ["x", "y", "z"]
    assert names(lambda x: cleave.named("half", 0.5)) == ["half"]
    assert names(lambda x: cleave.named("half", np.ones(2, np.float32))) == ["half"]
    with pytest.raises(cleave.Error, match="`y` is the name of another output already") as raised:
        names(lambda x: (cleave.named("y", x + 1), cleave.named("y", x + 2)))
    assert raised.value.line is not None
    assert names(lambda x: (x + 1, x + 2), outputs=["p", "q"]) == ["p", "q"]
    assert names(lambda x: cleave.print("x", x)) == []


def test_arguments_and_results_are_nests():
    @dataclasses.dataclass
    class Layer:
        w: object
        b: object

    types = {"first": Layer("f32[4, 2]", "f32[2]"), "rest": [("f32", (2, 3)), "f32[3]"]}

    @cleave.trace("f32[3, 4]", types, device="none")
    def network(x, layers):
        h = cleave.relu(x @ layers["first"].w + layers["first"].b)
        w, b = layers["rest"]
        return {"y": h @ w + b, "layers": layers}

    assert list(network.inputs) == ["x", "layers.first.w", "layers.first.b", "layers.rest.0", "layers.rest.1"]
    ones = {"first": Layer(np.ones((4, 2), np.float32), np.ones(2, np.float32)), "rest": [np.ones((2, 3), np.float32), np.zeros(3, np.float32)]}
    result = network(X, ones)
    np.testing.assert_allclose(result["y"], (X.sum(axis=1, keepdims=True) + 1) @ np.full((1, 3), 2))
    assert isinstance(result["layers"]["first"], Layer) and result["layers"]["rest"][1].tolist() == [0, 0, 0]
    np.testing.assert_allclose(network(x=X, layers=ones)["y"], result["y"])


def test_types_of_annotations_and_of_the_first_call():
    @cleave.trace
    def annotated(x: "f32[2]"):
        return x + 1

    assert annotated.inputs == {"x": "f32[2]"}

    @cleave.trace(device="none")
    def later(x, y):
        return x * y

    assert later(np.ones(3, np.float32), 2.0).tolist() == [2, 2, 2]
    assert later(np.ones((2, 1), np.float32), 3).tolist() == [[3], [3]]
    with pytest.raises(cleave.UsageError, match="first call"):
        cleave.trace(lambda x: x).explain()


def test_open_sizes_are_those_of_the_arrays():
    @cleave.trace("f32[n, 2]", "f32[n]", "f32[?]", device="none")
    def model(x, y, z):
        return {"s": cleave.sum(x, axis=1) + y + z[0]}

    assert model.inputs == {"x": "f32[n, 2]", "y": "f32[n]", "z": "f32[?]"}
    for n in (1, 5, 5, 3):
        assert model.run(x=np.ones((n, 2), np.float32), y=np.ones(n, np.float32), z=np.zeros(1, np.float32))["s"].shape == (n,)
    assert len(model._programs) == 3
    with pytest.raises(cleave.UsageError, match="`y`"):
        model.run(x=np.ones((3, 2), np.float32), y=np.ones(4, np.float32), z=np.zeros(1, np.float32))
    with pytest.raises(cleave.UsageError, match="open"):
        cleave.trace(lambda x: x, "f32[n]").explain()
    assert "f32[64]" in str(cleave.trace(lambda x: x + 1, "f32[n]").explain(dims={"n": 64}))
    assert "f32[7]" in str(cleave.trace(lambda x: x + 1, "f32[n]").explain({"x": "f32[7]"}))


def test_many_sizes_are_told():
    model = cleave.trace(lambda x: x + 1, "f32[n]", device="none")
    for n in range(1, 9):
        model(np.zeros(n, np.float32))
    with pytest.warns(cleave.PlacementWarning, match="9 different"):
        model(np.zeros(9, np.float32))


def test_parameters():
    def model():
        return {"a": cleave.parameter("a", "f32[2]", 3), "b": cleave.parameter("b", "f32[2]", [1, 2]),
                "c": cleave.parameter("c", "f32[100]", uniform=(2, 3), seed=1), "d": cleave.parameter("d", "f32[100]", normal=(5, 0.1))}

    results = cleave.trace(model, device="none").run()
    assert results["a"].tolist() == [3, 3] and results["b"].tolist() == [1, 2]
    assert 2 <= results["c"].min() < results["c"].max() < 3
    assert abs(results["d"].mean() - 5) < 0.1
    assert cleave.trace(model, device="none").run(b=np.float32([8, 9]))["b"].tolist() == [8, 9]
    with pytest.raises(cleave.Error, match="begins as"):
        cleave.trace(lambda: cleave.parameter("w", "f32[2]", np.zeros(3, np.float32)))
    with pytest.raises(TypeError, match="one of"):
        cleave.trace(lambda: cleave.parameter("w", "f32[2]"))


def test_constants_are_kept_as_they_were():
    table = np.arange(3, dtype=np.float32)
    model = cleave.trace(lambda x: x + cleave.constant(table) + cleave.constant(1) + table, "f32[3]", device="none")
    table[:] = 100
    assert model(np.zeros(3, np.float32)).tolist() == [1, 3, 5]


def test_scopes_pins_and_allowances():
    @cleave.trace("f32[512, 512]")
    def model(x):
        with cleave.place("host"):
            y = cleave.tanh(x @ x)
        with cleave.scope("layer"), cleave.allow("implicit-copy", "meant"):
            return cleave.to_accelerator(y) @ x

    plan = model.explain()
    assert {node["op"]: node["on"] for node in plan.nodes}["tanh"] == ["host"]
    for wrong in (lambda x: cleave.place("moon"), lambda x: cleave.allow("shape", "no"), lambda x: cleave.allow("weather", "no")):
        with pytest.raises(ValueError), cleave_trace():
            with wrong(None):
                pass


def cleave_trace():
    """A trace that is in progress inside of a `with` block."""
    from cleave._tensor import traces

    class Open:
        def __enter__(self):
            traces.stack.append(_cleave.Recorder("open"))

        def __exit__(self, *_):
            traces.stack.pop()

    return Open()


def test_limits_turn_a_plan_into_a_test():
    model = cleave.trace(lambda x: x + 1, "f32[4]", limits={"transfers": 0}, placement="accelerator")
    assert [each.kind for each in model.check()] == ["limit"]
    with pytest.raises(TypeError, match="no limit"):
        cleave.trace(lambda x: x, "f32[4]", limits={"trips": 0})


def test_a_run_that_differs_from_its_prediction_raises():
    @cleave.trace("f32[]", limits={"prediction_error": 0.2}, device="simulated")
    def halve(x):
        return cleave.while_loop(lambda y: y > 1, x, lambda y: y / 2, expect=10)

    assert halve(np.float32(1024)) == 1
    for far in (1e30, 2):
        with pytest.raises(cleave.Error, match="the limit `prediction_error: 20%` is exceeded"):
            halve(np.float32(far))
    with pytest.raises(cleave.Error, match="above 0, as in 0.2 for 20 %"):
        cleave.trace(lambda x: x + 1, "f32[4]", limits={"prediction_error": -1}).check()


def test_numpys_functions_of_elements_are_traced():
    result = run(lambda x: (np.tanh(x), np.arctan2(x, 2), np.maximum(3, x), np.power(x, 2)), X)
    for one, other in zip(result, (np.tanh(X), np.arctan2(X, 2), np.maximum(3, X), X ** 2)):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(TypeError, match="numpy.spacing cannot be traced"):
        run(lambda x: np.spacing(x), X)


def test_it_is_a_namespace_of_the_array_api():
    assert run(lambda x: x.__array_namespace__().sum(x), X) == X.sum()


def test_a_traced_function_is_part_of_another():
    @cleave.trace("f32[2]", device="none")
    def double(x):
        return x * 2

    assert cleave.trace(lambda x: double(double(x)), "f32[3]", device="none")(np.ones(3, np.float32)).tolist() == [4, 4, 4]


def test_a_traced_method():
    class Model:
        factor = 3

        def forward(self, x):
            return x * self.factor

    assert cleave.trace(Model().forward, "f32[2]", device="none")([1, 2]).tolist() == [3, 6]


def test_a_function_is_traced_by_several_threads_at_once():
    import concurrent.futures

    def make(n):
        return cleave.trace(lambda x: x + n, "f32[2]", device="none")([0, 0])[0]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, range(40))) == list(range(40))
