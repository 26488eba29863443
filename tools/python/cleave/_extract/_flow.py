"""The uses of the values of names: `mark_unsure` finds reads of names that may not be bound, `mark_live` what loops and branches
have to hand on."""
from __future__ import annotations

import ast
from typing import Any

from ._tree import COMPREHENSIONS, FUNCTIONS, children, held, parameters_of, stored, uses


class _Bound:
    """Which names are bound for certain at each place of a function. None stands for a place that is not reached."""

    def __init__(self, names: set[str]) -> None:
        self._locals = names
        self._breaks: list[list[Any]] = []
        self._continues: list[list[Any]] = []

    def reads(self, node: ast.AST | None, bound: Any) -> None:
        if node is None or bound is None:
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in self._locals and node.id not in bound:
                node.unsure = True  # type: ignore[attr-defined]
            return
        if isinstance(node, FUNCTIONS):
            return  # runs later
        if isinstance(node, COMPREHENSIONS):
            bound = bound | set(stored([generator.target for generator in node.generators]))
        for each in children(node):
            self.reads(each, bound)

    def block(self, nodes: list[Any], bound: Any) -> Any:
        for node in nodes:
            bound = self.statement(node, bound)
        return bound

    def statement(self, node: Any, bound: Any) -> Any:
        if bound is None:
            return None
        if isinstance(node, ast.If):
            self.reads(node.test, bound)
            bound = bound | uses(node.test).binds.keys()
            return _meet(self.block(node.body, bound), self.block(node.orelse, bound))
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, bound)
        if isinstance(node, (ast.Return, ast.Raise)):
            self.reads(node, bound)
            return None
        if isinstance(node, ast.Break):
            self._breaks[-1].append(bound)
            return None
        if isinstance(node, ast.Continue):
            return None
        if isinstance(node, ast.With):
            for item in node.items:
                self.reads(item.context_expr, bound)
                bound = bound | uses(item).binds.keys()
            return self.block(node.body, bound)
        self.reads(node, bound)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in bound:
            node.unsure = True  # type: ignore[attr-defined]
        return bound | uses(node).binds.keys()

    def _loop(self, node: Any, bound: Any) -> Any:
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        inside = bound
        if isinstance(node, ast.For):
            self.reads(node.iter, bound)
            inside = bound | uses(node.target).binds.keys()
        else:
            self.reads(node.test, bound)
            bound = inside = bound | uses(node.test).binds.keys()
        self._breaks.append([])
        self.block(node.body, inside)
        breaks = self._breaks.pop()
        after = None if endless else self.block(node.orelse, bound)
        for each in breaks:
            after = _meet(after, each)
        return after


def _meet(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a & b


def mark_unsure(node: Any, names: set[str]) -> None:
    """Sets `unsure` on each read of a local name of the function, one of `names`, that may be reached before the name is bound."""
    _Bound(names).block(node.body, frozenset(parameters_of(node)))


class _Live:
    """Which names are read later, from the end of a function to its start. Exits are flags by now."""

    def __init__(self, always: set[str]) -> None:
        self._always = always

    def block(self, nodes: list[Any], live: set[str]) -> set[str]:
        for node in reversed(nodes):
            live = self.statement(node, live)
        return live

    def statement(self, node: Any, live: set[str]) -> set[str]:
        if isinstance(node, ast.If):
            node.live = live | self._always  # type: ignore[attr-defined]
            return self.block(node.body, live) | self.block(node.orelse, live) | uses(node.test).reads
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, live)
        if isinstance(node, ast.With):
            live = self.block(node.body, live)
            for item in reversed(node.items):
                live = (live - uses(item).binds.keys()) | uses(item.context_expr).reads
            return live
        if isinstance(node, ast.Return):
            return set() if node.value is None else uses(node.value).reads
        if isinstance(node, ast.Match):
            inside = [self.block(case.body, live) for case in node.cases]
            return live.union(*inside) | uses(node).reads
        return (live - uses(node).binds.keys()) | uses(node).reads | self._augmented(node)

    @staticmethod
    def _augmented(node: Any) -> set[str]:
        return {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else set()

    def _loop(self, node: Any, live: set[str]) -> set[str]:
        stop = uses(node.stop).reads if getattr(node, "stop", None) is not None else set()
        if isinstance(node, ast.For):
            header, targets, tested = set(live), set(uses(node.target).binds), set()
        else:
            header, targets, tested = live | uses(node.test).reads | stop, set(), uses(node.test).reads | stop
        while True:
            at_end = header | stop
            larger = header | tested | (self.block(node.body, at_end) - targets)
            if larger == header:
                break
            header = larger
        node.live = header | self._always
        node.live_after = live | self._always
        return header | (uses(node.iter).reads if isinstance(node, ast.For) else set())


def mark_live(node: Any, functions: list[ast.AST]) -> None:
    """Sets `live` of each branch (the names read after it) and loop (those read after it or in a later trip). Names that the
    functions inside hold on to count as read everywhere."""
    _Live(held(functions)).block(node.body, set())
