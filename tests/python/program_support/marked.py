"""Functions of a file whose expected errors are marked at their lines: `# error: part of the message`, a regular expression.

Where a mistake shows at two places, such as a loop and an assignment in it, both are marked."""
from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: The argument of each name.
ARGUMENTS = {"x": np.float32([0.5, -1, 2, 0.25]), "y": np.float32([1, 2, -3, 4]), "m": np.float32([[1, 2, 3], [-4, 5, 6]]),
                              "n": np.int32(3),
             "t": np.float32(0.5), "q": np.int32([1, -2, 3, 40]), "d": np.float64([1, 2, 3, 0.5])}
_MARK = re.compile(r"# error: (.*)$")


class Marked(NamedTuple):
    """A function, and the lines and messages of its error, of which one is expected; none if it is right."""

    name: str
    function: Callable[..., Any]
    marks: list[tuple[int, str]]

    def expects(self, error: Any) -> bool:
        """Whether this is the error, at its line."""
        file = self.function.__code__.co_filename
        return any(error.file == file and error.line == line and re.search(message, str(error)) for line, message in self.marks)

    def arguments(self) -> list[Any]:
        """Fresh arguments, by the names of the parameters."""
        return [ARGUMENTS[name].copy() for name in inspect.signature(self.function).parameters]


def functions(module: str, helpers: tuple[str, ...] = ()) -> list[Marked]:
    """The functions of a file in tests/python/programs, in order, but those whose parameters are no arguments."""
    names = importlib.import_module(f"programs.{module}")
    found = []
    for name, function in vars(names).items():
        if not inspect.isfunction(function) or function.__module__ != names.__name__ or name in helpers:
            continue
        if not set(inspect.signature(function).parameters) <= set(ARGUMENTS):
            continue
        marks = _marks(function) or [mark for called in function.__code__.co_names if inspect.isfunction(vars(names).get(called))
                                     for mark in _marks(vars(names)[called])]
        found.append(Marked(name, function, marks))
    return found


def _marks(function: Callable[..., Any]) -> list[tuple[int, str]]:
    lines, first = inspect.getsourcelines(function)
    return [(first + at, found.group(1)) for at, line in enumerate(lines) if (found := _MARK.search(line))]
