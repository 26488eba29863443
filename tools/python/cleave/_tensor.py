"""Tensor: a value of the program that is being traced. It holds no numbers; every operation on it is recorded with its source line."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _cleave, functions
from ._methods import Methods
from ._types import Type, dtype_name
from ._where import here, statement


# NumPy's names for functions of the vocabulary, where they differ.
_UFUNCS = {"absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
           "arctan2": "atan2", "arctanh": "atanh", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "power": "pow",
           "right_shift": "bitwise_right_shift", "rint": "round", "true_divide": "divide"}
_FUNCTIONS = {"concatenate": "concat", "amax": "max", "amin": "min", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}


def _not_traced(function: Any, name: str) -> TypeError:
    advice = f"; cleave.{name} can" if hasattr(functions, name) else ""
    return TypeError(f"cleave: numpy.{function.__name__} cannot be traced{advice}")


class _Traces(threading.local):
    """The traces in progress of this thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[_cleave.Recorder] = []


traces = _Traces()


def recorder(what: str) -> _cleave.Recorder:
    """The trace in progress."""
    if not traces.stack:
        raise RuntimeError(f"cleave: `{what}` outside of a traced function; operations are recorded inside `cleave.trace`")
    return traces.stack[-1]


class Tensor(Methods):
    """A value of the program that is being traced: operators, indices and the functions of this package record operations.

    It has no numbers yet, so Python's `if` and `while` cannot test them: use `cond` and `while_loop`.
    """

    __slots__ = ("_operand", "_recorder", "_stale", "_type")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, operand: _cleave.Operand, recorder: _cleave.Recorder) -> None:
        self._operand = operand
        self._recorder = recorder
        self._stale: str | None = None  # why it cannot be read: another name for it was written
        self._type: tuple[str, tuple[int, ...]] | None = None

    def _known(self) -> tuple[str, tuple[int, ...]]:
        if self._type is None:
            dtype, shape = self._recorder.type(self._operand) or ("f32", [])
            self._type = (dtype, tuple(shape))
        return self._type

    @property
    def dtype(self) -> str:
        """The element type: "f32"."""
        return self._known()[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, known while tracing; () after a mistake."""
        return self._known()[1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def type(self) -> Type:
        """Element type and sizes."""
        return Type(*self._known())

    @property
    def T(self) -> Tensor:
        """The tensor with its last two axes exchanged."""
        return _tensor("transpose", (self,), {})

    @property
    def mT(self) -> Tensor:
        """The same, by the array API's name."""
        return _tensor("transpose", (self,), {})

    def __repr__(self) -> str:
        if self._operand.poisoned:
            return "<Tensor after a mistake>"
        name = self._recorder.name_of(self._operand)
        return f"<Tensor {name + ': ' if name else ''}{self.type}>"

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape, of which one size may be -1: `x.reshape(2, -1)`."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return _tensor("reshape", (self,), {"shape": tuple(given)})

    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order; without arguments, in reverse order, as in NumPy."""
        given = tuple(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _tensor("permute_dims", (self,), {"axes": given or tuple(reversed(range(self.ndim)))})

    def flatten(self) -> Tensor:
        """The elements in one axis."""
        return self.reshape(-1)

    def __pos__(self) -> Tensor:
        return self

    def __getitem__(self, index: Any) -> Tensor:
        return _index(self, index if isinstance(index, tuple) else (index,))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("cleave: a scalar tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return iter([self[i] for i in range(len(self))])

    def __bool__(self) -> bool:
        raise TypeError("cleave: a tensor has no truth value while it is traced; a branch on it is cleave.cond, a loop cleave.while_loop, "
                        "and `and`, `or`, `not` are `&`, `|`, `~`")

    def _no_number(self) -> Any:
        raise TypeError("cleave: a tensor has no numbers while it is traced; return it from the traced function and run that")

    __int__ = __float__ = __index__ = __complex__ = item = tolist = _no_number

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """Called by NumPy's element-wise functions and operators: `np.tanh(x)` is `cleave.tanh(x)`."""
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or named or not hasattr(functions, name):
            raise _not_traced(ufunc, name)
        return _call(name, inputs, {}, 1)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        raise _not_traced(function, _FUNCTIONS.get(function.__name__, function.__name__))

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """The module, as the Python array API requires."""
        import cleave

        return cleave

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        return self._no_number()


_OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic)


def operator(symbol: str, name: str, first: Any, second: Any, other: Any) -> Any:
    """The result of an operator such as `first + second`; `other` is the operand that may be no Tensor. For _methods.py."""
    if not isinstance(other, _OPERANDS):
        return NotImplemented
    return _call(name, (first, second), {}, 1, symbol)


def apply(name: str, operands: tuple[Any, ...], attributes: dict[str, Any], results: int) -> Any:
    """Records a call of the vocabulary, for the functions and methods. `results`: their number; -1 if it depends on the call."""
    if name == "trace" and not traces.stack:
        raise TypeError("cleave: trace(x) of a matrix is called inside of a traced function")
    given: list[Any] = []
    for operand in operands:
        if operand is None:
            continue
        given.append(operand)
    first_missing = next((i for i, operand in enumerate(operands) if operand is None), len(operands))
    if any(operand is not None for operand in operands[first_missing:]):
        raise TypeError(f"cleave: `{name}` is given an operand behind one that is left out")
    return _call(name, tuple(given), {key: _plain(key, value) for key, value in attributes.items() if value is not None}, results)


def _plain(name: str, value: Any) -> Any:
    if name == "dtype":
        return dtype_name(value)
    if isinstance(value, Tensor):
        literal = value._operand.literal
        if literal is None:
            advice = f"; the {name} comes first, the tensor behind it" if name in ("path", "label") else ""
            raise TypeError(f"cleave: `{name}` is something known while tracing, not a tensor{advice}")
        return literal
    if isinstance(value, np.generic):
        return value.item()
    return value


def operand(value: Any, owner: _cleave.Recorder) -> Any:
    """Converts a tensor, a number or an array to an argument of the extension module."""
    if isinstance(value, Tensor):
        if value._recorder is not owner:
            raise ValueError("cleave: a tensor is used outside of the trace that made it; pass it in as an input, or return it and run "
                             "that")
        if value._stale is not None:
            raise ValueError(value._stale)
        return value._operand
    if isinstance(value, np.generic):
        return np.asarray(value)  # NumPy's numbers have a type, numpy.float64 too, which Python takes for a float
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value)
    if value is None:
        raise TypeError("cleave: None is given where a tensor is meant")
    return value


def _call(name: str, operands: tuple[Any, ...], attributes: dict[str, Any], results: int, symbol: str = "") -> Any:
    """`symbol`: the symbol of an operator, its name in messages."""
    owner = recorder(name)
    values = [operand(each, owner) for each in operands]
    place, names = statement()
    found = owner.operate(symbol, name, values, place) if symbol else owner.apply(name, values, attributes, place)
    name_results(owner, found, names, place)
    if results == 1 and found:
        return Tensor(found[0], owner)
    if results == 0:
        return None
    tensors = tuple(Tensor(each, owner) for each in found)
    if results > 1 and len(tensors) == 1 and tensors[0]._operand.poisoned:
        return tensors * results  # after a mistake, so that the tracing goes on
    return tensors


def name_results(owner: _cleave.Recorder, results: list[_cleave.Operand], names: tuple[str, ...], place: _cleave.Location) -> None:
    """Gives results the names of the user's variables that take them."""
    if len(names) == len(results):
        for result, name in zip(results, names):
            if name != "_":
                owner.name(result, name, place)


def _tensor(name: str, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Tensor:
    result: Tensor = _call(name, operands, attributes, 1)
    return result


_WHOLE = slice(None)


def _index(x: Tensor, index: tuple[Any, ...]) -> Tensor:
    """`x[...]`: ranges and positions become one slice; tensors, lists and arrays of positions a take; None a new axis."""
    owner = recorder("x[...]")
    if x._operand.poisoned:
        return x
    used = sum(1 for item in index if item is not None and item is not Ellipsis)
    if sum(1 for item in index if item is Ellipsis) > 1:
        raise IndexError("cleave: `...` stands once in an index")
    if used > x.ndim:
        given, axes = ("index" if used == 1 else "indices"), ("axis" if x.ndim == 1 else "axes")
        owner.error("shape", f"{used} {given} for {x.ndim} {axes} of {x.type}", here())
        return _poison(owner)
    picks: list[Any] = []
    for item in index:
        picks.extend([_WHOLE] * (x.ndim - used) if item is Ellipsis else [_pick(item)])
    picks.extend([_WHOLE] * (x.ndim - sum(1 for item in picks if item is not None)))
    lists = [item for item in picks if _rank(item) > 0]
    if len(lists) > 1:
        raise IndexError("cleave: one list of positions may stand in an index; gather_nd() takes elements by several")
    if lists and _order_surprises(picks):
        raise IndexError("cleave: a list of positions apart from another position: NumPy puts its axes first; write two indices, "
                         "x[...][...]")
    x, picks = _take(x, picks, scalars=True)
    x, picks = _slice(x, picks)
    x, picks = _take(x, picks, scalars=False)
    for axis, item in enumerate(picks):
        if item is None:
            x = _tensor("expand_dims", (x,), {"axis": axis})
    return x


def _poison(owner: _cleave.Recorder) -> Tensor:
    return Tensor(_cleave.Operand(), owner)


def _pick(item: Any) -> Any:
    if item is None or isinstance(item, (slice, Tensor)):
        return item
    if isinstance(item, (bool, np.bool_)):
        raise IndexError("cleave: an index is an integer, not a bool")
    if isinstance(item, (int, np.integer)):
        return int(item)
    array = np.asarray(item)
    if array.dtype == bool:
        raise IndexError("cleave: how many elements a mask chooses is known only at run time; write where(mask, x, 0)")
    if array.dtype.kind not in "iu":
        raise IndexError(f"cleave: an index is an integer, not {array.dtype}")
    return array


def _rank(item: Any) -> int:
    return int(item.ndim) if isinstance(item, (Tensor, np.ndarray)) else 0


def _order_surprises(picks: list[Any]) -> bool:
    axes = [item for item in picks if item is not None]
    single = [i for i, item in enumerate(axes) if not isinstance(item, slice)]
    return any(isinstance(item, slice) for item in axes[single[0]:single[-1] + 1]) and len(single) > 1


def _take(x: Tensor, picks: list[Any], scalars: bool) -> tuple[Tensor, list[Any]]:
    kept: list[Any] = []
    axis = 0
    for item in picks:
        if isinstance(item, (Tensor, np.ndarray)) and (_rank(item) == 0) == scalars:
            if isinstance(item, Tensor) and item.dtype == "bool":
                raise IndexError("cleave: how many elements a mask chooses is known only at run time; write where(mask, x, 0)")
            x = _call("take", (x, item), {"axis": axis}, 1)
            kept.extend([_WHOLE] * _rank(item))
            axis += _rank(item)
        else:
            kept.append(item)
            axis += item is not None
    return x, kept


def _slice(x: Tensor, picks: list[Any]) -> tuple[Tensor, list[Any]]:
    owner = x._recorder
    starts: list[int] = []
    stops: list[int] = []
    steps: list[int] = []
    dropped: list[int] = []
    kept: list[Any] = []
    needed = False
    for item in picks:
        if item is None:
            kept.append(item)
            continue
        axis = len(starts)
        extent = x.shape[axis] if axis < x.ndim else 0
        if isinstance(item, int):
            if not -extent <= item < extent:
                owner.error("shape", f"index {item} is outside axis {axis} of extent {extent} of {x.type}", here())
                return _poison(owner), []
            item = slice(item, item + 1 if item != -1 else None)
            dropped.append(axis)
        else:
            kept.append(item)
        if not isinstance(item, slice):
            item = _WHOLE
        if any(isinstance(bound, Tensor) for bound in (item.start, item.stop, item.step)):
            raise IndexError("cleave: the bounds of a slice are numbers, so that its shape is known; dynamic_slice() takes a part that "
                             "begins anywhere")
        start, stop, step = item.indices(extent)
        if step < 0 and stop < 0:
            stop = -extent - 1
        needed = needed or (start, stop, step) != (0, extent, 1) or axis in dropped
        starts.append(start)
        stops.append(stop)
        steps.append(step)
    if needed:
        attributes: dict[str, Any] = {"starts": starts, "stops": stops}
        if any(step != 1 for step in steps):
            attributes["steps"] = steps
        if dropped:
            attributes["squeeze"] = dropped
        x = _call("slice", (x,), attributes, 1)
    return x, kept

