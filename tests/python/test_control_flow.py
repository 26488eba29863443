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


def orders(passes, **options):
    """The rows in the order in which each pass reads them."""
    def read(ids):
        def one(i, seen):
            def body(rows, seen, at):
                return cleave.dynamic_update_slice(seen, cleave.reshape(rows, (1, rows.shape[0])), [i, at]), at + rows.shape[0]

            return cleave.for_loop(cleave.batches(ids, **options), (seen, 0), body)[0]

        left = 0 if options.get("remainder") == "smaller" else 10 % options["size"]
        return cleave.for_loop(passes, cleave.zeros((passes, 10 - left), dtype="i32"), one)

    return cleave.trace(read, "i32[10]", device="none")


def test_batches_are_permutations_that_go_on_from_run_to_run():
    ids = np.arange(10, dtype=np.int32)
    model, whole = orders(2, size=5, shuffle=7), orders(4, size=5, shuffle=7)
    found = np.concatenate([model(ids), model(ids)])
    np.testing.assert_array_equal(found, whole(ids))
    np.testing.assert_array_equal(np.sort(found), np.tile(ids, (4, 1)))
    assert len({tuple(row) for row in found}) == 4
    np.testing.assert_array_equal(orders(1, size=4)(ids)[0], ids[:8])
    np.testing.assert_array_equal(orders(1, size=4, remainder="smaller")(ids)[0], ids)


def test_batches_pad_and_count_real_rows():
    def read(x):
        return cleave.for_loop(cleave.batches(x, size=4, remainder="pad"), (0.0, 0),
                               lambda rows, real, total, count: (total + cleave.sum(rows), count * 10 + real))

    total, count = run(read, np.arange(10, dtype=np.float32))
    assert (total, count) == (45, 442)


def test_batches_have_effects_and_stop():
    def read(x):
        return cleave.for_loop(cleave.batches(x, size=2), 0, lambda rows, n: cleave.until(n >= 1, n + 1))

    assert run(read, np.arange(10, dtype=np.float32)) == 2


def test_mistakes_in_batches_are_found_at_the_call():
    def wrong(x, y):
        cleave.for_loop(cleave.batches(x, y, size=2), lambda a, b: cleave.print("a", a + b))

    with pytest.raises(cleave.UserError, match="`y` of `batches` has 5 rows, but the first one has 6") as error:
        cleave.trace(wrong, "f32[6]", "f32[5]", device="none").run(np.zeros(6, np.float32), np.zeros(5, np.float32))
    assert "test_control_flow.py" in str(error.value)
    with pytest.raises(ValueError, match='`remainder` is "drop", "pad" or "smaller", not "none"'):
        cleave.trace(lambda x: cleave.for_loop(cleave.batches(x, size=2, remainder="none"), lambda a: None), "f32[6]").run()
