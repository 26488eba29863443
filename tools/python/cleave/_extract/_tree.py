"""Small tools for Python's syntax trees: making nodes at the place of others, and asking which names a piece of code binds and reads."""
from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

#: The name by which rewritten code reaches the functions of _runtime.py.
RUNTIME = "_x"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLAIN = frozenset({"ctx", "op", "ops", "id", "attr", "lineno", "kind", "type_comment", "arg", "name", "asname", "module", "level", "simple",
                    "conversion", "is_async", "tag"})


def placed(node: Any, like: ast.AST) -> Any:
    """The node, and the new nodes in it, at the place of `like`. Nodes that have a place are complete below it."""
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        if "lineno" in each._attributes:
            if hasattr(each, "lineno") and each is not node:
                continue
            if not hasattr(each, "lineno"):
                _put(each, like)
        if type(each) not in _ENDS:
            waiting += children(each)
    return node


def _put(node: Any, like: Any) -> None:
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = like.lineno, like.col_offset, like.end_lineno, like.end_col_offset


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def runtime(function: str, *arguments: ast.expr) -> ast.Call:
    """`_x.function(arguments)`."""
    return ast.Call(ast.Attribute(load(RUNTIME), function, ast.Load()), list(arguments), [])


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def deferred(value: ast.expr) -> ast.Lambda:
    """`lambda: value`."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def function(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """`def name(parameters): body`."""
    made = ast.FunctionDef(name, ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, []), body or [ast.Pass()], [])
    made.returns = None
    setattr(made, "type_params", [])  # from Python 3.12 on
    return made


def text_tuple(texts: Iterable[str]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(text) for text in texts], ast.Load())


class _Fields(dict[type, tuple[str, ...]]):
    """By kind of node: the fields that may hold nodes."""

    def __missing__(self, kind: Any) -> tuple[str, ...]:
        made = self[kind] = tuple(name for name in kind._fields if not (name in _PLAIN or kind is ast.Constant) or kind.__name__ == "TypeAlias")
        return made


FIELDS = _Fields()
_ENDS = frozenset({ast.Name, ast.Constant})


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, without operators and contexts: `ast.iter_child_nodes` takes several times as long."""
    found: list[ast.AST] = []
    for name in FIELDS[type(node)]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """The node and all nodes below it, without operators and contexts."""
    found = [node]
    for each in found:  # grows meanwhile
        if type(each) not in _ENDS:
            found += children(each)
    return found


class Transformer:
    """Rewrites a tree as `ast.NodeTransformer` does, in a third of the time: a method `visit_Kind` takes a node of that kind and returns
    what stands in its place, every other node keeps its place."""

    _methods: dict[type, Any]

    def __init_subclass__(cls) -> None:
        cls._methods = {}

    def visit(self, node: Any) -> Any:
        kind = type(node)
        if kind is ast.Constant:
            return node
        method = self._methods.get(kind)
        if method is None:
            method = self._methods[kind] = getattr(type(self), f"visit_{kind.__name__}", Transformer.generic_visit)
        return method(self, node)

    def generic_visit(self, node: Any) -> Any:
        for name in FIELDS[type(node)]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                made: list[Any] = []
                for each in value:
                    new = self.visit(each) if isinstance(each, ast.AST) else each
                    if new.__class__ is list:
                        made += new
                    elif new is not None or each is None:
                        made.append(new)
                value[:] = made
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node


def completed(node: ast.AST, like: ast.AST) -> Any:
    """The node, of which every node has a place: its own, or that of the node around."""
    waiting = [(node, like)]
    while waiting:
        each, around = waiting.pop()
        if "lineno" in each._attributes:
            if not hasattr(each, "lineno"):
                _put(each, around)
            around = each
        if type(each) not in _ENDS:
            waiting += [(child, around) for child in children(each)]
    return node


def _outer(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes below these that belong to the same function."""
    found: list[ast.AST] = []
    for node in nodes:
        _collect(node, found)
    return found


def _collect(node: ast.AST, found: list[ast.AST]) -> None:
    found.append(node)
    if type(node) in _ENDS:
        return
    if isinstance(node, FUNCTIONS):
        defaults = node.args.defaults + [each for each in node.args.kw_defaults if each is not None]
        found += _outer(defaults + list(getattr(node, "decorator_list", [])))
    elif isinstance(node, ast.ClassDef):
        found += _outer(node.decorator_list + node.bases)
    elif isinstance(node, COMPREHENSIONS):
        found += [each for each in _outer(children(node))
                  if not (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)) or getattr(each, "_named", False)]
    else:
        for each in children(node):
            _collect(each, found)


def own_nodes(nodes: ast.AST | Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes of a piece of code but for the bodies of functions in it."""
    return _outer([nodes] if isinstance(nodes, ast.AST) else nodes)


def stored(nodes: ast.AST | Iterable[ast.AST]) -> dict[str, ast.AST]:
    """The names that a piece of code binds, each with the first node that does so, in their order."""
    return stored_among(own_nodes(nodes))


def stored_among(nodes: list[ast.AST]) -> dict[str, ast.AST]:
    """The names that these nodes bind, each with the first one that does so."""
    names: dict[str, ast.AST] = {}
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.setdefault(node.id, node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.setdefault(node.name, node)
        elif isinstance(node, ast.alias):
            names.setdefault((node.asname or node.name).split(".")[0], node)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            names.setdefault(node.name, node)
    return names


def parameters_of(node: Any) -> list[str]:
    given = node.args
    names = [each.arg for each in given.posonlyargs + given.args + given.kwonlyargs]
    return names + [each.arg for each in (given.vararg, given.kwarg) if each is not None]


def captured(node: ast.AST) -> set[str]:
    """The names that a function, or what is left of a piece of code, reads and does not bind itself."""
    if isinstance(node, FUNCTIONS):
        body = _outer(list(node.body) if isinstance(node.body, list) else [node.body])
        return _read_among(body) - set(parameters_of(node)) - set(stored_among(body))
    return _read_among(_outer([node]))


def _read_among(nodes: list[ast.AST]) -> set[str]:
    reads: set[str] = set()
    for each in nodes:
        if isinstance(each, ast.Name):
            if isinstance(each.ctx, ast.Load):
                reads.add(each.id)
        elif isinstance(each, FUNCTIONS):
            reads |= captured(each)
        elif isinstance(each, ast.ClassDef):
            for inner in each.body:
                reads |= captured(inner)
    return reads


class Uses(NamedTuple):
    """The names that a statement without statements in it, or an expression, binds and reads."""

    binds: dict[str, ast.AST]
    reads: set[str]


def uses(node: Any) -> Uses:
    """The uses of names in a statement or an expression. It keeps them, since each loop and block around asks; they hold until its
    expressions are rewritten."""
    known: Uses | None = getattr(node, "uses", None)
    if known is None:
        nodes = own_nodes(node)
        known = node.uses = Uses(stored_among(nodes), read(node) if isinstance(node, FUNCTIONS) else _read_among(nodes))
    return known


def read(nodes: ast.AST | Iterable[ast.AST]) -> set[str]:
    """The names that a piece of code reads, the functions in it included."""
    names: set[str] = set()
    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        names |= captured(node)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            for each in node.args.defaults + [each for each in node.args.kw_defaults if each is not None]:
                names |= captured(each)
    return names


def held(functions: Iterable[ast.AST]) -> set[str]:
    """The names that functions inside of a piece of code hold on to: they may be read at any time."""
    names: set[str] = set()
    for each in functions:
        names |= captured(each)
    return names
