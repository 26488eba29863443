"""Assignments to tensors, as NumPy has them. A Tensor stands for a value, and `x[i] = v` makes it stand for the updated one. What NumPy
calls a view of `x` (`x[0]`, `x.T`, `x.reshape(...)`) follows such assignments, and assignments to a view go through to `x`."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import _cleave
from ._tensor import Tensor, _tensor, note_read, traces
from ._where import here


class View(NamedTuple):
    """How a tensor is part of another one, its base."""

    base: Tensor
    version: int  # of the base when the tensor was read from it
    read: Callable[[Tensor], Tensor]
    write: Callable[[Tensor, Tensor], Tensor] | None  # the base with other elements in this part; None: the view is read-only
    index: Any = None  # of `x[index]`


@contextlib.contextmanager
def region() -> Iterator[None]:
    """The body of a loop or an arm of a branch: tensors from outside cannot be assigned to there."""
    outer = traces.region
    traces.region = object()
    try:
        yield
    finally:
        traces.region = outer


def as_view(part: Tensor, base: Tensor, read: Callable[[Tensor], Tensor], write: Callable[[Tensor, Tensor], Tensor] | None,
            index: Any = None) -> Tensor:
    """`part`, known to be a view of `base`."""
    if not part._operand.poisoned:
        part._view = View(base, base._version, read, write, index)
    return part


def refresh(x: Tensor) -> None:
    """Reads a view again if its base was assigned to since."""
    view: View | None = x._view
    if view is None:
        return
    refresh(view.base)
    if view.base._version != view.version:
        x._operand = view.read(view.base)._operand
        x._version += 1
        x._view = view._replace(version=view.base._version)


def assign(x: Tensor, value: Tensor) -> None:
    """Makes `x`, and what it is a view of, stand for a new value of its type."""
    if x._region is not traces.region:
        name = x._recorder.name_of(x._operand)
        called = f"`{name}`" if name else "a tensor"
        x._recorder.error("unsupported", f"{called} from outside of a loop or branch is assigned to inside of it; pass it in and return it, as "
                          "part of the state, or assign to a copy: x.copy()", here())
        x._operand = _cleave.Operand()
        return
    view: View | None = x._view
    if view is not None and view.write is None:
        raise ValueError("cleave: the tensor is a read-only view, as NumPy's diagonal() and broadcast_to() give; assign to a copy: x.copy()")
    name = x._recorder.name_of(x._operand)
    x._operand = value._operand
    x._version += 1
    x._sum = None
    if name and not value._operand.poisoned and value._operand.literal is None:
        x._recorder.name(value._operand, name, here())
    if view is not None and view.write is not None:
        refresh(view.base)
        written = view.write(view.base, Tensor(value._operand, x._recorder))
        note_read(written)  # the base may have been made for this part alone
        assign(view.base, written)
        x._view = view._replace(version=view.base._version)


def written_already(x: Tensor, index: Any, value: Any) -> bool:
    """Whether `x[index] = value` ends `x[index] += ...`, where `value` is the view that was written through already."""
    if not isinstance(value, Tensor) or value._view is None:
        return False
    view: View = value._view
    return view.base is x and view.version == x._version and _same_index(view.index, index)


def _same_index(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same_index(one, other) for one, other in zip(a, b))
    if isinstance(a, slice) and isinstance(b, slice):
        return all(_same_index(getattr(a, name), getattr(b, name)) for name in ("start", "stop", "step"))
    return a is b or type(a) is int and type(b) is int and a == b


def indexed(part: Tensor, base: Tensor, index: Any) -> Tensor:
    """`part`, read as `base[index]` by slices and single positions."""
    from ._index import read
    from ._update import updated

    return as_view(part, base, lambda new: read(new, index), lambda new, value: updated(new, index, value), index)


def _inverse(name: str, attributes: dict[str, Any], base: Tensor) -> Callable[[Tensor, Tensor], Tensor] | None:
    """What puts a whole view back into the shape of its base."""
    if name in ("reshape", "squeeze", "expand_dims"):
        return lambda new, value: _tensor("reshape", (value,), {"shape": base.shape})
    if name == "transpose":
        return lambda new, value: _tensor("transpose", (value,), {})
    if name == "flip":
        return lambda new, value: _tensor("flip", (value,), attributes)
    if name == "permute_dims":
        axes = [axis % max(base.ndim, 1) for axis in attributes["axes"]]
        return lambda new, value: _tensor("permute_dims", (value,), {"axes": [axes.index(axis) for axis in range(len(axes))]})
    if name == "moveaxis":
        return lambda new, value: _tensor("moveaxis", (value,), {"source": attributes["destination"], "destination": attributes["source"]})
    return None  # diagonal, broadcast_to


#: Functions whose result is a view in NumPy.
NAMES = frozenset({"reshape", "squeeze", "expand_dims", "transpose", "flip", "permute_dims", "moveaxis", "diagonal", "broadcast_to"})


def viewed(part: Tensor, name: str, base: Tensor, attributes: dict[str, Any]) -> Tensor:
    """`part`, the result of one of these functions."""
    return as_view(part, base, lambda new: _tensor(name, (new,), attributes), _inverse(name, attributes, base))


def parts_viewed(parts: tuple[Tensor, ...], base: Tensor, axis: int, name: str) -> tuple[Tensor, ...]:
    """The parts of `unstack` and `split`, which are views, too."""
    before = (slice(None),) * (axis % max(base.ndim, 1))
    start = 0
    for number, part in enumerate(parts):
        if part._operand.poisoned:
            continue
        width = part.shape[len(before)] if name == "split" else 1
        indexed(part, base, (*before, number if name == "unstack" else slice(start, start + width)))
        start += width
    return parts
