"""Runs a Python function in Python and as a program, and compares values, types, printed text and calls of host functions."""
from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_MAKE = {"int": np.int32, "num": np.float32, "nums": lambda values: np.array(values, np.float32),
         "rows": lambda values: np.array(values, np.float32), "ints": lambda values: np.array(values, np.int32)}
_MINUS_ZERO = re.compile(r"-(0\.0*)(?![0-9])")


def arrays(arguments: Sequence[tuple[str, Any]]) -> list[Any]:
    """NumPy's values for drawn arguments; a function that writes into one does not disturb the next run."""
    return [_MAKE[kind](value) for kind, value in arguments]


def define(source: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The names after a text of Python ran with the names `given`; `inspect.getsource` finds the text under the file name `name`."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = sys.modules.setdefault("drawn", types.ModuleType("drawn"))  # dataclasses look for their module
    names = {**given, "__name__": module.__name__, "__file__": name}
    exec(compile(source, name, "exec"), names)
    return names


class Recorded(io.StringIO):
    """Standard output as events among those of the host functions."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__()
        self._events = events

    def write(self, text: str) -> int:
        text = _MINUS_ZERO.sub(r"\1", text)
        if self._events and isinstance(self._events[-1], str):
            self._events[-1] += text
        else:
            self._events.append(text)
        return len(text)


class Outcome:
    """The result or exception of a call, and its events in order."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], events: list[Any]) -> None:
        events.clear()
        self.raised: BaseException | None = None
        self.value: Any = None
        with contextlib.redirect_stdout(Recorded(events)), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self.value = function(*arguments)
            except Exception as raised:
                self.raised = raised
        self.events = list(events)


def difference(expected: Outcome, got: Outcome, errors: tuple[type, ...]) -> str:
    """How two outcomes differ; "" if they do not. `errors`: the exceptions by which the program may answer those of the function."""
    if expected.raised is not None:
        if got.raised is None:
            return f"value: Python raised {expected.raised!r}, the program returned {got.value!r}"
        if not isinstance(got.raised, errors):
            return f"crash: {type(got.raised).__name__}: {got.raised}"
        if str(expected.raised) not in str(got.raised):
            return f"refused: {got.raised}" if not got.events and expected.events else f"message: {expected.raised!r} became: {got.raised}"
    elif got.raised is not None:
        kind = "refused" if isinstance(got.raised, errors) else "crash"
        return f"{kind}: {type(got.raised).__name__}: {got.raised}"
    if expected.events != got.events:
        at = next((i for i, (a, b) in enumerate(zip(expected.events, got.events)) if a != b), min(len(expected.events), len(got.events)))
        return f"events: differ from number {at}: Python {expected.events[at:at + 2]!r}, the program {got.events[at:at + 2]!r}"
    return unequal(expected.value, got.value) if expected.raised is None else ""


def unequal(expected: Any, got: Any, path: str = "result", rtol: float = 1e-4, atol: float = 1e-4) -> str:
    """How a program's result differs from Python's; "" if it does not.

    Types by cleave's rules: the same nest and shapes; bool, integer or floating as in Python; f32 and i32 where NumPy has them.
    """
    if isinstance(expected, dict):
        if not isinstance(got, dict) or list(expected) != list(got):
            return f"value: {path} is {got!r} for {expected!r}"
        return next(filter(None, (unequal(expected[key], got[key], f"{path}[{key!r}]", rtol, atol) for key in expected)), "")
    if isinstance(expected, (tuple, list)):
        if type(got) is not type(expected) or len(got) != len(expected):
            return f"value: {path} is {got!r} for {expected!r}"
        return next(filter(None, (unequal(a, b, f"{path}[{i}]", rtol, atol) for i, (a, b) in enumerate(zip(expected, got)))), "")
    if expected is None or isinstance(expected, str):
        return "" if got == expected else f"value: {path} is {got!r} for {expected!r}"
    a, b = np.asarray(expected), np.asarray(got)
    kinds = {"u": "i"}
    if a.shape != b.shape or kinds.get(a.dtype.kind, a.dtype.kind) != kinds.get(b.dtype.kind, b.dtype.kind):
        return f"type: {path} is {b.dtype}{list(b.shape)} for {a.dtype}{list(a.shape)}"
    if isinstance(expected, (np.ndarray, np.generic)) and a.dtype in (np.float32, np.int32) and b.dtype != a.dtype:
        return f"type: {path} is {b.dtype} for {a.dtype}"
    if not (np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)):
        return f"value: {path} is {b.tolist()!r} for {a.tolist()!r}"
    return ""
