"""Indices of a tensor: `parse` says what `x[...]` means, axis by axis, and `read` records the operations that read it. `_update.py` writes
by the same understanding. Nothing here changes a tensor."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._tensor import Tensor, _tensor, foreign, number_of, poison, recorder
from ._where import here


class Window(NamedTuple):
    """So many elements of an axis, from a computed start on: `x[i:i + length]`."""

    start: Tensor
    length: int


class Mask(NamedTuple):
    """A traced mask over as many axes as it has."""

    values: Tensor


#: An index for each axis: an int, a `range`, a Window, a Tensor or a NumPy array of positions, a Mask (over several axes), or None for a new
#: axis. None in place of the list: the index was wrong, and the error is recorded.
Picks = list[Any]


def parse(x: Tensor, index: Any) -> Picks | None:
    """What an index says of each axis of `x`; positions known while tracing are within their axes and not negative."""
    items = [_item(each) for each in (index if isinstance(index, tuple) else (index,))]
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise IndexError("cleave: `...` stands once in an index")
    used = sum(_width(item) for item in items)
    if used > x.ndim:
        given, axes = ("index" if used == 1 else "indices"), ("axis" if x.ndim == 1 else "axes")
        x._recorder.error("shape", f"{used} {given} for {x.ndim} {axes} of {x.type}", here())
        return None
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    picks: Picks = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            picks.extend(range(extent) for extent in x.shape[axis:axis + x.ndim - used])
            axis += x.ndim - used
        elif item is None:
            picks.append(None)
        else:
            found = _on_axis(x, axis, item)
            if found is None:
                return None
            picks.extend(found)
            axis += _width(item)
    return picks


def _item(item: Any) -> Any:
    """One part of an index as None, `...`, a slice, an int, a Tensor or a NumPy array."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, Tensor):
        literal = number_of(item)
        return item if literal is None else _item(literal)
    if isinstance(item, (bool, np.bool_)):
        raise IndexError("cleave: an index is an integer, not a bool")
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, (list, tuple)) and _holds_tensors(item):
        return _tensor("stack", tuple(item), {"axis": 0})
    array = np.asarray(item)
    if isinstance(item, (list, tuple)) and array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iub":
        raise IndexError(f"cleave: an index is an integer, not {array.dtype}")
    return array


def _holds_tensors(items: Any) -> bool:
    return any(isinstance(item, Tensor) or isinstance(item, (list, tuple)) and _holds_tensors(item) for item in items)


def _is_bool(item: Any) -> bool:
    return isinstance(item, Tensor) and item._kind() == "bool" or isinstance(item, np.ndarray) and item.dtype == np.bool_


def _width(item: Any) -> int:
    """The number of axes that a part of an index takes."""
    if item is None or item is Ellipsis:
        return 0
    return int(item.ndim) if _is_bool(item) else 1


def _on_axis(x: Tensor, axis: int, item: Any) -> Picks | None:
    if isinstance(item, int):
        return _within(x, axis, np.asarray(item))
    if isinstance(item, slice):
        return [_range(x, axis, item)]
    if _is_bool(item):
        wanted = x.shape[axis:axis + item.ndim]
        if item.shape != wanted:
            x._recorder.error("shape", f"a mask of shape {list(item.shape)} for axes of extents {list(wanted)} of {x.type}", here())
            return None
        if isinstance(item, Tensor):
            return [Mask(item)]
        return [np.asarray(positions, np.int32) for positions in np.nonzero(item)]
    if isinstance(item, np.ndarray):
        return _within(x, axis, item)
    if item._kind()[0] not in "iu":
        raise IndexError(f"cleave: an index is an integer, not {item._kind()}")
    return [item]


def _within(x: Tensor, axis: int, positions: Any) -> Picks | None:
    extent = x.shape[axis]
    wrong = (positions < -extent) | (positions >= extent)
    if wrong.any():
        first = int(positions[wrong][0]) if positions.ndim else int(positions)
        x._recorder.error("shape", f"index {first} is outside axis {axis} of extent {extent} of {x.type}", here())
        return None
    counted = np.where(positions < 0, positions + extent, positions)
    return [counted.astype(np.int32 if extent < 2**31 else np.int64) if positions.ndim else int(counted)]


def _range(x: Tensor, axis: int, item: slice) -> Any:
    bounds = [number_of(bound) if isinstance(bound, Tensor) else None for bound in (item.start, item.stop, item.step)]
    start, stop, step = (given if known is None else known for given, known in zip((item.start, item.stop, item.step), bounds))
    if not any(isinstance(bound, Tensor) for bound in (start, stop, step)):
        return range(*slice(start, stop, step).indices(x.shape[axis]))
    length = stop._less(start) if isinstance(start, Tensor) and isinstance(stop, Tensor) else None
    if length is None or step not in (None, 1):
        raise IndexError("cleave: how long a slice is must be known while tracing: x[i:i + 3] has 3 elements; a slice that begins or ends "
                         "at a computed position cannot take the rest of an axis, nor have a step; where(mask, x, 0) chooses elements")
    return Window(start, max(length, 0))


def rank(item: Any) -> int:
    """The number of axes of an array of positions; 0 for everything else."""
    return int(item.ndim) if isinstance(item, (Tensor, np.ndarray)) else 0


def is_view(index: Any) -> bool:
    """Whether NumPy makes a view of an index: it has no lists, arrays and masks."""
    return all(not isinstance(each, (list, tuple, np.ndarray)) and not (isinstance(each, Tensor) and each.ndim)
               for each in (index if isinstance(index, tuple) else (index,)))


def read(x: Tensor, index: Any) -> Any:
    """`x[index]`, recorded; a traced mask gives a Selection."""
    if x._recorder.finished:
        raise foreign(x, "x[...]")
    owner = recorder("x[...]")
    if x._operand.poisoned:
        return x
    picks = parse(x, index)
    if picks is None:
        return poison(owner)
    if any(isinstance(item, Mask) for item in picks):
        from ._masked import selection

        return selection(x, picks)
    return read_picks(x, picks)


def read_picks(x: Tensor, picks: Picks) -> Tensor:
    """`x` read as `parse` understood an index without masks."""
    axes = [item for item in picks if item is not None]
    many = [item for item in axes if rank(item) > 0]
    others = any(isinstance(item, int) or isinstance(item, Tensor) and item.ndim == 0 for item in axes)
    if len(many) > 1 or many and others:
        return _gather(x, picks)
    picks = list(picks)
    if any(isinstance(item, Window) for item in picks):
        x, picks = _windows(x, picks)
    x, picks = _take(x, picks, scalars=True)
    x, picks = _slice(x, picks)
    x, picks = _take(x, picks, scalars=False)
    return with_new_axes(x, picks)


def with_new_axes(x: Tensor, picks: Picks) -> Tensor:
    """`x` with an axis of extent 1 for each None."""
    for axis, item in enumerate(picks):
        if item is None:
            x = _tensor("expand_dims", (x,), {"axis": axis})
    return x


def _whole(x: Tensor, axis: int) -> range:
    return range(x.shape[axis])


def _windows(x: Tensor, picks: Picks) -> tuple[Tensor, Picks]:
    axes = [item for item in picks if item is not None]
    starts = [item.start if isinstance(item, Window) else 0 for item in axes]
    sizes = [item.length if isinstance(item, Window) else x.shape[axis] for axis, item in enumerate(axes)]
    if any(item.length > x.shape[axis] for axis, item in enumerate(axes) if isinstance(item, Window)):
        x._recorder.error("shape", f"a slice of {max(sizes)} elements is longer than its axis of {x.type}", here())
        return poison(x._recorder), []
    x = _tensor("dynamic_slice", (x, *starts), {"sizes": sizes})
    return x, [range(item.length) if isinstance(item, Window) else item for item in picks]


def _take(x: Tensor, picks: Picks, scalars: bool) -> tuple[Tensor, Picks]:
    kept: Picks = []
    axis = 0
    for item in picks:
        if isinstance(item, (Tensor, np.ndarray)) and (rank(item) == 0) == scalars:
            x = _tensor("take", (x, item), {"axis": axis})
            kept.extend([] if x._operand.poisoned else [_whole(x, axis + each) for each in range(rank(item))])
            axis += rank(item)
        else:
            kept.append(item)
            axis += item is not None
    return x, kept


def _slice(x: Tensor, picks: Picks) -> tuple[Tensor, Picks]:
    """Reads ranges and single positions by one slice; other axes stay whole."""
    if x._operand.poisoned:
        return x, []
    starts: list[int] = []
    stops: list[int] = []
    steps: list[int] = []
    dropped: list[int] = []
    needed = False
    for item in picks:
        if item is None:
            continue
        axis = len(starts)
        extent = x.shape[axis]
        if isinstance(item, int):
            dropped.append(axis)
        found = range(item, item + 1) if isinstance(item, int) else item if isinstance(item, range) else range(extent)
        needed = needed or found != range(extent) or axis in dropped
        starts.append(found.start)
        stops.append(-extent - 1 if found.step < 0 and found.stop < 0 else found.stop)
        steps.append(found.step)
    if needed:
        attributes: dict[str, Any] = {"starts": starts, "stops": stops}
        if any(step != 1 for step in steps):
            attributes["steps"] = steps
        if dropped:
            attributes["squeeze"] = dropped
        x = _tensor("slice", (x,), attributes)
    return x, [item for item in picks if not isinstance(item, int)]


def stacked(positions: list[Any], shape: tuple[int, ...]) -> Any:
    """Arrays of positions, broadcast to one shape, as tuples of positions in a last axis."""
    if all(isinstance(each, (int, np.ndarray)) for each in positions):
        largest = max((int(np.max(each)) for each in positions if np.size(each)), default=0)
        return np.stack([np.broadcast_to(np.asarray(each, np.int32 if largest < 2**31 else np.int64), shape) for each in positions], axis=-1)
    wide = any(isinstance(each, Tensor) and each._kind() in ("i64", "u64", "u32") for each in positions)
    columns: list[Any] = []
    for each in positions:
        column = each if isinstance(each, Tensor) else None
        if column is None:
            columns.append(np.ascontiguousarray(np.broadcast_to(np.asarray(each, np.int64 if wide else np.int32), shape)))
            continue
        if column._kind() != ("i64" if wide else "i32"):
            column = _tensor("astype", (column,), {"dtype": "i64" if wide else "i32"})
        columns.append(column if column.shape == shape else _tensor("broadcast_to", (column,), {"shape": shape}))
    return _tensor("stack", tuple(columns), {"axis": len(shape)})


def broadcast_shape(x: Tensor, positions: list[Any]) -> tuple[int, ...] | None:
    """The shape that arrays of positions have together; None: they do not broadcast, which is recorded as an error."""
    shapes = [tuple(each.shape) if rank(each) else () for each in positions]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " and ".join(str(list(shape)) for shape in shapes if shape)
        x._recorder.error("shape", f"arrays of positions of shapes {texts} do not broadcast together", here())
        return None


def together(picks: Picks) -> bool:
    """Whether all arrays and single positions stand side by side: if not, NumPy puts their axes first."""
    places = [at for at, item in enumerate(picks) if isinstance(item, (int, Tensor, np.ndarray))]
    return places[-1] - places[0] + 1 == len(places)


def _gather(x: Tensor, picks: Picks) -> Tensor:
    """Reads by several arrays of positions, which broadcast together with the single positions."""
    rest = [item if item is None or isinstance(item, (range, Window)) else None for item in picks]
    at_axis = [axis for axis, item in enumerate(item for item in picks if item is not None) if isinstance(item, (int, Tensor, np.ndarray))]
    positions = [item for item in picks if isinstance(item, (int, Tensor, np.ndarray))]
    shape = broadcast_shape(x, positions)
    if shape is None:
        return poison(x._recorder)
    whole = [item if isinstance(item, (range, Window)) else _whole(x, axis) for axis, item in enumerate(i for i in picks if i is not None)]
    x = read_picks(x, list(whole))
    kept = [axis for axis in range(x.ndim) if axis not in at_axis]
    if [*at_axis, *kept] != list(range(x.ndim)):
        x = _tensor("permute_dims", (x,), {"axes": [*at_axis, *kept]})
    x = _tensor("gather_nd", (x, stacked(positions, shape)), {})
    layout: Picks = []  # the axes of the result as they are now, at the places where NumPy has them
    first = next(at for at, item in enumerate(picks) if isinstance(item, (int, Tensor, np.ndarray)))
    block = list(range(len(shape)))
    following = iter(range(len(shape), len(shape) + len(kept)))
    if not together(picks):
        layout.extend(block)
    for at, item in enumerate(picks):
        if at == first and together(picks):
            layout.extend(block)
        if item is None:
            layout.append(None)
        elif isinstance(rest[at], (range, Window)):
            layout.append(next(following))
    order = [axis for axis in layout if axis is not None]
    if order != list(range(len(order))):
        x = _tensor("permute_dims", (x,), {"axes": order})
    return with_new_axes(x, layout)
