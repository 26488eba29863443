"""Type stubs: a type checker accepts correct programs and rejects wrong ones."""
import subprocess
import sys

import pytest

RIGHT = """\
import numpy as np
import numpy.typing as npt
import cleave


@cleave.host_function("f32[4]", pure=True)
def plant(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return x


@cleave.trace("f32[4, 2]", "f32[2]", device="none")
def model(x: cleave.Tensor, w: cleave.Tensor) -> dict[str, cleave.Tensor]:
    values, indices = cleave.top_k(x @ w + 1, 2)
    total: cleave.Tensor = cleave.for_loop(3, x, lambda i, x: x * 2).sum(axis=0)
    with cleave.scope("layer"):
        y = cleave.relu(2 - x[:, 0]) / total[0]
    return {"y": y, "values": values, "indices": indices}


@cleave.host
def measure(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return x


@cleave.host("f32[4]", pure=True)
def look_up(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return x


@cleave.program("f32[4]", device="none")
def plain(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    for i in cleave.unrolled(range(2)):
        x = x + i
    return x


text: str = plain.extracted
print(plain.python(np.ones(4, np.float32)), plain(np.ones(4, np.float32)), plain.host_calls)
plan: cleave.Plan = model.explain()
seconds: float = plan.predicted_seconds
for diagnostic in plan.diagnostics:
    print(diagnostic.kind, diagnostic.line, [note.message for note in diagnostic.notes])
results = model.run(x=np.ones((4, 2), np.float32), w=np.ones(2, np.float32))
print(results["y"], results.seconds)
run = model.submit({"x": np.ones((4, 2), np.float32)})
print(run.get("y", timeout=1.0), run.ready)
try:
    cleave.load("model.yaml", dims={"batch": 4})
except cleave.Error as error:
    print(error.line, error.diagnostics[0].message)
"""

WRONG = """\
import cleave

cleave.load(3)
cleave.matmul()
cleave.sum(1, axes=0)
plan: str = cleave.load("x").explain()
"""


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Returns a function that runs the checker; all tests share its cache for NumPy."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")

    def run(*what):
        words = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), "--strict", *map(str, what)]
        return subprocess.run(words, capture_output=True, text=True)

    return run


def test_a_checker_accepts_what_is_right(tmp_path, check):
    path = tmp_path / "right.py"
    path.write_text(RIGHT, encoding="utf-8")
    checked = check(path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_checker_refuses_what_is_wrong(tmp_path, check):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG, encoding="utf-8")
    lines = {int(line.split(":")[1]) for line in check(path).stdout.splitlines() if ": error:" in line}
    assert lines == {3, 4, 5, 6}


def test_the_package_itself_is_typed(check):
    checked = check("-p", "cleave")
    assert checked.returncode == 0, checked.stdout + checked.stderr
