"""From a Python function to its rewritten form: the source, its tree, the steps, and the code."""
from __future__ import annotations

import ast
import inspect
import linecache
import types
from typing import Any

from .. import _cleave
from ._exits import Exits
from ._expressions import Expressions
from ._flow import mark_live, mark_unsure
from ._refused import Refused, refusals
from ._statements import Statements
from ._stores import Stores
from ._tree import FUNCTIONS, RUNTIME, completed, own_nodes, parameters_of, stored_among, walk

#: The code objects of rewritten functions, and those of functions inside of them.
rewritten: dict[int, types.CodeType] = {}  # by id()
_FUTURE = 0x1000000  # from __future__ import annotations


class NotExtracted(Exception):
    """Mistakes that are found before anything is recorded: messages with their locations."""

    def __init__(self, mistakes: list[tuple[str, _cleave.Location]]) -> None:
        super().__init__(mistakes[0][0])
        self.mistakes = mistakes


def place_of(function: Any) -> _cleave.Location:
    """Where a function is defined."""
    code = function.__code__
    return _cleave.Location(code.co_filename, code.co_firstlineno)


class Rewritten:
    """A function in its rewritten form."""

    def __init__(self, function: types.FunctionType) -> None:
        self.original = function
        key = (function.__code__.co_filename, function.__code__)  # codes are equal without their files
        known = _trees.get(key)
        if known is None:
            tree = tree_of(function)
            _rewrite(tree, function.__code__.co_filename)
            known = _trees[key] = (tree, _compiled(tree, function))
        self.tree, self._code = known
        self.function = self._bound(function)

    @property
    def text(self) -> str:
        """The rewritten source."""
        return ast.unparse(self.tree)

    def _bound(self, function: types.FunctionType) -> types.FunctionType:
        from . import _runtime

        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        cells[RUNTIME] = types.CellType(_runtime)
        missing = [name for name in self._code.co_freevars if name not in cells]
        assert not missing, missing
        made = types.FunctionType(self._code, function.__globals__, function.__name__, function.__defaults__,
                                  tuple(cells[name] for name in self._code.co_freevars))
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__.update(function.__dict__)
        made.__qualname__, made.__doc__, made.__module__ = function.__qualname__, function.__doc__, function.__module__
        return made


def tree_of(function: types.FunctionType) -> Any:
    """The tree of a function at its lines and columns in the file."""
    code = function.__code__
    called = f"`{function.__name__}`" if code.co_name != "<lambda>" else "a lambda"
    if code.co_name == "<lambda>":
        raise NotExtracted([("a lambda cannot be extracted: write a function with `def`", place_of(function))])
    try:
        linecache.checkcache(code.co_filename)
        first = code.co_firstlineno
        after = linecache.getlines(code.co_filename, function.__globals__)[first - 1:]
        module = _parsed(after[:_length(after, _last_line(code) - first + 1)], first)
        if module is None:
            module = _parsed(inspect.getblock(after), first)
        if module is None:
            raise OSError
    except (OSError, TypeError, IndexError, SyntaxError):
        raise NotExtracted([(f"{called} has no source that could be read; define it in a file, a notebook or at a prompt, or mark it "
                             "@cleave.host", place_of(function))]) from None
    for node in walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            return node
    raise NotExtracted([(f"{called} has no `def` that could be read", place_of(function))])


def _last_line(code: types.CodeType) -> int:
    """The last line with code of a function."""
    inner = [_last_line(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return max([code.co_firstlineno, *[line for _, _, line in code.co_lines() if line is not None], *inner])


def _length(lines: list[str], length: int) -> int:
    """The number of lines of a function that has at least so many: what is indented deeper, or is empty, belongs to it."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    while length < len(lines):
        text = lines[length].lstrip()
        if text and not text.startswith("#") and len(lines[length]) - len(text) <= indent:
            break
        length += 1
    return length


def _parsed(lines: list[str], first: int) -> Any:
    """The tree of a function whose text starts at line `first`; None if the text is not complete."""
    if not lines:
        return None
    text = "".join(lines)
    if lines[0][0].isspace():
        if first == 1:
            return None
        text = "if True:\n" + text
        first -= 1
    try:
        return ast.parse("\n" * (first - 1) + text)
    except SyntaxError:
        return None


def _location(node: Any, file: str) -> _cleave.Location:
    return _cleave.Location(file, node.lineno, node.col_offset + 1)


def _rewrite(node: Any, file: str) -> None:
    """All steps for one function; those inside of it are rewritten in turn."""
    refused = refusals(node)
    if refused:
        raise NotExtracted([(each.message, _location(each.node, file)) for each in refused])
    node.decorator_list = []
    node.returns = None
    for argument in walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    try:
        _steps(node, file)
    except Refused as refused_late:
        raise NotExtracted([(refused_late.message, _location(refused_late.node, file))]) from None


def _steps(node: Any, file: str) -> None:
    nodes = own_nodes(node.body)
    names = {*stored_among(nodes), *parameters_of(node)}
    functions: list[ast.AST] = [each for each in nodes if isinstance(each, FUNCTIONS)]
    stores = Stores(names, nodes)
    node.body = [made for each in node.body for made in _list(stores.visit(each))]
    mark_unsure(node, names)
    Exits().function(node)
    mark_live(node, functions)
    Statements(lambda inner: _inner(inner, file), file).function(node)


def _inner(node: Any, file: str) -> None:
    """A function inside of another one; its decorators and defaults belong to the outer one."""
    expressions = Expressions()
    node.decorator_list = [expressions.visit(each) for each in node.decorator_list]
    node.args.defaults = [expressions.visit(each) for each in node.args.defaults]
    node.args.kw_defaults = [each if each is None else expressions.visit(each) for each in node.args.kw_defaults]
    _steps(node, file)


def _list(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [] if made is None else [made]


def _compiled(tree: Any, function: types.FunctionType) -> types.CodeType:
    """The code of the function, compiled inside of one that binds its free names."""
    free = [name for name in function.__code__.co_freevars if name not in parameters_of(tree)]
    args = ast.arguments([], [ast.arg(name) for name in [RUNTIME, *free]], None, [], [], None, [])
    # Defaults are those of the function itself; place holders keep their number.
    inner = ast.FunctionDef(tree.name, _without_defaults(tree.args), tree.body, [])
    # The function's own name, if it reads it, is a variable of the module or of the function around it.
    own: list[ast.stmt] = [] if tree.name in free else [ast.Global([tree.name])]
    outer = ast.FunctionDef("_outer", args, [*own, inner], [])
    for each in (inner, outer):
        each.returns = None
        setattr(each, "type_params", [])  # from Python 3.12 on
        ast.copy_location(each, tree)
    for line in own:
        ast.copy_location(line, tree)
    module = completed(ast.Module([outer], []), tree)
    code = compile(module, function.__code__.co_filename, "exec", flags=function.__code__.co_flags & _FUTURE, dont_inherit=True)
    outer_code = next(each for each in code.co_consts if isinstance(each, types.CodeType))
    made = next(each for each in outer_code.co_consts if isinstance(each, types.CodeType) and each.co_name == tree.name)
    _register(made)
    return made


def _without_defaults(given: ast.arguments) -> ast.arguments:
    return ast.arguments(given.posonlyargs, given.args, given.vararg, given.kwonlyargs, [None] * len(given.kwonlyargs), given.kwarg, [])


def _register(code: types.CodeType) -> None:
    rewritten[id(code)] = code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            _register(each)


_trees: dict[tuple[str, types.CodeType], tuple[Any, types.CodeType]] = {}


def rewrite(function: types.FunctionType) -> Rewritten:
    """The rewritten form of a function. The work is done once for each definition."""
    return Rewritten(function)


def is_rewritten(code: types.CodeType) -> bool:
    """Whether this is code that `rewrite` made."""
    return id(code) in rewritten
