"""What a loop goes through trip by trip: a range, the first axis of a tensor, or several of them side by side."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._tensor import Tensor
from ._extraction import Extraction


class Unrolled:
    """Items of a loop that runs at extraction, one trip after another."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items

    def __iter__(self) -> Any:
        return iter(self.items)


def unrolled(items: Iterable[Any]) -> Iterable[Any]:
    """The same items, for a loop of a `program` that is unrolled: `for i in cleave.unrolled(range(4))` records four trips, in each of which
    `i` is a number. Outside of a program, a loop over them is an ordinary one."""
    return Unrolled(items)


class Range:
    """`range` with a bound that is a tensor."""

    def __init__(self, *bounds: Any) -> None:
        self.start, self.stop, self.step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds

    def __iter__(self) -> Any:
        raise TypeError("cleave: how long this range is, is known only at run time; loop over it with `for` in a statement of its own")

    __len__ = __getitem__ = __iter__


class Walk:
    """So many trips, and the item of each one by its counter."""

    def __init__(self, count: Any, item: Callable[[Tensor], Any]) -> None:
        self.count, self.item = count, item


class Side:
    """`zip` or `enumerate` of tensors and ranges."""

    def __init__(self, count: Any, item: Callable[[Tensor], Any]) -> None:
        self.count, self.item = count, item

    def __iter__(self) -> Any:
        raise TypeError("cleave: this goes over the axis of a tensor; loop over it with `for` in a statement of its own")


def walk_of(iterable: Any, ext: Extraction) -> Walk | None:
    """How a loop of the program goes through `iterable`; None for a container of Python's."""
    if isinstance(iterable, range):
        start, step = iterable.start, iterable.step
        return Walk(len(iterable), lambda counter: _affine(counter, start, step))
    if isinstance(iterable, Range):
        return Walk(_count(iterable, ext), lambda counter: _affine(counter, iterable.start, iterable.step))
    if isinstance(iterable, Tensor):
        if not iterable.ndim:
            ext.fail("type", f"a loop goes through the first axis of a tensor; {iterable.type} is a scalar: write range(n)")
        tensor = iterable
        return Walk(tensor.shape[0], lambda counter: ext.view(tensor[counter], tensor))
    if isinstance(iterable, Side):
        return Walk(iterable.count, iterable.item)
    return None


def _affine(counter: Any, start: Any, step: Any) -> Any:
    scaled = counter if type(step) is int and step == 1 else counter * step
    return scaled if type(start) is int and start == 0 else scaled + start


def _count(given: Range, ext: Extraction) -> Any:
    from .. import functions

    for bound in (given.start, given.stop, given.step):
        if isinstance(bound, Tensor) and (bound._known()[0][0] not in "iu" or bound.ndim):
            ext.fail("type", f"a bound of range() is an integer scalar, not {bound.type}")
    if type(given.step) is int and given.step == 0:
        ext.fail("value", "the step of range() is not 0")
    if type(given.step) is int and given.step == 1:
        count = given.stop if type(given.start) is int and given.start == 0 else given.stop - given.start
    else:
        count = -((given.start - given.stop) // given.step)
    return functions.maximum(count, 0)
