"""Checks one drawn function: Python beside the program, with two sets of arguments."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import cleave

from .preamble import PREAMBLE
from .running import Outcome, arrays, define, difference
from .shrinking import shrink


class Checker:
    """Runs functions over one preamble. `last`: the program of the last function."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self._names = define(PREAMBLE, "<preamble of drawn functions>", {"host": cleave.host, "cleave": cleave, "EVENTS": self.events})
        self._count = 0

    def difference(self, source: str, arguments: Sequence[Any], options: dict[str, Any]) -> str:
        """How the program differs from the function; "" if it does not, and None in Python's place where the function itself is wrong."""
        self._count += 1
        function = define(source, f"<drawn function {self._count}>", self._names)["drawn"]
        program = cleave.program(function, **options)
        for number, given in enumerate(arguments):
            expected = Outcome(program.python, arrays(given), self.events)
            if expected.raised is not None and "stopped at" not in str(expected.raised):
                return f"invalid: {expected.raised!r}"
            found = difference(expected, Outcome(program, arrays(given), self.events), (cleave.Error,))
            if found:
                return f"{found}\n  in call {number + 1}, with {given}"
        return ""

    def shrunk(self, source: str, arguments: Sequence[Any], options: dict[str, Any], found: str, seconds: float = 20) -> str:
        """The smallest function found that fails in the same way."""
        sign = signature(found)

        def fails(candidate: str) -> bool:
            try:
                return signature(self.difference(candidate, arguments, options)) == sign
            except SyntaxError:
                return False

        return shrink(source, fails, seconds)


def signature(found: str) -> str:
    """The part of a difference that stays while a function is made smaller: its kind, and the words of a message."""
    first = found.split("\n")[0]
    kind = first.split(":")[0]
    if kind not in ("refused", "crash"):
        return kind
    message = re.search(r"error: (.*)", found)
    return kind + re.sub(r"`[^`]*`|'[^']*'|[\d.]+", "", message.group(1) if message else first)[:50]
