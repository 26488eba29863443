"""Expressions: calls, `and`, `or`, `not`, conditional expressions, chained comparisons, formatted texts and indices become calls of the
runtime, which does at once what Python would do, or records it where tensors take part."""
from __future__ import annotations

import ast
from typing import Any

from ._refused import Refused
from ._stores import index_of
from ._tree import Transformer, deferred, placed, runtime, walk

_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not",
                ast.In: "in", ast.NotIn: "not in"}


class Expressions(Transformer):
    """Rewrites the expressions of a piece of code."""

    def _later(self, node: Any) -> Any:
        """An expression that the runtime evaluates if Python would."""
        for each in walk(node):
            if isinstance(each, ast.NamedExpr):
                raise Refused(each, "`:=` in an expression that is evaluated under a condition; assign in a statement before it")
        return placed(deferred(node), node)

    def visit_Name(self, node: ast.Name) -> Any:
        if getattr(node, "unsure", False):
            return placed(runtime("read", self._later(node), ast.Constant(node.id)), node)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        return self._call(node, "f")

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Call):
            node.value = self._call(node.value, "do")
        else:
            self.generic_visit(node)
        return node

    def _call(self, node: ast.Call, how: str) -> Any:
        function: Any = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "_x":
            self.generic_visit(node)
            return node
        self.generic_visit(node)
        if isinstance(function, ast.Name) and function.id == "super":
            return node
        node.func = placed(runtime(how, node.func), function)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        rest = [self._later(each) for each in node.values[1:]]
        return placed(runtime("and_" if isinstance(node.op, ast.And) else "or_", node.values[0], *rest), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return placed(runtime("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        return placed(runtime("either", node.test, self._later(node.body), self._later(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.In, ast.NotIn)):
                called = "in_" if isinstance(node.ops[0], ast.In) else "not_in"
                return placed(runtime(called, node.left, node.comparators[0]), node)
            return node
        steps: list[Any] = []
        for op, right in zip(node.ops, node.comparators):
            steps += [ast.Constant(_COMPARISONS[type(op)]), self._later(right)]
        return placed(runtime("compare", node.left, *steps), node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        is_text = isinstance(node.left, ast.JoinedStr) or isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        self.generic_visit(node)
        return placed(runtime("percent", node.left, node.right), node) if is_text and isinstance(node.op, ast.Mod) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        if not any(isinstance(each, ast.FormattedValue) for each in node.values):
            return node
        parts: list[Any] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                spec: Any = ast.Constant("") if each.format_spec is None else self.visit(each.format_spec)
                parts.append(ast.Tuple([self.visit(each.value), ast.Constant(each.conversion), spec], ast.Load()))
            else:
                parts.append(each)
        return placed(runtime("text", *parts), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return placed(runtime("item", node.value, index_of(node.slice)), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr in ("T", "mT"):
            return placed(runtime("attribute", node.value, ast.Constant(node.attr)), node)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        node.iter = placed(runtime("each", node.iter), node.iter)
        node.ifs = [placed(runtime("chosen", each), each) for each in node.ifs]
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        message = [self._later(node.msg)] if node.msg is not None else []
        return placed(ast.Expr(placed(runtime("assert_", node.test, *message), node.test)), node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        self.generic_visit(node)
        assert node.exc is not None
        return placed(ast.Expr(placed(runtime("raise_", self._later(node.exc)), node)), node)

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        if node.value is not None and not isinstance(node.value, ast.Constant):
            node.value = placed(runtime("returned", node.value), node)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        return node  # rewritten as a function of its own

    visit_ClassDef = visit_FunctionDef

