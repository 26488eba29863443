"""Python functions that a running program calls on the host."""
from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _cleave
from ._gradient import Differentiable
from ._tensor import Tensor, name_results, operand, recorder, traces
from ._types import Type, TypeLike, dtype_name
from ._where import here, statement


_NUMBERS: dict[type, Any] = {bool: np.bool_, int: np.int32, float: np.float32}


def host_call(function: Callable[..., Any], results: TypeLike | Sequence[TypeLike] | None, *inputs: Any, name: str | None = None,
              pure: bool = False, seconds: float | None = None, deadline: float | None = None, copy: bool = True,
              gradient: HostGradient | Callable[..., Any] | None = None) -> Any:
    """Calls `function` on the host, with NumPy arrays, each time the program reaches this call.

    `results`: the type of its result ("f32[4]"), a list of types for a tuple of arrays, or None for a function that is called for its
    effect. Calls keep their order unless `pure` says that equal inputs give equal results and nothing else happens. `seconds`: the cost of
    a call, for the plan. `deadline`: the most seconds that a call may take. With `copy=False` the arrays are views of the program's memory,
    valid only during the call. An exception in the function ends the run with an Error at the line of the call, and is its `__cause__`.
    `gradient`: a function that the host calls for gradients through the call. It takes the inputs, the results, and a cotangent for each
    result (the derivative of the loss by it), and returns one for each floating input.

        response = cleave.host_call(plant, "f32[256]", force, pure=True, seconds=2e-5)
    """
    owner = recorder("host_call")
    if not callable(function):
        raise TypeError(f"cleave: host_call(function, results, *inputs) takes a function, not {function!r}")
    place, names = statement()
    several = _several(results)
    given: Any = [] if results is None else results if several else [results]
    texts = [str(Type.of(each)) for each in given]
    called: str = name or getattr(function, "__name__", None) or type(function).__name__
    declared = _cleave.HostFunction(called, texts, pure, seconds, deadline, copy)
    given_inputs = [operand(value, owner) for value in inputs]
    if gradient is not None:  # a number has a cotangent as any other input
        given_inputs = [owner.constant(np.asarray(value, _NUMBERS[type(value)]), place) if type(value) in _NUMBERS else value
                        for value in given_inputs]
    found = owner.host_call(declared, function, given_inputs, place)
    if gradient is not None and found:
        found = _with_gradient(gradient, declared_as=(called, pure, deadline, copy), owner=owner, inputs=given_inputs, results=found)
    name_results(owner, found, names, place)
    tensors = tuple(Tensor(each, owner) for each in found)
    if results is None:
        return None
    return tensors if several else tensors[0]


class HostGradient:
    """The gradient of a host function, and what it reads."""

    def __init__(self, function: Callable[..., Any], reads: Sequence[str] = ("inputs", "results"), seconds: float | None = None) -> None:
        unknown = set(reads) - {"inputs", "results"}
        if unknown or isinstance(reads, str):
            raise TypeError(f"cleave: `reads` is a list of \"inputs\" and \"results\", not {reads!r}")
        self.function, self.reads, self.seconds = function, reads, seconds


def _with_gradient(gradient: HostGradient | Callable[..., Any], declared_as: tuple[str, bool, float | None, bool], owner: _cleave.Recorder,
                   inputs: list[Any], results: list[_cleave.Operand]) -> list[_cleave.Operand]:
    """The results of a call, with a gradient of their own."""
    rule = gradient if isinstance(gradient, HostGradient) else HostGradient(gradient)
    name, pure, deadline, copy = declared_as
    place = here()
    results, cotangents, types = owner.begin_gradient(name, inputs, results, place)
    given = [*(inputs if "inputs" in rule.reads else []), *(results if "results" in rule.reads else []), *cotangents]
    declared = _cleave.HostFunction(name + "_gradient", types, pure, rule.seconds, deadline, copy)
    function = rule.function
    several = function if len(types) != 1 else lambda *arrays: _only(function(*arrays))
    found = owner.host_call(declared, several, given, place)
    if isinstance(function, Differentiable) and function.rule is not None:
        found = _with_gradient(function.rule, declared_as=(name + "_gradient", pure, deadline, copy), owner=owner, inputs=given, results=found)
    owner.end_gradient(found, place)
    return results


def _only(result: Any) -> Any:
    """The result of a function with one, which may be in a tuple."""
    return result[0] if isinstance(result, (tuple, list)) and len(result) == 1 else result


def _several(results: Any) -> bool:
    if isinstance(results, list):
        return True
    if not isinstance(results, tuple):
        return False
    try:
        dtype_name(results[0])
    except (TypeError, IndexError):
        return True
    return False


def host_function(results: TypeLike | Sequence[TypeLike] | None | Callable[..., Any] = None, *, name: str | None = None, pure: bool = False,
                  seconds: float | None = None, deadline: float | None = None,
                  copy: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes traced programs call a Python function on the host; see `host_call`. Outside of a trace, the function is called directly.

    `results` may be a function from the types of the inputs to those of the results: `lambda x: x`. `.gradient` states the gradient of the
    function by another one; see `host_call`. `reads` leaves out what it does not take.

        @cleave.host_function("f32[84, 84]", pure=True, seconds=2e-3)
        def simulate(state):
            return numpy.roll(state, 1)

        @simulate.gradient(reads=[])
        def _(cotangent):
            return numpy.roll(cotangent, -1)
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError("cleave: host_function takes the types of the function's results: @cleave.host_function(\"f32[4]\"), or None if there "
                            "are none")

        def called(rule: HostGradient | None, *inputs: Any) -> Any:
            if not traces.stack:
                return function(*inputs)
            types = results(*[_type_of(value) for value in inputs]) if callable(results) else results
            return host_call(function, types, *inputs, name=name, pure=pure, seconds=seconds, deadline=deadline, copy=copy, gradient=rule)

        made = Differentiable(function, called, HostGradient)
        made.declared = HostDeclaration(results, name, pure, seconds, deadline, copy)
        return made

    return decorate


@dataclasses.dataclass(frozen=True)
class HostDeclaration:
    """What `host_function` states about a function."""

    results: TypeLike | Sequence[TypeLike] | None | Callable[..., Any] = None
    name: str | None = None
    pure: bool = True
    seconds: float | None = None
    deadline: float | None = None
    copy: bool = True


class OperatorFunction:
    """A Python function that computes the nodes of an operator of an ONNX file."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"cleave: host_functions has functions, not {function!r}")
        declared = getattr(function, "declared", None)
        self.declared = declared if isinstance(declared, HostDeclaration) else HostDeclaration()
        self.function: Callable[..., Any] = function.__wrapped__ if isinstance(declared, HostDeclaration) else function  # type: ignore[attr-defined]

    def __call__(self, op: str, attributes: dict[str, Any], inputs: list[str | None]) -> tuple[_cleave.HostFunction, Callable[..., Any]]:
        """For a node of the operator: the declaration of its host function, whose types are left out if the file states them, and the
        function of the present inputs."""
        function, declared = self.function, self.declared
        inspect.signature(function).bind(*inputs, **attributes)
        results = declared.results
        if callable(results):
            types = [None if text is None else Type.of(text) for text in inputs]
            takes_attributes = _takes(results, types, attributes)
            results = results(*types, **attributes) if takes_attributes else results(*types)
        given: Any = [] if results is None else results if _several(results) else [results]
        made = _cleave.HostFunction(declared.name or op, [str(Type.of(each)) for each in given], declared.pure, declared.seconds,
                                    declared.deadline, declared.copy)

        def computed(*arrays: Any) -> Any:
            present = iter(arrays)
            return function(*[None if text is None else next(present) for text in inputs], **attributes)

        return made, computed


def _takes(function: Callable[..., Any], inputs: list[Any], attributes: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*inputs, **attributes)
    except TypeError:
        return False
    return True


def _type_of(value: Any) -> Type:
    if isinstance(value, (bool, int, float)):
        return Type("bool" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32")
    return value.type if isinstance(value, Tensor) else Type.of(value)
