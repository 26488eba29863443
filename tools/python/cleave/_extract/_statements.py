"""Loops and branches: their bodies become functions, which the runtime calls once or several times, or records."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ._expressions import Expressions
from ._tree import assign, children, function, load, parameters_of, placed, runtime, text_tuple, uses, walk


#: By file, name and line of a function made here: the places that change a name last.
touched: dict[tuple[str, str, int], dict[str, tuple[int, int]]] = {}


def _outside_blocks(node: Any) -> list[Any]:
    return [each for each in children(node) if not isinstance(each, ast.stmt)]


def _touched(nodes: list[Any]) -> dict[str, tuple[int, int]]:
    """By name: where a piece of code assigns it, or calls a method of it, last."""
    places: dict[str, tuple[int, int]] = {}
    for node in nodes:
        if isinstance(node, (ast.If, ast.For, ast.While)):
            inner = getattr(node, "touches", None)
            if inner is None:
                inner = node.touches = _touched([*_outside_blocks(node), *node.body, *node.orelse])  # type: ignore[union-attr]
            places.update({name: max(place, places.get(name, (0, 0))) for name, place in inner.items()})
            continue
        for each in walk(node):
            name = ""
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                name = each.id
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                base: Any = each.func.value
                while isinstance(base, (ast.Attribute, ast.Subscript)):
                    base = base.value
                name = base.id if isinstance(base, ast.Name) else ""
                if name == "_x" and each.func.attr == "set_attr":
                    base = each.args[1]
                    while isinstance(base, (ast.Attribute, ast.Subscript)):
                        base = base.value
                    name = base.id if isinstance(base, ast.Name) else ""
            place = (getattr(each, "lineno", 0), getattr(each, "col_offset", 0) + 1)
            if name and place >= places.get(name, (0, 0)):
                places[name] = place
    return places


def _stored(nodes: list[Any]) -> dict[str, ast.AST]:
    """The names that statements bind; a statement keeps them, since each block around it asks."""
    names: dict[str, ast.AST] = {}
    for node in nodes:
        own = getattr(node, "binds", None)
        if own is None:
            if isinstance(node, (ast.If, ast.For, ast.While)):
                own = _stored([*_outside_blocks(node), *node.body, *node.orelse])
            else:
                own = uses(node).binds
            node.binds = own
        for name, each in own.items():
            names.setdefault(name, each)
    return names


class Statements:
    """Rewrites the statements of one function. `inner` rewrites the functions in it."""

    def __init__(self, inner: Callable[[Any], None], file: str) -> None:
        self._inner, self._file = inner, file
        self._count = 0
        self._in_functions: dict[str, None] = {}  # the names that functions made here bind

    def function(self, node: Any) -> None:
        body = self._block(node.body)
        declared = [name for name in self._in_functions if name not in parameters_of(node)]
        first = node.body[0]
        front = [placed(ast.AnnAssign(ast.Name(name, ast.Store()), load("object"), None, 1), first) for name in declared]
        node.body = front + body

    def _block(self, nodes: list[Any]) -> list[Any]:
        made: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.If):
                made += self._branch(node)
            elif isinstance(node, ast.For):
                made += self._for(node)
            elif isinstance(node, ast.While):
                made += self._while(node)
            elif isinstance(node, ast.With):
                for item in node.items:
                    item.context_expr = placed(runtime("within", self._expression(item.context_expr)), item.context_expr)
                node.body = self._block(node.body)
                made.append(node)
            elif isinstance(node, ast.Match):
                node.subject = self._expression(node.subject)
                for case in node.cases:
                    case.guard = self._expression(case.guard) if case.guard is not None else None
                    case.body = self._block(case.body)
                made.append(node)
            elif isinstance(node, ast.FunctionDef):
                self._inner(node)
                made.append(node)
            else:
                made.append(self._expression(node))
        return made or [ast.Pass()]

    def _expression(self, node: Any) -> Any:
        return Expressions().visit(node)

    def _inside(self, name: str, parameters: list[str], nodes: list[Any], like: ast.AST, first: list[Any] | None = None) -> Any:
        """A function of statements of the user's, which bind names of the function around."""
        names = list({**_stored(first or []), **_stored(nodes)})
        self._in_functions.update(dict.fromkeys(names))
        made = placed(function(name, parameters, []), like)
        touched[self._file, made.name, made.lineno] = _touched(nodes)
        body = [*(first or []), *self._block(nodes)]
        if names:
            body.insert(0, ast.Nonlocal(names))
        made.body = body
        return placed(made, like)

    def _number(self) -> int:
        self._count += 1
        return self._count

    def _branch(self, node: ast.If) -> list[Any]:
        number = self._number()
        names = _stored([*node.body, *node.orelse])
        live = [name for name in names if name in node.live]  # type: ignore[attr-defined]
        made = [self._inside(f"_then{number}", [], node.body, node)]
        if node.orelse:
            made.append(self._inside(f"_else{number}", [], node.orelse, node))
        otherwise: Any = load(f"_else{number}") if node.orelse else ast.Constant(None)
        call = runtime("if_", self._expression(node.test), load(f"_then{number}"), otherwise, text_tuple(live),
                       text_tuple(name for name in names if name not in live))
        return [*made, placed(ast.Expr(placed(call, node.test)), node)]

    def _loop(self, node: Any, number: int, names: Any) -> tuple[Any, list[Any], list[ast.expr]]:
        """The expression for the function that says whether the loop stops, its definition, and the names of the loop."""
        defined: list[Any] = []
        stop: Any = ast.Constant(None)
        if node.stop is not None:
            defined = [placed(function(f"_stop{number}", [], [ast.Return(self._expression(node.stop))]), node)]
            stop = load(f"_stop{number}")
        carried = [name for name in names if name in node.live]
        return stop, defined, [text_tuple(carried), text_tuple(name for name in names if name not in carried),
                               text_tuple(name for name in names if name in node.live_after)]

    def _for(self, node: Any) -> list[Any]:
        number = self._number()
        names = {**uses(node.target).binds, **_stored(node.body)}
        stop, defined, texts = self._loop(node, number, names)
        item = f"_item{number}"
        takes = placed(ast.Assign([node.target], load(item)), node.target)
        body = self._inside(f"_loop{number}", [item], node.body, node, [takes])
        call = runtime("for_", self._expression(node.iter), load(f"_loop{number}"), stop, *texts)
        return [body, *defined, placed(ast.Expr(placed(call, node.iter)), node)]

    def _while(self, node: Any) -> list[Any]:
        number = self._number()
        names = {**uses(node.test).binds, **_stored(node.body)}
        stop, defined, texts = self._loop(node, number, names)
        tested = list(uses(node.test).binds)
        self._in_functions.update(dict.fromkeys(tested))
        test = placed(function(f"_test{number}", [], [ast.Return(self._expression(node.test))]), node.test)
        if tested:
            test.body.insert(0, placed(ast.Nonlocal(tested), node.test))
        body = self._inside(f"_loop{number}", [], node.body, node)
        call = runtime("while_", load(f"_test{number}"), load(f"_loop{number}"), stop, *texts)
        return [test, body, *defined, placed(ast.Expr(placed(call, node.test)), node)]
