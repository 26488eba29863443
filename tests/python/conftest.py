"""Fixtures of the Python package's tests. They test the installed package, which `tools/test python` builds and installs."""
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def root():
    """The top of the source tree."""
    return ROOT


@pytest.fixture
def model_file(tmp_path):
    """Writes a model in YAML and returns its path."""

    def write(text, name="model.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def script(tmp_path):
    """Writes a Python file and runs it; returns its names. Messages can then quote lines of a file."""

    def run(text, name="user_program.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        names = {"__name__": "user_program", "__file__": str(path)}
        exec(compile(text, str(path), "exec"), names)
        return names

    return run
