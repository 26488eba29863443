"""Source locations in the user's program: the file, line and column of the call into this package, and the functions in between."""
from __future__ import annotations

import ast
import dis
import linecache
import os
import re
import sys
from types import CodeType, FrameType
from typing import Any

from ._cleave import Location

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_LINKS = 32

# By id() of a code object. The object is kept, so that its id stays unique.
_own: dict[int, tuple[CodeType, bool]] = {}
_positions: dict[int, tuple[CodeType, list[Any]]] = {}
_places: dict[tuple[int, int], tuple[CodeType, int, int]] = {}
_stores: dict[int, tuple[CodeType, dict[int, tuple[str, ...]]]] = {}

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
        known = _stores[id(code)] = (code, _find_stores(code))
    return _location(frame, _MOST_LINKS), known[1].get(frame.f_lasti, ())


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _is_own(frame.f_code):
        frame = frame.f_back
    return frame


def _find_stores(code: CodeType) -> dict[int, tuple[str, ...]]:
    """By offset of an instruction: the names that the following instructions assign its result to."""
    stores: dict[int, tuple[str, ...]] = {}
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions[:-1]):
        names: list[str] = []
        count, at = 1, i + 1
        if instructions[at].opname == "UNPACK_SEQUENCE":
            count, at = instructions[at].arg or 0, at + 1
        for following in instructions[at:at + count]:
            if not following.opname.startswith("STORE_") or following.opname in ("STORE_SUBSCR", "STORE_ATTR", "STORE_SLICE"):
                break
            stored = following.argval if isinstance(following.argval, tuple) else (following.argval,)
            names.extend(stored if following.opname == "STORE_FAST_STORE_FAST" else stored[:1])
        if len(names) >= count > 0:
            # The offset of a call in progress is that of the instruction or of a cache entry behind it.
            for offset in range(instruction.offset, instructions[i + 1].offset, 2):
                stores[offset] = tuple(names[:count])
    return stores


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


def _offset(expression: bytes, whole: bool) -> int:
    """The offset within an expression of the part that messages point at: an operator, or a function's name."""
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
