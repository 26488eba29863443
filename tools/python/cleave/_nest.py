"""Nests: the structured values that loops carry and traced functions take and return. A nest is a tensor, number or array; a tuple, list,
dict, named tuple or dataclass of nests; or None, which holds nothing."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


def _members(nest: Any) -> list[tuple[str, Any]] | None:
    """The parts of a nest by name; None for a leaf."""
    if isinstance(nest, dict):
        return [(str(key), value) for key, value in nest.items()]
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return list(zip(nest._fields, nest))
    if isinstance(nest, (tuple, list)):
        return [(str(i), value) for i, value in enumerate(nest)]
    if dataclasses.is_dataclass(nest) and not isinstance(nest, type):
        return [(field.name, getattr(nest, field.name)) for field in dataclasses.fields(nest)]
    return [] if nest is None else None


def flatten(nest: Any, path: str = "", positions: bool = False) -> list[tuple[str, Any]]:
    """The leaves in order, each with its name ("layers.0.w"). Positions at the top have no name unless `positions` is set."""
    members = _members(nest)
    if members is None:
        return [(path, nest)]
    named = positions or path != "" or isinstance(nest, dict) or hasattr(nest, "_fields") or dataclasses.is_dataclass(nest)
    leaves: list[tuple[str, Any]] = []
    for name, value in members:
        inner = (f"{path}.{name}" if path else name) if named else ""
        leaves.extend(flatten(value, inner, positions))
    return leaves


def rebuild(nest: Any, leaves: Any) -> Any:
    """The nest with other leaves, from an iterator."""
    members = None if nest.__class__ is int else _members(nest)
    if members is None:
        return next(leaves)
    values = [rebuild(value, leaves) for _, value in members]
    if isinstance(nest, dict):
        return type(nest)(zip(nest.keys(), values)) if type(nest) is dict else dict(zip(nest.keys(), values))
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*values)
    if isinstance(nest, (tuple, list)):
        return type(nest)(values)
    if nest is None:
        return None
    return dataclasses.replace(nest, **dict(zip((name for name, _ in members), values)))


def transform(nest: Any, function: Callable[[Any], Any]) -> Any:
    """The nest with `function` applied to each leaf."""
    return rebuild(nest, iter([function(leaf) for _, leaf in flatten(nest)]))


def same_shape(a: Any, b: Any) -> bool:
    """Whether two nests have their leaves in the same places."""
    first, second = _members(a), _members(b)
    if first is None or second is None:
        return first is None and second is None
    return len(first) == len(second) and all(
        name == other and same_shape(value, another) for (name, value), (other, another) in zip(first, second))
