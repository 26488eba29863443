"""States: inputs that take an output of the previous run."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _cleave
from ._errors import Error, UsageError
from ._run import Results
from ._types import Type


class States:
    """The states of a model. The program that ran last holds them, on their device; they move to another program of the model when that
    runs. A state whose type changes from run to run is kept here and passed as an input."""

    def __init__(self, model: str, wanted: Mapping[str, str]) -> None:
        self._model = model
        self.wanted = self._wanted = dict(wanted)  # inputs, and the outputs that they take
        self._changing: dict[int, dict[str, str]] = {}  # by program: states whose type differs from run to run
        self._holder: _cleave.Executable | None = None
        self._carried: dict[str, Any] = {}
        # Where the next run goes on, after `load` of a file that was saved during a run: trip, step, seconds; and the values for it that
        # are no states.
        self.position: tuple[int, int, float] | None = None
        self._others: dict[str, Any] = {}
        # A run in progress that moves the states to another program, and their holder and values if it fails.
        self._moving: tuple[_cleave.RawRun, _cleave.Executable | None, dict[str, Any]] | None = None

    def adopt(self, program: _cleave.Program) -> _cleave.Program:
        """The program with the model's states, in addition to its own."""
        if not self._wanted:
            return program
        inputs = {name: text for name, text, _ in program.inputs + program.parameters}
        outputs = dict(program.outputs)
        changing = {name: output for name, output in self._wanted.items() if inputs.get(name, 0) != outputs.get(output, 0)
                    and name in inputs and output in outputs}
        adopted = program.with_states({name: output for name, output in self._wanted.items() if name not in changing})
        self._changing[id(adopted)] = changing
        return adopted

    def changing(self, program: _cleave.Program) -> dict[str, str]:
        """The states that a program cannot keep itself, with the outputs that are their next values."""
        return self._changing.get(id(program), {})

    @property
    def types(self) -> dict[str, Type]:
        """The types of the values that the next run starts with."""
        held = {name: Type.of(text) for name, text in self._holder.states} if self._holder else {}
        return {**held, **{name: Type.of(value) for name, value in self._carried.items()}}

    def complete(self, executable: _cleave.Executable, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of a run, completed by the states that the executable does not hold."""
        given = {**self._carried, **self._others, **inputs}
        if self._holder is not None and self._holder is not executable:
            for name, _ in self._holder.states:
                if name not in given:
                    try:
                        given[name] = self._holder.state(name)
                    except Error:
                        continue  # no run has succeeded yet: the next one reports missing inputs
        return given

    def begun(self, executable: _cleave.Executable, run: _cleave.RawRun | None = None) -> None:
        """Records that `executable` now holds its states, so that they are not kept here; `run`, if in progress, may still fail."""
        held = {name for name, _ in executable.states}
        carried = {name: value for name, value in self._carried.items() if name not in held}
        if run is not None and (self._holder not in (None, executable) or len(carried) != len(self._carried)):
            self._moving = (run, self._holder, self._carried)
        self._holder, self._carried = executable, carried
        self.position, self._others = None, {}

    def settle(self) -> None:
        """Waits for the submitted run that moves the states; if it failed, they are where they were."""
        if self._moving is None:
            return
        run, holder, carried = self._moving
        run.wait(None)
        self._moving = None
        try:
            run.results()
        except Exception:  # the error is raised to the caller that waits for the run
            self._holder, self._carried = holder, carried

    def take(self, program: _cleave.Program, results: Results, out: Mapping[str, Any] | None) -> None:
        """Removes the states that are kept here from the results."""
        changing = self.changing(program)
        self._carried = {name: results[output].copy() if out and output in out else results[output] for name, output in changing.items()}
        for output in set(changing.values()):
            del results[output]

    def value(self, name: str) -> np.ndarray[Any, Any]:
        """The value of a state after the last run."""
        self.settle()
        if name in self._carried:
            carried: np.ndarray[Any, Any] = self._carried[name].copy()
            return carried
        if self._holder is None:
            raise UsageError(f"error: `{self._model}` has no states before its first run")
        value: np.ndarray[Any, Any] = self._holder.state(name)
        return value

    def values(self) -> dict[str, Any]:
        """The values of all states after the last run, for a copy of the model; none before the first one."""
        self.settle()
        held: dict[str, Any] = {}
        for name, _ in self._holder.states if self._holder is not None else ():
            try:
                held[name] = self._holder.state(name)  # type: ignore[union-attr]
            except Error:
                break  # no run has succeeded yet
        return {**held, **{name: value.copy() for name, value in self._carried.items()}}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Lets the next run start with these values."""
        self._carried = dict(values)

    def save(self, path: str, program: _cleave.Program) -> None:
        """Writes all states to a safetensors file."""
        values = {name: self.value(name) for name in self._names(program)}
        if not values:
            raise UsageError(f"error: `{self._model}` has no states to save")
        _cleave.write_states(path, self._model, values)

    def _names(self, program: _cleave.Program) -> list[str]:
        """The model's states: the program's own, and those that it cannot keep itself."""
        return [*program.states, *self._kept_here(program)]

    def _kept_here(self, program: _cleave.Program) -> list[str]:
        return [name for name in self._wanted if name not in program.states]

    def load(self, path: str, program: _cleave.Program) -> None:
        """Replaces the states by those of such a file, which must have an array of the right type for each of them and no other."""
        self.settle()
        values, self._others, self.position = program.load_states(path, self._kept_here(program))
        self._holder, self._carried = None, values

    def reset(self) -> None:
        """Discards the states: the next run starts with the initial values."""
        self.settle()
        if self._holder is not None:
            self._holder.reset_states()
        self._holder = None
        self._carried = {}
        self.position, self._others = None, {}
