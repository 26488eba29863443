"""Errors: the hierarchy, the text of the command line, and the location in the user's program."""
import os
import pickle
import re
import subprocess
import sys

import pytest

import cleave


def test_all_mistakes_of_a_model_at_once(model_file):
    path = model_file('cleave: 1\ninputs: {x: "f32[4]"}\nprogram:\n  - y: x + z\n  - v: matmull(x, x)\noutputs: [y]\n')
    with pytest.raises(cleave.UserError) as caught:
        cleave.load(path)
    told = subprocess.run([sys.executable, "-m", "cleave", "check", str(path)], capture_output=True, text=True)
    assert told.returncode == 1
    assert str(caught.value) == told.stderr.rstrip("\n")
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 4, 12)
    assert [each.line for each in caught.value.diagnostics] == [4, 5]


def test_a_file_that_is_not_there():
    with pytest.raises(cleave.Error, match="nowhere.yaml") as caught:
        cleave.load("nowhere.yaml")
    assert caught.value.diagnostics[0].severity == "error"
    with pytest.raises(cleave.FileError):
        cleave.load("nowhere.graph")


def test_the_hierarchy():
    for kind in (cleave.FileError, cleave.UnknownNameError, cleave.Cancelled):
        assert issubclass(kind, cleave.UserError)
    for kind in (cleave.UserError, cleave.UsageError, cleave.MachineError):
        assert issubclass(kind, cleave.Error)


def test_errors_are_pickled():
    with pytest.raises(cleave.Error) as caught:
        cleave.load("nowhere.yaml")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value)


PROGRAM = '''import cleave


def dense(x, w):
    return cleave.relu(x @ w)


@cleave.trace("f32[4, 2]", "f32[3, 1]")
def model(x, w):
    h = dense(x, w)
    total = cleave.sum(x, axis=7)
    return h, x[1:, :] * x
'''


def test_mistakes_of_a_traced_function_stand_at_their_lines(script, tmp_path):
    with pytest.raises(cleave.Error) as caught:
        script(PROGRAM)
    file = tmp_path / "user_program.py"
    assert str(caught.value) == f"""\
{file}:5:26: error: `@` of f32[4, 2] and f32[3, 1]: the inner extents 2 and 3 differ
    5 |     return cleave.relu(x @ w)
      |                          ^
{file}:10:9: note: in `dense`, from here
{file}:11:20: error: `sum` of f32[4, 2]: there is no axis 7 among 2 axes
   11 |     total = cleave.sum(x, axis=7)
      |                    ^~~
{file}:12:24: error: `*` of f32[3, 2] and f32[4, 2]: the shapes [3, 2] and [4, 2] do not broadcast
   12 |     return h, x[1:, :] * x
      |                        ^"""
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(file), 5, 26)


ROUND_TRIP = '''import cleave


@cleave.trace("f32[1024, 1024]")
def model(w):
    def step(i, w):
        w = cleave.tanh(w @ w)
        with cleave.scope("ranking"):
            ranked = cleave.sort(w, axis=1)
        return w - 0.1 * ranked

    return {"w": cleave.for_loop(100, w, step)}
'''


def test_a_round_trip_is_told_at_the_line(script):
    (warning,) = script(ROUND_TRIP)["model"].check()
    assert (warning.kind, warning.line, warning.column) == ("round-trip", 9, 29)
    assert [note.line for note in warning.notes[:2]] == [7, 10]
    assert warning.location.via[0][0] == "ranking"
    assert "            ranked = cleave.sort(w, axis=1)\n" in str(warning)


def test_calls_over_several_lines_stand_at_their_begin(script):
    with pytest.raises(cleave.Error) as caught:
        script('import cleave\n\nm = cleave.trace(lambda x: cleave.reshape(\n    x,\n    (5, 5)), "f32[4]")\n')
    assert caught.value.line == 3


def test_an_exception_of_the_users_goes_through():
    def wrong(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        cleave.trace(wrong, "f32[4]")


def test_an_exception_that_follows_from_a_mistake_does_not_hide_it():
    def wrong(x):
        y = cleave.reshape(x, (5, 5))
        return y[range(y.shape[1])]

    with pytest.raises(cleave.Error, match="reshape") as caught:
        cleave.trace(wrong, "f32[4]")
    assert isinstance(caught.value.__cause__, IndexError)


@pytest.mark.parametrize("use", [bool, float, int, lambda x: x.item(), lambda x: [1, 2][x]])
def test_a_tensor_has_no_numbers_while_it_is_traced(use):
    with pytest.raises(TypeError, match="cleave"):
        cleave.trace(lambda x: use(x), "i32[]")


def test_a_tensor_of_another_trace_is_a_value_error():
    kept = []
    cleave.trace(lambda x: kept.append(x), "f32[4]")
    with pytest.raises(ValueError, match="outside of the trace"):
        cleave.trace(lambda x: x + kept[0], "f32[4]")


def test_functions_are_called_inside_of_traces():
    with pytest.raises(RuntimeError, match="outside of a traced function"):
        cleave.exp(1.0)


def test_a_printed_traceback_ends_at_the_users_line(tmp_path):
    path = tmp_path / "user_program.py"
    path.write_text("""import sys, threading
import cleave
@cleave.trace
def squared(x):
    return x @ x.nothing
def main():
    squared([1.0, 2.0])
if sys.argv[1:]:
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
else:
    main()
""", encoding="utf-8")

    def frames(*arguments, **variables):
        ended = subprocess.run([sys.executable, str(path), *arguments], env={**os.environ, **variables}, capture_output=True, text=True)
        assert "'Tensor' object has no attribute 'nothing'" in ended.stderr
        return re.findall(r'File "(.*?)", line (\d+)', ended.stderr)

    package = os.path.dirname(cleave.__file__)
    mine = [int(line) for file, line in frames() if file == str(path)]
    assert mine == [13, 7, 5]
    assert not [file for file, _ in frames() + frames("thread") if file.startswith(package)]
    assert [file for file, _ in frames(CLEAVE_TRACEBACK="full") if file.startswith(package)]
