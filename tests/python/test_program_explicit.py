"""Loops that are stated by `cleave.for_loop` and `cleave.while_loop`, traced and extracted: the results of the same in NumPy."""
import pytest

import cleave
from program_support.running import unequal
from programs import explicit_loops


@pytest.mark.parametrize("decorator", [cleave.trace, cleave.program], ids=["trace", "program"])
@pytest.mark.parametrize("name", explicit_loops.ARGUMENTS)
def test_a_program_with_explicit_loops(name, decorator):
    function, arguments = getattr(explicit_loops, name), explicit_loops.ARGUMENTS[name]
    program = decorator(function, device="none")
    if name in explicit_loops.REFUSED:
        with pytest.raises((cleave.Error, AttributeError, TypeError), match=explicit_loops.REFUSED[name]):
            program(*arguments)
        return
    expected = getattr(explicit_loops, name + "_in_numpy")(*arguments)
    assert not unequal(expected, program(*arguments), rtol=1e-3, atol=1e-3)
