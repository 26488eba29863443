"""States in files."""
import numpy as np
import pytest

import cleave

MODEL = """
cleave: 1
model: mean
inputs: {x: "f32[2]"}
parameters: {w: {type: "f32[2]", value: 1}, count: {type: "i32[]", value: 0}}
program:
  - w: w * 0.9 + x
  - count: count + 1
resident: [w, count]
"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "mean.yaml").write_text(MODEL)
    return lambda: cleave.load(tmp_path / "mean.yaml", device="none")


def test_saved_states_resume_to_the_same_bits(model, tmp_path):
    whole, first, resumed = model(), model(), model()
    xs = [np.float32([i, 0.3]) for i in range(7)]
    for x in xs:
        whole.run(x=x)
    for x in xs[:3]:
        first.run(x=x)
    first.save_states(tmp_path / "saved")
    resumed.load_states(tmp_path / "saved")
    for x in xs[3:]:
        resumed.run(x=x)
    for name in ("w", "count"):
        assert np.array_equal(whole.state(name), resumed.state(name))


def test_states_of_another_program_are_refused(model, tmp_path):
    first, other = model(), model()
    first.run(x=np.float32([1, 2]))
    first.save_states(tmp_path / "a.safetensors")
    (tmp_path / "other.yaml").write_text(MODEL.replace("count", "steps"))
    other = cleave.load(tmp_path / "other.yaml", device="none")
    with pytest.raises(cleave.FileError, match="`count` is no state.*it lacks `steps`"):
        other.load_states(tmp_path / "a.safetensors")
    with pytest.raises(cleave.FileError, match="not a safetensors file"):
        (tmp_path / "b.safetensors").write_bytes(b"12345678{}")
        other.load_states(tmp_path / "b.safetensors")
