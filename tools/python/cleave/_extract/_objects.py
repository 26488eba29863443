"""Stores into arrays, containers and objects. Arrays are values: a store gives a new one to the name, and another name for the same array
cannot be read any more, since Python would show it the change."""
from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import Tensor
from .._update import updated
from .._where import here
from ._extraction import Extraction, current, tensor_of
from ._texts import holds_values

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "@": operator.matmul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "@": operator.imatmul, "/": operator.itruediv, "//": operator.ifloordiv,
    "%": operator.imod, "**": operator.ipow, "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift,
    ">>": operator.irshift}
_UPDATES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


def item(base: Any, index: Any) -> Any:
    """`base[index]`."""
    ext = current()
    if ext is None:
        return base[index]
    if isinstance(base, Tensor):
        return ext.view(base[index], base) if _is_basic(index) else base[index]
    if not holds_values(index) and not (isinstance(index, slice) and holds_values((index.start, index.stop, index.step))):
        return base[index]
    if isinstance(base, (np.ndarray, np.generic)):
        return tensor_of(base, ext)[index]
    literal = index._operand.literal if isinstance(index, Tensor) else None
    if literal is not None:
        return base[literal]
    if isinstance(base, (list, tuple, range, str)):
        ext.fail("unsupported", f"a {type(base).__name__} is indexed by a value that is known only when the program runs: make an array of it, "
                 "numpy.array(…)[i], or let the loop unroll: for i in cleave.unrolled(range(n))")
    if isinstance(base, dict):
        ext.fail("unsupported", "a dict is looked up by a value that is known only when the program runs: use an array, or let the loop unroll: "
                 "for i in cleave.unrolled(range(n))")
    return base[index]


def _is_basic(index: Any) -> bool:
    """Whether NumPy gives a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(each, slice) or each is Ellipsis or each is None for each in parts) or all(
        isinstance(each, (int, np.integer)) or isinstance(each, Tensor) and not each.ndim for each in parts)


def attribute(base: Any, name: str) -> Any:
    """`base.T` and the like."""
    ext = current()
    value = getattr(base, name)
    return ext.view(value, base) if ext is not None and isinstance(base, Tensor) else value


def _update(ext: Extraction, base: Any, index: Any, value: Any, how: str = "set") -> Any:
    """The array after a store, for the name that was written."""
    _own_array(ext, base)
    if type(value) is float and tensor_of(base, ext)._known()[0][0] in "iu":
        value = int(value)  # as NumPy does
    new = updated(tensor_of(base, ext), index, value, how)
    ext.written(base, f"line {here().line}")
    return new


def _own_array(ext: Extraction, base: Any) -> None:
    if not isinstance(base, np.ndarray):
        return
    if ext.is_outside(base):
        ext.fail("unsupported", "this writes to an array from outside of the program; copy it first: x = x.copy()")
    ext.fail("unsupported", "this array may have a second name or a view, which would show the change; copy it first: x = x.copy()")


def own(value: Any) -> Any:
    """The value that a name, an item or an attribute gets: arrays that NumPy made while the program is recorded are its own."""
    ext = current()
    return value if ext is None else _owned(value, ext)


def _owned(value: Any, ext: Extraction) -> Any:
    if type(value) is np.ndarray and value.ndim and value.dtype.kind in "biuf" and not ext.is_outside(value):
        return ext.adopt(value)
    if type(value) is tuple:
        made = tuple([_owned(each, ext) for each in value])
        return made if any(a is not b for a, b in zip(made, value)) else value
    if type(value) is list and id(value) not in ext.outside:
        value[:] = [_owned(each, ext) for each in value]
    elif type(value) is dict and id(value) not in ext.outside:
        for key, each in value.items():
            value[key] = _owned(each, ext)
    return value


def set_item(value: Any, base: Any, index: Any) -> Any:
    """`base[index] = value`; returns what stands in place of `base` afterwards."""
    ext = current()
    if ext is None:
        base[index] = value
        return base
    if isinstance(base, (Tensor, np.ndarray)):
        return _update(ext, base, index, value)
    if isinstance(base, (list, tuple, dict)) and not isinstance(index, Tensor) and _holds(base, index, value):
        return base  # a part of it was written in place
    _check_container(base, ext)
    if isinstance(base, (list, dict)) and isinstance(index, Tensor):
        literal = index._operand.literal
        if literal is None:
            ext.fail("unsupported", f"a {type(base).__name__} is written at a place that is known only when the program runs: allocate an "
                     "array, numpy.zeros(…), and write x[i] = v")
        index = literal
    base[index] = _owned(value, ext)
    return base


def _holds(base: Any, index: Any, value: Any) -> bool:
    try:
        return base[index] is value
    except (LookupError, TypeError):
        return False


def aug_item(symbol: str, base: Any, index: Any, value: Any) -> Any:
    """`base[index] += value`."""
    ext = current()
    if ext is None:
        base[index] = _IN_PLACE[symbol](base[index], value)
        return base
    if isinstance(base, (Tensor, np.ndarray)):
        old = item(base, index)
        return set_item(_OPERATORS[symbol](old, value), base, index)
    return set_item(aug(symbol, item(base, index), value), base, index)


def aug(symbol: str, old: Any, value: Any) -> Any:
    """`old += value`; arrays are values, and keep their element type."""
    ext = current()
    if ext is None:
        return _IN_PLACE[symbol](old, value)
    if isinstance(old, np.ndarray) and old.ndim:
        _own_array(ext, old)
        old = tensor_of(old, ext)
    if not isinstance(old, Tensor):
        if isinstance(old, (list, dict, set)):
            _check_container(old, ext)
            return _IN_PLACE[symbol](old, value)
        return _OPERATORS[symbol](old, value)
    new = _OPERATORS[symbol](old, value)
    if old.ndim and isinstance(new, Tensor) and not new._operand.poisoned:
        if new.shape != old.shape:
            ext.fail("shape", f"`{symbol}=` changes an array in place: {old.type} cannot take a result of {new.type}")
        if new._known()[0] != old._known()[0]:
            if _kind(new._known()[0]) > _kind(old._known()[0]):
                ext.fail("type", f"`{symbol}=` changes an array in place: {old.type} cannot take a result of {new.type}; write "
                         f"x = x {symbol} …")
            new = new.astype(old._known()[0])
        ext.written(old, f"line {here().line}")
    return new


def _kind(dtype: str) -> int:
    return 0 if dtype == "bool" else 1 if dtype[0] in "iu" else 2


def set_attr(value: Any, base: Any, name: str) -> None:
    """`base.name = value`."""
    ext = current()
    if ext is not None:
        _check_object(base, name, ext)
        value = _owned(value, ext)
    setattr(base, name, value)


def aug_attr(symbol: str, base: Any, name: str, value: Any) -> None:
    """`base.name += value`."""
    set_attr(aug(symbol, getattr(base, name), value), base, name)


def lost(value: Any) -> None:
    """A store into something that has no name."""
    ext = current()
    if ext is not None and isinstance(value, Tensor):
        ext.fail("unsupported", "this writes to an array that has no name here: give it one, x = …, and write x[i] = v; an array from outside of "
                 "the function is copied first")


def _check_object(base: Any, name: str, ext: Extraction) -> None:
    if ext.is_local(base):
        return
    if isinstance(base, Tensor):
        ext.fail("unsupported", f"an array has no `{name}` that can be set")
    ext.fail("unsupported", f"this sets `{name}` of a {type(base).__name__} from outside of the program, which runs later: return the value, or "
             "mark the function with @cleave.host")


def _check_container(base: Any, ext: Extraction) -> None:
    if id(base) in ext.outside:
        check_local_container(base, ext, "this")


def check_local_container(base: Any, ext: Extraction, name: str) -> None:
    """Fails for a list, dict or set from outside of the program."""
    if id(base) in ext.outside:
        what = "this" if name == "this" else f".{name}()"
        ext.fail("unsupported", f"{what} changes a {type(base).__name__} from outside of the program, which runs later: return the values, or "
                 "change it in a function marked with @cleave.host")


_changing: dict[Any, bool] = {}
_MUTATORS = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "add", "discard", "popleft",
             "appendleft"}


def changes_itself(function: types.FunctionType, owner: type, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether a method changes its object: it stores to `self.…`, or calls a method that does."""
    key = (function.__code__, owner)
    if key in _changing:
        return _changing[key]
    if key in seen:
        return False
    from ._rewrite import NotExtracted, tree_of

    try:
        tree = tree_of(function)
    except NotExtracted:
        return True
    itself = tree.args.args[0].arg if tree.args.args else ""
    found = False
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found = found or _root(node) == itself
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _root(node.func.value) == itself:
            if node.func.attr in _MUTATORS and not isinstance(node.func.value, ast.Name):
                found = True
            elif isinstance(node.func.value, ast.Name):
                method = getattr(owner, node.func.attr, None)
                if isinstance(method, types.FunctionType):
                    found = found or changes_itself(method, owner, seen | {key})
    _changing[key] = found
    return found


def _root(node: Any) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
