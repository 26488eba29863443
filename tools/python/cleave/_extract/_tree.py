"""Small tools for Python's syntax trees: making nodes at the place of others, and asking which names a piece of code binds and reads."""
from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

#: The name by which rewritten code reaches the functions of _runtime.py.
RUNTIME = "_x"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLAIN = frozenset({"ctx", "op", "ops", "id", "attr", "lineno", "kind", "type_comment"})


def placed(node: Any, like: ast.AST) -> Any:
    """The node, and the new nodes in it, at the place of `like`. Nodes that have a place are complete below it."""
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        if "lineno" in each._attributes:
            if hasattr(each, "lineno") and each is not node:
                continue
            if not hasattr(each, "lineno"):
                ast.copy_location(each, like)
        waiting += _children(each)
    return node


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


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, without operators and contexts: `ast.iter_child_nodes` takes several times as long."""
    found: list[ast.AST] = []
    for name in node._fields:
        if name in _PLAIN:
            continue
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


def _outer(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes below these that belong to the same function."""
    found: list[ast.AST] = []
    for node in nodes:
        _collect(node, found)
    return found


def _collect(node: ast.AST, found: list[ast.AST]) -> None:
    found.append(node)
    if isinstance(node, FUNCTIONS):
        defaults = node.args.defaults + [each for each in node.args.kw_defaults if each is not None]
        found += _outer(defaults + list(getattr(node, "decorator_list", [])))
    elif isinstance(node, ast.ClassDef):
        found += _outer(node.decorator_list + node.bases)
    elif isinstance(node, COMPREHENSIONS):
        found += [each for each in _outer(_children(node))
                  if not (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)) or getattr(each, "_named", False)]
    else:
        for each in _children(node):
            _collect(each, found)


def own_nodes(nodes: ast.AST | Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes of a piece of code but for the bodies of functions in it."""
    return _outer([nodes] if isinstance(nodes, ast.AST) else nodes)


def stored(nodes: ast.AST | Iterable[ast.AST]) -> dict[str, ast.AST]:
    """The names that a piece of code binds, each with the first node that does so, in their order."""
    names: dict[str, ast.AST] = {}
    for node in own_nodes(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
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
    reads: set[str] = set()
    if isinstance(node, FUNCTIONS):
        body: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        bound = set(parameters_of(node)) | set(stored(body))
    else:
        body, bound = [node], set()
    for each in _outer(body):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            reads.add(each.id)
        elif isinstance(each, FUNCTIONS):
            reads |= captured(each)
        elif isinstance(each, ast.ClassDef):
            for inner in each.body:
                reads |= captured(inner)
    return reads - bound


def read(nodes: ast.AST | Iterable[ast.AST]) -> set[str]:
    """The names that a piece of code reads, the functions in it included."""
    names: set[str] = set()
    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        names |= captured(node)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            for each in node.args.defaults + [each for each in node.args.kw_defaults if each is not None]:
                names |= captured(each)
    return names


def held(nodes: ast.AST | Iterable[ast.AST]) -> set[str]:
    """The names that functions inside of a piece of code hold on to: they may be read at any time."""
    names: set[str] = set()
    for node in own_nodes(nodes):
        if isinstance(node, FUNCTIONS):
            names |= captured(node)
    return names
