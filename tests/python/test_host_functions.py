"""Python functions that programs call on the host."""
import threading
import traceback

import numpy as np
import pytest

import cleave


def test_a_function_is_called_each_time_the_program_comes_by():
    calls = []

    def plant(force):
        calls.append(force.copy())
        return np.sin(force)

    model = cleave.trace(lambda x: cleave.for_loop(3, x, lambda i, x: cleave.host_call(plant, "f32[4]", x, seconds=1e-5)), "f32[4]", device="none")
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(model(x), np.sin(np.sin(np.sin(x))), rtol=1e-6)
    assert len(calls) == 3


def test_the_decorator_calls_directly_outside_of_traces():
    @cleave.host_function(lambda x: x, pure=True)
    def negate(x):
        """Negates."""
        return -x

    assert negate(np.float32(3)) == -3
    assert negate.__doc__ == "Negates."
    assert cleave.trace(lambda x: negate(x) + 1, "f32[2]", device="none")([1, 2]).tolist() == [0, -1]


def test_several_results_none_and_literals():
    seen = []

    def model(x):
        q, r = cleave.host_call(lambda a, b: (a // b, a % b), ["i32[3]", "i32[3]"], x, 2)
        cleave.host_call(lambda q: seen.append(q.tolist()), None, q, name="remember")
        return q, r

    q, r = cleave.trace(model, "i32[3]", device="none")([5, 6, 7])
    assert (q.tolist(), r.tolist(), seen) == ([2, 3, 3], [1, 0, 1], [[2, 3, 3]])


@pytest.mark.parametrize("copy", [True, False])
def test_inputs_are_arrays_of_their_own_unless_views_are_asked_for(copy):
    kept = []

    def keep(x):
        kept.append((x if copy else x.copy(), x.flags.writeable))
        return x

    model = cleave.trace(lambda x: cleave.host_call(keep, "f32[4]", x * 2, copy=copy), "f32[4]", device="none")
    model(np.ones(4, np.float32))
    model(np.zeros(4, np.float32))
    assert [array.tolist() for array, _ in kept] == [[2] * 4, [0] * 4]
    assert all(writeable == copy for _, writeable in kept)


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_an_exception_is_an_error_at_the_line_of_the_call(device):
    def fails(x):
        raise ValueError("no such state")

    def model(x):
        y = x @ x
        return cleave.host_call(fails, "f32[64, 64]", y) @ y

    with pytest.raises(cleave.UserError, match="host function `fails` raised ValueError: no such state") as caught:
        cleave.trace(model, "f32[64, 64]", device=device, placement="accelerator", warn=["no-round-trip"])(np.ones((64, 64), np.float32))
    assert caught.value.file == __file__
    assert caught.value.line == model.__code__.co_firstlineno + 2
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError) and str(cause) == "no such state"
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "fails"


def test_the_next_run_starts_afresh():
    answers = iter([ZeroDivisionError("once"), np.float32(1)])

    def sometimes(x):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    model = cleave.trace(lambda x: cleave.host_call(sometimes, "f32[]", x), "f32[]", device="none")
    with pytest.raises(cleave.Error, match="once"):
        model(0.0)
    assert model(0.0) == 1


@pytest.mark.parametrize("result, words", [
    (np.zeros(3, np.float32), r"is to return f32\[4\], but returned f32\[3\]"), (np.zeros(4), r"returned f64\[4\]"), (None, "returned None"),
    ("text", "text|no array"), ((np.zeros(4, np.float32),) * 2, "tuple of 1"),
], ids=["shape", "type", "none", "text", "tuple"])
def test_a_wrong_result_is_an_error(result, words):
    model = cleave.trace(lambda x: cleave.host_call(lambda x: result, "f32[4]", x), "f32[4]", device="none")
    with pytest.raises(cleave.UserError, match=words):
        model(np.zeros(4, np.float32))


def test_calls_with_effects_keep_their_order():
    order = []

    def model(x):
        for name in "abc":
            cleave.host_call(lambda x, name=name: order.append(name), None, x, name=name)

    cleave.trace(model, "f32[]", device="none").run(x=0)
    assert order == ["a", "b", "c"]


def test_a_function_may_run_a_model():
    inner = cleave.trace(lambda x: x + 1, "f32[]", device="none")
    outer = cleave.trace(lambda x: cleave.host_call(inner, "f32[]", x), "f32[]", device="none")
    assert outer(1.0) == 2


def test_functions_are_called_from_the_threads_of_runs():
    names = set()

    def where(x):
        names.add(threading.get_ident())
        return x

    model = cleave.trace(lambda x: cleave.host_call(where, "f32[]", x), "f32[]", device="none")
    runs = [model.submit(x=i) for i in range(4)]
    assert [float(run.result()["output0"]) for run in runs] == [0, 1, 2, 3]
    assert threading.get_ident() not in names


def test_a_program_that_was_read_has_lost_its_python_functions(tmp_path):
    cleave.trace(lambda x: cleave.host_call(lambda x: x, "f32[]", x, name="lost"), "f32[]").save(tmp_path / "lost.graph")
    model = cleave.load(tmp_path / "lost.graph", device="none")
    assert "lost" in model.text()
    with pytest.raises(cleave.Error, match="lost"):
        model.run(x=1)


def test_what_is_no_function_is_a_type_error():
    with pytest.raises(TypeError, match="takes a function"):
        cleave.trace(lambda x: cleave.host_call("plant", "f32[]", x), "f32[]")


def test_a_wrong_deadline_is_a_value_error():
    with pytest.raises(ValueError, match="deadline"):
        cleave.trace(lambda x: cleave.host_call(lambda x: x, "f32[]", x, deadline=0), "f32[]")


def test_pure_functions_of_the_counter_are_called_ahead_with_equal_results():
    @cleave.host_function("f32[4]", pure=True, seconds=1e-3)
    def decode(i):
        return np.full(4, np.float32(i) / 7)

    def steps(x, prefetch):
        return cleave.for_loop(20, x, lambda i, x: cleave.tanh(x * 2 + decode(i)), prefetch=prefetch)

    x = np.arange(4, dtype=np.float32) / 9
    expected = cleave.trace(lambda x: steps(x, None), "f32[4]", device="none", workers=0)(x)
    for workers, prefetch in ((1, None), (1, 5), (3, None), (1, 0)):
        given = cleave.trace(lambda x, n=prefetch: steps(x, n), "f32[4]", device="none", workers=workers)(x)
        np.testing.assert_array_equal(given, expected)
    with pytest.raises(cleave.Error, match="`prefetch` is a number of trips from 0 to 1024, not -1"):
        cleave.trace(lambda x: steps(x, -1), "f32[4]", device="none")
