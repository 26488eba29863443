"""What a run is asked for, what it gives, and a run under way."""
from __future__ import annotations

import atexit
import operator
import os
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _cleave


class Options:
    """Where and how a program runs; what is None is as cleave has it by default."""

    NAMES = ("device", "placement", "machine", "threads", "workers", "precision", "warn")
    __slots__ = ("given", "key")

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.key = tuple(sorted((name, str(value)) for name, value in given.items()))

    @staticmethod
    def of(named: Mapping[str, Any]) -> Options:
        """From keyword arguments."""
        given: dict[str, Any] = {}
        for name, value in named.items():
            if name not in Options.NAMES:
                raise TypeError(f"cleave: unexpected argument '{name}'")
            if value is not None:
                given[name] = Options._checked(name, value)
        return Options(given)

    @staticmethod
    def _checked(name: str, value: Any) -> Any:
        if name in ("threads", "workers"):
            return operator.index(value)
        if name == "machine":
            return os.fspath(value)
        if name == "warn" and not isinstance(value, str):
            value = list(value)
        good = isinstance(value, list) and all(isinstance(flag, str) for flag in value) if name == "warn" else isinstance(value, str)
        if not good:
            raise TypeError(f"cleave: `{name}` is {'a list of texts' if name == 'warn' else 'a text'}, not {value!r}")
        return value

    def over(self, named: Mapping[str, Any]) -> Options:
        """These, where `named` says nothing else."""
        given = {name: value for name, value in named.items() if value is not None}
        return Options.of({**self.given, **given}) if given else self


class Results(dict[str, Any]):
    """What a run gives back: NumPy arrays by the names of outputs."""

    __slots__ = ("seconds", "simulated_seconds")

    #: Wall clock.
    seconds: float
    #: By the clock of the simulated accelerator; 0 without one.
    simulated_seconds: float


_under_way: weakref.WeakSet[Run] = weakref.WeakSet()


class Run:
    """One run under way, made by `Model.submit`. It is not ended by letting it go, nor by Ctrl-C while one waits: `cancel` does that."""

    def __init__(self, raw: _cleave.RawRun) -> None:
        self._raw = raw
        self._arrays: dict[str, Any] = {}
        self._results: Results | None = None
        _under_way.add(self)

    @property
    def ready(self) -> bool:
        """Whether the run is over, with whatever outcome."""
        return self._raw.ready

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, at most `timeout` seconds; whether the run is over. Does not raise what the run ended with."""
        return self._raw.wait(timeout)

    def result(self, timeout: float | None = None) -> Results:
        """Waits for the end and gives all outputs; raises what the run ended with, or TimeoutError. The arrays are read-only."""
        if self._results is None:
            if not self._raw.wait(timeout):
                raise TimeoutError("cleave: the run is not over yet")
            results: Results = self._raw.results()
            self._results = results
        return self._results

    def get(self, name: str, timeout: float | None = None) -> np.ndarray[Any, Any]:
        """One output, as soon as the host has it, while the rest of the run goes on; read-only. Raises as `result` does."""
        if name not in self._arrays:
            self._arrays[name] = self._raw.get(name, timeout)
        array: np.ndarray[Any, Any] = self._arrays[name]
        return array

    __getitem__ = get

    def cancel(self) -> None:
        """Ends the run soon: its outcome is then cleave.Cancelled. What a host function does is not interrupted."""
        self._raw.cancel()

    def __repr__(self) -> str:
        return f"<Run: {'over' if self.ready else 'under way'}>"


@atexit.register
def _end_runs() -> None:
    """Nobody waits for runs any more, and host functions of theirs cannot be called once Python is gone."""
    runs = list(_under_way)
    for run in runs:
        run.cancel()
    for run in runs:
        run.wait(5)
    _cleave.end_runs()
