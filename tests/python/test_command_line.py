"""`python -m cleave` is the command line, and the package has the names and files that it promises."""
import importlib.metadata
import pathlib
import subprocess
import sys

import cleave


def command(*words):
    return subprocess.run([sys.executable, "-m", "cleave", *map(str, words)], capture_output=True, text=True)


def test_it_runs_models(root):
    ran = command("run", root / "docs/examples/while.yaml", "--input", "x=100", "--quiet")
    assert (ran.returncode, ran.stdout) == (0, "x: 0.78125\nhalvings: 7\n")


def test_its_exit_codes(tmp_path):
    assert command("--help").returncode == 0
    assert command("check", tmp_path / "nowhere.yaml").returncode == 1
    assert command("frobnicate").returncode == 2
    assert command("--version").stdout.split()[:2] == ["cleave", cleave.__version__]


def test_a_graph_that_python_traced(tmp_path):
    cleave.trace(lambda x: {"y": x * 2}, "f32[2]").save(tmp_path / "double.graph")
    ran = command("run", tmp_path / "double.graph", "--input", "x=[1, 2]", "--quiet")
    assert ran.stdout == "y: [2.0, 4.0]\n"


def test_the_package_is_whole():
    package = pathlib.Path(cleave.__file__).parent
    for name in ("py.typed", "_cleave.pyi", "functions.py"):
        assert (package / name).exists()
    assert not list(package.rglob("*.h"))


def test_its_version_is_that_of_the_project(root):
    assert cleave.__version__ == (root / "VERSION").read_text(encoding="utf-8").strip()
    try:
        assert importlib.metadata.version("cleave") == cleave.__version__
    except importlib.metadata.PackageNotFoundError:
        pass  # the package is tested in its build folder, without being installed
