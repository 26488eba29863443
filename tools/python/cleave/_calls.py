"""Calls of traced functions: which parts of the arguments are inputs of the program, which are known while tracing, and the key by which the
program of a call is found. Knows nothing of programs."""
from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import is_number_list
from ._nest import flatten, transform
from ._types import Type, TypeLike, dtype_name

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Leaf:
    """The place of an input in the nests of the arguments; `like` is its type, if that is declared."""

    __slots__ = ("path", "like")

    def __init__(self, path: str, like: TypeLike = None) -> None:
        self.path, self.like = path, like


class Static:
    """An argument, or a part of one, that the function gets as it is while it is traced."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Form:
    """The arguments of a call without the data of its inputs. Calls with one key have one program, if their inputs have the same types."""

    __slots__ = ("arguments", "key", "flat")

    def __init__(self, arguments: dict[str, Any], key: Any, flat: bool) -> None:
        self.arguments, self.key = arguments, key
        self.flat = flat  # each argument is one input, in the order of the parameters without a default

    def filled(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the inputs at their places."""
        return {name: transform(nest, lambda leaf: inputs[leaf.path] if isinstance(leaf, Leaf) else leaf.value)
                for name, nest in self.arguments.items()}

    @property
    def paths(self) -> list[str]:
        """The names of the inputs."""
        return [leaf.path for nest in self.arguments.values() for _, leaf in flatten(nest) if isinstance(leaf, Leaf)]


class Inputs(dict[str, Any]):
    """The inputs of a run by name, with the form of the call."""

    __slots__ = ("form",)
    form: Form


class Signature:
    """The parameters of a function, and which of them are static."""

    def __init__(self, function: Callable[..., Any], static: str | Sequence[str]) -> None:
        self.name: str = getattr(function, "__name__", "the function")
        self._signature = inspect.signature(function)
        self._parameters = self._signature.parameters
        self.static = frozenset([static] if isinstance(static, str) else static)
        unknown = [name for name in self.static if name not in self._parameters]
        if unknown:
            raise TypeError(f"cleave: static={sorted(self.static)}: {self.name}() has no parameter `{unknown[0]}`")
        #: The parameters of one value each that a call must give.
        self.required = [name for name, each in self._parameters.items()
                         if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and name not in self.static]
        #: Those and the ones with a default, in their order.
        self.all = [name for name, each in self._parameters.items() if each.kind in _POSITIONAL and name not in self.static]
        self.plain = all(each.kind in _POSITIONAL for each in self._parameters.values())  # no keyword-only ones, no *args

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is `self`."""
        return next(iter(self._parameters), "") == "self"

    def bind(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The given arguments by the names of the parameters; a TypeError as Python's of a call that does not fit."""
        if not named and self.plain and len(arguments) == len(self.required) == len(self._parameters):
            return dict(zip(self.required, arguments))
        try:
            return self._signature.bind(*arguments, **named).arguments
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None

    def spread(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the named arguments of a call with these values."""
        bound = inspect.BoundArguments(self._signature, dict(values))
        return list(bound.args), dict(bound.kwargs)

    def is_static(self, name: str, value: Any) -> bool:
        """Whether an argument is static: it is declared so, or it overrides a default by a Python value."""
        if name in self.static:
            return True
        parameter = self._parameters.get(name)
        return parameter is not None and parameter.default is not parameter.empty and not hasattr(value, "dtype") and _is_key(value)


def form_of(signature: Signature, values: Mapping[str, Any], of_types: bool = False) -> Inputs:
    """The inputs and the form of a call. `of_types`: texts are types of inputs."""
    inputs = Inputs()
    keys: list[Any] = []
    arguments = {}
    for name, value in values.items():
        arguments[name] = _outline(value, name, inputs, keys, signature.is_static(name, value), of_types)
    flat = list(arguments) == signature.required and all(isinstance(each, Leaf) for each in arguments.values())
    inputs.form = Form(arguments, tuple(keys), flat)
    return inputs


def declared_form(arguments: dict[str, Any], statics: Mapping[str, Any]) -> Form:
    """The form of calls of a function with declared types, and with some static arguments."""
    keys: list[Any] = []
    nests = {**arguments, **{name: _outline(value, name, Inputs(), keys, True, False) for name, value in statics.items()}}
    return Form(nests, tuple(keys), not statics and all(isinstance(each, Leaf) for each in arguments.values()))


def _outline(value: Any, path: str, inputs: Inputs, keys: list[Any], static: bool, of_types: bool) -> Any:
    if static:
        keys.append((path, key_of(value, path)))
        return Static(value)
    if value is None:
        keys.append((path, None))
        return None
    if _is_input(value) or of_types and isinstance(value, (str, Type)) or of_types and _is_type_pair(value):
        inputs[path] = value
        return Leaf(path)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and is_number_list(value):
        if "." in path and not value:
            keys.append((path, type(value)))
            return type(value)()
        inputs[path] = value
        return Leaf(path)
    if isinstance(value, (str, bytes, enum.Enum, type)) or callable(value):
        keys.append((path, key_of(value, path)))
        return Static(value)
    members: Any = None
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        members = list(zip(value._fields, value))
    elif isinstance(value, (list, tuple)):
        members = list(enumerate(value))
    elif dataclasses.is_dataclass(value):
        members = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if members is None:
        raise TypeError(f"cleave: argument `{path}`: a {type(value).__name__} is no array, number, or nest of them (tuple, list, dict, dataclass); "
                        f"static={path.split('.')[0]!r} passes it to the function as it is")
    keys.append((path, type(value), tuple(name for name, _ in members)))
    parts = [_outline(each, f"{path}.{name}", inputs, keys, False, of_types) for name, each in members]
    if isinstance(value, dict):
        return dict(zip(value.keys(), parts))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*parts)
    if isinstance(value, (list, tuple)):
        return list(parts) if isinstance(value, list) else tuple(parts)
    return dataclasses.replace(value, **{name: part for (name, _), part in zip(members, parts)})


def _is_input(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.ndarray, np.generic)) or hasattr(value, "dtype") and hasattr(value, "shape") or (
        hasattr(value, "__dlpack__"))


def _is_type_pair(value: Any) -> bool:
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], (tuple, list))) or isinstance(value[0], (tuple, list, dict)):
        return False
    try:
        dtype_name(value[0])
    except TypeError:
        return False
    return True


def _is_key(value: Any) -> bool:
    try:
        key_of(value, "")
    except TypeError:
        return False
    return True


def key_of(value: Any, path: str) -> Any:
    """The key that tells static values apart: equal ones of a type have one program."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(key_of(each, path) for each in value)
    if isinstance(value, dict):
        return dict, tuple((key, key_of(each, path)) for key, each in value.items())
    if isinstance(value, np.ndarray):
        raise TypeError(f"cleave: static argument `{path}` is an array; without static= it is an input")
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"cleave: static argument `{path}`: a {type(value).__name__} cannot be compared with that of the next call, since it has no "
                        "hash") from None
    return type(value), value


def leaves(nest: Any, path: str) -> Any:
    """A nest of types with each type as one leaf: ("f32", (4, 2)) is a type, and not a tuple of two."""
    if isinstance(nest, (str, Type)) or hasattr(nest, "dtype") or _is_type_pair(nest):
        return Leaf(path, nest)
    if isinstance(nest, (tuple, list)) and not hasattr(nest, "_fields"):
        return type(nest)(leaves(each, f"{path}.{number}") for number, each in enumerate(nest))
    if isinstance(nest, dict):
        return {key: leaves(each, f"{path}.{key}") for key, each in nest.items()}
    paths = iter([name for name, _ in flatten(nest, path)])
    return transform(nest, lambda leaf: Leaf(next(paths), leaf))
