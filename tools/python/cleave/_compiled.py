"""Models from plan files: planned, for one tuple of sizes and one machine."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _cleave
from ._errors import UsageError
from ._model import Model, Source
from ._plan import Plan
from ._run import Options
from ._types import Type


class _Saved(Source):
    """The program of a plan file."""

    def __init__(self, path: str, program: _cleave.Program) -> None:
        self.path = path
        self._program = program

    def program(self, dims: dict[str, int], types: dict[str, Type], form: Any = None) -> _cleave.Program:
        if dims:
            raise UsageError(f"error: {self.path}: the sizes of a plan are fixed; `compile(dims=…, path=…)` of the model makes another")
        return self._program


class Compiled(Model):
    """A model that was read from a plan file. Its options of planning are those with which it was compiled."""

    def __init__(self, path: str, options: Options) -> None:
        self._path = path
        self._loaded = {options.key: _cleave.load_plan(path, options.given)}
        program = self._loaded[options.key].program
        super().__init__(_Saved(path, program), program.name, {name: Type.of(text) for name, text, _ in program.inputs}, {}, options)
        self._latest = self._programs[((), ())] = program

    def explain(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None, **options: Any) -> Plan:
        """The plan in the file. Of the options of `Model.explain`, `device`, `machine`, `threads` and `warn` are possible."""
        self._program_of(inputs, dims)
        return Plan(_cleave.read_plan(self._path, self._options.over(options).given))

    def _compiled(self, program: _cleave.Program, options: Options) -> _cleave.Executable:
        with self._lock:
            if options.key not in self._loaded:
                self._loaded[options.key] = _cleave.load_plan(self._path, options.given)
            return self._loaded[options.key]

    def _adopted(self, program: _cleave.Program) -> _cleave.Program:
        return program
