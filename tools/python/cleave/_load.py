"""Models from files: YAML, ONNX, saved programs."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _cleave
from ._errors import UsageError
from ._host import OperatorFunction
from ._model import Model, Source, sizes_of
from ._network import Network
from ._run import Options
from ._types import Type


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

    def program(self, dims: dict[str, int], types: dict[str, Type], form: Any = None) -> _cleave.Program:
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

    def program(self, dims: dict[str, int], types: dict[str, Type], form: Any = None) -> _cleave.Program:
        sizes = {name: list(type_.shape) for name, type_ in types.items() if not type_.open}
        return _cleave.Program.read(self.path, {**self.options, "dims": self.options.get("dims", {}), "input_shapes": sizes}, self.seed)


class _Graph(Source):
    """A program that was saved: its sizes are fixed."""

    def __init__(self, path: str, seed: int) -> None:
        self.path = path
        self.seed = seed

    def declared(self) -> list[tuple[str, str]]:
        """Empty: the program itself has the types of its inputs."""
        return []

    def program(self, dims: dict[str, int], types: dict[str, Type], form: Any = None) -> _cleave.Program:
        return _cleave.Program.read(self.path, {"dims": dims}, self.seed)


def load(path: str | os.PathLike[str], *, dims: Mapping[str, int] | None = None, shapes: Mapping[str, Sequence[int | None]] | None = None,
         constants: Mapping[str, Any] | None = None, bounds: Mapping[str, int] | None = None, states: Mapping[str, str] | None = None,
         parameters: str | Sequence[str] = (), assume_host: Sequence[str] = (),
         host_functions: Mapping[str, Callable[..., Any]] | None = None, accelerator_ops: str = "cleave",
         seed: int = 0, device: str | None = None, placement: str | None = None, machine: str | os.PathLike[str] | None = None, threads: int | None = None,
         workers: int | None = None, precision: str | None = None, keep: str | None = None, accelerator_memory: float | str | None = None,
         warn: Sequence[str] | None = None, memory_limit: float | str | None = None) -> Model:
    """Reads a model: "model.yaml", "model.onnx" or "program.graph".

    `dims`: sizes by name, `{"batch": 64}`, for all runs; else they follow from the arrays of each run. `seed`: added to every seed of the
    model. For ONNX: `shapes` of inputs, `{"x": (1, None, 224)}`; `constants`, inputs that are the same in every run and may determine
    sizes, as an array, a value in the command line's notation, or the path of an .npy file; `bounds`, upper bounds on result sizes that
    depend on data, by node; `accelerator_ops="ort-cuda-1.31"` (or 1.23): only nodes with a CUDA kernel in that version of ONNX Runtime are
    placed on the accelerator; `placement="onnxruntime"`: nodes are placed as ONNX Runtime places them. `assume_host`: unknown operators that are taken as
    host functions, for plans and not for runs. `host_functions`: Python functions that compute the nodes of an operator, by its name with
    its domain, `{"com.acme.Scale": scale}`. They are called with NumPy arrays (None for an input that a node leaves out) and the node's
    attributes by their names, and return an array for each result. The types of the results are those that the file states, or those of
    `cleave.host_function` above the function, which also declares its cost.

    `parameters`: weights of an ONNX file that become parameters, `"all"`, or names and patterns such as `"fc.*"`. They are states, which
    `Model.save_states` and `Model.load_states` know. What is returned for an ONNX file is a `Network`, which traced functions call.

    `states`: inputs that take an output of the previous run, `{"past": "present"}`, unless a run is passed a value for them. The value
    stays on its device between runs and is not among their results: `Model.state("past")` returns it, and `Model.reset` restores the
    initial values. Runs of such a model do not overlap.

    A program is compiled for each tuple of sizes; all of them share the weights. `memory_limit`: bytes, or "2GiB", above which the least
    recently used programs are discarded, and made again when they are needed; a program with states is never discarded.

    Options are those of `Model.run`, as defaults for all runs; `warn=["no-round-trip", "error"]` are flags -W… of the command line. Mistakes
    in the model raise one cleave.Error with all of them, each at its line. Loads no library; only runs do.
    """
    options = Options.of({"device": device, "placement": placement, "machine": machine, "threads": threads, "workers": workers, "precision": precision,
                          "keep": keep, "accelerator_memory": accelerator_memory, "warn": warn, "memory_limit": memory_limit})
    name = os.fspath(path)
    own = {"shapes": {key: list(shape) for key, shape in (shapes or {}).items()}, "constants": dict(constants or {}),
           "bounds": dict(bounds or {}), "parameters": [parameters] if isinstance(parameters, str) else list(parameters),
           "host_functions": {op: OperatorFunction(function) for op, function in (host_functions or {}).items()},
           "assume_host": [assume_host] if isinstance(assume_host, str) else list(assume_host)}
    given = [key for key, value in own.items() if value] + (["accelerator_ops"] if accelerator_ops != "cleave" else [])
    if not name.endswith(".onnx"):
        if given:
            raise UsageError(f"error: `{given[0]}` is for ONNX models")
        if name.endswith(".graph"):
            return _loaded(_Graph(name, seed), sizes_of(dims), options, states)
        return _loaded(_Yaml(name, None, seed), sizes_of(dims), options, states)
    if accelerator_ops not in ("cleave", "ort-cuda-1.23", "ort-cuda-1.31"):
        raise UsageError(f"error: no accelerator_ops `{accelerator_ops}`: cleave, ort-cuda-1.23 or ort-cuda-1.31")
    pins = "cleave" if accelerator_ops == "cleave" else "kernels"
    version = {"onnxruntime": accelerator_ops.removeprefix("ort-cuda-")} if pins == "kernels" else {}
    if placement == "onnxruntime":
        pins, options = "placement", options.over({"placement": "accelerator"})
    onnx = _Onnx(name, {**own, **version, "pins": pins, "dims": sizes_of(dims)}, seed)
    network = _loaded(onnx, sizes_of(dims), options, states, Network)
    assert isinstance(network, Network)
    network._options_of_file = onnx.options
    if parameters:
        network._function()  # says at once which pattern chooses nothing
    return network


def parse(text: str, file: str = "<model>", *, dims: Mapping[str, int] | None = None, **options: Any) -> Model:
    """A model in YAML from its text; `file` is its name in messages, and relative paths start at its folder."""
    return _loaded(_Yaml(file, text, 0), sizes_of(dims), Options.of(options))


def _loaded(source: _Yaml | _Onnx | _Graph, dims: dict[str, int], options: Options, states: Mapping[str, str] | None = None,
            kind: type[Model] = Model) -> Model:
    declared = {}
    for name, text in source.declared():
        try:
            declared[name] = Type.of(text)
        except ValueError:
            pass  # computed sizes: the program's type is used
    unknown = [name for name in states or {} if declared and name not in declared]
    if unknown and isinstance(source, _Onnx):
        raise UsageError(f"error: states: `{source.path}` has no input `{unknown[0]}`; it has {', '.join(declared)}")
    needed = any(type_.bound(dims).open for type_ in declared.values()) and not source.has_default_sizes
    if needed:
        # All mistakes, even those that do not depend on sizes, are reported once sizes are known.
        return kind(source, os.path.splitext(os.path.basename(source.path))[0], declared, dims, options, states)
    program = source.program(dims, {})
    types = {name: declared.get(name, Type.of(text)) for name, text, _ in program.inputs}
    model = kind(source, program.name, types, dims, options, states)
    model._latest = model._programs[((), ())] = model._adopted(program)
    return model
