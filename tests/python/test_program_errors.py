"""Programs that cannot be extracted: one error at the line of the mistake, before anything runs."""
import contextlib
import io
import re

import numpy as np
import pytest

import cleave
from program_support.marked import functions

FILES = ["wrong_control", "wrong_types", "wrong_writes", "wrong_calls"]
HELPERS = ("nothing", "text", "complexes", "objects", "pairs", "raising", "declared")

wrong = [pytest.param(case, id=case.name) for file in FILES for case in functions(file, HELPERS) if case.line]


def test_there_are_wrong_programs():
    assert len(wrong) >= 110


@pytest.mark.parametrize("case", wrong)
def test_a_wrong_program_is_an_error_of_its_line(case):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(cleave.Error) as caught:
        cleave.program(case.function, device="none")(*case.arguments())
    error = caught.value
    assert error.file == case.function.__code__.co_filename, f"no place in the program: {error}"
    assert error.line == case.line, f"line {error.line} instead of {case.line}: {error}"
    assert re.search(case.message, str(error)), str(error)
    assert printed.getvalue() == "", "a part of the program ran before the error"
