"""Programs that were written in plain NumPy: with the decorator alone they return what they return in Python, on the host and on the
simulated accelerator."""
import importlib

import pytest

import cleave
from program_support.running import Outcome, difference

FILES = ["numpy_solvers", "numpy_learning", "numpy_puzzles", "numpy_host"]
DEVICES = {"host": {}, "simulated": {"device": "simulated"}, "accelerator": {"device": "simulated", "placement": "accelerator"}}
cases = [pytest.param(file, name, id=name) for file in FILES for name in importlib.import_module(f"programs.{file}").ARGUMENTS]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("file, name", cases)
def test_a_program_in_numpy(file, name, device):
    module = importlib.import_module(f"programs.{file}")
    decorated = getattr(module, name)
    program = cleave.program(decorated.__wrapped__, **DEVICES[device]) if DEVICES[device] else decorated
    reset = getattr(module, "reset", lambda: None)
    for arguments in module.ARGUMENTS[name]:
        reset()
        expected = Outcome(decorated.python, arguments, [])
        reset()
        got = Outcome(program, arguments, [])
        assert not difference(expected, got, (cleave.Error,))
