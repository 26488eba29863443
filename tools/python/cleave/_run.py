"""The options of a run, its results, and a run in progress."""
from __future__ import annotations

import atexit
import functools
import operator
import os
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _cleave, _html
from ._errors import Error


class Options:
    """The options of a run; None stands for cleave's default."""

    NAMES = ("device", "placement", "machine", "threads", "workers", "precision", "keep", "accelerator_memory", "warn", "save", "save_every",
             "continues")
    __slots__ = ("given", "key", "memory_limit")

    def __init__(self, given: dict[str, Any], memory_limit: float | None = None) -> None:
        self.given = given
        self.memory_limit = memory_limit  # of a model's programs together, in bytes; not an option of one program
        self.key = tuple(sorted((name, str(value)) for name, value in given.items()))

    @staticmethod
    def of(named: Mapping[str, Any]) -> Options:
        """From keyword arguments."""
        given: dict[str, Any] = {}
        limit = named.get("memory_limit")
        for name, value in named.items():
            if name == "memory_limit":
                continue
            if name not in Options.NAMES:
                raise TypeError(f"cleave: unexpected argument '{name}'")
            if value is not None:
                given[name] = Options._checked(name, value)
        return Options(given, None if limit is None else _cleave.parse_bytes(limit) if isinstance(limit, str) else float(limit))

    @staticmethod
    def _checked(name: str, value: Any) -> Any:
        if name in ("threads", "workers", "save_every"):
            return operator.index(value)
        if name == "accelerator_memory" and not isinstance(value, str):
            return float(value)
        if name in ("machine", "save"):
            return os.fspath(value)
        if name == "continues":
            return bool(value)
        if name == "warn" and not isinstance(value, str):
            value = list(value)
        if name == "device" and isinstance(value, str):
            value = {"cpu": "none", "host": "none", "gpu": "cuda:0"}.get(value, value)
        good = isinstance(value, list) and all(isinstance(flag, str) for flag in value) if name == "warn" else isinstance(value, str)
        if not good:
            raise TypeError(f"cleave: `{name}` is {'a list of texts' if name == 'warn' else 'a text'}, not {value!r}")
        return value

    @property
    def running(self) -> dict[str, Any]:
        """The options as programs are compiled with them: without a GPU, "auto" is the host alone, unless the placement or a limit of its memory
        asks for an accelerator, which is then simulated. Plans that are only explained keep the accelerator of the assumed machine."""
        automatic = self.given.get("device", "auto") == "auto"
        asked = self.given.get("placement") == "accelerator" or "accelerator_memory" in self.given
        return {**self.given, "device": "none"} if automatic and not asked and not _has_gpu() else self.given

    def over(self, named: Mapping[str, Any]) -> Options:
        """These options, overridden by those in `named`."""
        given = {name: value for name, value in named.items() if value is not None}
        return Options.of({**self.given, **given, "memory_limit": self.memory_limit}) if given else self


@functools.lru_cache(maxsize=1)
def _has_gpu() -> bool:
    return _cleave.has_gpu()


class Results(dict[str, Any]):
    """The results of a run: NumPy arrays by the names of outputs."""

    __slots__ = ("seconds", "simulated_seconds")

    #: Seconds of wall clock.
    seconds: float
    #: Seconds on the clock of the simulated accelerator; 0 without one.
    simulated_seconds: float

    def _repr_html_(self) -> str:
        """The table of the arrays, for a notebook."""
        return _html.results(self)


_under_way: weakref.WeakSet[Run] = weakref.WeakSet()


class Run:
    """A run in progress, started by `Model.submit`. It continues if this object is dropped, and after Ctrl-C during a wait; `cancel` ends it."""

    def __init__(self, raw: _cleave.RawRun) -> None:
        self._raw = raw
        self._arrays: dict[str, Any] = {}
        self._results: Results | None = None
        _under_way.add(self)

    @property
    def ready(self) -> bool:
        """Whether the run is over, successful or not."""
        return self._raw.ready

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, at most `timeout` seconds; returns whether the run is over. Does not raise the run's error."""
        return self._raw.wait(timeout)

    def result(self, timeout: float | None = None) -> Results:
        """Waits for the end and returns all outputs; raises the run's error, or TimeoutError. The arrays are read-only."""
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
        """Ends the run soon: its error is then cleave.Cancelled. A host function in progress is not interrupted."""
        self._raw.cancel()

    def __repr__(self) -> str:
        return f"<Run: {'over' if self.ready else 'under way'}>"

    def _repr_html_(self) -> str:
        """Where the run stands, for a notebook: under way, its error, or its results. Does not wait."""
        if not self.ready:
            return _html.run_under_way()
        try:
            return _html.results(self.result())
        except Error as error:
            return _html.failed_run(error)


@atexit.register
def _end_runs() -> None:
    """Cancels all runs when Python ends: their results are not needed any more, and their host functions cannot be called afterwards."""
    runs = list(_under_way)
    for run in runs:
        run.cancel()
    for run in runs:
        run.wait(5)
    _cleave.end_runs()
