"""Branches: an `if` on a tensor is recorded with both arms; on a Python value, the arm that is taken runs at once."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import Tensor
from .._where import here
from ._extraction import Again, Dead, Extraction, current, dtype_of, is_number, is_numeric, operand_of, tensor_of, plain, type_text
from ._exits import RESULT
from ._state import UNBOUND, Snapshot, Tree, Variable, variables_of
from ._unmerged import Unmerged

#: The name of the value of an expression with arms, beside the names of variables.
VALUE = ""


def predicate_of(value: Any, ext: Extraction) -> Any:
    """The truth value of something: a bool of Python's, or a scalar bool tensor."""
    if not isinstance(value, Tensor):
        return bool(value)
    literal = value._operand.literal
    if literal is not None:
        return bool(literal)
    if value._operand.poisoned:
        return value
    dtype, shape = value._known()
    if value.size != 1:
        ext.fail("shape", f"the truth value of {value.type} is ambiguous: take .any() or .all() of it")
    if shape:
        value = value.reshape(())
    return value if dtype == "bool" else value != 0


def if_(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any] | None, live: tuple[str, ...], temporary: tuple[str, ...]) -> None:
    ext = current()
    predicate = bool(test) if ext is None else predicate_of(test, ext)
    if ext is None or not isinstance(predicate, Tensor):
        if predicate:
            then()
        elif otherwise is not None:
            otherwise()
        return
    choose(ext, predicate, then, otherwise, live, temporary)


def either(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then() if test else otherwise()`."""
    ext = current()
    predicate = bool(test) if ext is None else predicate_of(test, ext)
    if ext is None or not isinstance(predicate, Tensor):
        return then() if predicate else otherwise()
    return choose(ext, predicate, then, otherwise, (), ())


class _Arm:
    """The outcome of an arm of a branch: the variables and the value of the arm, or that it ends in an exception."""

    def __init__(self, ext: Extraction, function: Callable[[], Any] | None, variables: list[Variable], before: Snapshot) -> None:
        known = {id(leaf.value) for tree in before.trees.values() for leaf in tree.leaves()}
        self.dead = False
        value = None
        marks, ext.marks = ext.marks, []
        try:
            value = function() if function is not None else None
        except Dead:
            self.dead = True
        self.after = Snapshot(variables, ext)
        self.after.trees[VALUE] = Tree("", value, ext, set())
        for tree in self.after.trees.values():  # arrays of NumPy's become constants here, where the arm is recorded
            for leaf in tree.leaves():
                if isinstance(leaf.value, (np.ndarray, np.generic)) and id(leaf.value) not in known and is_numeric(leaf.value):
                    leaf.value = tensor_of(leaf.value, ext)
        # The other arm reads what this one has written under another name.
        self.written = [(each, each._stale) for each in ext.marks]
        for each in ext.marks:
            each._stale = None
        ext.marks = marks


def choose(ext: Extraction, predicate: Any, then: Callable[[], Any], otherwise: Callable[[], Any] | None, live: tuple[str, ...],
           temporary: tuple[str, ...], probability: float | None = None, variables: dict[str, Variable] | None = None) -> Any:
    """Records a branch. Variables that the arms change hold the merged values afterwards; returns the merged value of the arms."""
    owner, place = ext.owner, here()
    if variables is None:
        variables = variables_of(then, otherwise)
    everything = list(variables.values())
    path = ext.enter(then.__code__)
    before = Snapshot(everything, ext)
    early = {name: zeros(*each) for name, each in ext.known.shapes.get(path, {}).items()}
    wanted = ext.known.constants.get(path, ())
    constants = {leaf.path: tensor_of(leaf.value, ext) for tree in before.trees.values() for leaf in tree.leaves() if leaf.path in wanted}
    first: Any = None
    owner.begin_branch(operand_of(predicate, ext), probability, place)
    ext.regions += 1
    try:
        first = _Arm(ext, then, everything, before)
        before.restore(everything)
        owner.otherwise()
        second = _Arm(ext, otherwise, everything, before)
        before.restore(everything)
    except Again:
        raise
    except BaseException:  # the program ends here: regions are complete where a message is made, or where a first call is tried
        if first is None:
            owner.otherwise()
        owner.end_branch([], [], [], place)
        raise
    finally:
        ext.regions -= 1
        ext.leave()
    merge = _Merge(ext, path, place, before, first, second, early, constants)
    names = [each for each in variables if each not in temporary] + [VALUE]
    try:
        results = {name: merge.tree(name) for name in names}
    except Again:
        raise
    except BaseException:
        owner.end_branch([], [], [], place)
        raise
    merge.take([Tensor(each, owner) for each in owner.end_branch(merge.first, merge.second, merge.names, place)])
    for each, message in first.written + second.written:  # not before: an arm reads what only the other one has written
        ext.mark(each, message)
    if first.dead and second.dead:
        raise Dead
    value = results.pop(VALUE)()
    for name in temporary:
        if name in variables:
            variables[name].set(UNBOUND)
    for name, made in results.items():
        variables[name].set(made())
    return value


class _Merge:
    """Merges what two arms leave."""

    def __init__(self, ext: Extraction, path: Any, place: Any, before: Snapshot, first: _Arm, second: _Arm, early: dict[str, Any],
                 constants: dict[str, Tensor]) -> None:
        self._ext, self._path, self._place, self._early = ext, path, place, early
        self._before, self._arms, self._constants = before, (first, second), constants
        self.first: list[Any] = []
        self.second: list[Any] = []
        self.names: list[str] = []
        self._weak: list[bool] = []
        self._shown: list[tuple[Any, Any]] = []  # the values of the arms
        self._results: list[Any] = []

    def take(self, results: list[Any]) -> None:
        self._results = results
        written = [{id(each): message for each, message in arm.written} for arm in self._arms]
        for result, shown in zip(results, self._shown):
            for each, messages in zip(shown, written):
                self._ext.view(result, each)
                message = messages.get(id(each))
                if message is not None:
                    self._ext.mark(result, message)
        for result, name, weak in zip(results, self.names, self._weak):
            if weak:
                self._ext.weak[id(result)] = (result, self._path, name)

    def tree(self, name: str) -> Callable[[], Any]:
        """Merges a variable; the function returned gives its value after the branch."""
        ext = self._ext
        a, b = (arm.after.trees[name] for arm in self._arms)
        dead = [arm.dead for arm in self._arms]
        old = self._before.trees.get(name)
        if a.value is UNBOUND and b.value is UNBOUND or all(dead):
            return lambda: UNBOUND if old is None else old.value
        unbound = None
        if dead[0] or dead[1]:
            known = b if dead[0] else a
            if old is not None and _unchanged(old, known):
                return lambda: known.value
            a, b = (self._filled(known, 0), known) if dead[0] else (known, self._filled(known, 1))
        elif a.value is UNBOUND or b.value is UNBOUND:
            known = b if a.value is UNBOUND else a
            unbound = "if" if a.value is UNBOUND else "else"
            a, b = (self._filled(known, 0), known) if a.value is UNBOUND else (known, self._filled(known, 1))
        count = len(self.first)
        try:
            if not a.same_shape(b):
                raise _Different
            leaves = [self._leaf(one, other) for one, other in zip(a.leaves(), b.leaves())]
        except _Different:
            a, b = next(((x, y) for x, y in zip(a.leaves(), b.leaves()) if x.value is not y.value), (a, b)) if a.same_shape(b) else (a, b)
            for each in (self.first, self.second, self.names, self._weak, self._shown):
                del each[count:]
            message = self._message(name, a, b)
            if name == VALUE:
                ext.fail("type", message, self._place)
            return lambda: Unmerged(name, message)
        in_place = old is not None and a.value is b.value and a.value is old.value
        merged = a
        doubts = [ext.doubt(each) for each in (a.value, b.value)]

        def made() -> Any:
            value = merged.put(iter([each() for each in leaves]), fresh=not in_place)
            if unbound is not None:
                message = (f"`{name}` is bound in one arm only of the `if` at line {self._place.line}: it is not bound where the condition "
                           f"{'holds' if unbound == 'if' else 'does not hold'}")
                ext.unsure[id(value)] = (value, message)
            elif doubts[0] or doubts[1]:
                ext.unsure[id(value)] = (value, doubts[0] or doubts[1] or "")
            return value

        return made

    def _filled(self, known: Tree, arm: int) -> Tree:
        """Place holders of the types of `known`, for an arm that does not bind the name."""
        leaves = [self._placeholder(leaf, arm) if is_numeric(leaf.value) else leaf.value for leaf in known.leaves()]
        return Tree(known.path, known.put(iter(leaves), fresh=True), self._ext, set())

    def _placeholder(self, leaf: Tree, arm: int) -> Any:
        dtype, shape = dtype_of(leaf.value, self._ext)
        if shape == ():
            return False if dtype == "bool" else 0.0 if dtype.startswith(("f", "bf")) else 0
        if arm == 1:
            return zeros(dtype, shape)
        early = self._early.get(leaf.path)
        if early is None or early._known() != (dtype, shape):
            # The first arm is complete already: zeros stand in front of the branch at the next try.
            self._ext.known.shapes.setdefault(self._path, {})[leaf.path] = (dtype, shape)
            raise Again
        return early

    def _leaf(self, a: Tree, b: Tree) -> Callable[[], Any]:
        ext, one, other = self._ext, plain(a.value), plain(b.value)
        if one is other or _equal(one, other):
            return lambda: one
        if not (is_numeric(one) and is_numeric(other)):
            raise _Different
        weak = all(is_number(each) or id(each) in ext.weak for each in (one, other))
        wanted = ext.known.dtypes.get((self._path, a.path))
        if is_number(one) and is_number(other):
            wanted = wanted or self._of_numbers(one, other)
        elif is_number(one) or is_number(other):
            number, tensor = (one, other) if is_number(one) else (other, one)
            dtype, shape = dtype_of(tensor, ext)
            wanted = wanted or (dtype if fits(number, dtype) else ext.float_type if type(number) is float else "")
            if shape != () or dtype != wanted and not (id(tensor) in ext.weak and self._widened(tensor, wanted)):
                raise _Different
        else:
            self._types(a, b, wanted)
        if isinstance(one, (np.ndarray, np.generic)):
            one = self._constant(a.path)
        at = len(self.first)
        # The arms are complete, the first one entirely: numbers are literals, which take the type of the other arm.
        self.first.append(_literal(one, wanted, ext))
        both = is_number(one) and is_number(other) and wanted == "f64"
        self.second.append(typed(other, wanted, ext) if both else _literal(other, wanted, ext))
        self.names.append(a.path)
        self._weak.append(weak)
        self._shown.append((one, other))
        return lambda: self._results[at]

    def _constant(self, path: str) -> Tensor:
        """An array of NumPy's from before the branch that the first arm keeps: a constant in front of the branch, since that arm is
        complete."""
        if path not in self._constants:
            self._ext.known.constants.setdefault(self._path, set()).add(path)
            raise Again
        return self._constants[path]

    def _widened(self, tensor: Any, wanted: str) -> bool:
        if widen(self._ext, tensor, wanted):
            raise Again
        return False

    def _of_numbers(self, one: Any, other: Any) -> str:
        """The element type of two numbers of Python's."""
        kinds = {type(one), type(other)}
        if kinds == {bool}:
            return "bool"
        if bool in kinds:
            raise _Different
        return self._ext.float_type if float in kinds else "i32"

    def _types(self, a: Tree, b: Tree, wanted: str | None) -> None:
        """Tensors of the arms have equal types, or what starts as a number gets another one at the next try."""
        ext = self._ext
        one, other = dtype_of(a.value, ext), dtype_of(b.value, ext)
        if one == other or any(isinstance(each.value, Tensor) and each.value._operand.poisoned for each in (a, b)):
            return
        if one[1] == other[1]:
            for value, dtype in ((a.value, wanted or other[0]), (b.value, wanted or one[0])):
                if id(value) in ext.weak:
                    self._widened(value, dtype)
        raise _Different

    def _message(self, name: str, a: Tree, b: Tree) -> str:
        one, other = outline(a), outline(b)
        if name == RESULT:
            part = a.path.replace(RESULT, "")
            where = ", in " + part if part else ""
            return f"the function returns {one} at one place and {other} at another{where}; a program returns one type"
        both = f"{one} after one arm of the branch at line {self._place.line} and {other} after the other"
        return f"`{a.path or name}` is {both}; both arms give one type" if name else f"the value is {both}; both arms give one type"


def outline(tree: Tree) -> str:
    """A value in a message."""
    return type_text(tree.value) if tree.children is None else f"a {type(tree.value).__name__} of {len(tree.children)}"


class _Different(Exception):
    """The arms leave values that cannot be merged."""


def _unchanged(old: Tree, new: Tree) -> bool:
    return old.value is new.value and old.same_shape(new) and all(a.value is b.value for a, b in zip(old.leaves(), new.leaves()))


def _equal(a: Any, b: Any) -> bool:
    import numpy as np

    if isinstance(a, Tensor) or isinstance(b, Tensor) or type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, float) and a == b == 0.0:
        return str(a) == str(b)
    try:
        return bool(a == b)
    except Exception:  # a comparison of the user's own
        return False


def _literal(value: Any, wanted: str | None, ext: Extraction) -> Any:
    """The operand for a value; a number that is to be of a floating type is such a literal."""
    if isinstance(value, Tensor):
        return value._operand
    return operand_of(float(value) if type(value) is int and wanted is not None and wanted.startswith(("f", "bf")) else value, ext)


def fits(number: Any, dtype: str) -> bool:
    if type(number) is bool:
        return dtype == "bool"
    if type(number) is int:
        return dtype != "bool"
    return dtype.startswith(("f", "bf"))


def typed(value: Any, wanted: str | None, ext: Extraction) -> Any:
    """The operand for a value, of this element type if one is wanted."""
    if wanted and is_number(value):
        from ._extraction import tensor_of

        return tensor_of(value, ext, wanted)._operand
    if wanted and isinstance(value, Tensor) and value._known()[0] != wanted:
        return value.astype(wanted)._operand
    return operand_of(value, ext)


_RANK = {"bool": 0, "u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 3, "i32": 3, "u64": 4, "i64": 4, "f16": 5, "bf16": 5, "f32": 6, "f64": 7}


def widen(ext: Extraction, value: Any, wanted: str) -> bool:
    """Notes that a number should have another element type at the next try; False if it cannot."""
    _, path, name = ext.weak[id(value)]
    now = value._known()[0]
    if now == "bool" or wanted == "bool" or _RANK[wanted] <= _RANK[now] and not wanted.startswith("u"):
        return False
    ext.known.dtypes[(path, name)] = wanted
    return True


def zeros(dtype: str, shape: tuple[int, ...]) -> Tensor:
    """Zeros in place of a value that is not bound."""
    from .. import functions

    return functions.zeros(tuple(shape), dtype=dtype)
