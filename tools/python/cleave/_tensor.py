"""Tensor: a value of the program that is being traced. It holds no numbers; every operation on it is recorded with its source line."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _cleave
from ._array_methods import ArrayMethods
from ._assignable import Assignable
from ._methods import Methods
from ._types import Type, dtype_name, element_type, numpy_dtype
from ._where import here, statement


class _Traces(threading.local):
    """The traces in progress of this thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[_cleave.Recorder] = []
        self.region: object = None  # the body of a loop or the arm of a branch that is recorded now


traces = _Traces()


def recorder(what: str) -> _cleave.Recorder:
    """The trace in progress."""
    if not traces.stack:
        raise RuntimeError(f"cleave: `{what}` outside of a traced function; operations are recorded inside `cleave.trace`")
    return traces.stack[-1]


class Tensor(Assignable, ArrayMethods, Methods):
    """A value of the program that is being traced: operators, indices and the functions of this package record operations.

    It has no numbers yet, so Python's `if` and `while` cannot test them: use `cond` and `while_loop`.
    """

    __slots__ = ("_operand", "_recorder", "_stale", "_type", "_sum", "_region", "_version", "_view", "_label")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, operand: _cleave.Operand, recorder: _cleave.Recorder) -> None:
        self._operand = operand
        self._recorder = recorder
        self._stale: str | None = None  # why it cannot be read: another name for it was written
        self._type: tuple[str, tuple[int, ...]] | None = None
        self._sum: _Terms | None = None  # by which the lengths of slices are known
        # For assignments (_views.py): where the tensor was made, how often it was assigned to, and what it is a view of.
        self._region = traces.region
        self._version = 0
        self._view: Any = None
        self._label = ""  # the user's name for it, for messages after the trace

    def _known(self) -> tuple[str, tuple[int, ...]]:
        if self._type is None:
            if self._recorder.finished:
                raise foreign(self)
            dtype, shape = self._recorder.type(self._operand) or ("f32", [])
            self._type = (dtype, tuple(shape))
        return self._type

    def _kind(self) -> str:
        """The element type by cleave's name."""
        return self._known()[0]

    def _less(self, other: Tensor) -> int | None:
        """`self - other`, if that is known while tracing: 3 for `i + 3` and `i`."""
        note_read(self)
        difference = dict(_terms(self))
        for key, (tensor, factor) in _terms(other).items():
            difference[key] = (tensor, difference.get(key, (tensor, 0))[1] - factor)
        return None if any(factor for key, (_, factor) in difference.items() if key) else difference.get(0, (None, 0))[1]

    @property
    def dtype(self) -> Any:
        """The element type, NumPy's: numpy.dtype("float32"). That of bf16 is from the package ml_dtypes, "bf16" where that is missing."""
        return element_type(self._known()[0])

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(numpy_dtype(self._known()[0]).itemsize)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

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
        """A matrix with its axes exchanged; a vector or scalar stays. Tensors of more axes have `mT` and `transpose()`."""
        if self.ndim == 2:
            return _view("transpose", self, {})
        if self.ndim > 2:
            raise TypeError(f"cleave: x.T of {self.type}: NumPy reverses all axes, x.transpose(), and others exchange the last two, x.mT")
        return self

    @property
    def mT(self) -> Tensor:
        """The tensor with its last two axes exchanged."""
        return _view("transpose", self, {})

    def __repr__(self) -> str:
        if self._operand.poisoned:
            return "<Tensor after a mistake>"
        if self._recorder.finished:
            return f"<Tensor {self._label + ' ' if self._label else ''}of `{self._recorder.function}`, whose tracing is over>"
        name = self._recorder.name_of(self._operand)
        return f"<Tensor {name + ': ' if name else ''}{self.type}>"

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape, of which one size may be -1: `x.reshape(2, -1)`."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        return _view("reshape", self, {"shape": tuple(given)})

    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order; without arguments, in reverse order, as in NumPy."""
        given = tuple(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _view("permute_dims", self, {"axes": given or tuple(reversed(range(self.ndim)))})

    def flatten(self) -> Tensor:
        """The elements in one axis, a copy."""
        return _tensor("reshape", (self,), {"shape": (-1,)})

    def copy(self) -> Tensor:
        """A tensor of the same value; assignments to one do not change the other."""
        return Tensor(operand(self, self._recorder), self._recorder)

    __copy__ = __pos__ = copy

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def __getitem__(self, index: Any) -> Tensor:
        from ._index import is_view, read
        from ._views import indexed

        part = read(self, index)
        if part is self:
            part = self.copy()  # another name of the whole tensor
        return indexed(part, self, index) if isinstance(part, Tensor) and part.ndim and is_view(index) else part

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
        raise TypeError("cleave: a tensor has no numbers while it is traced; return it from the traced function and run that; an array of "
                        "NumPy is indexed by a tensor as cleave.asarray(array)[i]")

    __int__ = __float__ = __index__ = __complex__ = item = tolist = _no_number

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """Called by NumPy's element-wise functions and operators: `np.tanh(x)` is `cleave.tanh(x)`."""
        from ._numpy import ufunc as call

        return call(ufunc, method, inputs, named)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        """Called by NumPy's other functions: `np.concatenate([x, y])` is `cleave.concat([x, y])`."""
        from ._numpy import function as call

        return call(function, arguments, named)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """The module, as the Python array API requires."""
        import cleave

        return cleave

    def __format__(self, form: str) -> str:
        if form:
            raise TypeError(f"cleave: a tensor has no numbers to write as {form!r} while it is traced; cleave.print(\"label\", x) prints them in each run")
        return str(self)

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        return self._no_number()


_OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic)


_Terms = dict[int, tuple[Any, int]]
_MOST_TERMS, _MOST_FACTOR = 4, 2**40


def _terms(x: Any) -> _Terms:
    """A value as a sum of integer multiples of tensors, by the id of each; that of 0 is the constant."""
    return {0: (None, x)} if isinstance(x, int) else x._sum or {id(x): (x, 1)}


def _combined_terms(symbol: str, first: Any, second: Any) -> _Terms | None:
    """The terms of `first + second`, `first - second` or `first * second`; None: they are too many, or no multiples."""
    a, b = _terms(first), _terms(second)
    if symbol == "*":
        if set(a) > {0} and set(b) > {0}:
            return None
        known, other = (a, b) if set(a) <= {0} else (b, a)
        factor = known.get(0, (None, 0))[1]
        total = {key: (tensor, count * factor) for key, (tensor, count) in other.items()}
    else:
        total = dict(a)
        for key, (tensor, count) in b.items():
            total[key] = (tensor, total.get(key, (tensor, 0))[1] + (count if symbol == "+" else -count))
    return None if len(total) > _MOST_TERMS or any(abs(count) > _MOST_FACTOR for _, count in total.values()) else total


def operator(symbol: str, name: str, first: Any, second: Any, other: Any) -> Any:
    """The result of an operator such as `first + second`; `other` is the operand that may be no Tensor. For _methods.py."""
    if not isinstance(other, _OPERANDS):
        return NotImplemented
    result = _call(name, (first, second), {}, 1, symbol)
    if symbol in ("+", "-", "*") and (type(other) is int or isinstance(other, Tensor)):
        result._sum = _combined_terms(symbol, first, second)
    return result


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
    plain = {key: _plain(key, value) for key, value in attributes.items() if value is not None}
    result = _call(name, tuple(given), plain, results)
    if len(given) == 1 and isinstance(given[0], Tensor) and name in _VIEWED:
        from . import _views

        if name in _views.NAMES:
            return _views.viewed(result, name, given[0], plain)
        return _views.parts_viewed(result, given[0], plain.get("axis", 0), name)
    return result


#: Functions whose results are views in NumPy.
_VIEWED = frozenset({"reshape", "squeeze", "expand_dims", "transpose", "flip", "permute_dims", "moveaxis", "diagonal", "broadcast_to",
                     "unstack", "split"})


def _refresh(x: Tensor) -> None:
    from ._views import refresh

    refresh(x)


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
            raise foreign(value)
        if value._stale is not None:
            raise ValueError(value._stale)
        if value._view is not None:
            _refresh(value)
        return value._operand
    if isinstance(value, np.generic):
        return np.asarray(value)  # NumPy's numbers have a type, numpy.float64 too, which Python takes for a float
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (list, tuple)):
        return _number_list(value)
    if value is None:
        raise TypeError("cleave: None is given where a tensor is meant")
    return value


def _number_list(value: Any) -> Any:
    from ._arrays import numbers

    if any(isinstance(each, Tensor) for each in value):
        raise TypeError("a list of tensors is no tensor; write cleave.stack(list)")
    return numbers(value)


def foreign(x: Tensor, what: str = "") -> ValueError:
    """The error about a tensor that is used outside of its trace."""
    called = f"`{x._label}`" if x._label else "a tensor"
    of = f" of the traced function `{x._recorder.function}`"
    used = f" is used in `{what}`" if what else " is used"
    return ValueError(f"cleave: {called}{of}{used} outside of the trace that made it, where it has no value; pass it in as an input, or "
                      "return it from the traced function and use the array that a run gives")


def _call(name: str, operands: tuple[Any, ...], attributes: dict[str, Any], results: int, symbol: str = "") -> Any:
    """`symbol`: the symbol of an operator, its name in messages."""
    owner = traces.stack[-1] if traces.stack else _outside(name, operands)
    try:
        values = [operand(each, owner) for each in operands]
    except (TypeError, ValueError) as error:
        raise _of_operand(error, name, symbol, operands, owner) from None
    place, names = statement()
    found = owner.operate(symbol, name, values, place) if symbol else owner.apply(name, values, attributes, place)
    name_results(owner, found, names, place)
    if results == 1 and found:
        tensor = Tensor(found[0], owner)
        if len(names) == 1:
            tensor._label = names[0]
        return tensor
    if results == 0:
        return None
    tensors = tuple(Tensor(each, owner) for each in found)
    if len(names) == len(tensors):
        for tensor, label in zip(tensors, names):
            tensor._label = label
    if results > 1 and len(tensors) == 1 and tensors[0]._operand.poisoned:
        return tensors * results  # after a mistake, so that the tracing goes on
    return tensors


def _outside(name: str, operands: tuple[Any, ...]) -> _cleave.Recorder:
    for each in operands:
        if isinstance(each, Tensor):
            raise foreign(each, name)
    return recorder(name)


def _of_operand(error: Exception, name: str, symbol: str, operands: tuple[Any, ...], owner: _cleave.Recorder) -> Exception:
    """The error with the operand that it is about."""
    for number, each in enumerate(operands, 1):
        if isinstance(each, Tensor) and each._recorder is not owner:
            return foreign(each, symbol or name)
        try:
            operand(each, owner)
        except (TypeError, ValueError) as found:
            return type(found)(f"cleave: operand {number} of `{symbol or name}`: {str(found).removeprefix('cleave: ')}")
    return error


def name_results(owner: _cleave.Recorder, results: list[_cleave.Operand], names: tuple[str, ...], place: _cleave.Location) -> None:
    """Gives results the names of the user's variables that take them."""
    if len(names) == len(results):
        for result, name in zip(results, names):
            if name != "_":
                owner.name(result, name, place)


def _view(name: str, x: Tensor, attributes: dict[str, Any]) -> Tensor:
    result: Tensor = apply(name, (x,), attributes, 1)
    return result


def _tensor(name: str, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Tensor:
    result: Tensor = _call(name, operands, attributes, 1)
    return result


def poison(owner: _cleave.Recorder) -> Tensor:
    """What stands for a value after a mistake, so that the tracing goes on."""
    return Tensor(_cleave.Operand(), owner)


def note_read(x: Tensor) -> None:
    """Notes that something is known of a value, although no operation reads it: no warning that it is unused is meant then."""
    x._recorder.type(x._operand)


def number_of(x: Tensor) -> Any:
    """The Python number that a tensor is, such as the result of a Python number's conversion; None: it is computed."""
    return x._operand.literal


def constant_of(value: Any) -> Tensor:
    """A number or an array of NumPy as a tensor, a part of the program."""
    owner = recorder("an array")
    return Tensor(owner.constant(np.asarray(value), statement()[0]), owner)
