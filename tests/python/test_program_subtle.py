"""Programs whose meaning is easily taken for another one: the same values, types and printed text as in Python."""
import contextlib

import pytest

import cleave
from program_support.marked import functions
from program_support.running import Outcome, Recorded, difference

cases = [pytest.param(case, id=case.name) for file in ("subtle_flow", "subtle_values") for case in functions(file)]


@pytest.mark.parametrize("device", [{"device": "none"}, {"device": "simulated", "placement": "accelerator"}], ids=["host", "accelerator"])
@pytest.mark.parametrize("case", cases)
def test_a_program_means_what_python_means(case, device):
    program = cleave.program(case.function, **device)
    if case.marks:
        with pytest.raises(cleave.Error) as caught, contextlib.redirect_stdout(Recorded([])):
            program(*case.arguments())
        assert case.expects(caught.value), f"{case.marks} is expected: {caught.value}"
        return
    expected = Outcome(case.function, case.arguments(), [])
    got = Outcome(program, case.arguments(), [])
    assert not difference(expected, got, (cleave.Error,))
