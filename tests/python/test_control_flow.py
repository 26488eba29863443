"""Loops and branches over nests."""
import collections
import dataclasses

import numpy as np
import pytest

import cleave


def run(function, *arrays):
    return cleave.trace(function, *arrays, device="none")(*arrays)


def test_a_for_loop_over_one_tensor():
    assert run(lambda x: cleave.for_loop(5, x, lambda i, x: x + i), np.float32(1)) == 11


def test_a_count_may_be_a_tensor():
    model = cleave.trace(lambda n: cleave.for_loop(n, 0, lambda i, s: s + 1, expect=4), "i32[]", device="none")
    assert model(7) == 7 and model(0) == 0


def test_the_state_is_a_nest():
    Pair = collections.namedtuple("Pair", "a b")

    @dataclasses.dataclass
    class Layer:
        w: object

    def body(i, state):
        return {"pair": Pair(state["pair"].b, state["pair"].a + state["pair"].b), "layers": [Layer(layer.w * 2) for layer in state["layers"]],
                "none": None}

    def model(x):
        return cleave.for_loop(10, {"pair": Pair(0, 1), "layers": [Layer(x)], "none": None}, body)

    result = run(model, np.float32([1, 2]))
    assert result["pair"] == Pair(55, 89)
    assert result["layers"][0].w.tolist() == [1024, 2048]


def test_parts_of_a_tuple_may_come_one_by_one():
    assert run(lambda x: cleave.for_loop(3, (x, x), lambda i, a, b: (b, a + b)), np.float32(1)) == (3.0, 5.0)
    assert run(lambda x: cleave.for_loop(3, (x, x), lambda i, ab: (ab[1], ab[0] + ab[1])), np.float32(1)) == (3.0, 5.0)
    assert run(lambda x: cleave.for_loop(3, [x], lambda i, a: [a[0] + 1]), np.float32(1)) == [4.0]


def test_a_loop_for_its_effect(capsys):
    cleave.trace(lambda: cleave.for_loop(2, lambda i: cleave.print("i", i)), device="none").run()
    assert capsys.readouterr().out == "i: 0\ni: 1\n"


def test_a_for_loop_stops_early():
    assert run(lambda x: cleave.for_loop(100, x, lambda i, x: cleave.until(x > 10, x * 2)), np.float32(1)) == 32


def test_a_while_loop():
    halve = cleave.trace(lambda x: cleave.while_loop(lambda x, n: x > 1, (x, 0), lambda x, n: (x / 2, n + 1), expect=20), "f32[]", device="none")
    assert halve(100.0) == (0.78125, 7)
    assert halve(0.5) == (0.5, 0)


def test_a_branch():
    model = cleave.trace(lambda x: cleave.cond(cleave.sum(x) > 0, lambda: x, lambda: -x, probability=0.9), "f32[2]", device="none")
    assert model([1, 2]).tolist() == [1, 2] and model([-1, -2]).tolist() == [1, 2]


def test_a_branch_over_nests_with_operands():
    result = run(lambda x: cleave.cond(x > 0, lambda y: {"a": y, "b": 1}, lambda y: {"a": -y, "b": 2}, x), np.float32(-3))
    assert result == {"a": 3.0, "b": 2}


def test_a_branch_for_its_effect(capsys):
    model = cleave.trace(lambda x: cleave.cond(x > 0, lambda: cleave.print("positive", x)), "f32[]", device="none")
    model(1.0)
    model(-1.0)
    assert capsys.readouterr().out == "positive: 1.0\n"


@pytest.mark.parametrize("body, words", [
    (lambda i, x: x[0], "carried value"), (lambda i, x: (x, x), "carries 1 value but its body returns 2 values"),
    (lambda i, x: None, "returns 0 values"),
])
def test_a_body_that_returns_something_else_is_an_error_of_its_line(body, words):
    with pytest.raises(cleave.Error, match=words) as caught:
        run(lambda x: cleave.for_loop(3, x, body), np.zeros(2, np.float32))
    assert caught.value.file == __file__


def test_another_nest_is_a_type_error():
    with pytest.raises(TypeError, match="another nest"):
        run(lambda x: cleave.for_loop(3, {"a": x}, lambda i, s: {"b": s["a"]}), np.float32(1))
    with pytest.raises(TypeError, match="different nests"):
        run(lambda x: cleave.cond(x > 0, lambda: (x,), lambda: {"a": x}), np.float32(1))


def test_a_condition_that_is_no_scalar_is_an_error():
    with pytest.raises(cleave.Error, match="scalar"):
        run(lambda x: cleave.cond(x > 0, lambda: x, lambda: -x), np.zeros(2, np.float32))


def test_a_python_loop_unrolls():
    def model(x):
        for _ in range(3):
            x = x + 1
        return x

    assert cleave.trace(model, "f32[]").text().count("add") == 3
    assert cleave.trace(lambda x: cleave.for_loop(3, x, lambda i, x: x + 1), "f32[]").text().count("add") == 1
