"""The state of one extraction: the program being recorded, and what earlier tries found out."""
from __future__ import annotations

import collections
import threading
import types
from typing import Any, NoReturn

import numpy as np

from .. import _cleave
from .._tensor import Tensor, operand, traces
from .._where import here


class Again(Exception):
    """The extraction starts again, with what it found out."""


class Dead(Exception):
    """Nothing behind this place is reached: the program raises an exception here."""


class Probe(Exception):
    """The program recorded so far ends in a call whose result types are not known: it is run to make the call once."""

    def __init__(self, name: str, place: _cleave.Location, path: Any) -> None:
        super().__init__(name)
        self.name, self.place, self.path = name, place, path


class Known:
    """The findings of earlier tries of the same extraction, by the path of a loop, branch or call."""

    def __init__(self) -> None:
        self.carried: dict[Any, dict[str, None]] = {}  # parts of objects that a loop changes
        self.dtypes: dict[tuple[Any, str], str] = {}  # of values that start as numbers
        self.shapes: dict[tuple[Any, str], Any] = {}  # place holders for names that are not bound
        self.constants: dict[Any, set[str]] = {}  # arrays of NumPy's that only the first arm of a branch keeps
        self.stale: dict[tuple[Any, str], str] = {}  # values that a loop carries and that may not be read: why
        self.links: dict[tuple[Any, str], set[str]] = {}  # the other names of what a variable holds from the second trip on
        self.results: dict[Any, Any] = {}  # of host calls: the nest and types of their results
        self.unreached: set[Any] = set()  # calls of unknown types that the runs so far do not reach
        self.searching = False  # runs look for the types of calls
        self.made: Any = None  # the call whose types a run has just shown
        self.logs: dict[Any, collections.deque[Any]] = {}  # results of host calls that were made already
        self.replayed: list[tuple[Any, Any]] | None = None  # the calls of a run that looks for types


    def take_calls(self) -> None:
        """Keeps the results of the calls that a run has made, so that the next one does not make them again."""
        self.logs = {}
        for path, result in self.replayed or ():
            self.logs.setdefault(path, collections.deque()).append(result)
        self.replayed = None


class Extraction:
    """One try."""

    def __init__(self, owner: _cleave.Recorder, known: Known, float_type: str) -> None:
        self.owner = owner
        self.known = known
        self.float_type = float_type
        self.local: dict[int, Any] = {}  # objects that the program made, by id()
        self.weak: dict[int, tuple[Any, Any, str]] = {}  # tensors that stand for numbers: the hint that changes their type
        self.unsure: dict[int, tuple[Any, str]] = {}  # values of names that may not be bound, and why
        self.numbers: dict[int, Tensor] = {}
        self.scalars: list[Tensor] = []  # scalars that are arguments, of NumPy's types
        self.outside: dict[int, Any] = {}  # containers and arrays from outside of the program, by id()
        self.marks: list[Tensor] = []  # arrays that were written under another name
        self._bases: dict[int, tuple[Tensor, list[Tensor]]] = {}  # of views: what they may show
        self._roots: dict[int, tuple[Any, dict[int, Any]]] = {}  # of tensors, by id()
        self._reached: set[int] = set()  # the tensors on which these depend, by id()
        self._adopted: dict[int, tuple[Any, Tensor]] = {}  # arrays of NumPy's, by id(): each has a tensor for what shows it
        self.last_return: Any = None  # where a function returned last
        self.hosts: list[tuple[str, str, _cleave.Location]] = []
        self.regions = 0
        self.writes = False  # files are written by an operation
        self._path: list[Any] = [()]
        self._counts: list[dict[Any, int]] = [{}]

    def enter(self, node: Any) -> Any:
        """Begins a loop, branch or call; returns its path, equal from try to try."""
        counts = self._counts[-1]
        count = counts[node] = counts.get(node, -1) + 1
        path = (*self._path[-1], node, count)
        self._path.append(path)
        self._counts.append({})
        return path

    def leave(self) -> None:
        self._path.pop()
        self._counts.pop()

    def fail(self, kind: str, message: str, place: _cleave.Location | None = None) -> NoReturn:
        """Records a mistake of the user's and ends the extraction."""
        self.owner.error(kind, message, place if place is not None else here())
        raise Mistake(message)

    def is_local(self, value: Any) -> bool:
        """Whether the program made this object."""
        return id(value) in self.local

    def made(self, value: Any) -> Any:
        self.local[id(value)] = value
        return value


    def doubt(self, value: Any) -> str | None:
        """Why the name that holds this value may not be bound; None: it is."""
        known = self.unsure.get(id(value))
        return known[1] if known is not None and known[0] is value else None

    def python_number(self, tensor: Tensor) -> Tensor:
        """Notes that a tensor is a number of Python's own, as a counter is."""
        self.numbers[id(tensor)] = tensor
        return tensor

    def view(self, value: Any, base: Any) -> Any:
        """Notes that one tensor may show the elements of another one."""
        if isinstance(value, Tensor) and isinstance(base, Tensor) and value is not base and (value.ndim or not base.ndim):
            self._bases.setdefault(id(value), (value, []))[1].append(base)
            if id(value) in self._reached:
                self._roots, self._reached = {}, set()
        return value

    def roots(self, value: Any) -> dict[int, Any]:
        """The arrays whose elements a tensor may show in the end."""
        known = self._roots.get(id(value))
        if known is not None:
            return known[1]
        found: dict[int, Any] = {}
        pending, seen = [value], set()
        while pending:
            each = pending.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            bases = self._bases.get(id(each))
            if bases is None:
                found[id(each)] = each
            else:
                pending += bases[1]
        self._roots[id(value)] = (value, found)
        self._reached |= seen
        return found

    def share(self, a: Any, b: Any) -> bool:
        """Whether two tensors may show the same elements."""
        return isinstance(a, Tensor) and isinstance(b, Tensor) and not self.roots(a).keys().isdisjoint(self.roots(b))

    def written(self, value: Any, where: str) -> None:
        """Notes a store into an array: what shares its elements cannot be read any more, other than by the name that was written."""
        if not isinstance(value, Tensor):
            return
        roots = self.roots(value)
        message = (f"cleave: this array shares its memory with one that was written at {where}, and would show the change; copy it before: "
                   "y = x.copy()")
        views = [view for view, _ in self._bases.values() if not roots.keys().isdisjoint(self.roots(view))]
        for each in [value, *roots.values(), *views]:
            self.mark(each, message)

    def mark(self, value: Tensor, message: str) -> None:
        """Notes that a tensor cannot be read any more."""
        if value._stale is None:
            value._stale = message
            self.marks.append(value)

    def is_outside(self, array: Any) -> bool:
        """Whether an array of NumPy, or what it is a view of, comes from outside of the program."""
        while isinstance(array, np.ndarray):
            if id(array) in self.outside:
                return True
            array = array.base
        return False

    def adopt(self, array: Any) -> Any:
        """An array that NumPy made while the program is recorded, as a constant: two names for the array show each other's stores."""
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        anchor = self._adopted.get(id(whole))
        if anchor is None:
            anchor = self._adopted[id(whole)] = (whole, Tensor(_cleave.Operand(), self.owner))
        made = Tensor(self.owner.constant(np.asarray(array), here()), self.owner)
        self.view(made, anchor[1])
        made._stale = anchor[1]._stale
        return made

    def note_outside(self, function: Any) -> None:
        """Notes the containers and arrays that a function reaches from outside."""
        code = function.__code__
        reached = [function.__globals__.get(name) for name in _names(code)]
        for cell in function.__closure__ or ():
            try:
                reached.append(cell.cell_contents)
            except ValueError:
                continue
        reached += list(function.__defaults__ or ())
        for each in reached:
            self.put_outside(each)

    def put_outside(self, value: Any, depth: int = 0) -> None:
        if depth > 4 or id(value) in self.outside or isinstance(value, (type, types.ModuleType, types.FunctionType)):
            return
        if isinstance(value, (list, dict, set, np.ndarray)) or hasattr(value, "__dict__"):
            if self.is_local(value):
                return
            self.outside[id(value)] = value
        if isinstance(value, dict):
            inner = list(value.values())[:1000]
        elif isinstance(value, (list, tuple, set)):
            inner = list(value)[:1000]
        else:
            inner = list(getattr(value, "__dict__", {}).values())[:1000]
        for each in inner:
            self.put_outside(each, depth + 1)


def _names(code: types.CodeType) -> list[str]:
    names = list(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names += _names(each)
    return names


class Mistake(Exception):
    """A mistake that is recorded already."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.stack: list[Extraction] = []


extractions = _Stack()


def current() -> Extraction | None:
    """The extraction in progress; None where rewritten code runs as plain Python."""
    stack = extractions.stack
    if stack and traces.stack and traces.stack[-1] is stack[-1].owner:
        return stack[-1]
    return None


_NUMBERS = (bool, int, float, np.generic)


def is_numeric(value: Any) -> bool:
    """Whether a loop can carry this value."""
    return isinstance(value, (Tensor, bool, int, float, np.ndarray, np.generic)) and not isinstance(value, (np.void, np.str_, np.bytes_))


def is_number(value: Any) -> bool:
    """Whether this is a number of Python's, whose type adapts."""
    return type(value) in (bool, int, float)


def plain(value: Any) -> Any:
    """A number of NumPy's default types as one of Python's."""
    return value.item() if type(value) in (np.float64, np.int64, np.bool_) else value


def type_text(value: Any) -> str:
    if isinstance(value, Tensor):
        return str(value.type)
    if isinstance(value, (np.ndarray, np.generic)):
        from .._types import Type

        try:
            return str(Type.of(value))
        except TypeError:
            return f"array of {value.dtype}"
    return f"{type(value).__name__} {value!r}" if isinstance(value, (bool, int, float, str)) or value is None else type(value).__name__


def dtype_of(value: Any, ext: Extraction) -> tuple[str, tuple[int, ...]]:
    """Element type and shape; of numbers, those that they have in the program."""
    if isinstance(value, Tensor):
        return value._known()
    if isinstance(value, bool):
        return "bool", ()
    if isinstance(value, int):
        return "i32", ()
    if isinstance(value, float) and not isinstance(value, np.generic):
        return ext.float_type, ()
    from .._types import dtype_name

    array = np.asarray(value)
    return dtype_name(array.dtype), array.shape


def tensor_of(value: Any, ext: Extraction, dtype: str | None = None) -> Tensor:
    """The value as a tensor."""
    if isinstance(value, Tensor):
        return value
    if is_number(value):
        from .._types import numpy_dtype

        return Tensor(ext.owner.constant(np.asarray(value, numpy_dtype(dtype or dtype_of(value, ext)[0])), here()), ext.owner)
    return Tensor(ext.owner.constant(np.asarray(value), here()), ext.owner)


def operand_of(value: Any, ext: Extraction) -> Any:
    return operand(value, ext.owner)
