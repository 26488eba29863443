"""Calls of traced functions as people write them: nests, static arguments, defaults, methods, copies."""
import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

import cleave

X = np.arange(4, dtype=np.float32)


def traced(function, **options):
    return cleave.trace(function, device="none", **options)


def affine(p, x):
    return x * p["w"] + p["b"]


@cleave.trace(device="none")
def at_top(x):
    """Doubles."""
    return x * 2


@dataclasses.dataclass
class Layer:
    w: object
    kind: str = "plain"


def test_nests_from_the_first_call():
    def model(p, layers, pair):
        return {"y": p["w"] * pair[0] + layers[0].w.sum() + layers[1].w.sum() + len(layers), "p": p}

    model = traced(model)
    given = {"w": X, "deep": {"b": 2.0, "nothing": None}}
    result = model(given, [Layer(X), Layer(np.ones(2, np.float32))], (X, 3))
    np.testing.assert_array_equal(result["y"], X * X + 6 + 2 + 2)
    assert result["p"]["deep"]["b"] == 2 and result["p"]["deep"]["nothing"] is None
    # Another structure, or another kind of leaf, is another program.
    assert model(given, [Layer(X), Layer(X)], (X, 3))["y"][0] == 14
    assert "f32[4]" in str(traced(affine).explain({"p": {"w": "f32[4]", "b": "f32[]"}, "x": X}))


def test_lists_of_arrays_are_never_stacked():
    seen = []

    def model(p):
        seen.append(type(p))
        return p[0] + p[1].sum()

    model = traced(model)
    np.testing.assert_array_equal(model([X, X]), X + X.sum())
    np.testing.assert_array_equal(model((X, np.ones(2, np.float32))), X + 2)
    np.testing.assert_array_equal(model([[1.0, 2.0], [3.0, 4.0]]), [8.0, 9.0])  # numbers alone are an array
    assert seen == [list, tuple, cleave.Tensor]
    with pytest.raises(TypeError, match="input `x`: a list of arrays is not stacked by itself"):
        cleave.trace(lambda x: x, "f32[2, 4]", device="none")([X, X])
    for wrong in (lambda x: cleave.add(x, [X, X]), lambda x: cleave.add(x, [x, x])):
        with pytest.raises(TypeError, match="operand 2 of `add`: a list of"):
            traced(wrong)(X)


@pytest.mark.parametrize("given, words", [([[1, 2], [3]], r"element \[0\] has shape \[2\] and \[1\] has shape \[1\]"),
                                          ([[[1], [2]], [[1], [2, 3]]], r"element \[1\]\[0\]"), ([1, [2]], "numbers stand beside lists"),
                                          ([1, "a"], "a list that holds a str"), ([1, None], "a list that holds None")])
def test_lists_that_are_no_arrays_name_the_argument(given, words):
    with pytest.raises(TypeError, match=f"input `x`: .*{words}"):
        cleave.trace(lambda x: x, "f32[2, 2]", device="none")(given)
    if "shape" in words:
        with pytest.raises(TypeError, match=words):
            traced(lambda x: x)(given)


def test_other_arrays_name_the_argument():
    for given, words in ((np.array([1 + 1j]), "input `x` is an array of complex128.*real and imaginary part"),
                         (np.array(["a"]), "input `x` is an array of <U1"), (object(), "argument `x`: a object is no array.*static='x'")):
        with pytest.raises(TypeError, match=words):
            traced(lambda x: x)(given)


def test_static_arguments():
    traces = []

    def model(x, flag, mode, function, nothing):
        traces.append((flag, mode))
        return function(x) if flag else -x if mode == "minus" and nothing is None else x

    model = traced(model, static="flag")
    for _ in range(2):
        np.testing.assert_array_equal(model(X, True, "minus", cleave.square, None), X * X)
        np.testing.assert_array_equal(model(X, False, "minus", cleave.square, None), -X)
        np.testing.assert_array_equal(model(X, False, "plus", cleave.square, None), X)
    assert len(traces) == 3
    sizes = cleave.trace(lambda x, shape: cleave.reshape(x, shape), "f32[4]", static=["shape"], device="none")
    assert sizes(X, (2, 2)).shape == (2, 2) and sizes(X, (4, 1)).shape == (4, 1) and sizes(X, shape=(1, 4)).shape == (1, 4)
    with pytest.raises(TypeError, match="no parameter `y`"):
        traced(lambda x: x, static="y")
    with pytest.raises(TypeError, match="static argument `y` is an array"):
        traced(lambda x, y: x, static="y")(X, X)
    with pytest.raises(TypeError, match="static argument `y`: a set cannot be compared"):
        traced(lambda x, y: x, static="y")(X, {1})


def test_defaults_are_overridden():
    def model(x, k=2, *, axis=None, **others):
        return (x * k).sum(axis) + others.get("more", 0)

    for function in (traced(model), traced(model)):
        assert function(X) == 12 and function(X, 3) == 18 and function(X, k=3) == 18
        np.testing.assert_array_equal(function(X, axis=0, k=np.float32(4)), 24)
        assert function(X, more=X.sum()) == 18
    typed = cleave.trace(lambda x, k=2: x * k, "f32[4]", device="none")
    np.testing.assert_array_equal(typed(X), 2 * X)
    np.testing.assert_array_equal(typed(X, 3), 3 * X)
    with pytest.raises(TypeError, match="no type is declared for it"):
        typed(X, X)
    both = cleave.trace(lambda x, k=2: x * k, "f32[4]", "f32[]", device="none")
    np.testing.assert_array_equal(both(X, np.float32(3)), 3 * X)


def test_calls_that_do_not_fit_say_so_as_python_does():
    model = traced(lambda x, y: x + y)
    for call in (lambda: model(X), lambda: model(X, X, X), lambda: model(X, z=X), lambda: model(X, X, x=X)):
        with pytest.raises(TypeError, match=r"<lambda>\(\): (missing|too many|got|multiple)"):
            call()


def test_arguments_of_any_number():
    model = traced(lambda *parts: sum(part.sum() for part in parts))
    assert model(X) == 6 and model(X, X) == 12


def test_methods_have_programs_of_their_instance():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @cleave.trace(device="none")
        def scaled(self, x):
            return x * self.factor

        @cleave.trace("f32[4]", device="none")
        def shifted(self, x):
            return x + self.factor

    a, b = Model(2), Model(np.float32(3))
    np.testing.assert_array_equal(a.scaled(X), 2 * X)
    np.testing.assert_array_equal(b.scaled(X), 3 * X)
    np.testing.assert_array_equal(Model.scaled(a, X), 2 * X)
    np.testing.assert_array_equal(a.shifted(X), X + 2)
    assert a.scaled is a.scaled
    a.factor = 5
    np.testing.assert_array_equal(a.scaled(X), 5 * X)
    np.testing.assert_array_equal(cleave.trace(lambda x: a.scaled(x) + 1, device="none")(X), 5 * X + 1)


def test_partial_functions():
    np.testing.assert_array_equal(traced(functools.partial(affine, {"w": 3, "b": 1}))(X), 3 * X + 1)
    np.testing.assert_array_equal(functools.partial(traced(affine), {"w": 3.0, "b": X})(X), 4 * X)


def test_models_are_pickled_and_copied(root):
    assert pickle.loads(pickle.dumps(at_top)) is at_top
    for other in (copy.deepcopy(at_top), copy.copy(at_top), pickle.loads(pickle.dumps(traced(affine)))):
        assert isinstance(other, cleave.TracedModel)
    np.testing.assert_array_equal(copy.deepcopy(at_top)(X), 2 * X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(traced(affine)))({"w": 2.0, "b": 1.0}, X), 2 * X + 1)
    mean = cleave.load(root / "docs/examples/resident.yaml", device="none")
    mean.run(x=[1, 2, 3])
    for other in (pickle.loads(pickle.dumps(mean)), copy.deepcopy(mean)):
        np.testing.assert_array_equal(other.run(x=[3, 4, 5])["mean"], [2, 3, 4])
    np.testing.assert_array_equal(mean.run(x=[3, 4, 5])["mean"], [2, 3, 4])
    with pytest.raises((AttributeError, pickle.PicklingError), match="pickle"):
        pickle.dumps(traced(lambda x: x))


def test_leaked_tensors_are_named():
    kept = []

    def keep(x):
        y = x + 1
        kept.append(y)
        return y

    traced(keep)(X)
    leaked = kept[0]
    assert repr(leaked) == "<Tensor y of `keep`, whose tracing is over>"
    for use in (lambda: leaked + 1, lambda: cleave.trace(lambda x: x + leaked, "f32[4]"), lambda: leaked.shape,
                lambda: cleave.trace(lambda x: leaked, "f32[4]"), lambda: leaked[0], lambda: np.sum(leaked)):
        with pytest.raises(ValueError, match="`y` of the traced function `keep` is used"):
            use()


def test_tensors_after_an_error_are_named_too():
    kept = []

    def wrong(x):
        y = x + 1
        kept.append(y)
        return y @ cleave.ones((9, 9))

    with pytest.raises(cleave.Error, match="extents"):
        traced(wrong)(X)
    with pytest.raises(ValueError, match="`y` of the traced function `wrong` is used in `multiply`"):
        kept[0] * 2


@pytest.mark.parametrize("name, own, numpys", [("i8", "int8", "int64"), ("u8", "uint8", "uint64"), ("f16", "float16", "float128")])
def test_names_that_numpy_reads_differently_are_refused(name, own, numpys):
    for use in (lambda x: x.astype(name), lambda x: cleave.zeros(3, name), lambda x: cleave.constant(1, name), lambda x: x.sum(dtype=name)):
        with pytest.raises(ValueError, match=f"\"{name}\" is {own} in models and {numpys} in NumPy.*write \"{own}\""):
            traced(use)(X)
    with pytest.raises(ValueError, match=own):
        cleave.trace(lambda x: x, (name, (3,)))
    assert cleave.Type.of(f"{name}[3]").dtype == name  # in a type it can only be cleave's


def test_element_types_are_numpys():
    def look(x, half, brain):
        assert x.dtype == np.float32 == cleave.float32 and x.dtype == "float32" and half.dtype == np.float16
        assert np.zeros(3, x.dtype).dtype == np.float32 and np.finfo(x.dtype).bits == 32 and np.issubdtype(x.dtype, np.floating)
        assert brain.dtype.name == "bfloat16" and brain.itemsize == 2
        return cleave.zeros(2, brain.dtype) + brain[:2]

    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert traced(look)(X, X.astype(np.float16), X.astype(ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
