"""Masks that are traced: how many elements they choose is known only at run time. `x[mask]` is a Selection, which can be changed and assigned
(`x[mask] += 1`) and summed up without moving an element; for everything else it becomes a tensor whose size the run decides (`compress`)."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._index import Mask, Picks, Window, rank, read_picks
from ._tensor import Tensor, _tensor, poison
from ._update import combined, typed, update_picks
from ._where import here

_UNKNOWN = "how many elements a mask chooses is known only at run time"


class Selection:
    """The elements of a tensor where a mask holds. `whole` has all elements, on the axes `before`, those of the mask, and those behind."""

    __slots__ = ("whole", "mask", "before")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, whole: Tensor, mask: Tensor, before: int) -> None:
        self.whole, self.mask, self.before = whole, mask, before

    @property
    def size(self) -> Tensor:
        """How many elements the mask chooses."""
        rest = self.whole.size // max(self.mask.size, 1)
        count = _tensor("count_nonzero", (self.mask,), {})
        return count if rest == 1 else _tensor("multiply", (count, rest), {})

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.whole.dtype

    def sum(self, *given: Any, **named: Any) -> Tensor:
        """The sum of the elements; 0 of none."""
        if given or named:
            return self.tensor().sum(*given, **named)
        return _tensor("sum", (self._or(0),), {})

    def prod(self, *given: Any, **named: Any) -> Tensor:
        """The product of the elements; 1 of none."""
        if given or named:
            return self.tensor().prod(*given, **named)
        return _tensor("prod", (self._or(1),), {})

    def mean(self, *given: Any, **named: Any) -> Tensor:
        """The mean of the elements; NaN of none."""
        if given or named:
            return self.tensor().mean(*given, **named)
        whole = self._or(0)
        if whole._kind()[0] in "iu" or whole._kind() == "bool":
            whole = _tensor("astype", (whole,), {"dtype": "f32"})
        return _tensor("divide", (_tensor("sum", (whole,), {}), self.size), {})

    def any(self, *given: Any, **named: Any) -> Tensor:
        """Whether an element is not zero."""
        if given or named:
            return self.tensor().any(*given, **named)
        return _tensor("any", (self._or(0),), {})

    def all(self, *given: Any, **named: Any) -> Tensor:
        """Whether no element is zero."""
        if given or named:
            return self.tensor().all(*given, **named)
        return _tensor("all", (self._or(1),), {})

    def astype(self, dtype: Any) -> Selection:
        """The elements converted to another type."""
        return self._with(self.whole.astype(dtype))

    def copy(self) -> Selection:
        """The same elements."""
        return self

    def tensor(self) -> Tensor:
        """The elements side by side, on one axis in the place of those of the mask; a run gives as many as the mask chooses."""
        shape, before, axes = self.whole.shape, self.before, self.mask.ndim
        flat, mask = self.whole, self.mask
        if axes != 1:
            flat = _tensor("reshape", (flat,), {"shape": [*shape[:before], mask.size, *shape[before + axes:]]})
            mask = _tensor("reshape", (mask,), {"shape": [mask.size]})
        return _tensor("compress", (mask, flat), {"axis": before})

    def _or(self, value: Any) -> Tensor:
        if self.whole._kind() == "bool":
            value = bool(value)
        return _tensor("where", (aligned(self.mask, self.before, self.whole), self.whole, value), {})

    def _with(self, whole: Tensor) -> Selection:
        return Selection(whole, self.mask, self.before)

    def _other(self, value: Any) -> Any:
        if isinstance(value, Selection):
            if value.mask is not self.mask or value.before != self.before or value.whole.shape != self.whole.shape:
                raise IndexError(f"cleave: two selections by different masks are combined, and {_UNKNOWN}; give the mask a name and use it "
                                 "for both")
            return value.whole
        if np.ndim(value) if not isinstance(value, Tensor) else value.ndim:
            raise IndexError(f"cleave: {_UNKNOWN}, so that a selection goes with numbers and with selections by the same mask; write "
                             "where(mask, x + y, x)")
        return value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if method != "__call__" or named:
            return NotImplemented
        found = ufunc(*[self._other(each) if each is not self else self.whole for each in inputs])
        return self._with(found) if isinstance(found, Tensor) else NotImplemented

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("shape", "nbytes"):
            raise IndexError(f"cleave: {_UNKNOWN}, so that x[mask] has no `{name}`; `x[mask].size` is a tensor")
        return getattr(self.tensor(), name)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*[_plain(each) for each in args], **{name: _plain(each) for name, each in kwargs.items()})

    def __getitem__(self, index: Any) -> Any:
        raise IndexError(f"cleave: {_UNKNOWN}, so that x[mask] has no elements by number; cleave.sort, top_k and nonzero(mask, size=n) choose some")

    def __len__(self) -> int:
        raise TypeError(f"cleave: {_UNKNOWN}; `x[mask].size` is a tensor")

    def __iter__(self) -> Any:
        raise TypeError(f"cleave: {_UNKNOWN}; a loop over all elements tests the mask for each")

    def __matmul__(self, other: Any) -> Any:
        return self.tensor() @ _plain(other)

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.tensor()

    def __neg__(self) -> Selection:
        return self._with(-self.whole)

    def __abs__(self) -> Selection:
        return self._with(abs(self.whole))

    def __invert__(self) -> Selection:
        return self._with(~self.whole)


def _plain(value: Any) -> Any:
    """Selections, also in lists, as tensors."""
    if isinstance(value, Selection):
        return value.tensor()
    return type(value)(_plain(each) for each in value) if type(value) in (list, tuple) else value


def _binary(name: str) -> Any:
    def method(self: Selection, other: Any) -> Any:
        found = getattr(Tensor, name)(self.whole, self._other(other))
        return found if found is NotImplemented else self._with(found)

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    setattr(Selection, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(Selection, f"__r{_name}__", _binary(f"__r{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Selection, f"__{_name}__", _binary(f"__{_name}__"))


def aligned(mask: Tensor, before: int, whole: Tensor) -> Tensor:
    """The mask with axes of extent 1 for those of `whole` that it does not have."""
    shape = (1,) * before + mask.shape + (1,) * (whole.ndim - before - mask.ndim)
    return mask if shape == mask.shape else _tensor("reshape", (mask,), {"shape": shape})


def _prepared(x: Tensor, picks: Picks) -> tuple[Tensor, Picks, Tensor, int]:
    """What the rest of the index reads of `x`, that rest, the mask, and how many axes stand before it."""
    masks = [item for item in picks if isinstance(item, Mask)]
    if len(masks) > 1 or any(rank(item) > 0 for item in picks):
        raise IndexError(f"cleave: {_UNKNOWN}, so that it stands alone in an index, or beside slices and single positions")
    mask = masks[0].values
    at = next(at for at, item in enumerate(picks) if isinstance(item, Mask))
    single = [place for place, item in enumerate(picks) if isinstance(item, (int, Tensor, Mask))]
    if single[-1] - single[0] + 1 != len(single):
        raise IndexError("cleave: a mask apart from a single position: NumPy puts its axis first; write two indices, x[...][...]")
    axis = sum(1 for item in picks[:at] if item is not None)
    rest: Picks = [*picks[:at], *(range(extent) for extent in x.shape[axis:axis + mask.ndim]), *picks[at + 1:]]
    before = sum(1 for item in picks[:at] if item is None or isinstance(item, (range, Window)))
    return read_picks(x, rest), rest, mask, before


def selection(x: Tensor, picks: Picks) -> Selection:
    """`x[index]` for an index with a mask."""
    whole, _, mask, before = _prepared(x, picks)
    return Selection(whole, mask, before)


def updated_where(x: Tensor, picks: Picks, value: Any, how: str) -> Tensor:
    """`updated` for an index with a mask."""
    part, rest, mask, before = _prepared(x, picks)
    if isinstance(value, Selection):
        value = Selection(part, mask, before)._other(value)
    else:
        value = _spread(typed(value, x), part, mask, before)
    if value._operand.poisoned:
        return poison(x._recorder)
    value = typed(value, x)
    if how != "set":
        value = combined(part, value, how)
    part = _tensor("where", (aligned(mask, before, part), value, part), {})
    return part if part.shape == x.shape and all(isinstance(item, range) and item.step == 1 for item in rest) else update_picks(x, rest, part, "set")


def _spread(value: Tensor, part: Tensor, mask: Tensor, before: int) -> Tensor:
    """A value for the chosen elements, with the axes of the mask in place of the one axis of unknown extent that they are in NumPy."""
    after = part.ndim - before - mask.ndim
    own = value.shape
    while len(own) > before + 1 + after and own[0] == 1:
        own = own[1:]
    if len(own) > after:
        if own[len(own) - after - 1] != 1:
            raise IndexError(f"cleave: {_UNKNOWN}, so that x[mask] takes a number, or a value for all of them, not {value.type}; write "
                             "where(mask, value, x) for a value of the shape of x")
        own = own[:len(own) - after - 1] + (1,) * mask.ndim + own[len(own) - after:]
    if len(own) > part.ndim or any(a not in (1, b) for a, b in zip(reversed(own), reversed(part.shape))):
        part._recorder.error("shape", f"a value of shape {list(value.shape)} is assigned to elements of {part.type} where a mask holds", here())
        return poison(part._recorder)
    return value if own == value.shape else _tensor("reshape", (value,), {"shape": own})
