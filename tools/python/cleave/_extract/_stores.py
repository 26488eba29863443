"""Stores into parts of values: `x[i] = v` becomes `x = set_item(v, x, i)`, `self.w = v` a call, `x += v` an ordinary assignment, so that what
follows sees assignments of names only."""
from __future__ import annotations

import ast
from typing import Any

from ._tree import Transformer, assign, load, placed, runtime

_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
            ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}


def index_of(node: Any) -> Any:
    """An index as an expression: `a:b` becomes `slice(a, b)`."""
    if isinstance(node, ast.Slice):
        parts = [each if each is not None else ast.Constant(None) for each in (node.lower, node.upper, node.step)]
        return placed(runtime("slice", *parts), node)
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([index_of(each) for each in node.elts], ast.Load()), node)
    return node


def _loaded(node: Any) -> Any:
    """A target as an expression."""
    if isinstance(node, ast.Name):
        return ast.copy_location(load(node.id), node)
    node.ctx = ast.Load()
    return node


class Stores(Transformer):
    """Rewrites the stores of one function; functions inside of it come later."""

    def __init__(self, names: set[str], nodes: list[ast.AST]) -> None:
        """`names`: the local names of the function, `nodes`: its own nodes."""
        self._locals = names
        self._writes = any(isinstance(each, ast.AugAssign) or isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
                           for each in nodes)
        self._count = 0

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef

    def _temporary(self) -> str:
        self._count += 1
        return f"_part{self._count}"

    def visit_Assign(self, node: ast.Assign) -> Any:
        if len(node.targets) == 1 and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
            return self._store(node.targets[0], node.value, node)
        made: list[Any] = []
        targets = []
        for target in node.targets:
            if isinstance(target, (ast.Subscript, ast.Attribute)):
                name = self._temporary()
                made += self._store(target, load(name), node)
                target = placed(ast.Name(name, ast.Store()), target)
            else:
                target = self._without_parts(target, made, node)
            targets.append(target)
        node.targets = targets
        if self._writes and not isinstance(node.value, (ast.Constant, ast.Compare, ast.JoinedStr, ast.Lambda)):
            node.value = placed(runtime("own", node.value), node.value)
        return [node, *made] if made else node

    def _without_parts(self, target: Any, made: list[Any], node: Any) -> Any:
        """A target in which temporary names stand for parts; stores to the parts are added to `made`."""
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            name = self._temporary()
            made += self._store(target, placed(load(name), target), node)
            return placed(ast.Name(name, ast.Store()), target)
        if isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._without_parts(each, made, node) for each in target.elts]
        elif isinstance(target, ast.Starred):
            target.value = self._without_parts(target.value, made, node)
        return target

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        made: list[Any] = []
        node.target = self._without_parts(node.target, made, node)
        node.body = made + node.body
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return placed(ast.Pass(), node)
        return self.visit_Assign(placed(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        symbol = ast.Constant(_SYMBOLS[type(node.op)])
        target: Any = node.target
        if isinstance(target, ast.Name):
            old = ast.copy_location(load(target.id), target)
            return placed(assign(target.id, placed(runtime("aug", symbol, old, node.value), node)), node)
        if isinstance(target, ast.Attribute):
            return placed(ast.Expr(placed(runtime("aug_attr", symbol, target.value, ast.Constant(target.attr), node.value), node)), node)
        made = runtime("aug_item", symbol, _base(target), index_of(target.slice), node.value)
        return self._put(target.value, placed(made, node), node)

    def _store(self, target: Any, value: Any, node: Any) -> list[Any]:
        if isinstance(target, ast.Attribute):
            return [placed(ast.Expr(placed(runtime("set_attr", value, target.value, ast.Constant(target.attr)), node)), node)]
        made = placed(runtime("set_item", value, _base(target), index_of(target.slice)), node)
        return self._put(target.value, made, node)

    def _put(self, base: Any, value: Any, node: Any) -> list[Any]:
        """`value` is what stands in place of `base` after a store into it."""
        if isinstance(base, ast.Name) and base.id in self._locals:
            return [placed(assign(base.id, value), node)]
        if isinstance(base, ast.Attribute):
            return [placed(ast.Expr(runtime("set_attr", value, base.value, ast.Constant(base.attr))), node)]
        if isinstance(base, ast.Subscript):
            outer = placed(runtime("set_item", value, _base(base), index_of(base.slice)), node)
            return self._put(base.value, outer, node)
        return [placed(ast.Expr(runtime("lost", value)), node)]


def _base(target: ast.Subscript) -> Any:
    import copy

    return _loaded(copy.deepcopy(target.value))
