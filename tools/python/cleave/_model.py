"""Models: programs that are read from files or traced, planned, compiled and run."""
from __future__ import annotations

import atexit
import operator
import os
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from . import _cleave
from ._errors import PlacementWarning, UsageError
from ._plan import Plan
from ._types import Type, numpy_dtype

_FEW = 8  # more programs of one model than this, and the caller is told


class Options:
    """Where and how a program runs; what is None is as cleave has it by default."""

    NAMES = ("device", "placement", "machine", "threads", "precision", "warn")
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
        if name == "threads":
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


class Source:
    """Where programs come from: a file, a traced function."""

    #: Whether sizes that are left open have defaults of their own.
    has_default_sizes = False

    def program(self, dims: dict[str, int], types: dict[str, Type]) -> _cleave.Program:
        """The program for inputs of these types."""
        raise NotImplementedError


class Model:
    """A program: read by `load` or traced by `trace`. It is compiled at its first run, and again for other sizes and options; what was
    compiled is kept. May be used by several threads at once."""

    def __init__(self, source: Source, name: str, declared: dict[str, Type] | None, dims: Mapping[str, int], options: Options) -> None:
        self._source = source
        self._name = name
        self._declared = declared
        self._input_names = tuple(declared or ())
        self._dims = dict(dims)
        self._options = options
        self._lock = threading.RLock()
        self._programs: dict[Any, _cleave.Program] = {}
        self._latest: _cleave.Program | None = None
        self._executables: dict[Any, _cleave.Executable] = {}
        # What most runs are made by: the one executable for the model's own options, and its program.
        self._usual: tuple[_cleave.Executable, _cleave.Program] | None = None
        self._states: dict[str, str] = {}  # inputs, and the outputs of the run before that they take
        self._carried: dict[str, Any] = {}

    # What it is.

    @property
    def name(self) -> str:
        """Its name, as reports have it."""
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
        """The types of the outputs by name; of the sizes that were used last."""
        return {name: Type.of(text) for name, text in self._known().outputs}

    def __repr__(self) -> str:
        types = ", ".join(f"{name}: {type_}" for name, type_ in self.inputs.items()) if self._declared is not None else "…"
        results = ", ".join(f"{name}: {type_}" for name, type_ in self.outputs.items()) if self._latest is not None else "…"
        return f"<Model {self.name}({types}) -> {results or 'nothing'}>"

    def text(self) -> str:
        """The text form of the program, for reading."""
        return self._known().text()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program to a `.graph` file, which `load` and every command read. It has no Python functions any more."""
        self._known().save(os.fspath(path))

    def reset(self) -> None:
        """Forgets the states that runs have left (`load(states=…)`): the next run is given them anew."""
        self._carried = {}

    # What is decided about it.

    def explain(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None, device: str | None = None,
                placement: str | None = None, machine: str | os.PathLike[str] | None = None, threads: int | None = None,
                precision: str | None = None, warn: Sequence[str] | None = None) -> Plan:
        """The plan: what would run where, what it costs, and why. Runs nothing.

        Where sizes are open, they are those of the last run, or follow from `dims={"batch": 64}` or `inputs={"x": "f32[64, 2]"}` (types or
        arrays). Options are those of `run`.
        """
        options = self._options.over({"device": device, "placement": placement, "machine": machine, "threads": threads,
                                      "precision": precision, "warn": warn})
        return Plan(self._program_of(inputs, dims).plan(options.given))

    def check(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None,
              **options: Any) -> list[_cleave.Diagnostic]:
        """What is to be said about the plan, as `cleave check` does: round trips and other warnings, exceeded limits. `str()` of each is
        its text. Takes what `explain` takes."""
        return [each for each in self.explain(inputs, dims=dims, **options).diagnostics if each.severity != "allowed"]

    # What it does.

    def run(self, inputs: Mapping[str, Any] | None = None, /, *, out: Mapping[str, Any] | None = None, device: str | None = None,
            placement: str | None = None, machine: str | os.PathLike[str] | None = None, threads: int | None = None,
            precision: str | None = None, **named: Any) -> Results:
        """Runs the program and waits: `model.run({"x": x})["y"]`, or `model.run(x=x)`.

        Inputs and parameters go in by name: NumPy arrays, anything with `__dlpack__` (both are read where they lie, if contiguous), numbers
        and lists. Outputs are NumPy arrays by name; `out` names arrays that outputs are written into, in place. What is not given takes the
        model's default data.

        `device`: "auto" (a GPU where one is usable, else the simulated accelerator), "none" (this machine's host alone), "simulated",
        "cuda:0". `placement`: "optimal", "makespan", "accelerator", "host". `machine`: a machine's name or file. `threads` of the host, 0
        for all cores. `precision` of the accelerator's matrix products: "f32", "tf32", "bf16". Ctrl-C ends a run.
        """
        if named:
            inputs = {**inputs, **named} if inputs else named
        elif inputs is None:
            inputs = {}
        elif type(inputs) is not dict:
            inputs = _by_name(inputs)
        if device is None and placement is None and machine is None and threads is None and precision is None:
            options = self._options
            usual = self._usual
            if usual is not None:
                results: Results | None = usual[0].run(inputs, out)
                if results is not None:
                    return results
        else:
            options = self._options.over({"device": device, "placement": placement, "machine": machine, "threads": threads,
                                          "precision": precision})
        return self._run(inputs, out, options)[0]

    def submit(self, inputs: Mapping[str, Any] | None = None, /, *, device: str | None = None, placement: str | None = None,
               machine: str | os.PathLike[str] | None = None, threads: int | None = None, precision: str | None = None, **named: Any) -> Run:
        """Starts a run and returns at once; takes what `run` takes. Arrays that are given must stay as they are until the run is over."""
        given = {**_by_name({} if inputs is None else inputs), **named}
        options = self._options.over({"device": device, "placement": placement, "machine": machine, "threads": threads,
                                      "precision": precision})
        executable, _ = self._executable_for(given, options)
        raw = executable.submit(given)
        if raw is None:
            self._refuse(given)
        return Run(raw)

    def compile(self, inputs: Mapping[str, Any] | None = None, /, *, dims: Mapping[str, int] | None = None, **options: Any) -> Model:
        """Makes everything ready now that the first run with these options and sizes would; returns the model."""
        self._compiled(self._program_of(inputs, dims), self._options.over(options))
        return self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs with the inputs in their order; gives the one output, or a tuple of them in their order."""
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

    # How.

    def _run(self, inputs: Mapping[str, Any], out: Mapping[str, Any] | None, options: Options) -> tuple[Results, _cleave.Program]:
        if self._states:
            inputs = {**self._carried, **inputs}
        executable, program = self._executable_for(inputs, options)
        given = inputs if type(inputs) is dict else dict(inputs)
        results = executable.run(given, None if out is None else dict(out))
        if results is None:
            self._refuse(given)
        if self._states:
            missing = [output for output in self._states.values() if output not in results]
            if missing:
                raise UsageError(f"error: states: `{self.name}` has no output `{missing[0]}`; it has {', '.join(results)}")
            self._carried = {name: results[output].copy() for name, output in self._states.items()}
        return results, program

    def _executable_for(self, inputs: Mapping[str, Any], options: Options) -> tuple[_cleave.Executable, _cleave.Program]:
        program = self._program_for(self._types_of(inputs))
        executable = self._compiled(program, options)
        if options is self._options and not self._states:
            self._usual = (executable, program)
        return executable, program

    def _compiled(self, program: _cleave.Program, options: Options) -> _cleave.Executable:
        key = (id(program), options.key)
        executable = self._executables.get(key)
        if executable is None:
            with self._lock:
                executable = self._executables.get(key)
                if executable is None:
                    executable = _cleave.compile(program, options.given)
                    self._executables[key] = executable
                    _warn(executable, options)
        return executable

    def _bound(self, declared: Mapping[str, Type]) -> dict[str, Type]:
        return {name: type_.bound(self._dims) for name, type_ in declared.items()}

    def _types_of(self, inputs: Mapping[str, Any]) -> dict[str, Type]:
        """The types of the inputs that decide sizes."""
        if self._declared is None:
            return {name: _type_of(value, None) for name, value in inputs.items()}
        bound = self._bound(self._declared)
        return {name: _type_of(inputs[name], type_) for name, type_ in bound.items() if name in inputs and self._may_differ(type_)}

    def _may_differ(self, type_: Type) -> bool:
        return type_.open

    def _program_of(self, inputs: Mapping[str, Any] | None, dims: Mapping[str, int] | None) -> _cleave.Program:
        if inputs is None and not dims and self._latest is not None:
            return self._latest
        types = {name: Type.of(value) for name, value in _by_name({} if inputs is None else inputs).items()}
        return self._program_for(types, _sizes(dims))

    def _program_for(self, types: Mapping[str, Type], dims: Mapping[str, int] | None = None) -> _cleave.Program:
        """The program for inputs of these types and dims, made now if there is none yet."""
        key = (tuple(sorted((name, str(type_)) for name, type_ in types.items())), tuple(sorted((dims or {}).items())))
        program = self._programs.get(key)
        if program is None:
            with self._lock:
                program = self._programs.get(key)
                if program is None:
                    program = self._make(types, {**self._dims, **(dims or {})})
                    self._programs[key] = program
                    if len(self._programs) == _FEW + 1:
                        warnings.warn(f"`{self.name}` was compiled for {_FEW + 1} different tuples of sizes; pad the inputs to a few fixed "
                                      "sizes if more are to come", PlacementWarning, stacklevel=4)
        self._latest = program
        return program

    def _make(self, types: Mapping[str, Type], dims: dict[str, int]) -> _cleave.Program:
        if self._declared is None:
            if not types:
                raise UsageError(f"error: the types of `{self.name}` are those of its first call; call it, or give explain() `inputs`")
            return self._source.program(dims, dict(types))
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
        return self._source.program(sizes, final)

    def _known(self) -> _cleave.Program:
        return self._latest if self._latest is not None else self._program_for({})

    def _refuse(self, inputs: Mapping[str, Any]) -> NoReturn:
        known = {name: Type.of(text) for name, text, _ in self._known().inputs + self._known().parameters}
        for name, value in inputs.items():
            given = _type_of(value, known.get(name))
            if name in known and given != known[name]:
                raise UsageError(f"error: input `{name}` of `{self.name}` is {known[name]}, but {given} is given{_advice(known[name], given)}")
        raise UsageError(f"error: the inputs of `{self.name}` have other types than it takes")


def _by_name(inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise TypeError("cleave: inputs go in by name: run({\"x\": x}) or run(x=x); in their order: model(x)")
    return dict(inputs)


def _sizes(dims: Mapping[str, int] | None) -> dict[str, int]:
    return {name: operator.index(size) for name, size in (dims or {}).items()}


def _advice(wanted: Type, given: Type) -> str:
    if wanted.dtype == given.dtype:
        return ""
    return f"; convert it: .astype(\"{numpy_dtype(wanted.dtype).name}\")"


def _type_of(value: Any, wanted: Type | None) -> Type:
    """The type of something given as an input; lists and numbers adapt."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        given = Type.of(value)
        if wanted is not None and wanted.dtype == "bf16" and given.dtype == "u16":
            return Type("bf16", given.shape)
        return given
    array = np.asarray(value)
    if wanted is not None:
        return Type(wanted.dtype, array.shape)
    dtype = {"float64": "float32", "int64": "int32"}.get(array.dtype.name, array.dtype)
    return Type(dtype, array.shape)


_told_of_simulation = False


def _warn(executable: _cleave.Executable, options: Options) -> None:
    global _told_of_simulation
    if executable.simulates and "device" not in options.given and not _told_of_simulation:
        _told_of_simulation = True
        warnings.warn("there is no GPU: runs on the simulated accelerator, whose results are real and whose times are not; "
                      "device=\"none\" runs on this machine alone", PlacementWarning, stacklevel=6)
    for diagnostic in executable.diagnostics:
        if diagnostic.severity in ("warning", "remark"):
            text = f"{diagnostic.message} [-W{diagnostic.kind}]"
            warnings.warn_explicit(text, PlacementWarning, diagnostic.file or "<cleave>", diagnostic.line or 1)


class _Yaml(Source):
    """A model in YAML, read again for other sizes. Its dims have defaults."""

    has_default_sizes = True

    def __init__(self, path: str, text: str | None, seed: int) -> None:
        self.path = path
        self.text = text
        self.seed = seed

    def declared(self) -> list[tuple[str, str]]:
        """Inputs and their types as they are written."""
        return _cleave.declared_inputs(self.path, self.text)

    def program(self, dims: dict[str, int], types: dict[str, Type]) -> _cleave.Program:
        if self.text is not None:
            return _cleave.Program.parse(self.text, self.path, dims)
        return _cleave.Program.read(self.path, {"dims": dims}, self.seed)


class _Onnx(Source):
    """An ONNX file, read again for other sizes."""

    def __init__(self, path: str, options: dict[str, Any], seed: int) -> None:
        self.path = path
        self.options = options
        self.seed = seed

    def declared(self) -> list[tuple[str, str]]:
        """Inputs and their types as they are written, but for those that are constants."""
        shapes = self.options.get("shapes", {})
        constants = self.options.get("constants", {})
        result = []
        for name, text in _cleave.declared_inputs(self.path, None):
            if name in constants:
                continue
            given = shapes.get(name)
            type_ = Type.of(text)
            if given is not None and len(given) == len(type_.shape):
                type_ = Type(type_.dtype, [old if new is None else new for old, new in zip(type_.shape, given)])
            result.append((name, str(type_)))
        return result

    def program(self, dims: dict[str, int], types: dict[str, Type]) -> _cleave.Program:
        sizes = {name: list(type_.shape) for name, type_ in types.items() if not type_.open}
        return _cleave.Program.read(self.path, {**self.options, "dims": self.options.get("dims", {}), "input_shapes": sizes}, self.seed)


class _Graph(Source):
    """A program that was saved: its sizes are fixed."""

    def __init__(self, path: str, seed: int) -> None:
        self.path = path
        self.seed = seed

    def declared(self) -> list[tuple[str, str]]:
        """Nothing but what the program itself says."""
        return []

    def program(self, dims: dict[str, int], types: dict[str, Type]) -> _cleave.Program:
        return _cleave.Program.read(self.path, {"dims": dims}, self.seed)


def load(path: str | os.PathLike[str], *, dims: Mapping[str, int] | None = None, shapes: Mapping[str, Sequence[int | None]] | None = None,
         constants: Mapping[str, Any] | None = None, bounds: Mapping[str, int] | None = None, states: Mapping[str, str] | None = None,
         assume_host: Sequence[str] = (), accelerator_ops: str = "cleave", seed: int = 0,
         device: str | None = None, placement: str | None = None, machine: str | os.PathLike[str] | None = None, threads: int | None = None,
         precision: str | None = None, warn: Sequence[str] | None = None) -> Model:
    """Reads a model: "model.yaml", "model.onnx" or "program.graph".

    `dims`: sizes by name, `{"batch": 64}`, for all runs; else they follow from the arrays of each run. `seed`: added to every seed of the
    model. For ONNX: `shapes` of inputs, `{"x": (1, None, 224)}`; `constants`, inputs that are the same in every run and may decide sizes,
    as an array, a value as the command line has it, or the path of an .npy file; `bounds`, how large a result can become whose size depends
    on data, by node; `accelerator_ops="ort-cuda-1.23"`: only what ONNX Runtime 1.23 has CUDA kernels for is placed on the accelerator;
    `placement="onnxruntime"`: nodes are placed as it places them. `assume_host`: operators that cleave does not know, taken as functions of
    the host, for plans and not for runs.

    `states`: inputs that take an output of the run before, `{"past": "present"}`, unless a run is given them; `Model.reset` begins anew.
    Such a model is run by one thread at a time.

    Options are those of `Model.run`, for all runs that say nothing else; `warn=["no-round-trip", "error"]` are flags -W… of the command
    line. Mistakes in the model are a cleave.Error, all of them at once, each at its line. Loads no library; only runs do.
    """
    options = Options.of({"device": device, "placement": placement, "machine": machine, "threads": threads, "precision": precision,
                          "warn": warn})
    name = os.fspath(path)
    own = {"shapes": {key: list(shape) for key, shape in (shapes or {}).items()}, "constants": dict(constants or {}), "bounds": dict(bounds or {}),
           "assume_host": [assume_host] if isinstance(assume_host, str) else list(assume_host)}
    given = [key for key, value in own.items() if value] + (["accelerator_ops"] if accelerator_ops != "cleave" else [])
    if not name.endswith(".onnx"):
        if given:
            raise UsageError(f"error: `{given[0]}` is for ONNX models")
        if name.endswith(".graph"):
            return _with_states(_loaded(_Graph(name, seed), _sizes(dims), options), states)
        return _with_states(_loaded(_Yaml(name, None, seed), _sizes(dims), options), states)
    if accelerator_ops not in ("cleave", "ort-cuda-1.23"):
        raise UsageError(f"error: no accelerator_ops `{accelerator_ops}`: cleave or ort-cuda-1.23")
    pins = "cleave" if accelerator_ops == "cleave" else "kernels"
    if placement == "onnxruntime":
        pins, options = "placement", options.over({"placement": "accelerator"})
    onnx = _Onnx(name, {**own, "pins": pins, "dims": _sizes(dims)}, seed)
    return _with_states(_loaded(onnx, _sizes(dims), options), states)


def _with_states(model: Model, states: Mapping[str, str] | None) -> Model:
    for name, output in (states or {}).items():
        if name not in model.inputs:
            raise UsageError(f"error: states: `{model.name}` has no input `{name}`; it has {', '.join(model.inputs)}")
        if model._latest is not None and output not in model.outputs:
            raise UsageError(f"error: states: `{model.name}` has no output `{output}`; it has {', '.join(model.outputs)}")
    model._states = dict(states or {})
    return model


def parse(text: str, file: str = "<model>", *, dims: Mapping[str, int] | None = None, **options: Any) -> Model:
    """A model in YAML from its text; `file` is what messages call it, and where relative paths start."""
    return _loaded(_Yaml(file, text, 0), _sizes(dims), Options.of(options))


def _loaded(source: _Yaml | _Onnx | _Graph, dims: dict[str, int], options: Options) -> Model:
    declared = {}
    for name, text in source.declared():
        try:
            declared[name] = Type.of(text)
        except ValueError:
            pass  # sizes that are computed: those of the program
    needed = any(type_.bound(dims).open for type_ in declared.values()) and not source.has_default_sizes
    if needed:
        # Mistakes that have nothing to do with sizes are told when sizes are known.
        return Model(source, os.path.splitext(os.path.basename(source.path))[0], declared, dims, options)
    program = source.program(dims, {})
    types = {name: declared.get(name, Type.of(text)) for name, text, _ in program.inputs}
    model = Model(source, program.name, types, dims, options)
    model._programs[((), ())] = program
    model._latest = program
    return model
