"""Constructs that are not extracted: each is one error at its line that says what to write instead."""
from __future__ import annotations

import ast
from typing import Any

from ._tree import walk


class Refused(Exception):
    """A construct that is not extracted, and the advice."""

    def __init__(self, node: Any, message: str) -> None:
        super().__init__(message)
        self.node, self.message = node, message


_TRY = "an exception is not control flow of a program; test the condition with `if`, or put the `try` in a function marked @cleave.host"
_WHY = {
    ast.Try: ("`try`", _TRY),
    ast.Yield: ("`yield`", "a program is no generator; write results into an array, x[i] = v, and return that"),
    ast.YieldFrom: ("`yield from`", "a program is no generator; write results into an array, x[i] = v, and return that"),
    ast.Await: ("`await`", "host calls run in program order; call the function plainly"),
    ast.AsyncFor: ("`async for`", "host calls run in program order; write `for`"),
    ast.AsyncWith: ("`async with`", "host calls run in program order; write `with`"),
    ast.AsyncFunctionDef: ("`async def`", "host calls run in program order; write `def`"),
    ast.Global: ("`global`", "a program changes no variables outside of it; take the value as a parameter and return it"),
    ast.Nonlocal: ("`nonlocal`", "a program changes no variables outside of it; take the value as a parameter and return it"),
    ast.Delete: ("`del`", "names stay bound; leave it out, or bind another value"),
}
if hasattr(ast, "TryStar"):
    _WHY[ast.TryStar] = ("`try`", _TRY)


def refusals(function: Any) -> list[Refused]:
    """The constructs of a function, and of those inside of it, that are not extracted."""
    found = []
    if isinstance(function, ast.AsyncFunctionDef):
        found.append(Refused(function, "`async def` cannot be extracted: " + _WHY[ast.AsyncFunctionDef][1]))
    for node in walk(function):
        if node is function:
            continue
        why = _WHY.get(type(node))
        if why is not None:
            found.append(Refused(node, f"{why[0]} cannot be extracted: {why[1]}"))
        elif isinstance(node, ast.Raise) and node.exc is None:
            found.append(Refused(node, "`raise` without an exception cannot be extracted: there is no `try` around it"))
        elif isinstance(node, ast.Match) and any(isinstance(each, (ast.Return, ast.Break, ast.Continue)) for each in walk(node)):
            found.append(Refused(node, "`match` with an exit inside cannot be extracted: write `if` and `elif`"))
        elif isinstance(node, ast.ClassDef):
            found.append(Refused(node, "`class` inside of a function cannot be extracted: define it outside of the function"))
    return found
