"""Programs that cannot be extracted: one error at the line of the mistake, before anything runs."""
import contextlib
import io

import pytest

import cleave
from program_support.marked import functions

FILES = ["wrong_control", "wrong_types", "wrong_writes", "wrong_calls"]

cases = [case for file in FILES for case in functions(file)]
wrong = [pytest.param(case, id=case.name) for case in cases if case.marks]


def test_there_are_wrong_programs():
    assert len(wrong) >= 110


@pytest.mark.parametrize("case", wrong)
def test_a_wrong_program_is_an_error_of_its_line(case):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(cleave.Error) as caught:
        cleave.program(case.function, device="none")(*case.arguments())
    assert case.expects(caught.value), f"{case.marks} is expected: {caught.value}"
    assert printed.getvalue() == "", "a part of the program ran before the error"
