"""Host calls in place: functions that are not extracted, texts that are printed, exceptions. Their result types are declared, or found by
one real call."""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _cleave
from .._tensor import Tensor, name_results
from .._types import Type
from .._where import statement
from ._extraction import Dead, Extraction, Probe, is_number, operand_of, type_text
from ._texts import Text


class _Hole:
    """The place of a value of the program among the arguments of a call."""

    def __init__(self, at: int) -> None:
        self.at = at


class _Later:
    """The place of a text."""

    def __init__(self, parts: Any, made: Callable[[Any], str]) -> None:
        self.parts, self.made = parts, made


def _emptied(value: Any, found: list[Any]) -> Any:
    """The value with holes for tensors, which are added to `found`."""
    if isinstance(value, Tensor):
        found.append(value)
        return _Hole(len(found) - 1)
    if isinstance(value, Text):
        return _Later(_emptied(value.parts, found), value.made)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_emptied(each, found) for each in value])
    if type(value) in (list, tuple, set):
        return type(value)([_emptied(each, found) for each in value])
    if isinstance(value, dict):
        return {key: _emptied(each, found) for key, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _emptied(getattr(value, field.name), found) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields) if any(isinstance(each, _Hole) for each in fields.values()) else value
    if isinstance(value, slice):
        return slice(*[_emptied(each, found) for each in (value.start, value.stop, value.step)])
    return value


def _filled(value: Any, arrays: Any) -> Any:
    """The opposite, when the program runs. Scalars are numbers again."""
    if isinstance(value, _Hole):
        array = arrays[value.at]
        if array.ndim:
            return array
        return array.item() if array.dtype.kind in "iub" else array[()]
    if isinstance(value, _Later):
        return value.made(_filled(value.parts, arrays))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_filled(each, arrays) for each in value])
    if type(value) in (list, tuple, set):
        return type(value)([_filled(each, arrays) for each in value])
    if isinstance(value, dict):
        return {key: _filled(each, arrays) for key, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if any(isinstance(each, _Hole) for each in fields.values()):
            return dataclasses.replace(value, **{name: _filled(each, arrays) for name, each in fields.items()})
    if isinstance(value, slice):
        return slice(*[_filled(each, arrays) for each in (value.start, value.stop, value.step)])
    return value


class _Result:
    """The type of one array of a result."""

    def __init__(self, type_: Type) -> None:
        self.type = type_


def outlined(value: Any, what: str) -> Any:
    """The nest of the result types of a call that returned `value`."""
    if isinstance(value, (bool, np.bool_)):
        return _Result(Type("bool"))
    if is_number(value):
        return _Result(Type("i32" if isinstance(value, int) else "f32"))
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__"):
        array = value if hasattr(value, "dtype") else np.asarray(value)
        return _Result(Type(array.dtype, tuple(array.shape)))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[outlined(each, what) for each in value])
    if type(value) in (list, tuple):
        return type(value)([outlined(each, what) for each in value])
    if type(value) is dict:
        return {key: outlined(each, what) for key, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{field.name: outlined(getattr(value, field.name), what) for field in dataclasses.fields(value)})
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{what} returns a {type(value).__name__}; a program goes on with arrays, numbers, and nests of them")


def declared_results(given: Any) -> Any:
    """The same for declared types: "f32[4]", a list of types, None, or an annotation of Python's."""
    if given is None or given is type(None):
        return None
    if given in (float, int, bool):
        return _Result(Type({float: "f32", int: "i32", bool: "bool"}[given]))
    if isinstance(given, list) or isinstance(given, tuple) and not (len(given) == 2 and isinstance(given[1], (tuple, list))):
        return tuple(declared_results(each) for each in given)
    return _Result(Type.of(given))


def _leaves(nest: Any, value: Any, what: str) -> Iterator[tuple[Any, Any]]:
    """The result types with the arrays that a call returned; an error if it is another nest."""
    if isinstance(nest, _Result):
        yield nest, value
        return
    kind = tuple if isinstance(nest, tuple) else list if isinstance(nest, list) else type(nest)
    if isinstance(nest, (tuple, list)):
        if not isinstance(value, (tuple, list)) or len(value) != len(nest):
            raise TypeError(f"{what} returned {kind.__name__} of {len(nest)} at its first call and {_short(value)} now")
        for each, part in zip(nest, value):
            yield from _leaves(each, part, what)
    elif isinstance(nest, dict):
        if not isinstance(value, dict) or list(value) != list(nest):
            raise TypeError(f"{what} returned a dict with the keys {list(nest)} at its first call and {_short(value)} now")
        for key, each in nest.items():
            yield from _leaves(each, value[key], what)
    elif nest is None or isinstance(nest, str):
        if value != nest:
            raise TypeError(f"{what} returned {nest!r} at its first call and {_short(value)} now")
    else:
        if type(value) is not type(nest):
            raise TypeError(f"{what} returned a {type(nest).__name__} at its first call and {_short(value)} now")
        for field in dataclasses.fields(nest):
            yield from _leaves(getattr(nest, field.name), getattr(value, field.name), what)


def _short(value: Any) -> str:
    return type_text(value) if not isinstance(value, (tuple, list, dict)) else f"a {type(value).__name__} of {len(value)}"


def _array(result: _Result, value: Any, what: str) -> Any:
    """A returned value as an array of the result's type; numbers adapt."""
    wanted: Any = result.type
    from .._types import numpy_dtype

    if is_number(value):
        kinds = {bool: "b", int: "biuf", float: "fV"}[type(value)]
        if wanted.shape == () and numpy_dtype(wanted.dtype).kind in kinds:
            return np.asarray(value, numpy_dtype(wanted.dtype))
    elif isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__"):
        given = Type.of(value)
        if given == wanted:
            return value
    raise TypeError(f"{what} returned {wanted} at its first call and {_short(value)} now; a host call returns one type")


def _put_back(nest: Any, tensors: Iterator[Any]) -> Any:
    if isinstance(nest, _Result):
        return next(tensors)
    if isinstance(nest, tuple):
        new = [_put_back(each, tensors) for each in nest]
        return type(nest)(*new) if hasattr(nest, "_fields") else tuple(new)
    if isinstance(nest, list):
        return [_put_back(each, tensors) for each in nest]
    if isinstance(nest, dict):
        return {key: _put_back(each, tensors) for key, each in nest.items()}
    if nest is None or isinstance(nest, str):
        return nest
    return dataclasses.replace(nest, **{field.name: _put_back(getattr(nest, field.name), tensors) for field in dataclasses.fields(nest)})


def _types(nest: Any) -> Iterator[Type]:
    if isinstance(nest, _Result):
        yield nest.type
    elif isinstance(nest, (tuple, list)):
        for each in nest:
            yield from _types(each)
    elif isinstance(nest, dict):
        yield from _types(list(nest.values()))
    elif nest is not None and not isinstance(nest, str):
        yield from _types([getattr(nest, field.name) for field in dataclasses.fields(nest)])


NOTHING = object()  # results that nothing reads
UNKNOWN = object()  # results whose types a real call shows


class Made(Exception):
    """Ends the run of a program's beginning: the call whose types were unknown is made."""


@dataclasses.dataclass
class Call:
    """A function that the program calls on the host, and what is known of it."""

    function: Callable[..., Any]
    name: str
    why: str = ""
    results: Any = UNKNOWN
    pure: bool = False
    seconds: float | None = None
    deadline: float | None = None
    copy: bool = True

    def record(self, ext: Extraction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Records the call; returns its results, tensors in their nest."""
        place, names = statement()
        path = ext.enter(("call", place.line, place.column, self.name))
        ext.leave()
        found: list[Any] = []
        outline = _emptied((arguments, named), found)
        if self.why:
            ext.hosts.append((self.name, self.why, place))
        nest = self._nest(ext, path, place)
        log = ext.known.logs.setdefault(path, collections.deque())
        function, what = self.function, f"`{self.name}`"

        known = ext.known

        def called(*arrays: Any) -> Any:
            if log:  # made already, while the types of a later call were looked for
                result = log.popleft()
            else:
                given, by_name = _filled(outline, arrays)
                value = function(*given, **by_name)
                result = () if nest is NOTHING else tuple([_array(each, part, what) for each, part in _leaves(nest, value, what)])
            if known.replayed is not None:
                known.replayed.append((path, result))
            return result

        def first(*arrays: Any) -> Any:
            given, by_name = _filled(outline, arrays)
            value = function(*given, **by_name)
            known.results[path] = outlined(value, what)
            result = tuple([_array(each, part, what) for each, part in _leaves(known.results[path], value, what)])
            assert known.replayed is not None
            known.replayed.append((path, result))
            known.made = path
            raise Made

        inputs = [operand_of(each, ext) for each in found]
        if nest is UNKNOWN:
            declared = _cleave.HostFunction(self.name, [], False, None, None, True)
            ext.owner.host_call(declared, first, inputs, place)
            if path in known.unreached:  # the first run that comes here makes the call, and the program is made again
                raise Dead
            raise Probe(self.name, place, path)
        types = [] if nest is NOTHING else [str(each) for each in _types(nest)]
        declared = _cleave.HostFunction(self.name, types, self.pure, self.seconds, self.deadline, self.copy)
        made = ext.owner.host_call(declared, called, inputs, place)
        if nest is NOTHING:
            return None
        name_results(ext.owner, made, names, place)
        return _put_back(nest, iter([Tensor(each, ext.owner) for each in made]))

    def _nest(self, ext: Extraction, path: Any, place: _cleave.Location) -> Any:
        if self.results is NOTHING:
            return NOTHING
        if path in ext.known.results:
            return ext.known.results[path]
        return self.results

