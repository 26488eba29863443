"""Early exits: `break`, `continue` and `return` become flags, so that every loop and branch has one entry and one exit. What stands behind
an exit goes into the other arm of its branch, or into a branch that asks the flags."""
from __future__ import annotations

import ast
from typing import Any

from ._tree import assign, children, load, placed, walk

RETURNED, RESULT = "_returned", "_result"
LOOPS = (ast.For, ast.While)
EXITS = (ast.Return, ast.Break, ast.Continue)


def _exits(nodes: list[Any], in_loop: bool = False) -> bool:
    """Whether statements leave their block by an exit. In a loop only `return` leaves it."""
    for node in nodes:
        if isinstance(node, ast.Return) or not in_loop and isinstance(node, EXITS):
            return True
        if isinstance(node, LOOPS):
            if _exits(node.body, True) or _exits(node.orelse, in_loop):
                return True
        elif isinstance(node, ast.If) and (_exits(node.body, in_loop) or _exits(node.orelse, in_loop)):
            return True
        elif isinstance(node, ast.With) and _exits(node.body, in_loop):
            return True
        elif isinstance(node, ast.Match) and any(_exits(case.body, in_loop) for case in node.cases):
            return True
    return False


def ends(nodes: list[Any]) -> bool:
    """Whether nothing behind these statements is reached from them."""
    for node in nodes:
        if isinstance(node, (*EXITS, ast.Raise)):
            return True
        if isinstance(node, ast.If) and ends(node.body) and ends(node.orelse):
            return True
        if isinstance(node, ast.With) and ends(node.body):
            return True
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and not _breaks(node.body):
            return True
    return False


def _breaks(nodes: list[Any]) -> bool:
    """Whether a `break` in these statements of a loop ends it."""
    return any(isinstance(node, ast.Break) or not isinstance(node, (*LOOPS, ast.FunctionDef)) and _breaks(
        [each for each in children(node) if isinstance(each, ast.stmt)]) for node in nodes)


class Exits:
    """Lowers the exits of one function."""

    def __init__(self) -> None:
        self._loops: list[tuple[str, str]] = []  # the names of the flags of the loops around, innermost last
        self._count = 0
        self._read: set[str] = set()  # the flags that something reads

    def function(self, node: Any) -> None:
        """Rewrites the body of a function; a `return` at its end stays."""
        first = next((at for at, each in enumerate(node.body) if isinstance(each, ast.Return)), len(node.body))
        node.body = node.body[:first + 1]
        inner = [each for each in node.body if not isinstance(each, ast.Return)]
        if not _exits(inner):
            last = node.body[-1:] * isinstance(node.body[-1], ast.Return)
            made = self._block(node.body[:-1] if last else node.body)
            node.body = _without_unread_flags(made + last, self._read)
            return
        body = list(node.body)
        final: Any = body[-1]
        if not ends(body):
            body.append(placed(ast.Return(ast.Constant(None)), body[-1]))
            final = ast.copy_location(ast.Pass(), node)  # where the function is defined
            final.end_lineno, final.end_col_offset = node.lineno, node.col_offset + len(f"def {node.name}")
        lowered = [placed(assign(RETURNED, ast.Constant(False)), body[0]), *self._block(body), placed(ast.Return(load(RESULT)), final)]
        node.body = _without_unread_flags(lowered, self._read)

    def _block(self, nodes: list[Any]) -> list[Any]:
        made: list[Any] = []
        for at, node in enumerate(nodes):
            rest = nodes[at + 1:]
            if isinstance(node, ast.Return):
                value = node.value if node.value is not None else ast.Constant(None)
                return [*made, placed(assign(RESULT, value), node), self._set(RETURNED, node)]
            if isinstance(node, ast.Break):
                return [*made, self._set(self._loops[-1][0], node)]
            if isinstance(node, ast.Continue):
                return [*made, self._set(self._loops[-1][1], node)]
            if isinstance(node, ast.Raise):
                return [*made, node]
            if isinstance(node, LOOPS):
                return [*made, *self._loop(node, rest)]
            if isinstance(node, (ast.If, ast.With)) and _exits([node]):
                return [*made, *(self._branch(node, rest) if isinstance(node, ast.If) else self._with(node, rest))]
            if isinstance(node, ast.If):
                node.body, node.orelse = self._block(node.body), self._block(node.orelse)
            elif isinstance(node, ast.With):
                node.body = self._block(node.body)
            made.append(node)
        return made

    def _set(self, flag: str, node: ast.AST) -> Any:
        return placed(assign(flag, ast.Constant(True)), node)

    def _branch(self, node: ast.If, rest: list[Any]) -> list[Any]:
        if rest and ends(node.body):
            node.orelse, rest = node.orelse + rest, []
        elif rest and node.orelse and ends(node.orelse):
            node.body, rest = node.body + rest, []
        flags = self._flags([node])
        node.body, node.orelse = self._block(node.body) or [placed(ast.Pass(), node)], self._block(node.orelse)
        return [node, *self._guarded(rest, flags, node)]

    def _with(self, node: ast.With, rest: list[Any]) -> list[Any]:
        flags = self._flags([node])
        node.body = self._block(node.body)
        return [node, *self._guarded(rest, flags, node)]

    def _flags(self, nodes: list[Any], in_loop: bool = False) -> list[str]:
        """The flags that exits in these statements set."""
        found: list[str] = []
        for node in nodes:
            if isinstance(node, ast.Return):
                found.append(RETURNED)
            elif isinstance(node, ast.Break) and not in_loop:
                found.append(self._loops[-1][0])
            elif isinstance(node, ast.Continue) and not in_loop:
                found.append(self._loops[-1][1])
            elif isinstance(node, LOOPS):
                found += self._flags(node.body, True) + self._flags(node.orelse, in_loop)
            elif isinstance(node, ast.If):
                found += self._flags(node.body, in_loop) + self._flags(node.orelse, in_loop)
            elif isinstance(node, ast.With):
                found += self._flags(node.body, in_loop)
        return list(dict.fromkeys(found))

    def _guarded(self, rest: list[Any], flags: list[str], like: ast.AST) -> list[Any]:
        """`rest`, if none of the flags is set."""
        if not rest or not flags:
            return self._block(rest)
        test = ast.UnaryOp(ast.Not(), self._any_of(flags))
        return [placed(ast.If(test, self._block(rest) or [ast.Pass()], []), like)]

    def _any_of(self, flags: list[str]) -> ast.expr:
        """Whether one of the flags is set."""
        self._read.update(flags)
        names: list[ast.expr] = [load(flag) for flag in flags]
        return names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), names)

    def _loop(self, node: Any, rest: list[Any]) -> list[Any]:
        if isinstance(node, ast.While) and any(isinstance(each, ast.NamedExpr) for each in walk(node.test)):
            # The name has the value of the last test behind the loop.
            leave = placed(ast.If(ast.UnaryOp(ast.Not(), node.test), [*node.orelse, ast.Break()], []), node.test)
            node = ast.copy_location(ast.While(placed(ast.Constant(True), node.test), [leave, *node.body], []), node)
        self._count += 1
        stopped, skipped = f"_stopped{self._count}", f"_skipped{self._count}"
        self._loops.append((stopped, skipped))
        inside = self._flags(node.body)
        orelse, node.orelse = node.orelse, []
        node.body = self._block(node.body)
        self._loops.pop()
        leaves = [flag for flag in inside if flag != skipped]
        node.stop = placed(self._any_of(leaves), node) if leaves else None
        before: list[Any] = []
        if stopped in inside:
            before.append(placed(assign(stopped, ast.Constant(False)), node))
        if isinstance(node, ast.For):
            node.body = [placed(assign(flag, ast.Constant(False)), node.body[0]) for flag in leaves] + node.body
        if skipped in inside:
            node.body.insert(0, placed(assign(skipped, ast.Constant(False)), node.body[0]))
        behind: list[Any] = []
        if orelse and stopped in inside:
            behind.append(placed(ast.If(ast.UnaryOp(ast.Not(), self._any_of([stopped])), orelse, []), orelse[0]))
        else:
            behind += orelse
        behind += rest
        return [*before, node, *self._guarded(behind, [RETURNED] if RETURNED in inside else [], node)]


def _is_flag(name: str) -> bool:
    return name == RETURNED or name.startswith(("_stopped", "_skipped"))


def _without_unread_flags(nodes: list[Any], reads: set[str]) -> list[Any]:
    """The statements without assignments to flags that nothing reads."""

    def cleaned(block: list[Any], may_be_empty: bool = False) -> list[Any]:
        kept = []
        for node in block:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_flag(node.targets[0].id):
                if node.targets[0].id not in reads:
                    continue
            elif isinstance(node, (ast.If, ast.For, ast.While, ast.With)):
                node.body = cleaned(node.body)
                if not isinstance(node, ast.With):
                    node.orelse = cleaned(node.orelse, True)
            kept.append(node)
        return kept if kept or may_be_empty else [placed(ast.Pass(), block[0])]

    return cleaned(nodes)
