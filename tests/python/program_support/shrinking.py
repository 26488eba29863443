"""Makes a failing function smaller while it fails in the same way."""
from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator


def shrink(source: str, fails: Callable[[str], bool], seconds: float = 20) -> str:
    """The text of the smallest function found for which `fails` holds. `source` is one function; it fails."""
    end = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < end:
        again = False
        for candidate in _candidates(source):
            if time.monotonic() > end:
                break
            if len(candidate) < len(source) and fails(candidate):
                source, again = candidate, True
                break
    return source


def _candidates(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    count = sum(len(block) for block in _blocks(tree))
    for at in range(count):
        for way in ("drop", "body", "else", "no else"):
            made = copy.deepcopy(tree)
            if _change(made, at, way):
                yield ast.unparse(ast.fix_missing_locations(made)) + "\n"
    for at, node in enumerate(ast.walk(tree)):
        for part in _parts(node):
            made = copy.deepcopy(tree)
            _replace(made, at, part)
            yield ast.unparse(ast.fix_missing_locations(made)) + "\n"


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    return [block for node in ast.walk(tree) for name in ("body", "orelse") if isinstance(block := getattr(node, name, None), list)
            and not isinstance(node, ast.Module)]


def _change(tree: ast.Module, at: int, way: str) -> bool:
    """Changes statement number `at` of all blocks; False if it cannot be changed so."""
    for block in _blocks(tree):
        if at >= len(block):
            at -= len(block)
            continue
        statement = block[at]
        if way == "drop":
            block[at:at + 1] = [] if len(block) > 1 else [ast.Pass()]
            return len(block) > 1 or not isinstance(statement, ast.Pass)
        inner = getattr(statement, "orelse" if way == "else" else "body", None)
        if way == "no else":
            if not getattr(statement, "orelse", None):
                return False
            statement.orelse = []
            return True
        if not isinstance(inner, list) or not inner:
            return False
        block[at:at + 1] = inner
        return True
    return False


def _parts(node: ast.AST) -> list[ast.expr]:
    """Expressions that may stand for an expression: its operands, and constants."""
    if not isinstance(node, (ast.BinOp, ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.Subscript)):
        return []
    parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Call):
        parts = [child for child in parts if child is not node.func]
    return parts + [ast.Constant(value) for value in (1, 0.5, True)]


def _replace(tree: ast.Module, at: int, part: ast.expr) -> None:
    """Puts `part` in the place of expression number `at` of the walk."""
    wanted = list(ast.walk(tree))[at]
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if value is wanted:
                setattr(node, name, copy.deepcopy(part))
            elif isinstance(value, list) and any(each is wanted for each in value):
                setattr(node, name, [copy.deepcopy(part) if each is wanted else each for each in value])
