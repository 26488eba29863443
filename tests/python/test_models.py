"""Models: loading, inspection, planning, running."""
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import cleave

SCALE = """
cleave: 1
model: scale
dims: {n: 4}
inputs: {x: "f32[n]", factor: {type: "f32[]", value: 2}}
program:
  - y: x * factor
outputs: [y]
"""


def test_a_model_says_what_it_is(model_file):
    model = cleave.load(model_file(SCALE))
    assert model.name == "scale"
    assert model.inputs == {"x": "f32[n]", "factor": "f32[]"}
    assert model.inputs["x"].shape == ("n",) and model.inputs["x"].dtype == "f32" and model.inputs["x"].open
    assert model.outputs == {"y": "f32[4]"}
    assert repr(model) == "<Model scale(x: f32[n], factor: f32[]) -> y: f32[4]>"


def test_runs_by_name_by_dict_and_by_order(model_file):
    model = cleave.load(model_file(SCALE), device="none")
    x = np.arange(4, dtype=np.float32)
    assert model.run(x=x)["y"].tolist() == [0, 2, 4, 6]
    assert model.run({"x": x})["y"].tolist() == [0, 2, 4, 6]
    assert model.run({"x": x}, factor=3)["y"].tolist() == [0, 3, 6, 9]
    assert model(x, 5).tolist() == [0, 5, 10, 15]
    results = model.run(x=x)
    assert list(results) == ["y"] and results.seconds > 0


def test_dims_are_given_when_it_is_read(model_file):
    model = cleave.load(model_file(SCALE), dims={"n": 2}, device="none")
    assert model.run(x=[1, 2])["y"].tolist() == [2, 4]


def test_sizes_follow_from_the_arrays(model_file):
    model = cleave.load(model_file(SCALE), device="none")
    for n in (4, 2, 7, 2):
        assert model.run(x=np.ones(n, np.float32))["y"].tolist() == [2] * n
    assert "f32[9]" in str(model.explain(dims={"n": 9})) and "f32[5]" in str(model.explain({"x": "f32[5]"}))
    fixed = cleave.load(model_file(SCALE), dims={"n": 2}, device="none")
    assert fixed.inputs["x"] == "f32[2]"
    with pytest.raises(cleave.UsageError, match=r"f32\[2\], but f32\[3\]"):
        fixed.run(x=np.ones(3, np.float32))


def test_sizes_that_are_computed_are_those_of_the_program():
    text = 'cleave: 1\ndims: {n: 2}\ninputs: {x: "f32[2 * n]"}\nprogram:\n  - y: x + 1\noutputs: [y]\n'
    assert cleave.parse(text).inputs == {"x": "f32[4]"}
    assert cleave.parse(text, dims={"n": 3}, device="none")(np.zeros(6, np.float32)).shape == (6,)


def test_a_model_from_text():
    model = cleave.parse(SCALE, dims={"n": 1}, device="none")
    assert model(np.ones(1, np.float32)).tolist() == [2]


def test_a_graph_is_saved_and_read_again(model_file, tmp_path):
    cleave.load(model_file(SCALE)).save(tmp_path / "scale.graph")
    model = cleave.load(tmp_path / "scale.graph", device="none")
    assert model.run(x=[1, 2, 3, 4])["y"].tolist() == [2, 4, 6, 8]
    assert "multiply" in model.text()


def test_the_plan_is_that_of_the_command_line(root):
    path = root / "docs/examples/round_trip.yaml"
    plan = cleave.load(path).explain()
    words = [sys.executable, "-m", "cleave", "explain", str(path)]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    assert str(plan) == told.stdout.rstrip("\n")
    document = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
    assert plan.json() == document
    assert plan.totals == document["totals"]
    assert len(plan.round_trips) == 1 and plan.transfers and plan.nodes
    assert plan.predicted_seconds == pytest.approx(document["placement"]["predicted_seconds"])
    assert plan.dot().startswith("digraph")
    assert json.loads(plan.sarif())["version"] == "2.1.0"
    assert "round trip" in repr(plan)
    # A diagnostic has the same text as on the command line.
    assert "\n".join(map(str, plan.diagnostics)) in re.sub(r" \[apply: \w+\]", "", told.stderr)


def test_diagnostics_have_parts(root):
    (warning,) = cleave.load(root / "docs/examples/round_trip.yaml").check()
    assert (warning.kind, warning.severity, warning.line, warning.column) == ("round-trip", "warning", 10, 17)
    assert warning.file.endswith("round_trip.yaml")
    assert warning.message == "`sort` makes the accelerator wait for the host in every iteration"
    assert warning.notes[0].line == 9 and "leaves the accelerator here" in warning.notes[0].message
    assert "[round-trip]" in repr(warning)


def test_options_decide_the_plan(root):
    model = cleave.load(root / "docs/examples/round_trip.yaml")
    assert model.explain(placement="host").totals["transfers"] == 0
    assert model.explain(warn=["no-round-trip"]).diagnostics == []
    assert model.explain(machine="h200").machine == "h200"
    assert cleave.load(root / "docs/examples/round_trip.yaml", placement="host").explain().totals["transfers"] == 0


@pytest.mark.parametrize("options", [{"device": "abacus"}, {"placement": "best"}, {"machine": "none-such"}, {"precision": "f8"},
                                     {"threads": -1}, {"warn": ["everything"]}])
def test_a_wrong_option_is_a_usage_error(root, options):
    with pytest.raises(cleave.UsageError):
        cleave.load(root / "docs/examples/round_trip.yaml").explain(**options)


def test_an_unknown_option_is_a_type_error(root):
    with pytest.raises(TypeError, match="devise"):
        cleave.trace("f32[2]", devise="none")


def test_a_warning_is_shown_once_where_it_belongs(root):
    model = cleave.load(root / "docs/examples/round_trip.yaml", dims={"n": 128}, device="simulated")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        model.compile(placement="accelerator")
        model.compile(placement="accelerator")
    (warning,) = shown
    assert warning.category is cleave.PlacementWarning
    assert warning.lineno == 10 and warning.filename.endswith("round_trip.yaml")
    assert "-Wround-trip" in str(warning.message)


def test_the_simulated_accelerator_is_told_of_once(root, monkeypatch):
    monkeypatch.setattr("cleave._model._told_of_simulation", False)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for _ in range(2):
            cleave.trace(lambda x: x @ x, "f32[512, 512]", placement="accelerator").compile()
        cleave.trace(lambda x: x + 1, "f32[4]").compile()
    if shown:  # false on a machine with a GPU
        assert [str(each.message).split(":")[0] for each in shown] == ["there is no GPU"]


def test_limits_are_errors_of_a_run_and_not_of_explain(model_file):
    text = SCALE + "limits: {bytes_per_run: 0}\n"
    model = cleave.load(model_file(text), placement="accelerator")
    assert [each.kind for each in model.check()] == ["limit"]
    with pytest.raises(cleave.UserError, match="bytes"):
        model.run(x=[1, 2, 3, 4])


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_devices_agree(root, device):
    model = cleave.load(root / "docs/examples/round_trip.yaml", dims={"n": 16})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.run(device=device, placement="accelerator")["w"]
    np.testing.assert_allclose(result, model.run(device="none", threads=1)["w"], rtol=1e-5, atol=1e-6)


def test_what_a_program_prints_goes_to_pythons_stream(capsys):
    cleave.trace(lambda x: cleave.print("x", x), "f32[2]", device="none").run(x=[1, 2])
    assert capsys.readouterr().out == "x: [1.0, 2.0]\n"


def test_a_wrong_type_says_what_to_do(model_file):
    model = cleave.load(model_file(SCALE), device="none")
    with pytest.raises(cleave.UsageError, match=r"input `x` of `scale` is f32\[n\], but f64\[4\] is given.*astype\(\"float32\"\)"):
        model.run(x=np.zeros(4))
    model.run(x=np.zeros(4, np.float32))
    with pytest.raises(cleave.UsageError, match=r"but f32\[2, 2\] is given"):
        model.run(x=np.zeros((2, 2), np.float32))


def test_a_misspelt_input_is_an_unknown_name(model_file):
    with pytest.raises(cleave.UnknownNameError, match="facto"):
        cleave.load(model_file(SCALE), device="none").run(x=[1, 2, 3, 4], facto=1)


def test_what_is_no_dict_is_a_type_error(model_file):
    model = cleave.load(model_file(SCALE), device="none")
    x = np.zeros(4, np.float32)
    for wrong in (lambda: model.run(x), lambda: model.submit([x]), lambda: model.run({1: x}), lambda: model.run(x=x, out=x),
                  lambda: model.explain(x), lambda: model.explain(device=3), lambda: model.explain(threads="2"),
                  lambda: model.explain(warn=[1]), lambda: cleave.load("x.yaml", dims={"n": "3"})):
        with pytest.raises(TypeError):
            wrong()


def test_a_missing_input_is_an_error(model_file):
    with pytest.raises(cleave.Error, match="`x`"):
        cleave.load(model_file(SCALE), device="none").run()
