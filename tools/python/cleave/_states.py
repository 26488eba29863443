"""States: inputs that take an output of the run before."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _cleave
from ._errors import Error, UsageError
from ._run import Results
from ._types import Type


class States:
    """The states of a model. They lie where the program that ran last has them, on their device, and move to another program of the model
    when that runs. One that comes out with another type than it went in is carried from here."""

    def __init__(self, model: str, wanted: Mapping[str, str]) -> None:
        self._model = model
        self._wanted = dict(wanted)
        self._changing: dict[int, dict[str, str]] = {}  # by program: states whose type differs from run to run
        self._holder: _cleave.Executable | None = None
        self._carried: dict[str, Any] = {}
        # A run under way that takes the states elsewhere, and where they are if it fails.
        self._moving: tuple[_cleave.RawRun, _cleave.Executable | None, dict[str, Any]] | None = None

    def adopt(self, program: _cleave.Program) -> _cleave.Program:
        """The program with its states, of which it may also have some by itself."""
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
        """The states of a program that it cannot keep itself, and the outputs that they are next."""
        return self._changing.get(id(program), {})

    @property
    def types(self) -> dict[str, Type]:
        """Of the values that the next run begins with."""
        held = {name: Type.of(text) for name, text in self._holder.states} if self._holder else {}
        return {**held, **{name: Type.of(value) for name, value in self._carried.items()}}

    def complete(self, executable: _cleave.Executable, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What a run is given for the states to go on."""
        given = {**self._carried, **inputs}
        if self._holder is not None and self._holder is not executable:
            for name, _ in self._holder.states:
                if name not in given:
                    try:
                        given[name] = self._holder.state(name)
                    except Error:
                        continue  # it has had no run that went well: the next one says what is missing
        return given

    def begun(self, executable: _cleave.Executable, run: _cleave.RawRun | None = None) -> None:
        """The next run finds them there, and nothing is carried any more that lies there; a run under way may still fail."""
        held = {name for name, _ in executable.states}
        carried = {name: value for name, value in self._carried.items() if name not in held}
        if run is not None and (self._holder not in (None, executable) or len(carried) != len(self._carried)):
            self._moving = (run, self._holder, self._carried)
        self._holder, self._carried = executable, carried

    def settle(self) -> None:
        """Waits for the run that was submitted to take the states elsewhere: if it failed, they are where they were."""
        if self._moving is None:
            return
        run, holder, carried = self._moving
        run.wait(None)
        self._moving = None
        try:
            run.results()
        except Exception:  # whatever it ended with, whoever waits for it is told
            self._holder, self._carried = holder, carried

    def take(self, program: _cleave.Program, results: Results, out: Mapping[str, Any] | None) -> None:
        """Takes out of the results what is carried."""
        changing = self.changing(program)
        self._carried = {name: results[output].copy() if out and output in out else results[output] for name, output in changing.items()}
        for output in set(changing.values()):
            del results[output]

    def value(self, name: str) -> np.ndarray[Any, Any]:
        """A state, as the last run left it."""
        self.settle()
        if name in self._carried:
            carried: np.ndarray[Any, Any] = self._carried[name].copy()
            return carried
        if self._holder is None:
            raise UsageError(f"error: `{self._model}` has no states before its first run")
        value: np.ndarray[Any, Any] = self._holder.state(name)
        return value

    def reset(self) -> None:
        """The next run begins anew."""
        self.settle()
        if self._holder is not None:
            self._holder.reset_states()
        self._holder = None
        self._carried = {}
