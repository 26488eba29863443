"""Source locations in the user's program: the file, line and column of the call into this package, and the functions in between."""
from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ._cleave import Location

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_LINKS = 32

# By id() of a code object. The object is kept, so that its id stays unique.
_own: dict[int, tuple[CodeType, bool]] = {}
_positions: dict[int, tuple[CodeType, list[Any]]] = {}
_places: dict[tuple[int, int], tuple[CodeType, int, int]] = {}
_stores: dict[int, _Stores] = {}

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
              ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Eq: "==", ast.NotEq: "!=",
              ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def run_traced(function: Any, arguments: Any, named: Any) -> Any:
    """Calls the user's function; call chains end at this frame."""
    return function(*arguments, **named)


END = run_traced.__code__


def _is_own(code: CodeType) -> bool:
    known = _own.get(id(code))
    if known is None:
        known = _own[id(code)] = (code, code.co_filename.startswith(_PACKAGE))
    return known[1]


def here() -> Location:
    """The location in the user's program from which this package was called."""
    frame = _user_frame()
    return Location("", 0) if frame is None else _location(frame, _MOST_LINKS)


def statement() -> tuple[Location, tuple[str, ...]]:
    """The same, and the user's variables that the results are assigned to: ("y",) in `y = relu(x)`, ("q", "r") in `q, r = qr(x)`."""
    frame = _user_frame()
    if frame is None:
        return Location("", 0), ()
    code = frame.f_code
    known = _stores.get(id(code))
    if known is None:
        known = _stores[id(code)] = _Stores(code)
    return _location(frame, _MOST_LINKS), known.names(frame.f_lasti)


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        known = _own.get(id(frame.f_code))
        if not (known[1] if known is not None else _is_own(frame.f_code)):
            break
        frame = frame.f_back
    return frame


class _Stores:
    """By instruction of a code object: the variables that take its result. Found where they are asked for, since decoding all instructions
    of a function takes longer than recording it."""

    def __init__(self, code: CodeType) -> None:
        self.code = code  # kept, so that its id() stays unique
        self._bytes = code.co_code
        self._known: dict[int, tuple[str, ...]] = {}

    def names(self, at: int) -> tuple[str, ...]:
        """The variables that take the result of the instruction at this offset."""
        known = self._known.get(at)
        if known is None:
            known = self._known[at] = self._found(at)
        return known

    def _found(self, at: int) -> tuple[str, ...]:
        at, count = self._next(at), 1
        if self._is(at, _UNPACK):
            at, count = self._next(at), self._bytes[at + 1]
        names: list[str] = []
        while len(names) < count and at < len(self._bytes) and self._bytes[at] in _STORES:
            names += _STORES[self._bytes[at]](self.code, self._bytes[at + 1])
            at = self._next(at)
        return tuple(names[:count]) if len(names) >= count else ()

    def _next(self, at: int) -> int:
        """The offset of the next instruction, behind the cache entries of this one."""
        at += 2
        while self._is(at, _CACHE):
            at += 2
        return at

    def _is(self, at: int, operation: int | None) -> bool:
        return at < len(self._bytes) and self._bytes[at] == operation


_UNPACK, _CACHE = dis.opmap["UNPACK_SEQUENCE"], dis.opmap.get("CACHE")


def _local(code: CodeType, number: int) -> str:
    named: Any = getattr(code, "_varname_from_oparg", None)  # from Python 3.11 on
    return str(named(number) if named is not None else code.co_varnames[number])


def _cell(code: CodeType, number: int) -> str:
    return _local(code, number) if sys.version_info >= (3, 11) else (code.co_cellvars + code.co_freevars)[number]


#: By operation: the variables to which it stores, by its argument.
_STORES: dict[int, Callable[[CodeType, int], list[str]]] = {dis.opmap[name]: names for name, names in {
    "STORE_NAME": lambda code, number: [code.co_names[number]], "STORE_GLOBAL": lambda code, number: [code.co_names[number]],
    "STORE_FAST": lambda code, number: [_local(code, number)], "STORE_DEREF": lambda code, number: [_cell(code, number)],
    "STORE_FAST_LOAD_FAST": lambda code, number: [_local(code, number >> 4)],
    "STORE_FAST_STORE_FAST": lambda code, number: [_local(code, number >> 4), _local(code, number & 15)]}.items() if name in dis.opmap}


def _location(frame: FrameType, links: int) -> Location:
    code = frame.f_code
    line, column = _place(code, frame.f_lasti, frame.f_lineno)
    outer, label = _caller(frame)
    if outer is None or links == 0:
        return Location(code.co_filename, line, column)
    return Location(code.co_filename, line, column, label, _location(outer, links - 1))


def _caller(frame: FrameType) -> tuple[FrameType | None, str]:
    """The frame from which the function of `frame` was called, and the function's name; bodies of loops and the like are part of the
    function that holds them."""
    callback = False
    outer = frame.f_back
    label = frame.f_code.co_name
    while outer is not None:
        code = outer.f_code
        if code is END:
            return None, ""
        if _is_own(code):
            callback = True
        elif callback or label.startswith("<"):
            # Not called by the user: treated as part of the enclosing function.
            label, callback, frame = code.co_name, False, outer
        else:
            return outer, label
        outer = outer.f_back
    return None, ""


def _place(code: CodeType, instruction: int, line: int) -> tuple[int, int]:
    known = _places.get((id(code), instruction))
    if known is None:
        place = _find_place(code, instruction, line)
        known = _places[(id(code), instruction)] = (code, *place)
    return known[1], known[2]


def _find_place(code: CodeType, instruction: int, line: int) -> tuple[int, int]:
    if not hasattr(code, "co_positions"):
        return line, 0  # before Python 3.11
    positions = _positions.get(id(code))
    if positions is None:
        positions = _positions[id(code)] = (code, list(code.co_positions()))
    index = instruction // 2
    if index >= len(positions[1]):
        return line, 0
    first, last, begin, end = positions[1][index]
    if first is None or begin is None:
        return line, 0
    text = linecache.getline(code.co_filename, first).encode()
    return first, begin + _offset(text[begin:end] if last == first else text[begin:], last == first) + 1


_BINARY = re.compile(rb"([A-Za-z_][\w.]* ?)(?:\*\*|//|<<|>>|[=!<>]=|[-+*/%@&|^<>]) ?[\w.]+")


@functools.lru_cache(4096)
def _offset(expression: bytes, whole: bool) -> int:
    """The offset within an expression of the part that messages point at: an operator, or a function's name."""
    simple = _BINARY.fullmatch(expression)
    if simple:
        return simple.end(1)
    if expression.isalnum():
        return 0
    if not whole:
        called = re.match(rb"(?:\w+\.)+(?=\w+\()", expression)
        return called.end() if called else 0
    try:
        node = ast.parse(b"(" + expression + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return 0
    after = 0
    words = ""
    if isinstance(node, ast.BinOp):
        after, words = node.left.end_col_offset or 0, _OPERATORS.get(type(node.op), "")
    elif isinstance(node, ast.Compare):
        after, words = node.left.end_col_offset or 0, _OPERATORS.get(type(node.ops[0]), "")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return (node.func.end_col_offset or 0) - len(node.func.attr.encode()) - 1
    if not words:
        return 0
    found = expression.find(words.encode(), max(after - 1, 0))
    return max(found, 0)
