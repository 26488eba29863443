"""Progress: shows the numbers that a run logs while it goes on."""
from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping
from typing import Any

from . import _html

_REFRESH_SECONDS = 0.1


class Progress:
    """For `model.run(log=cleave.Progress(400))`: a bar in a notebook, or a line of the terminal, with the step and the numbers that the
    program logs (`cleave.log("loss", loss)`). It is redrawn at most ten times a second, and once more after step `steps`; without `steps`
    it only counts. Where standard error is neither, nothing is shown. `values` and `step` keep the last numbers."""

    def __init__(self, steps: int | None = None) -> None:
        self.steps = steps
        self.step = 0
        self.values: dict[str, float] = {}
        self._begun = time.monotonic()
        self._drawn = 0.0
        self._handle = _notebook_handle()
        self._width = 0

    def __call__(self, step: int, values: Mapping[str, float]) -> None:
        """Takes one step's numbers; `step` counts from 0."""
        self.step, self.values = step + 1, dict(values)
        now = time.monotonic()
        last = self.steps is not None and self.step >= self.steps
        if last or now - self._drawn >= _REFRESH_SECONDS:
            self._drawn = now
            self._draw(now - self._begun, last)

    def _draw(self, seconds: float, last: bool) -> None:
        if self._handle is not None:
            self._handle.update({"text/html": _html.progress(self.step, self.steps, self.values, seconds), "text/plain": self._line(seconds)},
                                raw=True)
        elif sys.stderr is not None and sys.stderr.isatty():
            line = self._line(seconds)
            sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if last else ""))
            sys.stderr.flush()
            self._width = len(line)

    def _line(self, seconds: float) -> str:
        numbers = "  ".join(f"{name}: {value:.6g}" for name, value in self.values.items())
        return f"step {self.step}" + (f" of {self.steps}" if self.steps else "") + f", {seconds:.1f} s  {numbers}"


def _notebook_handle() -> Any:
    """The display of the running notebook cell, which can be changed later; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display").display({"text/plain": "no step yet"}, raw=True, display_id=True)
