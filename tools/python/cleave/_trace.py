"""Tracing: a Python function becomes a program."""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from . import _cleave, functions
from ._arrays import adapted
from ._model import Model, Source, sizes_of
from ._nest import flatten, rebuild
from ._run import Options
from ._tensor import Tensor, operand, recorder, traces
from ._types import Type, TypeLike, dtype_name
from ._where import here, run_traced


def parameter(name: str, type: TypeLike, value: Any = None, *, uniform: tuple[float, float] | None = None,
              normal: tuple[float, float] | None = None, truncated_normal: tuple[float, float] | None = None,
              orthogonal: float | None = None, he: float | None = None, xavier: tuple[float, float] | None = None,
              file: str | None = None, seed: int = 0) -> Tensor:
    """A value that is initialized once and then kept from run to run. Must be called outside of loops and branches.

    Its initial value is `value` (a number for all elements, or an array), the contents of a file (.npy, .csv, .txt as bytes; of a
    .safetensors file the array `name`), or random numbers with a seed: `uniform=(low, high)`; `normal=(mean, deviation)`; `truncated_normal`, the same without what is more than two deviations from the mean;
    `orthogonal=gain`, so many times orthonormal columns, or rows; `he=inputs`, normal for a layer of that many inputs before a relu;
    `xavier=(inputs, outputs)`, uniform.
    """
    owner = recorder("parameter")
    random = {"uniform": uniform, "normal": normal, "truncated_normal": truncated_normal, "orthogonal": orthogonal, "he": he, "xavier": xavier}
    given = {"value": value, "file": file, **random}
    initial: dict[str, Any] = {key: each for key, each in given.items() if each is not None}
    if len(initial) != 1:
        raise TypeError(f"cleave: a parameter begins as one of {', '.join(given)}")
    for key in random.keys() & initial.keys():
        numbers = initial[key]
        initial[key] = [float(number) for number in (numbers if isinstance(numbers, (tuple, list)) else [numbers])]
        initial["seed"] = seed
    return Tensor(owner.parameter(name, str(Type.of(type)), initial, here()), owner)


def constant(value: Any, dtype: Any = None) -> Tensor:
    """Data known while tracing, as part of the program. Arrays passed in place of tensors also become constants.

    Numbers must fit the element type `dtype`; without one, a Python number is f32 or i32, and arrays and lists have NumPy's type.
    """
    owner = recorder("constant")
    array = np.asarray(value) if not hasattr(value, "__dlpack__") else value
    if dtype is not None:
        array = adapted(value, dtype_name(dtype), "a constant")
    elif isinstance(value, (float, int)) and not isinstance(value, (bool, np.generic)):
        array = adapted(value, "f32" if isinstance(value, float) else "i32", "a constant")
    return Tensor(owner.constant(array, here()), owner)


def named(name: str, x: Tensor) -> Tensor:
    """Gives a value the name by which messages, pictures and outputs call it; the last name counts. An input or parameter keeps its own name
    in messages; as an output it has the new one. Returns the value."""
    owner = recorder("named")
    return Tensor(owner.rename(operand(x, owner), name, here()), owner)


@contextlib.contextmanager
def _within(begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
    begin()
    try:
        yield
    finally:
        end()


def scope(label: str) -> contextlib.AbstractContextManager[None]:
    """Names the operations recorded inside of a `with` block, so that messages show the path to them: `with cleave.scope("layer3"): …`"""
    owner, place = recorder("scope"), here()
    return _within(lambda: owner.push_scope(label, place), owner.pop_scope)


def place(device: str) -> contextlib.AbstractContextManager[None]:
    """Pins the operations recorded inside of a `with` block to "host" or "accelerator" (`to_host` and `to_accelerator` excepted)."""
    owner = recorder("place")
    return _within(lambda: owner.push_place(device), owner.pop_place)


def recompute(again: bool) -> contextlib.AbstractContextManager[None]:
    """Decides for the operations recorded inside of a `with` block what a gradient that reads their results does: `True` computes them again,
    from values that are kept; `False` keeps them, also where the accelerator's memory is too small for the cheapest plan. The innermost block
    counts."""
    owner = recorder("recompute")
    return _within(lambda: owner.push_recompute(again), owner.pop_recompute)


def allow(kind: str, reason: str) -> contextlib.AbstractContextManager[None]:
    """Silences one kind of diagnostic inside of a `with` block; the reason is kept and shown: `with allow("round-trip", "why"): …`"""
    owner = recorder("allow")
    return _within(lambda: owner.push_allow(kind, reason), owner.pop_allow)


class TracedModel(Model):
    """A traced Python function: a Model that can also be called like the function, with arrays in place of tensors."""

    def __init__(self, function: Callable[..., Any], types: Sequence[Any], name: str | None, outputs: Sequence[str] | None,
                 limits: dict[str, Any] | None, dims: dict[str, int] | None, options: Options) -> None:
        self._function = function
        self._outputs = outputs
        self._limits = dict(limits or {})
        unknown = set(self._limits) - {"round_trips", "transfers", "bytes_per_run", "prediction_error"}
        if unknown:
            raise TypeError(f"cleave: no limit {', '.join(sorted(unknown))}: round_trips, transfers, bytes_per_run, prediction_error")
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", "traced")
        self.__wrapped__ = function
        self._place = _definition(function)
        self._parameters_of_function = _parameters(function)
        nests = _declared(function, self._parameters_of_function, types)
        self._nests: list[Any] | None = nests
        self._results: dict[int, Any] = {}  # nests of the programs' results
        declared = None if nests is None else self._named(nests)
        self._flat = nests is None or all(isinstance(nest, _Leaf) for nest in nests)  # each parameter is one tensor
        super().__init__(_TracedSource(self), name or self.__name__, declared, sizes_of(dims), options)
        if declared is not None and not any(type_.open for type_ in self._bound(declared).values()):
            self._program_for({})

    def _named(self, nests: Sequence[Any]) -> dict[str, Type]:
        """The leaves of the arguments by name."""
        types: dict[str, Type] = {}
        for parameter_name, nest in zip(self._parameters_of_function, nests):
            for path, leaf in flatten(nest, parameter_name):
                types[path] = Type.of(leaf.like if isinstance(leaf, _Leaf) else leaf)
        return types

    def _record(self, types: dict[str, Type]) -> tuple[_cleave.Program, Any]:
        owner = _cleave.Recorder(self.name)
        assert self._nests is not None
        inputs = {name: Tensor(owner.input(name, str(type_), self._place), owner) for name, type_ in types.items()}
        arguments = [rebuild(nest, iter([inputs[path] for path, _ in flatten(nest, parameter_name)]))
                     for parameter_name, nest in zip(self._parameters_of_function, self._nests)]
        traces.stack.append(owner)
        try:
            result = run_traced(self._function, arguments)
            self._return(owner, result)
        except Exception as raised:
            if not owner.has_errors:
                raise
            program = owner.finish(None, None, None, None, self._place)
            from ._errors import Error

            try:
                program.raise_errors()
            except Error as error:
                raise error from raised
        finally:
            traces.stack.pop()
        limits = self._limits
        program = owner.finish(limits.get("round_trips"), limits.get("transfers"), limits.get("bytes_per_run"),
                               limits.get("prediction_error"), self._place)
        program.raise_errors()
        return program, result

    def _return(self, owner: _cleave.Recorder, result: Any) -> None:
        leaves = flatten(result)
        if self._outputs is not None and len(self._outputs) != len(leaves):
            raise ValueError(f"cleave: `outputs` names {len(self._outputs)} values, but the function returns {len(leaves)}")
        values = [owner.value(operand(value, owner), self._place) for _, value in leaves]
        names = self._outputs or owner.output_names([name for name, _ in leaves], values)
        for name, value in zip(names, values):
            owner.output(name, value, self._place)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs the program: takes arrays where the function takes tensors, and returns arrays where it returns tensors."""
        if traces.stack:
            return self._function(*arguments, **named)  # part of another traced function
        parameters = self._parameters_of_function
        usual = self._usual
        if usual is not None and self._flat and not named and len(arguments) == len(parameters):
            found = usual[0].run(dict(zip(parameters, arguments)), None)
            if found is not None:
                return rebuild(self._results[id(usual[1])], iter(found.values()))
        if len(arguments) > len(parameters):
            raise TypeError(f"{self.__name__}() takes {len(parameters)} arguments, but {len(arguments)} are given")
        inputs: dict[str, Any] = {}
        for name, value in zip(parameters, arguments):
            self._put(inputs, name, value)
        for name, value in named.items():
            if name not in parameters or parameters.index(name) < len(arguments):
                raise TypeError(f"{self.__name__}() got an unexpected argument '{name}'")
            self._put(inputs, name, value)
        results, program = self._run(inputs, None, self._options)
        return rebuild(self._results[id(program)], iter(results.values()))

    def _put(self, inputs: dict[str, Any], name: str, value: Any) -> None:
        nest = self._nests[self._parameters_of_function.index(name)] if self._nests is not None else None
        if nest is None or isinstance(nest, _Leaf):
            inputs[name] = value
        else:
            inputs.update(flatten(value, name))

    def __repr__(self) -> str:
        return f"<traced {super().__repr__()[1:]}"


class _Leaf:
    """The type of one tensor among the arguments: its place holder while nests are flattened."""

    def __init__(self, like: TypeLike) -> None:
        self.like = like


def _leaves(nest: Any) -> Any:
    """The nest of types with each type as one leaf: ("f32", (4, 2)) is a type, and not a tuple of two."""
    if isinstance(nest, (str, Type)) or hasattr(nest, "dtype"):
        return _Leaf(nest)
    if isinstance(nest, tuple) and len(nest) == 2 and isinstance(nest[1], (tuple, list)) and not isinstance(nest[0], (tuple, list, dict)):
        try:
            dtype_name(nest[0])
            return _Leaf(nest)
        except TypeError:
            pass
    from ._nest import transform

    if isinstance(nest, (tuple, list)) and not hasattr(nest, "_fields"):
        return type(nest)(_leaves(each) for each in nest)
    if isinstance(nest, dict):
        return {key: _leaves(each) for key, each in nest.items()}
    return transform(nest, _Leaf)


class _TracedSource(Source):
    """Makes programs by tracing."""

    def __init__(self, model: TracedModel) -> None:
        self.model = model

    def program(self, dims: dict[str, int], types: dict[str, Type]) -> _cleave.Program:
        model = self.model
        if model._nests is None:  # the types of the first call
            model._nests = [_leaves(types[name]) for name in model._parameters_of_function]
        program, result = model._record(types)
        model._results[id(program)] = _outline(result)
        return program


def _outline(result: Any) -> Any:
    """The structure of the nest, without references to the trace."""
    from ._nest import transform

    return transform(result, lambda leaf: None if leaf is None else 0)


def _definition(function: Callable[..., Any]) -> _cleave.Location:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return here()
    return _cleave.Location(code.co_filename, code.co_firstlineno)


def _parameters(function: Callable[..., Any]) -> list[str]:
    names = []
    for parameter_ in inspect.signature(function).parameters.values():
        if parameter_.kind in (parameter_.POSITIONAL_ONLY, parameter_.POSITIONAL_OR_KEYWORD):
            if parameter_.default is parameter_.empty:
                names.append(parameter_.name)
        elif parameter_.kind == parameter_.VAR_POSITIONAL:
            raise TypeError("cleave: a traced function names its parameters; it cannot take *args")
        elif parameter_.kind == parameter_.KEYWORD_ONLY and parameter_.default is parameter_.empty:
            raise TypeError(f"cleave: a traced function has no keyword-only parameters such as `{parameter_.name}`; bind it by "
                            "functools.partial")
    return names


def _declared(function: Callable[..., Any], parameters: list[str], types: Sequence[Any]) -> list[Any] | None:
    """The nests of types of all parameters; None: the first call determines them."""
    if types:
        if len(types) != len(parameters):
            called = getattr(function, "__name__", "the function")
            raise TypeError(f"cleave: {called}() has {len(parameters)} parameters, but {len(types)} types are given")
        return [_leaves(each) for each in types]
    if not parameters:
        return []
    annotations = getattr(function, "__annotations__", {})
    found = []
    for name in parameters:
        text = annotations.get(name)
        if isinstance(text, str):
            text = text.strip("'\"")
        try:
            found.append(_leaves(Type.of(text)))
        except (TypeError, ValueError):
            return None
    return found


@overload
def trace(x: Tensor, offset: int = 0) -> Tensor: ...


@overload
def trace(function: Callable[..., Any], /, *types: TypeLike | Any, name: str | None = None, outputs: Sequence[str] | None = None,
          limits: dict[str, Any] | None = None, dims: dict[str, int] | None = None, device: str | None = None, placement: str | None = None,
          machine: str | None = None, threads: int | None = None, workers: int | None = None, precision: str | None = None,
          keep: str | None = None, accelerator_memory: float | str | None = None, warn: Sequence[str] | None = None,
          memory_limit: float | str | None = None) -> TracedModel: ...


@overload
def trace(*types: str | tuple[Any, Any] | dict[str, Any] | Type, name: str | None = None, outputs: Sequence[str] | None = None,
          limits: dict[str, Any] | None = None, dims: dict[str, int] | None = None, device: str | None = None, placement: str | None = None,
          machine: str | None = None, threads: int | None = None, workers: int | None = None, precision: str | None = None,
          keep: str | None = None, accelerator_memory: float | str | None = None,
          warn: Sequence[str] | None = None,
          memory_limit: float | str | None = None) -> Callable[[Callable[..., Any]], TracedModel]: ...


def trace(*arguments: Any, **named: Any) -> Any:
    """Makes a program of a Python function: calls it once, with tensors, and records its operations.

        @cleave.trace("f32[4, 2]", "f32[2, 1]")
        def predict(x, w):
            return cleave.tanh(x @ w)

        predict(x, w)                       # runs, with arrays
        print(predict.explain())            # what would run where, and why

    Each parameter has a type: "f32[4, 2]", (dtype, shape), an array, or a nest of them (tuple, list, dict, dataclass). Sizes may be left
    open, "f32[batch, 2]" or "f32[?, 2]": the function is traced again for each new tuple of sizes. Without types, the annotations or the
    arguments of the first call determine them. `cleave.trace(function, *types)` does the same without the decorator. `outputs` names the
    results; otherwise members of dicts and dataclasses and `named` do. `limits={"round_trips": 0}` makes a test of the plan, and
    `limits={"prediction_error": 0.2}` of a run: if its time differs by more than 20 % from the predicted time, it raises cleave.Error (on a
    real clock from the second run on). `memory_limit`: as for `load`. Tracing raises one cleave.Error with all mistakes, each at its line.
    For a Tensor, `trace(x)` is the sum of a matrix' diagonal.
    """
    if arguments and isinstance(arguments[0], Tensor):
        return functions.trace(*arguments, **named)
    own = {key: named.pop(key, None) for key in ("name", "outputs", "limits", "dims")}
    options = Options.of(named)
    if arguments and callable(arguments[0]) and not isinstance(arguments[0], type) and not hasattr(arguments[0], "dtype"):
        return TracedModel(arguments[0], arguments[1:], options=options, **own)
    return lambda function: TracedModel(function, arguments, options=options, **own)
