"""Tracing: a Python function becomes a program."""
from __future__ import annotations

import contextlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from . import _cleave, functions
from ._arrays import adapted
from ._calls import Form, Inputs, Leaf, Signature, declared_form, form_of, leaves
from ._methods_of import Methods
from ._model import Model, Source, _type_of, sizes_of
from ._nest import flatten, rebuild, transform
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
                 limits: dict[str, Any] | None, dims: dict[str, int] | None, static: str | Sequence[str] | None, options: Options) -> None:
        self._function = function
        self._outputs = outputs
        self._limits = dict(limits or {})
        unknown = set(self._limits) - {"round_trips", "transfers", "bytes_per_run", "prediction_error"}
        if unknown:
            raise TypeError(f"cleave: no limit {', '.join(sorted(unknown))}: round_trips, transfers, bytes_per_run, prediction_error")
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", "traced")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)
        self.__wrapped__ = function
        self._place = _definition(function)
        self._signature = Signature(function, static or ())
        self._given: dict[str, Any] = {"types": types, "name": name, "outputs": outputs, "limits": limits, "dims": dims, "static": static}
        self._bound_models = Methods()
        method = self._signature.is_method
        nests = None if method else _declared(self._signature, function, types)
        self._form = None if nests is None else declared_form(nests, {})
        # The names of the leaves that a parameter with a declared nest has; None: it is one input.
        self._wanted = {each: None if isinstance(nest, Leaf) else [leaf.path for _, leaf in flatten(nest)] for each, nest in (nests or {}).items()}
        self._parameters_of_function = self._signature.required
        self._results: dict[int, Any] = {}  # nests of the programs' results
        self._calls: dict[int, Any] = {}  # the keys of their forms, and the names of their inputs
        self._flat: dict[int, Any] = {}  # those of the programs whose arguments are one input each
        declared = None if nests is None else {leaf.path: Type.of(leaf.like) for nest in nests.values() for _, leaf in flatten(nest)}
        super().__init__(_TracedSource(self), name or self.__name__, declared, sizes_of(dims), options)
        if declared is not None and not self._signature.static and not any(type_.open for type_ in self._bound(declared).values()):
            self._program_for({})

    def _record(self, types: dict[str, Type], form: Form) -> tuple[_cleave.Program, Any]:
        owner = _cleave.Recorder(self.name)
        inputs = {name: Tensor(owner.input(name, str(type_), self._place), owner) for name, type_ in types.items()}
        for name, tensor in inputs.items():
            tensor._label = name
        arguments, named = self._signature.spread(form.filled(inputs))
        traces.stack.append(owner)
        try:
            result = run_traced(self._function, arguments, named)
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
        leaves_of_result = flatten(result)
        if self._outputs is not None and len(self._outputs) != len(leaves_of_result):
            raise ValueError(f"cleave: `outputs` names {len(self._outputs)} values, but the function returns {len(leaves_of_result)}")
        values = [owner.value(_returned(value, owner), self._place) for _, value in leaves_of_result]
        names = self._outputs or owner.output_names([name for name, _ in leaves_of_result], values)
        for name, value in zip(names, values):
            owner.output(name, value, self._place)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs the program: takes arrays where the function takes tensors, and returns arrays where it returns tensors."""
        if traces.stack:
            return self._function(*arguments, **named)  # part of another traced function
        usual = self._usual
        if usual is not None and not named and len(arguments) == len(self._parameters_of_function):
            outline = self._flat.get(id(usual[1]))
            if outline is not None:
                try:
                    found = usual[0].run(dict(zip(self._parameters_of_function, arguments)), None)
                except TypeError:  # an argument that is a nest, or none at all
                    found = None
                if found is not None:
                    return rebuild(outline[0], iter(found.values()))
        if self._signature.is_method:
            return self.__get__(arguments[0], type(arguments[0]))(*arguments[1:], **named)
        inputs = self._inputs_of(self._signature.bind(arguments, named))
        if usual is not None and self._calls.get(id(usual[1])) == (inputs.form.key, tuple(inputs)):
            found = usual[0].run(inputs, None)
            if found is not None:
                return rebuild(self._results[id(usual[1])], iter(found.values()))
        results, program = self._run(inputs, None, self._options)
        return rebuild(self._results[id(program)], iter(results.values()))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The traced function as a method of an instance: each instance has programs of its own, and others once an attribute has changed."""
        if instance is None:
            return self
        return self._bound_models.of(instance, lambda: type(self)(types.MethodType(self._function, instance), options=self._options, **self._given))

    def _inputs_of(self, values: dict[str, Any]) -> Inputs:
        """The inputs of a call, and its form."""
        if self._form is None:
            return form_of(self._signature, values)
        statics = {name: value for name, value in values.items() if name not in self._form.arguments}
        undeclared = [name for name, value in statics.items() if not self._signature.is_static(name, value)]
        if undeclared:
            raise TypeError(f"{self.__name__}(): the argument `{undeclared[0]}` is an input, but no type is declared for it; declare one for each "
                            f"parameter up to it, or static={undeclared[0]!r}")
        inputs = Inputs()
        for name, wanted in self._wanted.items():
            if name in values:
                if wanted is None:
                    inputs[name] = values[name]
                else:
                    given = flatten(values[name], name)
                    inputs.update(given if [path for path, _ in given] == wanted else _refuse_nest(name, given, wanted))
        inputs.form = declared_form(self._form.arguments, statics) if statics else self._form
        return inputs

    def _ready(self, inputs: Any, options: Options) -> Any:
        if not isinstance(inputs, Inputs):
            inputs = self._named_inputs(inputs)
        return super()._ready(inputs, options)

    def _named_inputs(self, inputs: dict[str, Any], of_types: bool = False) -> Any:
        """Inputs by name, with the form that calls with them have: inputs of the program, or arguments of the function."""
        if self._form is not None or self._latest_form is not None and set(inputs) == set(self._latest_form.paths):
            return inputs
        return form_of(self._signature, self._signature.bind((), inputs), of_types)

    _latest_form: Form | None = None

    def _program_of(self, inputs: Any, dims: Any) -> _cleave.Program:
        if inputs and self._form is None:
            given = self._named_inputs(dict(inputs), of_types=True)
            types = {name: Type.of(value) if isinstance(value, (str, tuple)) else _type_of(value, None) for name, value in given.items()}
            return self._program_for(types, sizes_of(dims), getattr(given, "form", None))
        return super()._program_of(inputs, dims)

    def __reduce__(self) -> Any:
        module = sys.modules.get(self.__module__)
        found: Any = module
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__  # by name, as a function
        return _remade, (type(self), self._function, self._given, self._options.given, self._options.memory_limit, self._states.values())

    def __deepcopy__(self, memo: Any) -> TracedModel:
        return _remade(type(self), self._function, self._given, self._options.given, self._options.memory_limit, self._states.values())

    def __repr__(self) -> str:
        return f"<traced {super().__repr__()[1:]}"


def _remade(kind: type[TracedModel], function: Any, given: dict[str, Any], options: dict[str, Any], memory_limit: float | None,
            states: dict[str, Any]) -> TracedModel:
    model = kind(function, options=Options(options, memory_limit), **given)
    model._states.restore(states)
    return model


def _returned(value: Any, owner: _cleave.Recorder) -> Any:
    if not isinstance(value, Tensor) and not isinstance(value, (int, float, np.ndarray, np.generic)) and not hasattr(value, "__dlpack__"):
        from ._masked import Selection

        if isinstance(value, Selection):
            return operand(value.tensor(), owner)
        raise TypeError(f"cleave: a traced function returns tensors, numbers, arrays, or nests of them, not a {type(value).__name__}")
    return operand(value, owner)


def _refuse_nest(name: str, given: list[tuple[str, Any]], wanted: list[str]) -> list[tuple[str, Any]]:
    """Refuses an argument whose leaves are not those that are declared for it; another order is fine."""
    missing = sorted(set(wanted) - {path for path, _ in given})
    surplus = [path for path, _ in given if path not in wanted]
    if missing or surplus:
        raise TypeError(f"cleave: argument `{name}` has " + (f"no `{missing[0]}`" if missing else f"`{surplus[0]}`, which is not declared"))
    return given


class _TracedSource(Source):
    """Makes programs by tracing."""

    def __init__(self, model: TracedModel) -> None:
        self.model = model

    def program(self, dims: dict[str, int], types: dict[str, Type], form: Form | None = None) -> _cleave.Program:
        model = self.model
        form = form or model._form or model._latest_form
        assert form is not None
        model._latest_form = form
        program, result = model._record(types, form)
        outline = _outline(result)
        model._results[id(program)] = outline
        model._calls[id(program)] = (form.key, tuple(types))
        if form.flat and model._signature.plain:
            model._flat[id(program)] = (outline,)
        return program


def _outline(result: Any) -> Any:
    """The structure of the nest, without references to the trace."""
    return transform(result, lambda leaf: None if leaf is None else 0)


def _definition(function: Callable[..., Any]) -> _cleave.Location:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return here()
    return _cleave.Location(code.co_filename, code.co_firstlineno)


def _declared(signature: Signature, function: Callable[..., Any], types: Sequence[Any]) -> dict[str, Any] | None:
    """The nests of types by parameter; None: the calls determine them."""
    if types:
        if not len(signature.required) <= len(types) <= len(signature.all):
            raise TypeError(f"cleave: {signature.name}() has {len(signature.required)} parameters, but {len(types)} types are given")
        return {name: leaves(each, name) for name, each in zip(signature.all, types)}
    if not signature.required and signature.plain and not signature.static:
        return {}
    if not signature.plain:
        return None
    annotations = getattr(function, "__annotations__", {})
    found = {}
    for name in signature.required:
        text = annotations.get(name)
        if isinstance(text, str):
            text = text.strip("'\"")
        try:
            found[name] = leaves(Type.of(text), name)
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
          memory_limit: float | str | None = None, static: str | Sequence[str] | None = None) -> TracedModel: ...


@overload
def trace(*types: str | tuple[Any, Any] | dict[str, Any] | Type, name: str | None = None, outputs: Sequence[str] | None = None,
          limits: dict[str, Any] | None = None, dims: dict[str, int] | None = None, device: str | None = None, placement: str | None = None,
          machine: str | None = None, threads: int | None = None, workers: int | None = None, precision: str | None = None,
          keep: str | None = None, accelerator_memory: float | str | None = None,
          warn: Sequence[str] | None = None,
          memory_limit: float | str | None = None,
          static: str | Sequence[str] | None = None) -> Callable[[Callable[..., Any]], TracedModel]: ...


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
    own = {key: named.pop(key, None) for key in ("name", "outputs", "limits", "dims", "static")}
    options = Options.of(named)
    if arguments and callable(arguments[0]) and not isinstance(arguments[0], type) and not hasattr(arguments[0], "dtype"):
        return TracedModel(arguments[0], types=arguments[1:], options=options, **own)
    return lambda function: TracedModel(function, types=arguments, options=options, **own)
