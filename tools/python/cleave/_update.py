"""Updates: `updated` records `x[index] = value` and its kin as operations that give a new tensor. `x` itself is not changed here."""
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import adapted
from ._errors import UserError
from ._index import Mask, Picks, Window, broadcast_shape, parse, rank, stacked, together
from ._tensor import Tensor, _tensor, constant_of, foreign, note_read, poison, recorder
from ._types import numpy_dtype
from ._where import here

#: The ways to combine what is there with the new value: the operation that does so, and the reduction of a scatter.
HOW = {"set": ("", "none"), "add": ("add", "add"), "subtract": ("subtract", "add"), "multiply": ("multiply", "mul"),
       "divide": ("divide", "mul"), "min": ("minimum", "min"), "max": ("maximum", "max")}
_FLOATING = ("f16", "bf16", "f32", "f64")


def updated(x: Any, index: Any, value: Any, how: str = "set") -> Tensor:
    """`x` after `x[index] = value`, or after another update: "add", "subtract", "multiply", "divide", "min", "max".

    `x` is a Tensor, or an array or number, which becomes a constant. `index` is all that NumPy takes: integers, slices, `...`, None, masks,
    and arrays of positions, each of them also traced; slices with traced bounds have a length that is known (`i:i + 3`). `value` broadcasts
    to `x[index]` and becomes of the element type of `x`. With "set", the last of several updates of one position counts, as in NumPy; the
    other ways take all of them. A position out of range, a value that does not fit or broadcast is an Error at the user's line.
    """
    if isinstance(x, Tensor) and x._recorder.finished:
        raise foreign(x, "x[...] = v")
    owner = recorder("x[...] = v")
    if not isinstance(x, Tensor):
        x = constant_of(x)
    if how not in HOW:
        raise ValueError(f"cleave: no update `{how}`; there are {', '.join(HOW)}")
    if x._operand.poisoned or isinstance(value, Tensor) and value._operand.poisoned:
        return poison(owner)
    if how == "divide" and x._kind() not in _FLOATING:
        owner.error("type", f"the elements of {x.type} are divided in place; convert them first: .astype(\"float32\")", here())
        return poison(owner)
    picks = parse(x, index)
    if picks is None:
        return poison(owner)
    if any(isinstance(item, Mask) for item in picks):
        from ._masked import updated_where

        return updated_where(x, picks, value, how)
    return update_picks(x, picks, value, how)


def update_picks(x: Tensor, picks: Picks, value: Any, how: str) -> Tensor:
    """`updated` for an index without masks."""
    window = all(item is None or isinstance(item, (int, Window)) or isinstance(item, range) and (item.step == 1 or len(item) < 2)
                 or isinstance(item, Tensor) and item.ndim == 0 for item in picks)
    return _in_window(x, picks, value, how) if window else _scattered(x, picks, value, how)


def fitted(value: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value as a tensor of the element type of `x` and of a shape that it broadcasts to."""
    value = typed(value, x)
    if value._operand.poisoned:
        return value
    own = value.shape
    while len(own) > len(shape) and own[0] == 1:
        own = own[1:]
    good = len(own) <= len(shape) and all(a in (1, b) for a, b in zip(reversed(own), reversed(shape)))
    if not good:
        x._recorder.error("shape", f"a value of shape {list(value.shape)} is assigned to elements of shape {list(shape)}", here())
        return poison(x._recorder)
    if own != value.shape:
        value = _tensor("reshape", (value,), {"shape": own})
    return value if own == shape else _tensor("broadcast_to", (value,), {"shape": shape})


def typed(value: Any, x: Tensor) -> Tensor:
    """A value as a tensor of the element type of `x`. Numbers must fit; a tensor is converted as NumPy's assignments do, but for conversions
    to another kind of number, which would change values."""
    wanted = x._kind()
    if isinstance(value, (list, tuple)) and any(isinstance(each, (Tensor, list, tuple)) for each in value):
        return _tensor("stack", tuple(typed(each, x) for each in value), {"axis": 0})
    if not isinstance(value, Tensor):
        try:
            return constant_of(adapted(value, wanted, "the assigned value"))
        except (TypeError, UserError) as error:
            message = str(error).removeprefix("error: ").removeprefix("cleave: ")
            x._recorder.error("value", message, here())
            return poison(x._recorder)
    given = value._kind()
    if given == wanted:
        return value
    if not np.can_cast(_numpys(given), _numpys(wanted), "same_kind"):
        x._recorder.error("type", f"a value of type {value.type} is assigned to elements of {wanted}; convert it: "
                          f".astype(\"{numpy_dtype(wanted).name}\")", here())
        return poison(x._recorder)
    return _tensor("astype", (value,), {"dtype": wanted})


def _numpys(dtype: str) -> Any:
    return np.dtype(np.float16) if dtype == "bf16" else numpy_dtype(dtype)


def combined(old: Tensor, value: Tensor, how: str) -> Tensor:
    """What an update leaves of old elements and a value of their shape."""
    return value if how == "set" else _tensor("astype", (_tensor(HOW[how][0], (old, value), {}),), {"dtype": old._kind()})


def _in_window(x: Tensor, picks: Picks, value: Any, how: str) -> Tensor:
    """An update of one window: as many neighboring elements of each axis as the index says."""
    axes = [item for item in picks if item is not None]
    starts = [item.start if isinstance(item, (range, Window)) else item for item in axes]
    sizes = tuple(len(item) if isinstance(item, range) else item.length if isinstance(item, Window) else 1 for item in axes)
    shape = tuple(1 if item is None else len(item) if isinstance(item, range) else item.length for item in picks
                  if item is None or isinstance(item, (range, Window)))
    value = fitted(value, x, shape)
    if value._operand.poisoned:
        return value
    if 0 in sizes:
        note_read(value)
        return x.copy()
    if shape != sizes:
        value = _tensor("reshape", (value,), {"shape": sizes})
    if how != "set":
        old = x if sizes == x.shape else _tensor("dynamic_slice", (x, *_starts(starts)), {"sizes": sizes})
        value = combined(old, value, how)
    if sizes == x.shape and all(start == 0 for start in starts if isinstance(start, int)):
        return Tensor(value._operand, x._recorder)
    return _tensor("dynamic_update_slice", (x, value, *_starts(starts)), {})


def _starts(starts: list[Any]) -> list[Any]:
    known = all(isinstance(start, int) for start in starts)
    return [np.asarray(starts, np.int32 if max(starts) < 2**31 else np.int64)] if known else starts


def _scattered(x: Tensor, picks: Picks, value: Any, how: str) -> Tensor:
    """An update of elements that are no window: each axis that the index does not take whole has positions, and goes in front."""
    arrays = [item for item in picks if isinstance(item, (int, Tensor, np.ndarray))]
    shape = broadcast_shape(x, arrays)
    if shape is None:
        return poison(x._recorder)
    # The axes of x[index], in NumPy's order: (extent, the axis of x or "block" for an axis of the broadcast positions or None, which).
    block = [(extent, "block", at) for at, extent in enumerate(shape)]
    layout: list[tuple[int, Any, int]] = []
    placed = not arrays
    if arrays and not together(picks):
        layout, placed = list(block), True
    axis = 0
    for item in picks:
        if isinstance(item, (int, Tensor, np.ndarray)) and not placed:
            layout, placed = [*layout, *block], True
        if item is None:
            layout.append((1, None, 0))
        elif isinstance(item, (range, Window)):
            whole = isinstance(item, range) and item == range(x.shape[axis])
            layout.append((len(item) if isinstance(item, range) else item.length, "whole" if whole else "part", axis))
        axis += item is not None
    value = fitted(value, x, tuple(extent for extent, _, _ in layout))
    if value._operand.poisoned:
        return value
    layout_kept = [each for each in layout if each[1] is not None]
    if len(layout_kept) != len(layout):
        value = _tensor("reshape", (value,), {"shape": tuple(extent for extent, _, _ in layout_kept)})
    chosen = [each for each in layout_kept if each[1] != "whole"]
    order = [layout_kept.index(each) for each in chosen] + [at for at, each in enumerate(layout_kept) if each[1] == "whole"]
    if order != list(range(len(order))):
        value = _tensor("permute_dims", (value,), {"axes": order})
    grid = tuple(extent for extent, _, _ in chosen)
    positions, front = _positions(x, picks, chosen, grid, shape)
    rest = [axis for axis in range(x.ndim) if axis not in front]
    axes = [*front, *rest]
    moved = x if axes == list(range(x.ndim)) else _tensor("permute_dims", (x,), {"axes": axes})
    if how in ("subtract", "divide"):
        value = _tensor("negative" if how == "subtract" else "reciprocal", (value,), {})
        value = value if value._kind() == x._kind() else _tensor("astype", (value,), {"dtype": x._kind()})
    result = _tensor("scatter_nd", (moved, stacked(positions, grid), value), {"reduction": HOW[how][1]})
    return result if moved is x else _tensor("permute_dims", (result,), {"axes": [axes.index(axis) for axis in range(x.ndim)]})


def _positions(x: Tensor, picks: Picks, chosen: list[tuple[int, Any, int]], grid: tuple[int, ...],
               block: tuple[int, ...]) -> tuple[list[Any], list[int]]:
    """For each axis of `x` that is not whole: its positions, of the axes of `grid` or of extent 1; and these axes."""
    positions: list[Any] = []
    front: list[int] = []
    first = next((at for at, each in enumerate(chosen) if each[1] == "block"), 0)
    axis = -1
    for item in picks:
        if item is None:
            continue
        axis += 1
        if isinstance(item, (range, Window)):
            at = next((at for at, each in enumerate(chosen) if each[1] == "part" and each[2] == axis), None)
            if at is None:
                continue
            extents = [1] * len(grid)
            extents[at] = grid[at]
            along: Any = np.asarray(item if isinstance(item, range) else range(item.length), np.int32).reshape(extents)
            positions.append(along if isinstance(item, range) else _tensor("add", (along, item.start), {}))
        else:
            own = (1,) * (len(block) - rank(item)) + (tuple(item.shape) if rank(item) else ())
            extents = [1] * first + list(own) + [1] * (len(grid) - first - len(block))
            if isinstance(item, Tensor):
                item = item if list(item.shape) == extents else _tensor("reshape", (item,), {"shape": extents})
            elif rank(item):
                item = item.reshape(extents)
            positions.append(item)
        front.append(axis)
    return positions, front

