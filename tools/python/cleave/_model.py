"""Models: programs that are read from files or traced, planned, compiled and run."""
from __future__ import annotations

import operator
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from . import _cleave, _html
from ._errors import PlacementWarning, UsageError
from ._arrays import numbers
from ._plan import Diagnostics, Plan
from ._run import Options, Results, Run
from ._states import States
from ._timings import timed
from ._types import Type, numpy_dtype

_FEW = 8  # if a model needs more programs than this, the caller is warned


class Source:
    """A source of programs: a file or a traced function."""

    #: Whether open sizes have defaults.
    has_default_sizes = False

    def program(self, dims: dict[str, int], types: dict[str, Type], form: Any = None) -> _cleave.Program:
        """The program for inputs of these types; `form`: of a call of a traced function."""
        raise NotImplementedError


class Model:
    """A program: read by `load` or traced by `trace`. It is compiled at its first run, and again for other sizes and options; compiled
    programs are cached. May be used by several threads at once."""

    def __init__(self, source: Source, name: str, declared: dict[str, Type] | None, dims: Mapping[str, int], options: Options,
                 states: Mapping[str, str] | None = None) -> None:
        self._source = source
        self._name = name
        self._declared = declared
        self._input_names = tuple(declared or ())
        self._dims = dict(dims)
        self._options = options
        self._lock = threading.RLock()
        self._programs: dict[Any, _cleave.Program] = {}
        self._latest: _cleave.Program | None = None
        self._executables: dict[Any, tuple[_cleave.Executable, _cleave.Program]] = {}  # a key has the identity of its program
        # The common case: the executable for the model's own options, and its program.
        self._usual: tuple[_cleave.Executable, _cleave.Program] | None = None
        self._shared = _cleave.SharedConstants()
        self._states = States(name, states or {})

    def __reduce__(self) -> Any:
        """A pickled or copied model has its source (the path of a file, or a function), its options, and the values of its states; it is
        compiled again."""
        kept = {name: value for name, value in self.__dict__.items() if name == "_options_of_file"}
        made = (type(self), self._source, self._name, self._declared, self._dims, self._options.given, self._options.memory_limit,
                self._states.wanted)
        return _remade, (*made, self._states.values(), kept)

    def __deepcopy__(self, memo: Any) -> Model:
        make, arguments = self.__reduce__()
        model: Model = make(*arguments)
        return model

    def __copy__(self) -> Model:
        return self.__deepcopy__({})

    # Properties.

    @property
    def name(self) -> str:
        """The model's name in reports."""
        return self._name

    @property
    def inputs(self) -> dict[str, Type]:
        """The types of the inputs by name, with the sizes that are open as names or `?`."""
        return self._bound(self._declared or {})

    @property
    def parameters(self) -> dict[str, Type]:
        """The types of the parameters by name; a run may give others."""
        return {name: Type.of(text) for name, text, _ in self._known().parameters}

    @property
    def outputs(self) -> dict[str, Type]:
        """The types of the outputs by name, for the sizes that were used last."""
        return {name: Type.of(text) for name, text in self._known().outputs}

    def __repr__(self) -> str:
        types = ", ".join(f"{name}: {type_}" for name, type_ in self.inputs.items()) if self._declared is not None else "…"
        results = ", ".join(f"{name}: {type_}" for name, type_ in self.outputs.items()) if self._latest is not None else "…"
        return f"<Model {self.name}({types}) -> {results or 'nothing'}>"

    def _repr_html_(self) -> str:
        """The table of inputs, parameters and outputs, for a notebook; compiles nothing."""
        return _html.model(self, known=self._latest is not None, declared=self._declared is not None)

    def text(self) -> str:
        """The text form of the program, for reading."""
        return self._known().text()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program to a `.graph` file, which `load` and every command read. The file has no Python functions."""
        self._known().save(os.fspath(path))

    def state(self, name: str) -> np.ndarray[Any, Any]:
        """A copy of the value of a state (`load(states=…)`, `resident` in YAML), by the name of its input or parameter: the value after the
        last run. Waits for earlier runs."""
        return self._states.value(name)

    def reset(self) -> None:
        """Discards the states of earlier runs: the next run starts with its inputs or the model's initial values."""
        self._states.reset()

    def save_states(self, path: str | os.PathLike[str]) -> None:
        """Writes all states as a safetensors file: `path` itself if it ends in `.safetensors`, else `path/state.safetensors`. The file that
        stood there stays until the new one is complete."""
        self._states.save(os.fspath(path), self._known())

    def load_states(self, path: str | os.PathLike[str]) -> None:
        """Reads such a file: the next run starts with its values, or goes on in the run that saved it (`save_every`). One FileError lists
        missing and surplus names and other types; nothing is changed then."""
        self._states.load(os.fspath(path), self._known())

    # Planning.

    def explain(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None, device: str | None = None,
                placement: str | None = None, machine: str | os.PathLike[str] | None = None, threads: int | None = None,
                workers: int | None = None, precision: str | None = None, keep: str | None = None,
                accelerator_memory: float | str | None = None, warn: Sequence[str] | None = None) -> Plan:
        """The plan: what would run where, what it costs, and why. Runs nothing.

        Open sizes are those of the last run, or follow from `dims={"batch": 64}` or `inputs={"x": "f32[64, 2]"}` (types or
        arrays). Options are those of `run`.
        """
        options = self._options.over({"device": device, "placement": placement, "machine": machine, "threads": threads, "workers": workers,
                                      "precision": precision, "keep": keep, "accelerator_memory": accelerator_memory, "warn": warn})
        program = self._program_of(inputs, dims)
        with timed(f"plan of `{self.name}` for explain"):
            return Plan(program.plan(options.given))

    def check(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None,
              **options: Any) -> list[_cleave.Diagnostic]:
        """The diagnostics of the plan, as of `cleave check`: round trips and other warnings, exceeded limits. `str()` of each is its text.
        Takes the arguments of `explain`."""
        return Diagnostics(each for each in self.explain(inputs, dims=dims, **options).diagnostics if each.severity != "allowed")

    # Running.

    def run(self, inputs: Mapping[str, Any] | None = None, /, *, out: Mapping[str, Any] | None = None, device: str | None = None,
            placement: str | None = None, machine: str | os.PathLike[str] | None = None, threads: int | None = None,
            workers: int | None = None, precision: str | None = None, keep: str | None = None,
            accelerator_memory: float | str | None = None,
            log: Callable[[int, dict[str, float]], object] | str | os.PathLike[str] | None = None,
            tensorboard: str | os.PathLike[str] | None = None, stop_on_nan: bool = False,
            save: str | os.PathLike[str] | None = None, save_every: int | None = None,
            trace: str | os.PathLike[str] | None = None, **named: Any) -> Results:
        """Runs the program and waits: `model.run({"x": x})["y"]`, or `model.run(x=x)`.

        Inputs and parameters are passed by name: NumPy arrays, objects with `__dlpack__` (both are read without a copy, if contiguous),
        numbers and lists. Outputs are NumPy arrays by name; `out` names arrays that outputs are written into, in place. Omitted inputs take
        the model's default data.

        `device`: "auto" (a GPU where one is usable, else the simulated accelerator), "none" (this machine's host alone), "simulated",
        "cuda:0". `placement`: "optimal", "fastest", "accelerator", "host". `machine`: a machine's name or file. `threads` of the host, 0
        for all cores. `workers`: the number of threads that make data of loops ahead (`prefetch` of `for_loop`) and, from 2 on, call pure
        host functions of 0.1 ms or longer side by side; 1 by default; 0: everything happens in program order.
        `precision` of the accelerator's matrix products: "f32", "tf32", "bf16". `accelerator_memory`: the accelerator's memory that may be
        used, in bytes or as "8GiB"; by default, what the machine has. `keep`: what becomes of values for which that memory is too small:
        "auto" computes them again where that costs less than moving work to the host, "all" never does. Ctrl-C ends a run.

        `log`: where the numbers go that the program logs (`cleave.log("loss", loss)`), once for each step: a function `log(step, values)`
        with a dict of numbers by label, or the path of a CSV file. `tensorboard`: a folder for event files. `stop_on_nan`: a logged NaN
        raises an error at the line of the operation that made the first one. `save` and `save_every`: the states are saved there, as by
        `save_states`, after every so many trips of the outermost loop, and `load_states` lets the next run go on in the middle.
        `trace`: the path of a file with the timeline of the run, for Perfetto (ui.perfetto.dev) or chrome://tracing.
        """
        if named:
            inputs = {**inputs, **named} if inputs else named
        elif inputs is None:
            inputs = {}
        elif type(inputs) is not dict:
            inputs = _by_name(inputs)
        more = _more(log, tensorboard, stop_on_nan, trace)
        if (device is None and placement is None and machine is None and threads is None and workers is None and precision is None
                and keep is None and accelerator_memory is None and save is None and save_every is None and more is None):
            options = self._options
            usual = self._usual
            if usual is not None:
                results: Results | None = usual[0].run(inputs, out)
                if results is not None:
                    return results
        else:
            options = self._options.over({"device": device, "placement": placement, "machine": machine, "threads": threads, "workers": workers,
                                          "precision": precision, "keep": keep, "accelerator_memory": accelerator_memory, "save": save,
                                          "save_every": save_every})
        return self._run(inputs, out, options, more)[0]

    def submit(self, inputs: Mapping[str, Any] | None = None, /, *, device: str | None = None, placement: str | None = None,
               machine: str | os.PathLike[str] | None = None, threads: int | None = None, workers: int | None = None, precision: str | None = None,
               keep: str | None = None, accelerator_memory: float | str | None = None, **named: Any) -> Run:
        """Starts a run and returns at once; takes the arguments of `run`. The given arrays must not change until the run is over."""
        given = {**_by_name({} if inputs is None else inputs), **named}
        options = self._options.over({"device": device, "placement": placement, "machine": machine, "threads": threads, "workers": workers,
                                      "precision": precision, "keep": keep, "accelerator_memory": accelerator_memory})
        position = self._states.position
        executable, program, given = self._ready(given, options)
        changing = self._states.changing(program)
        if changing:
            raise UsageError(f"error: state `{next(iter(changing))}` has another type after each run: run() carries it, submit() cannot")
        raw = executable.submit(given, None if position is None else {"position": position})
        if raw is None:
            self._refuse(given)
        if executable.states:
            self._states.begun(executable, raw)
        return Run(raw)

    def compile(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None, **options: Any) -> Model:
        """Compiles now instead of at the first run with these options and sizes; returns the model."""
        self._compiled(self._program_of(inputs, dims), self._options.over(options))
        return self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs with positional inputs; returns the output, or a tuple of all outputs in their order."""
        usual = self._usual
        if usual is not None and not named and len(arguments) == len(self._input_names):
            found = usual[0].run(dict(zip(self._input_names, arguments)), None)
            if found is not None:
                arrays = tuple(found.values())
                return arrays[0] if len(arrays) == 1 else arrays
        names = [name for name in self.inputs if name not in named]
        if len(arguments) > len(names):
            raise TypeError(f"{self.name} takes {len(self.inputs)} inputs ({', '.join(self.inputs)}), but {len(arguments)} are given")
        results = tuple(self._run({**dict(zip(names, arguments)), **named}, None, self._options)[0].values())
        return results[0] if len(results) == 1 else results

    # Implementation.

    def _run(self, inputs: Mapping[str, Any], out: Mapping[str, Any] | None, options: Options,
             more: dict[str, Any] | None = None) -> tuple[Results, _cleave.Program]:
        position = self._states.position
        executable, program, given = self._ready(inputs, options)
        if position is not None:
            more = {**(more or {}), "position": position}
        results: Results | None = executable.run(given, None if out is None else dict(out), more)
        if results is None:
            self._refuse(given)
        if executable.states:
            self._states.begun(executable)
        if self._states.changing(program):
            self._states.take(program, results, out)
        return results, program

    def _ready(self, inputs: Mapping[str, Any], options: Options) -> tuple[_cleave.Executable, _cleave.Program, dict[str, Any]]:
        """The executable, its program, and the inputs of the run, which include the states that the executable does not hold itself."""
        self._states.settle()
        program = self._program_for(self._types_of({**self._states.types, **inputs}), None, getattr(inputs, "form", None))
        if self._states.position is not None and "save_every" not in options.given:
            options = options.over({"continues": True})
        executable = self._compiled(program, options)
        given = self._states.complete(executable, inputs)
        if options is self._options and not executable.states and not self._states.changing(program):
            self._usual = (executable, program)
        return executable, program, given

    def _compiled(self, program: _cleave.Program, options: Options) -> _cleave.Executable:
        key = (id(program), options.key)
        found = self._executables.get(key)
        if found is None:
            with self._lock:
                found = self._executables.get(key)
                if found is None:
                    chosen = options.running
                    with timed(f"compilation of `{self.name}` for device {chosen.get('device', 'auto')}"):
                        found = (_cleave.compile(program, chosen, self._shared), program)
                    self._executables[key] = found
                    self._evict(key)
                    _warn(found[0], options)
        elif self._options.memory_limit is not None:
            with self._lock:  # the order of the dict is that of the last uses
                if self._executables.pop(key, None) is not None:
                    self._executables[key] = found
        return found[0]

    def _evict(self, newest: Any) -> None:
        """Discards the least recently used programs until the rest fits into the memory limit. Programs with states are kept."""
        limit = self._options.memory_limit
        while limit is not None and self._shared.bytes([each for each, _ in self._executables.values()], list(self._programs.values())) > limit:
            oldest = next((key for key, (each, _) in self._executables.items() if not each.states and key != newest), None)
            if oldest is None:
                return
            _, program = self._executables.pop(oldest)
            if all(each is not program for _, each in self._executables.values()):
                self._programs = {key: each for key, each in self._programs.items() if each is not program}
            if self._usual is not None and self._usual[1] is program:
                self._usual = None

    def _bound(self, declared: Mapping[str, Type]) -> dict[str, Type]:
        return {name: type_.bound(self._dims) for name, type_ in declared.items()}

    def _types_of(self, inputs: Mapping[str, Any]) -> dict[str, Type]:
        """The types of the inputs that decide sizes."""
        if self._declared is None:
            return {name: _type_of(value, None, name) for name, value in inputs.items()}
        bound = self._bound(self._declared)
        return {name: _type_of(inputs[name], type_) for name, type_ in bound.items() if name in inputs and self._may_differ(type_)}

    def _may_differ(self, type_: Type) -> bool:
        return type_.open

    def _program_of(self, inputs: Mapping[str, Any] | None, dims: Mapping[str, int] | None) -> _cleave.Program:
        if inputs is None and not dims and self._latest is not None:
            return self._latest
        types = {name: Type.of(value) for name, value in _by_name({} if inputs is None else inputs).items()}
        return self._program_for(types, sizes_of(dims))

    def _program_for(self, types: Mapping[str, Type], dims: Mapping[str, int] | None = None, form: Any = None) -> _cleave.Program:
        """The program for inputs of these types and dims, and for a form of a traced function's call; made now if there is none yet."""
        key: Any = (tuple(sorted((name, str(type_)) for name, type_ in types.items())), tuple(sorted((dims or {}).items())))
        key = (*key, form.key) if form is not None and form.key else key
        program = self._programs.get(key)
        if program is None:
            with self._lock:
                program = self._programs.get(key)
                if program is None:
                    shown = ", ".join(f"{name}: {type_}" for name, type_ in types.items())
                    with timed(f"program of `{self.name}`({shown})"):
                        program = self._adopted(self._make(types, {**self._dims, **(dims or {})}, form))
                    self._programs[key] = program
                    if len(self._programs) == _FEW + 1:
                        warnings.warn(f"`{self.name}` was compiled for {_FEW + 1} different tuples of sizes; pad the inputs to a few fixed "
                                      "sizes if more are to come", PlacementWarning, stacklevel=4)
        self._latest = program
        return program

    def _adopted(self, program: _cleave.Program) -> _cleave.Program:
        """The program with the states of the model, and with the arrays that its other programs have, too."""
        program = self._states.adopt(program)
        self._shared.share(program)
        return program

    def _make(self, types: Mapping[str, Type], dims: dict[str, int], form: Any = None) -> _cleave.Program:
        if self._declared is None:
            if not types and form is None:
                raise UsageError(f"error: the types of `{self.name}` are those of its first call; call it, or give explain() `inputs`")
            return self._source.program(dims, dict(types), form)
        sizes = dict(dims)
        bound = {}
        for name, declared in self._bound(self._declared).items():
            given = types.get(name)
            if given is not None and not declared.match(given, sizes):
                raise UsageError(f"error: input `{name}` of `{self.name}` is {declared}, but {given} is given{_advice(declared, given)}")
            bound[name] = Type(declared.dtype, given.shape) if given is not None else declared
        final = {name: type_.bound(sizes) for name, type_ in bound.items()}
        still_open = [f"`{name}`: {type_}" for name, type_ in final.items() if type_.open]
        if still_open and not self._source.has_default_sizes:
            names = dict.fromkeys(size for type_ in final.values() for size in type_.shape if isinstance(size, str))
            dims_text = ", or dims={" + ", ".join(f'"{name}": …' for name in names) + "}" if names else ""
            raise UsageError(f"error: sizes of `{self.name}` are open: {', '.join(still_open)}; give arrays{dims_text}")
        return self._source.program(sizes, final, form)

    def _known(self) -> _cleave.Program:
        return self._latest if self._latest is not None else self._program_for({})

    def _refuse(self, inputs: Mapping[str, Any]) -> NoReturn:
        known = {name: Type.of(text) for name, text, _ in self._known().inputs + self._known().parameters}
        for name, value in inputs.items():
            given = _type_of(value, known.get(name))
            if name in known and given != known[name]:
                advice = _advice(known[name], given)
                raise UsageError(f"error: input `{name}` of `{self.name}` is {known[name]}, but {given} is given{advice}")
        raise UsageError(f"error: the inputs of `{self.name}` have other types than it takes")


def _remade(kind: type[Model], source: Source, name: str, declared: dict[str, Type] | None, dims: dict[str, int], options: dict[str, Any],
            memory_limit: float | None, states: dict[str, str], values: dict[str, Any], kept: dict[str, Any]) -> Model:
    """The copy of a model, or a model that was pickled."""
    model = kind(source, name, declared, dims, Options(options, memory_limit), states)
    model.__dict__.update(kept)
    model._states.restore(values)
    return model


def _by_name(inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise TypeError("cleave: inputs go in by name: run({\"x\": x}) or run(x=x); in their order: model(x)")
    return dict(inputs)


def _more(log: Any, tensorboard: Any, stop_on_nan: bool, trace: Any) -> dict[str, Any] | None:
    """What the module is told of a run besides its arrays; None: nothing."""
    more: dict[str, Any] = {}
    if callable(log):
        more["log"] = log
    elif log is not None:
        more["csv"] = os.fspath(log)
    if tensorboard is not None:
        more["tensorboard"] = os.fspath(tensorboard)
    if stop_on_nan:
        more["stop_on_nan"] = True
    if trace is not None:
        more["trace"] = os.fspath(trace)
    return more or None


def sizes_of(dims: Mapping[str, int] | None) -> dict[str, int]:
    """Sizes by name as plain integers."""
    return {name: operator.index(size) for name, size in (dims or {}).items()}


def _advice(wanted: Type, given: Type) -> str:
    if wanted.dtype == given.dtype:
        return ""
    return f"; convert it: .astype(\"{numpy_dtype(wanted.dtype).name}\")"


def _type_of(value: Any, wanted: Type | None, name: str = "") -> Type:
    """The type of a value passed as an input; lists and numbers adapt."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        try:
            given = Type.of(value)
        except TypeError:
            called = f"input `{name}`" if name else "an input"
            advice = "; give real and imaginary part as two arrays" if str(value.dtype).startswith("complex") else ""
            raise TypeError(f"cleave: {called} is an array of {value.dtype}, which is no element type of cleave{advice}") from None
        if wanted is not None and wanted.dtype == "bf16" and given.dtype == "u16":
            return Type("bf16", given.shape)
        return given
    array = numbers(value, f"input `{name}`" if name else "")
    if wanted is not None:
        return Type(wanted.dtype, array.shape)
    # Python's integers are i32 whatever their size, so that a type does not depend on a value; one that is too large is refused.
    dtype = {"float64": "float32", "int64": "int32", "uint64": "int32", "object": "int32"}.get(array.dtype.name, array.dtype)
    return Type(dtype, array.shape)


_told_of_simulation = False


def _warn(executable: _cleave.Executable, options: Options) -> None:
    global _told_of_simulation
    if executable.simulates and "device" not in options.given and not _told_of_simulation:
        _told_of_simulation = True
        warnings.warn("there is no GPU: runs on the simulated accelerator, as the placement or a limit of its memory asks for one; its results are "
                      "real and its times are not", PlacementWarning, stacklevel=6)
    for diagnostic in executable.diagnostics:
        if diagnostic.severity in ("warning", "remark"):
            text = f"{diagnostic.message} [-W{diagnostic.kind}]"
            warnings.warn_explicit(text, PlacementWarning, diagnostic.file or "<cleave>", diagnostic.line or 1)
