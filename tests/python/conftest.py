"""What the tests of the Python package share. They test the package that is installed: `tools/test python` makes and installs it."""
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def root():
    """The top of the source tree."""
    return ROOT


@pytest.fixture
def model_file(tmp_path):
    """Writes a model in YAML and gives its path."""

    def write(text, name="model.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def script(tmp_path):
    """Writes a Python file of the user's and runs it; gives its names. Messages then have a file to show lines of."""

    def run(text, name="user_program.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        names = {"__name__": "user_program", "__file__": str(path)}
        exec(compile(text, str(path), "exec"), names)
        return names

    return run
