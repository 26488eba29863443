"""Plans in files: `Model.compile(path=…)` and `cleave.load("x.plan")`."""
import json
import pathlib

import numpy as np
import pytest

import cleave

MODEL = """
cleave: 1
dims: {n: 4}
inputs: {x: "f32[n, 8]"}
parameters: {w: {type: "f32[8, 8]", uniform: [-1, 1]}}
program:
  - for: i in 3
    do:
      - x: tanh(matmul(x, w))
outputs: [x]
"""


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "model.yaml").write_text(MODEL, encoding="utf-8")
    return tmp_path


def test_a_plan_computes_the_same_bits(path: pathlib.Path) -> None:
    model = cleave.load(path / "model.yaml", device="none")
    assert model.compile(path=path / "model.plan") is model
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    expected = model.run(x=x)["x"]
    (path / "model.yaml").unlink()
    again = cleave.load(path / "model.plan")
    assert again.name == model.name and again.outputs == model.outputs
    assert str(model.inputs["x"]) == "f32[n, 8]" and str(again.inputs["x"]) == "f32[4, 8]"
    np.testing.assert_array_equal(again.run(x=x)["x"], expected)
    np.testing.assert_array_equal(again(x), expected)
    np.testing.assert_array_equal(again.submit(x=x).result()["x"], expected)
    np.testing.assert_array_equal(again.run(x=x, threads=1)["x"], expected)


def test_the_plan_is_the_same(path: pathlib.Path) -> None:
    model = cleave.load(path / "model.yaml", device="simulated").compile(path=path / "model.plan")
    plan, again = model.explain(device="simulated"), cleave.load(path / "model.plan").explain()
    for part in ("nodes", "transfers", "round_trips"):
        assert json.dumps(plan.json()[part]) == json.dumps(again.json()[part])
    assert plan.predicted_seconds == again.predicted_seconds


def test_other_sizes_are_other_plans(path: pathlib.Path) -> None:
    cleave.load(path / "model.yaml", device="none").compile(dims={"n": 2}, path=path / "two.plan")
    two = cleave.load(path / "two.plan")
    assert str(two.inputs["x"]) == "f32[2, 8]"
    with pytest.raises(cleave.UsageError, match=r"f32\[2, 8\], but f32\[4, 8\] is given"):
        two.run(x=np.zeros((4, 8), np.float32))
    with pytest.raises(cleave.UsageError, match="the sizes of a plan are fixed"):
        two.explain(dims={"n": 3})


def test_options_of_planning_are_refused(path: pathlib.Path) -> None:
    cleave.load(path / "model.yaml", device="none").compile(path=path / "model.plan")
    with pytest.raises(cleave.UsageError, match="`placement`: the plan has this already"):
        cleave.load(path / "model.plan", placement="host")
    with pytest.raises(cleave.UsageError, match="a plan has its sizes"):
        cleave.load(path / "model.plan", dims={"n": 2})
    with pytest.raises(cleave.FileError, match="the plan is for the device `none`, not for `simulated`"):
        cleave.load(path / "model.plan", device="simulated")
    with pytest.raises(cleave.UsageError, match="ends in `.plan`"):
        cleave.load(path / "model.yaml").compile(path=path / "model.bin")


def test_a_damaged_file_is_one_error(path: pathlib.Path) -> None:
    cleave.load(path / "model.yaml", device="none").compile(path=path / "model.plan")
    data = (path / "model.plan").read_bytes()
    (path / "cut.plan").write_bytes(data[:len(data) // 2])
    with pytest.raises(cleave.FileError, match="cut off"):
        cleave.load(path / "cut.plan")


def test_python_functions_cannot_be_in_a_file(tmp_path: pathlib.Path) -> None:
    @cleave.host_function("f32[4]")
    def twice(x: np.ndarray) -> np.ndarray:
        return 2 * x

    @cleave.trace("f32[4]", device="none")
    def program(x: cleave.Tensor) -> cleave.Tensor:
        return twice(x) + 1

    with pytest.raises(cleave.UsageError, match="`twice` is a function of this process"):
        program.compile(path=tmp_path / "p.plan")


def test_states_go_on(tmp_path: pathlib.Path) -> None:
    text = ("cleave: 1\nparameters: {count: {type: \"i32[]\", value: 5}}\nresident: [count]\n"
            "program:\n  - count: count + 1\n  - twice: 2 * count\noutputs: [count, twice]\n")
    (tmp_path / "counter.yaml").write_text(text, encoding="utf-8")
    cleave.load(tmp_path / "counter.yaml", device="none").compile(path=tmp_path / "counter.plan")
    counter = cleave.load(tmp_path / "counter.plan")
    assert [int(counter.run()["twice"]) for _ in range(3)] == [12, 14, 16]
    assert int(counter.state("count")) == 8
    counter.reset()
    assert int(counter.run()["twice"]) == 12
