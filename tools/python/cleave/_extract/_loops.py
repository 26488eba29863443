"""Loops: `for` over a range or the first axis of a tensor and every `while` are recorded once; `for` over a container of Python's runs at
once, one trip after another."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _cleave
from .._tensor import Tensor
from .._where import here
from ._branches import choose, fits, outline, predicate_of, typed, widen, zeros
from ._extraction import Again, Dead, Extraction, Probe, current, dtype_of, is_number, is_numeric, operand_of, plain, tensor_of, type_text
from ._logic import and_, not_
from ._state import UNBOUND, Snapshot, Tree, Variable, variables_of
from ._statements import touched
from ._walks import Unrolled, walk_of

Names = tuple[str, ...]


def for_(iterable: Any, body: Callable[[Any], None], stop: Callable[[], Any] | None, carried: Names, temporary: Names,
         after: Names) -> None:
    ext = current()
    if ext is None:
        for item in iterable:
            body(item)
            if stop is not None and stop():
                return
        return
    if isinstance(iterable, Unrolled):
        _unroll(ext, iter(iterable.items), body, stop, carried, temporary)
        return
    walk = walk_of(iterable, ext)
    if walk is None:
        _unroll(ext, iter(_container(iterable, ext)), body, stop, carried, temporary)
    elif not isinstance(walk.count, int) or walk.count > 0:
        _For(ext, body, stop, carried, temporary, after).record(walk)


def while_(test: Callable[[], Any], body: Callable[[], None], stop: Callable[[], Any] | None, carried: Names, temporary: Names,
           after: Names) -> None:
    ext = current()
    if ext is None:
        while not (stop is not None and stop()) and test():
            body()
        return
    _While(ext, body, stop, carried, temporary, after).record(test)


def _container(iterable: Any, ext: Extraction) -> Any:
    if hasattr(iterable, "__next__") and not isinstance(iterable, (zip, enumerate, reversed, map, filter)):
        ext.fail("unsupported", f"a loop over a {type(iterable).__name__} cannot be extracted: how often it runs is not known; loop over a list")
    return iterable


def _unroll(ext: Extraction, items: Any, body: Callable[[Any], None], stop: Callable[[], Any] | None, carried: Names,
            temporary: Names) -> None:
    """Trips one after another; those behind one that may stop the loop stand in a branch."""
    for item in items:
        body(item)
        if stop is None:
            continue
        stopped = predicate_of(stop(), ext)
        if isinstance(stopped, Tensor):
            rest = list(items)
            if rest:
                choose(ext, not_(stopped), lambda: _unroll(ext, iter(rest), body, stop, carried, temporary), None, carried, temporary,
                       variables=variables_of(body, stop))
            return
        if stopped:
            return


class _Loop:
    """A loop that is recorded."""

    what = "loop"

    def __init__(self, ext: Extraction, body: Any, stop: Any, carried: Names, temporary: Names, after: Names) -> None:
        self.ext, self.body, self.stop = ext, body, stop
        self.place = here()
        self._after, self._temporary = after, temporary
        self._names = carried

    def begin(self, *functions: Any) -> None:
        """Finds out what the loop carries: its first values are in `initial`, with their names."""
        ext = self.ext
        self.path = ext.enter(self.body.__code__)
        self._variables = variables_of(*functions)
        self._everything = list(self._variables.values())
        self._unbound = {}
        for name in self._names:
            variable = self._variables.get(name)
            if variable is not None and variable.get() is UNBOUND and (self.path, name) in ext.known.shapes:
                variable.set(self._stand_in(ext.known.shapes[self.path, name]))
                self._unbound[name] = variable
        self._before = Snapshot(self._everything, ext)
        self._leaves: list[Tree] = []
        self.initial: list[Any] = []
        self.names: list[str] = []
        self._weak: list[bool] = []
        self._shared: set[int] = set()  # leaves that still show the arrays from before the loop
        more = ext.known.carried.get(self.path, {})
        for name, tree in self._before.trees.items():
            for leaf in tree.leaves():
                if is_numeric(leaf.value) and (name in self._names or leaf.path in more):
                    self._carry(leaf)

    def _stand_in(self, outline: Tree) -> Any:
        """A value for a name that is not bound before the first trip."""
        leaves = [zeros(leaf.value.dtype, leaf.value.shape) if isinstance(leaf.value, _Zeros) else leaf.value for leaf in outline.leaves()]
        return outline.put(iter(leaves), fresh=True)

    def _carry(self, leaf: Tree) -> None:
        ext, value = self.ext, plain(leaf.value)
        wide = type(leaf.value) is np.int64  # asked for by that name: it keeps its type, and its range
        weak = not wide and (is_number(value) or id(value) in ext.weak)
        wanted = "i64" if wide else ext.known.dtypes.get((self.path, leaf.path))
        if is_number(value):
            wanted = wanted or dtype_of(value, ext)[0]
            if wanted == "i32" and not -2**31 <= value < 2**31:
                ext.fail("value", f"`{leaf.path}` starts as {value}, which a loop carries as i32; that holds -2147483648 to 2147483647: take a NumPy "
                         f"number, numpy.int64({value})", self._place_of(leaf.path))
        self._leaves.append(leaf)
        self.initial.append(typed(value, wanted, ext))
        self.names.append(leaf.path)
        self._weak.append(weak)

    def put(self, operands: list[Any]) -> None:
        """Gives the variables the values that the body sees."""
        inside: list[Any] = []
        for each, name, weak in zip(operands, self.names, self._weak):
            tensor = Tensor(each, self.ext.owner)
            inside.append(tensor)
            self.ext.view(tensor, self._leaves[len(inside) - 1].value)
            tensor._stale = self.ext.known.stale.get((self.path, name))
            if weak:
                self.ext.weak[id(tensor)] = (tensor, self.path, name)
        self.inside = inside
        self._fill(inside)
        for name, variable in self._unbound.items():
            self._note_unsure(name, variable.get())
        self._start = Snapshot(self._everything, self.ext)
        values = self._values(self._start)
        for name, other in self._links():
            self.ext.view(values[name], values[other])

    def _links(self) -> list[tuple[str, str]]:
        return [(name, other) for name in self.names for other in sorted(self.ext.known.links.get((self.path, name), ()))]

    @staticmethod
    def _values(snapshot: Snapshot) -> dict[str, Any]:
        return {leaf.path: leaf.value for tree in snapshot.trees.values() for leaf in tree.leaves()}

    def _note_names(self, path: str, old: Any, new: Any) -> None:
        """Notes which other variables show what a variable holds in the next trip."""
        ext = self.ext
        if not isinstance(new, Tensor) or not new.ndim or new is old:
            return
        for name, other in self._values(self._start).items():
            if name != path and isinstance(other, Tensor) and ext.share(new, other) and not ext.share(old, other):
                ext.known.links.setdefault((self.path, path), set()).add(name)
                raise Again

    def _fill(self, values: list[Any]) -> None:
        new = {id(leaf): value for leaf, value in zip(self._leaves, values)}
        for variable in self._everything:
            tree = self._before.trees[variable.name]
            variable.set(tree.put(iter([new.get(id(leaf), leaf.value) for leaf in tree.leaves()])))

    def _note_unsure(self, name: str, value: Any) -> None:
        self.ext.unsure[id(value)] = (value, f"`{name}` is not bound where the loop at line {self.place.line} makes no trip, and in its first "
                                      "trip until it is assigned; bind it before the loop")

    def yielded(self, dead: bool) -> list[Any]:
        """The carried values after the body."""
        if dead:
            return [each._operand for each in self.inside]
        ext = self.ext
        end = Snapshot(self._everything, ext)
        self.end = end
        for name in self._names:
            if name in self._variables and self._start.trees[name].value is UNBOUND and end.trees[name].value is not UNBOUND:
                self._plan_unbound(name, end.trees[name])
        yields: dict[int, Any] = {}
        for name, tree in end.trees.items():
            if name in self._temporary:
                continue
            start = self._start.trees[name]
            if start.value is UNBOUND and tree.value is UNBOUND:
                continue
            if not start.same_shape(tree):
                self._other_shape(name, start, tree)
            for before, old, new in zip(self._before.trees[name].leaves(), start.leaves(), tree.leaves()):
                yields[id(before)] = self._next(before, old, new)
                self._note_names(new.path, old.value, new.value)
                if ext.share(new.value, old.value):
                    self._shared.add(id(before))
        if ext.owner.has_errors:
            from ._extraction import Mistake

            raise Mistake
        return [yields[id(leaf)] for leaf in self._leaves]

    def _plan_unbound(self, name: str, tree: Tree) -> None:
        leaves = [_Zeros(*dtype_of(leaf.value, self.ext)) if is_numeric(leaf.value) else leaf.value for leaf in tree.leaves()]
        outline = Tree(name, tree.put(iter(leaves), fresh=True), self.ext, set())
        self.ext.known.shapes[self.path, name] = outline
        raise Again

    def _other_shape(self, name: str, old: Tree, new: Tree) -> None:
        if isinstance(old.value, list) and isinstance(new.value, list) or any(
                isinstance(a.value, list) and isinstance(b.value, list) and len(a.value) != len(b.value)
                for a, b in zip(_all(old), _all(new))):
            self.ext.fail("carried", f"the list `{name}` grows or shrinks in a loop of the program: allocate an array before the loop and "
                          "write x[i] = v, or let the loop unroll: for i in cleave.unrolled(range(n))", self._place_of(name))
        self.ext.fail("carried", f"`{name}` changes from trip to trip: {outline(old)} before and {outline(new)} after", self._place_of(name))

    def _place_of(self, path: str) -> Any:
        """Where the body changes a variable."""
        code = self.body.__code__
        name = path.split("[")[0].split(".")[0]
        place = touched.get((code.co_filename, code.co_name, code.co_firstlineno), {}).get(name)
        return self.place if place is None else _cleave.Location(code.co_filename, *place)

    def _next(self, before: Tree, old: Tree, new: Tree) -> Any:
        """The value of a leaf for the next trip; nothing if the loop does not carry it."""
        ext = self.ext
        carried = any(leaf is before for leaf in self._leaves)
        if not carried:
            if old.value is new.value or _same(old.value, new.value):
                return None
            if is_numeric(old.value) and is_numeric(new.value):
                ext.known.carried.setdefault(self.path, {})[new.path] = None
                raise Again
            ext.fail("carried", f"`{new.path}` changes from trip to trip: {type_text(old.value)} before and {type_text(new.value)} after; a loop "
                     "of the program carries numbers and arrays", self._place_of(new.path))
        if not is_numeric(new.value):
            ext.fail("carried", f"`{new.path}` changes from trip to trip: {type_text(old.value)} before and {type_text(new.value)} after",
                     self._place_of(new.path))
        if isinstance(new.value, Tensor) and new.value._stale is not None and new.value is not old.value:
            if ext.known.stale.setdefault((self.path, new.path), new.value._stale) != old.value._stale:
                raise Again
            return new.value._operand
        wanted, shape = old.value._known()
        if old.value._operand.poisoned or isinstance(new.value, Tensor) and new.value._operand.poisoned:
            return new.value._operand if isinstance(new.value, Tensor) else operand_of(new.value, ext)
        value = plain(new.value)
        if is_number(value):
            given = dtype_of(value, ext)
            if shape == () and fits(value, wanted):
                return typed(value, wanted, ext)
        else:
            given = dtype_of(new.value, ext)
            if given == (wanted, shape):
                return tensor_of(new.value, ext)._operand
        if given[1] == shape:
            if id(old.value) in ext.weak and widen(ext, old.value, given[0]):
                raise Again
            if id(new.value) in ext.weak and widen(ext, new.value, wanted):
                raise Again
            if id(new.value) in ext.weak and id(old.value) in ext.weak:
                return typed(new.value, wanted, ext)
        ext.fail("carried", f"`{new.path}` changes its type from trip to trip: {type_text(old.value)} before and {type_text(new.value)} after; "
                 "give it one type before the loop", self._place_of(new.path))

    def finish(self, operands: list[Any], at_least_once: bool) -> None:
        """Gives the variables their values behind the loop."""
        results = [Tensor(each, self.ext.owner) for each in operands]
        for leaf, result in zip(self._leaves, results):
            if id(leaf) in self._shared:
                self.ext.view(result, leaf.value)
        for result, name, weak in zip(results, self.names, self._weak):
            result._stale = self.ext.known.stale.get((self.path, name))
            if weak:
                self.ext.weak[id(result)] = (result, self.path, name)
        self._fill(results)
        values = self._values(Snapshot(self._everything, self.ext))
        for name, other in self._links():
            self.ext.view(values[name], values[other])
        for name, variable in self._unbound.items():
            if not at_least_once or not hasattr(self, "end") or self.ext.doubt(self.end.trees[name].value):
                self._note_unsure(name, variable.get())
        for name in self._temporary:
            if name in self._variables:
                self._variables[name].set(UNBOUND)
        for name in self._names:
            if name not in self._after and name in self._variables:
                self._variables[name].set(UNBOUND)


class _Zeros:
    """The type of a place holder."""

    def __init__(self, dtype: str, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape


class _For(_Loop):
    def record(self, walk: Any) -> None:
        ext, owner = self.ext, self.ext.owner
        self.begin(self.body, self.stop)
        ext.regions += 1
        inside: Any = None
        try:
            count = operand_of(walk.count, ext)
            counter, inside = owner.begin_for(count, self.initial, self.names, None, None, None, self.place)
            self.put(inside)
            dead, stopped = False, None
            try:
                self.body(walk.item(ext.python_number(Tensor(counter, owner))))
                if self.stop is not None:
                    stopped = predicate_of(self.stop(), ext)
            except Dead:
                dead = True
            until = None if stopped is None or stopped is False else operand_of(stopped, ext)
            yields = self.yielded(dead)
        except Again:
            raise
        except BaseException as raised:  # the loop is complete where a message is made, or where a first call is tried
            if inside is not None:
                if isinstance(raised, Probe):
                    _end_run(ext, self.place)
                owner.end_for(inside, self.names, None, self.place)
            raise
        else:
            after = owner.end_for(yields, self.names, until, self.place)
        finally:
            ext.regions -= 1
            ext.leave()
        self.finish(after, isinstance(walk.count, int) and walk.count > 0)


class _While(_Loop):
    def record(self, test: Callable[[], Any]) -> None:
        ext, owner = self.ext, self.ext.owner
        self.begin(test, self.body, self.stop)
        ext.regions += 1
        tested = False
        inside = owner.begin_while(self.initial, self.names, None, None, self.place)
        try:
            self.put(inside)
            goes_on = predicate_of(test() if self.stop is None else and_(not_(self.stop()), test), ext)
            owner.condition(operand_of(goes_on, ext), self.place)
            tested, dead = True, False
            try:
                self.body()
            except Dead:
                dead = True
            yields = self.yielded(dead)
        except Again:
            raise
        except BaseException as raised:
            if not tested:
                owner.condition(operand_of(False, ext), self.place)
            elif isinstance(raised, Probe):
                _end_run(ext, self.place)
            owner.end_while(inside, self.names, self.place)
            raise
        else:
            after = owner.end_while(yields, self.names, self.place)
        finally:
            ext.regions -= 1
            ext.leave()
        self.finish(after, self.stop is not None and goes_on is True)


def _end_run(ext: Extraction, place: Any) -> None:
    """Ends a run that looks for the types of a call at the end of the first trip that does not come to it: the rest of the body is
    missing."""

    def ending() -> None:
        raise RuntimeError("the call was not reached")

    ext.owner.host_call(_cleave.HostFunction("end", [], False, None, None, True), ending, [], place)


def _all(tree: Tree) -> list[Tree]:
    return [tree] + [each for child in tree.children or [] for each in _all(child)]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (Tensor, np.ndarray)) or type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except Exception:  # a comparison of the user's own
        return False


__all__ = ["Variable", "for_", "while_"]
