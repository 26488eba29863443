"""Loops and branches of a traced program: recorded once, never unrolled (a Python loop unrolls)."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _cleave
from ._nest import flatten, rebuild, same_shape, transform
from ._tensor import Tensor, operand, recorder
from ._views import region
from ._where import here


class Until(NamedTuple):
    """The result of a `for_loop`'s body that may end the loop early; made by `until`."""

    stop: Any
    state: Any


def until(stop: Any, state: Any = None) -> Until:
    """Returned by the body of a `for_loop`, `return until(change < 1e-3, x)`: the new state, and whether this iteration was the last (a
    scalar bool, tested after each one)."""
    return Until(stop, state)


class _State:
    """The state that a loop or branch carries: a nest, flattened into its leaves."""

    def __init__(self, nest: Any, owner: _cleave.Recorder) -> None:
        leaves = flatten(nest)
        self.nest = nest
        self.names = [name for name, _ in leaves]
        self.values = [operand(value, owner) for _, value in leaves]

    def rebuilt(self, operands: list[_cleave.Operand], owner: _cleave.Recorder) -> Any:
        return rebuild(self.nest, iter([Tensor(each, owner) for each in operands]))


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True  # a callable without a signature
    return True


def _call(function: Callable[..., Any], first: tuple[Any, ...], state: Any, has_state: bool) -> Any:
    """Calls `function(*first, state)`, with the parts of a tuple as separate arguments if the function takes them so."""
    if not has_state:
        return function(*first)
    if isinstance(state, (tuple, list)) and not hasattr(state, "_fields") and _takes(function, len(first) + len(state)):
        if len(state) != 1 or not _takes(function, len(first) + 1):
            return function(*first, *state)
    return function(*first, state)


def _check_nest(owner: _cleave.Recorder, state: _State, yielded: Any, what: str) -> _State:
    result = _State(yielded, owner)
    if len(result.values) == len(state.values) and not same_shape(state.nest, yielded):
        raise TypeError(f"cleave: {what} returns another nest than it is given: {_outline(yielded)} for {_outline(state.nest)}")
    return result


def _outline(nest: Any) -> str:
    return str(rebuild(nest, iter([_Dot()] * len(flatten(nest)))))


class _Dot:
    def __repr__(self) -> str:
        return "."


class Batches(NamedTuple):
    """Arrays whose rows a `for_loop` reads a batch at a time; made by `batches`."""

    arrays: tuple[Any, ...]
    size: int
    shuffle: int | None
    remainder: str
    place: _cleave.Location


def batches(*arrays: Any, size: int, shuffle: int | None = None, remainder: str = "drop") -> Batches:
    """The rows of arrays with equally many rows, `size` at a time; `for_loop` takes this in place of a count:
    `net = for_loop(batches(images, labels, size=64, shuffle=7), net, lambda x, y, net: …)`.

    With a seed `shuffle`, each pass reads the rows in another random order, equal on every machine; the number of passes is a state of the
    program. `remainder` says what becomes of the rows after the last whole batch: "drop" leaves them out, "pad" fills up the last batch with
    zeros and gives the number of real rows to the body as one more argument after the batch, "smaller" makes the last batch smaller; the
    body is then called twice, to record it for both shapes.
    """
    return Batches(arrays, size, shuffle, remainder, here())


def _for_batches(given: Batches, state: Any, body: Callable[..., Any], expect: float | None, at_most: int | None,
                 prefetch: int | None, place: _cleave.Location) -> Any:
    owner = recorder("for_loop")
    arrays = [operand(array, owner) for array in given.arrays]
    reader = owner.batches(arrays, given.size, given.shuffle, given.remainder, given.place)
    if not reader.good:
        return state

    def taking(read: Callable[[Any], list[Any]]) -> Callable[[Any], tuple[Any, ...]]:
        return lambda counter: tuple(Tensor(each, owner) for each in read(counter))

    def whole(counter: Any) -> list[Any]:
        return reader.read(counter) + ([reader.real_rows(counter)] if given.remainder == "pad" else [])

    state, stops = _record_for(owner, reader.trips, state, body, taking(whole), expect, at_most, prefetch, place)
    if reader.rest > 0 and stops:
        owner.error("unsupported", '`until` does not go with remainder="smaller", whose last batch is behind the loop', given.place)
    elif reader.rest > 0 and not owner.has_errors:
        state, _ = _record_for(owner, 1, state, body, taking(lambda counter: reader.read_rest()), None, None, None, place)
    return state


def _record_for(owner: _cleave.Recorder, count: Any, state: Any, body: Callable[..., Any], first: Callable[[Any], tuple[Any, ...]],
                expect: float | None, at_most: int | None, prefetch: int | None, place: _cleave.Location) -> tuple[Any, bool]:
    """Records one loop; `first` gives the arguments of the body before the state. Returns the state after it, and whether the body returned
    `until`."""
    before = _State(state, owner)
    counter, inside = owner.begin_for(operand(count, owner), before.values, before.names, expect, at_most, prefetch, place)
    with region():
        result = _call(body, first(counter), before.rebuilt(inside, owner), state is not None)
    stop = None
    if isinstance(result, Until):
        stop, result = operand(result.stop, owner), result.state
    yielded = _check_nest(owner, before, result if state is not None else None, "the body of the loop")
    _check_count(owner, before, yielded, place)
    after = owner.end_for(yielded.values[:len(before.values)], before.names, stop, place)
    return before.rebuilt(after, owner), stop is not None


def for_loop(count: Any, state: Any, body: Callable[..., Any] | None = None, *, expect: float | None = None,
             at_most: int | None = None, prefetch: int | None = None) -> Any:
    """`state = body(i, state)`, `count` times, with `i` an i32 scalar from 0; with 0 iterations the state is unchanged.

    `state` is a tensor or a nest of them (tuple, list, dict, dataclass). The body takes it as one argument, or the parts of a tuple as
    separate ones, and returns the same structure with the same types, or `until(stop, state)`. `count` is a number or an integer scalar; if
    it is not known, `expect` is the trip count that the plan assumes, and more trips than `at_most` are an error of the run; a gradient of
    the loop needs that bound. Up to `prefetch` iterations (default: 2) of the pure host work that follows from `i` and from values outside
    the loop are made ahead on worker threads (the option `workers`). Without state, for its effects: `for_loop(10, lambda i: print("i", i))`.
    With `batches(…)` in place of `count`, the body gets a batch of each array in place of `i`.
    """
    if body is None:
        if not callable(state):
            raise TypeError("cleave: for_loop(count, state, body) lacks its body")
        body, state = state, None
    place = here()
    if isinstance(count, Batches):
        return _for_batches(count, state, body, expect, at_most, prefetch, place)
    owner = recorder("for_loop")
    return _record_for(owner, count, state, body, lambda counter: (Tensor(counter, owner),), expect, at_most, prefetch, place)[0]


def while_loop(condition: Callable[..., Any], state: Any, body: Callable[..., Any] | None = None, *, expect: float | None = None,
               at_most: int | None = None) -> Any:
    """`while condition(state): state = body(state)`; the condition is a scalar bool, tested before each iteration.

    `expect` is the trip count that the plan assumes (default: 10, shown as assumed); more trips than `at_most` are an error of the run. A
    condition that the loop never changes is an error.
    """
    if body is None:
        body, state = state, None
    owner = recorder("while_loop")
    place = here()
    before = _State(state, owner)
    values = owner.begin_while(before.values, before.names, expect, at_most, place)
    with region():
        owner.condition(operand(_call(condition, (), before.rebuilt(values, owner), state is not None), owner), place)
        result = _call(body, (), before.rebuilt(values, owner), state is not None)
    yielded = _check_nest(owner, before, result if state is not None else None, "the body of the loop")
    _check_count(owner, before, yielded, place)
    return before.rebuilt(owner.end_while(yielded.values[:len(before.values)], before.names, place), owner)


def _check_count(owner: _cleave.Recorder, before: _State, yielded: _State, place: _cleave.Location) -> None:
    if len(before.values) == len(yielded.values):
        return
    owner.error("carried", f"the loop carries {_values(before)} but its body returns {_values(yielded)}", place)
    yielded.values += [_cleave.Operand()] * (len(before.values) - len(yielded.values))


def _values(state: _State) -> str:
    return f"{len(state.values)} value{'' if len(state.values) == 1 else 's'}"


def _copies(operands: tuple[Any, ...]) -> list[Any]:
    """Operands that an arm may assign to."""
    return [transform(each, lambda leaf: leaf.copy() if isinstance(leaf, Tensor) else leaf) for each in operands]


def cond(predicate: Any, then: Callable[..., Any], otherwise: Callable[..., Any] | None = None, *operands: Any,
         probability: float | None = None) -> Any:
    """`then() if predicate else otherwise()`; only the arm taken is executed. `predicate` is a scalar bool.

    Both arms return the same kind of nest, of equal types (numbers adapt), or nothing, for their effects; `otherwise` may then be omitted.
    `probability` of the first arm, for the plan; the default is by rule (`i % k == 0` on a loop counter: 1/k), else 0.5. Operands are passed
    to both arms.
    """
    owner = recorder("cond")
    place = here()
    owner.begin_branch(operand(predicate, owner), probability, place)
    with region():
        first = _State(then(*_copies(operands)), owner)
    owner.otherwise()
    with region():
        second = _State(otherwise(*_copies(operands)) if otherwise is not None else None, owner)
    if len(first.values) != len(second.values):
        owner.error("type", f"one arm of the branch returns {_values(first)}, the other {_values(second)}", place)
        second.values = (second.values + [_cleave.Operand()] * len(first.values))[:len(first.values)]
    elif not same_shape(first.nest, second.nest):
        raise TypeError(f"cleave: the arms of the branch return different nests: {_outline(first.nest)} and {_outline(second.nest)}")
    return first.rebuilt(owner.end_branch(first.values, second.values, first.names, place), owner)

