"""Random Python functions: what `cleave.program` makes of one returns the same values and has the same effects in the same order.

CLEAVE_TEST_SEEDS functions (2,000 without it) are drawn, from the seed CLEAVE_TEST_FIRST_SEED on; each runs with two sets of arguments.
A failure prints its seed and the function, made smaller.
"""
import ast
import collections
import os

import pytest

from program_support.checking import Checker
from program_support.drawing import Drawing

COUNT = int(os.environ.get("CLEAVE_TEST_SEEDS", 2000))
FIRST = int(os.environ.get("CLEAVE_TEST_FIRST_SEED", 1))
GROUPS = 20
WAYS = [{"device": "none"}] * 8 + [{"device": "simulated"}, {"device": "simulated", "placement": "accelerator"}]

#: Kinds of statements and expressions, each of which occurs in at least 2 % of the functions.
KINDS = ["if", "elif", "else", "for", "while", "while True", "nested loop", "break", "continue", "return", "for-else", "while-else",
         "computed range",
         "range with a step", "for over a container", "for over a tensor", "assignment", "augmented assignment", "item assignment",
         "slice assignment",
         "mask assignment", "swap", "nest", "unpacking", "store of an item of a dict", "store of an attribute", "name bound in every arm",
         "conditional expression", "and", "or", "short circuit before an effect", "chained comparison", "computed index", "comprehension",
         "user function", "host call", "host call for its effect", "print", "f-string", "assert", "raise"]

drawn: collections.Counter = collections.Counter()


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_random_function_is_the_same_program(group):
    checker = Checker()
    for seed in range(FIRST + group, FIRST + COUNT, GROUPS):
        drawing, options = Drawing(seed), {"threads": 1, **WAYS[seed // GROUPS % len(WAYS)]}
        drawn.update(["functions", *drawing.kinds])
        arguments = [drawing.arguments(0), drawing.arguments(1)]
        found = checker.difference(drawing.source, arguments, options)
        if found:
            smaller = ast.unparse(ast.parse(checker.shrunk(drawing.source, arguments, options, found)))
            pytest.fail(f"seed {seed}, {options}: {found}\n\n{smaller}\n\nwhich gives {checker.difference(smaller, arguments, options)}\n\n"
                        f"drawn as\n\n{drawing.source}", pytrace=False)


def test_every_kind_of_statement_was_drawn():
    if not drawn["functions"]:
        pytest.skip("needs the tests before it")
    assert drawn["functions"] >= COUNT * 0.99 or COUNT < GROUPS
    rare = {kind: drawn[kind] for kind in KINDS if drawn[kind] < drawn["functions"] // 50}
    assert not rare, f"of {drawn['functions']} functions"
