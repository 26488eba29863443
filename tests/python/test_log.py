"""Logged numbers, and runs that are saved on the way."""
import csv
import os

import numpy as np
import pytest

import cleave

MODEL = """
cleave: 1
model: descent
inputs: {x: "f32[4]"}
parameters: {w: {type: "f32[4]", value: 1}, step: {type: "i32[]", value: 0}}
program:
  - best: 100.0
  - for: i in 10
    do:
      - loss: mean(square(w - x))
      - w: w - 0.1 * gradient(loss, w)
      - step: step + 1
      - best: minimum(best, loss)
      - log("loss", loss)
      - log("step", step)
outputs: [best]
resident: [w, step]
"""
X = np.float32([1, 2, 3, 4])


@pytest.fixture(params=["none", "simulated"])
def model(tmp_path, request):
    (tmp_path / "m.yaml").write_text(MODEL)
    return lambda: cleave.load(tmp_path / "m.yaml", device=request.param)


def test_a_function_receives_the_numbers_of_each_step(model):
    rows = []
    model().run(x=X, log=lambda step, values: rows.append((step, values)))
    assert [step for step, _ in rows] == list(range(10))
    assert [values["step"] for _, values in rows] == list(range(1, 11))
    assert isinstance(rows[0][1]["step"], int) and isinstance(rows[0][1]["loss"], float)
    assert rows[0][1]["loss"] == np.mean((X - 1) ** 2)


def test_files_have_the_same_numbers(model, tmp_path):
    rows = []
    model().run(x=X, log=lambda step, values: rows.append(values["loss"]))
    model().run(x=X, log=tmp_path / "log.csv", tensorboard=tmp_path / "events")
    with open(tmp_path / "log.csv", newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["step", "seconds", "loss", "step"]
    assert [np.float32(row[2]) for row in table[1:]] == [np.float32(loss) for loss in rows]
    (name,) = os.listdir(tmp_path / "events")
    assert name.startswith("events.out.tfevents.")
    with pytest.raises(cleave.FileError):
        model().run(x=X, log=tmp_path / "none" / "log.csv")


def test_an_exception_in_the_function_ends_the_run(model):
    def fails(step, values):
        if step == 3:
            raise KeyError("no such place")

    with pytest.raises(cleave.Error, match="`log` raised KeyError") as raised:
        model().run(x=X, log=fails)
    assert isinstance(raised.value.__cause__, KeyError)


def test_traced_programs_log(tmp_path):
    @cleave.trace("f32[3]", device="none")
    def program(x):
        y = cleave.log(x)
        cleave.log("sum", cleave.sum(y))
        return y

    rows = []
    result = program.run(x=np.float32([1, 2, 3]), log=lambda step, values: rows.append((step, values)))
    assert np.allclose(next(iter(result.values())), np.log(np.float32([1, 2, 3])))
    assert rows[0][0] == 0 and abs(rows[0][1]["sum"] - np.log(6)) < 1e-6
    with pytest.raises(cleave.Error, match=r"`log` takes one number, not f32\[3\]"):
        cleave.trace(lambda x: cleave.log("x", x), "f32[3]").explain()


def test_a_logged_nan_names_the_line_that_made_it(model):
    text = MODEL.replace("mean(square(w - x))", "mean(sqrt(2.5 - x) * w)")
    program = cleave.parse(text, "nan.yaml", device="none")
    program.run(x=np.float32([1, 1, 1, 1]), stop_on_nan=True)
    with pytest.raises(cleave.Error, match=r"nan.yaml:10:.*`loss` is NaN in step 0.*the result of `sqrt`"):
        cleave.parse(text, "nan.yaml", device="none").run(x=X, stop_on_nan=True)


def test_a_run_that_was_stopped_goes_on(model, tmp_path):
    whole, rows = model(), []
    expected = whole.run(x=X, log=lambda step, values: rows.append((step, values)))["best"]

    class Stop(Exception):
        pass

    part = []

    def stops(step, values):
        part.append((step, values))
        if step == 7:
            raise Stop

    with pytest.raises(cleave.Error):
        model().run(x=X, log=stops, save=tmp_path / "states", save_every=3)
    del part[6:]  # saved after 6 trips
    resumed = model()
    resumed.load_states(tmp_path / "states")
    best = resumed.run(x=X, log=lambda step, values: part.append((step, values)))["best"]
    assert part == rows
    assert best.tobytes() == expected.tobytes()
    for name in ("w", "step"):
        assert whole.state(name).tobytes() == resumed.state(name).tobytes()
    assert resumed.run(x=X)["best"] is not None  # a run from the beginning
    assert resumed.state("step") == 20


def test_wrong_options_are_refused(model, tmp_path):
    for options in ({"save": tmp_path / "s"}, {"save_every": 3}, {"save": tmp_path / "s", "save_every": 0}):
        with pytest.raises(cleave.UsageError):
            model().run(x=X, **options)


def test_states_of_other_types_are_refused_when_they_are_loaded(model, tmp_path):
    first = model()
    first.run(x=X)
    first.save_states(tmp_path / "a.safetensors")
    other = cleave.parse(MODEL.replace("i32[]", "i64[]"), device="none")
    with pytest.raises(cleave.FileError, match=r"`step` is i32\[\] there and i64\[\] in the program"):
        other.load_states(tmp_path / "a.safetensors")
