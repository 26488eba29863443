"""The state that loops and branches hand on: the variables of a function and what they hold, leaf by leaf."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._extraction import Extraction


class _Unbound:
    def __repr__(self) -> str:
        return "unbound"


UNBOUND = _Unbound()


class Variable:
    """A variable of the function that is extracted."""

    def __init__(self, name: str, cell: Any) -> None:
        self.name, self.cell = name, cell

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.cell.cell_contents = value
        elif self.get() is not UNBOUND:
            del self.cell.cell_contents


def variables_of(*functions: Any) -> dict[str, Variable]:
    """The variables that rewritten functions share with the function around them."""
    found: dict[str, Variable] = {}
    for function in functions:
        if function is None:
            continue
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name != "_x" and name not in found:
                found[name] = Variable(name, cell)
    return found


_LEAVES = (Tensor, int, float, bool, str, type(None), _Unbound, np.ndarray)


def _parts(value: Any, ext: Extraction) -> list[tuple[str, Any]] | None:
    """What a nest holds, by path; None for a leaf."""
    if type(value) in _LEAVES:
        return None
    if type(value) is dict:
        return [(f"[{key!r}]", each) for key, each in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", each) for name, each in zip(value._fields, value)]
    if type(value) in (tuple, list):
        return [(f"[{i}]", each) for i, each in enumerate(value)]
    if ext.is_local(value):
        return [(f".{name}", each) for name, each in vars(value).items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
    return None


class Tree:
    """A value and what it holds, as it was at one time. An object that was met before counts as a leaf."""

    def __init__(self, path: str, value: Any, ext: Extraction, seen: set[int]) -> None:
        self.path, self.value, self._ext = path, value, ext
        parts = None if id(value) in seen else _parts(value, ext)
        self.children: list[Tree] | None = None
        if parts is not None:
            if not isinstance(value, tuple):
                seen.add(id(value))
            self.keys = list(value) if type(value) is dict else [name for name, _ in parts]
            self.children = [Tree(path + name, each, ext, seen) for name, each in parts]

    def leaves(self) -> Iterator[Tree]:
        if self.children is None:
            yield self
        else:
            for each in self.children:
                yield from each.leaves()

    def same_shape(self, other: Tree) -> bool:
        if self.children is None or other.children is None:
            return self.children is None and other.children is None
        return (type(self.value) is type(other.value) and self.keys == other.keys
                and all(a.same_shape(b) for a, b in zip(self.children, other.children)))

    def put(self, leaves: Iterator[Any], fresh: bool = False) -> Any:
        """The value with other leaves, one for each of `leaves()`: lists, dicts and objects are changed in place, or copied if `fresh`."""
        if self.children is None:
            return next(leaves)
        new = [each.put(leaves, fresh) for each in self.children]
        value: Any = self.value
        if isinstance(value, tuple):
            if all(a is b for a, b in zip(new, value)):
                return value
            return type(value)(*new) if hasattr(value, "_fields") else tuple(new)
        if type(value) is list:
            if fresh:
                return new
            value[:] = new
            return value
        if type(value) is dict:
            made: Any = {} if fresh else value
            made.clear()
            made.update(zip(self.keys, new))
            return made
        names = [name[1:] for name in self.keys]
        if self._ext.is_local(value):
            if fresh:
                value = self._ext.made(object.__new__(type(value)))
            value.__dict__.clear()
            value.__dict__.update(zip(names, new))
            return value
        return dataclasses.replace(value, **dict(zip(names, new)))

    def restore(self) -> Any:
        """Puts back what the value held at that time."""
        return self.put(iter([leaf.value for leaf in self.leaves()]))


class Snapshot:
    """The values of variables at one time."""

    def __init__(self, variables: list[Variable], ext: Extraction) -> None:
        seen: set[int] = set()
        self.trees = {each.name: Tree(each.name, each.get(), ext, seen) for each in variables}

    def restore(self, variables: list[Variable]) -> None:
        """Gives the variables, and what they hold, these values again."""
        for each in variables:
            each.set(self.trees[each.name].restore())
