"""Gradients of traced programs."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._nest import flatten, rebuild, transform
from ._tensor import Tensor, apply, operand, recorder
from ._where import here


def gradient(loss: Any, values: Any, *more: Any) -> Any:
    """The gradient of `loss`, a floating-point scalar, by `values`: a tensor, or a nest of tensors (tuple, list, dict, dataclass), which gives
    a nest of the same kind. `gradient(loss, w, b)` gives a tuple.

    Each gradient has type and shape of its value. Any floating-point value of the program may be asked for, also an intermediate one. The
    result is made of ordinary operations, so that its gradient can be asked for, too.
    """
    recorder("gradient")
    nest = (values, *more) if more else values
    leaves = [leaf for _, leaf in flatten(nest)]
    if not leaves:
        return nest
    return rebuild(nest, iter(apply("gradient", (loss, *leaves), {}, -1)))


def value_and_gradient(function: Callable[..., Any], *, has_aux: bool = False) -> Callable[..., Any]:
    """`function` that returns its loss and the gradient of it by the first argument, a tensor or a nest of them.

        loss, (dw, db) = cleave.value_and_gradient(loss_of)((w, b), x, y)

    With `has_aux` the function returns a pair of the loss and anything else, and the result is `((loss, else), gradient)`.
    """
    @functools.wraps(function)
    def both(values: Any, *args: Any, **kwargs: Any) -> Any:
        # The function may assign to what it is given; the gradient is that by the values as they were.
        given = transform(values, lambda leaf: leaf.copy() if isinstance(leaf, Tensor) else leaf)
        result = function(given, *args, **kwargs)
        loss = result[0] if has_aux else result
        return result, gradient(loss, values)

    return both


class Differentiable:
    """A function whose gradient the program states: `@f.gradient` above another function, with options `@f.gradient(…)`."""

    def __init__(self, function: Callable[..., Any], call: Callable[..., Any], rule: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._call, self._make = call, rule
        self.rule: Any = None
        self.declared: Any = None

    def __call__(self, *inputs: Any) -> Any:
        return self._call(self.rule, *inputs)

    def gradient(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Makes `function` the gradient of this one. Returns `function`."""
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            self.rule = self._make(function, **options)
            return function

        return decorate if function is None else decorate(function)


def custom_gradient(function: Callable[..., Any]) -> Differentiable:
    """A function of traced programs whose gradient is stated by another one.

        @cleave.custom_gradient
        def rounded(x):
            return cleave.round(x)

        @rounded.gradient
        def _(x, y, dy):                    # what the function takes; its result; the derivative of the loss by it
            return dy                       # the derivative of the loss by x

    Inputs and results may be nests. The gradient returns a value for each floating input (each leaf of the nests), of its type. What it
    does not use is not kept for it. Gradients of the gradient lead through its operations, and through `y` to `x`. Other values that the
    function reads count as constants.
    """
    def call(rule: Callable[..., Any] | None, *inputs: Any) -> Any:
        owner = recorder(function.__name__)
        results = function(*inputs)
        if rule is None:
            raise TypeError(f"cleave: {function.__name__} has no gradient yet; write `@{function.__name__}.gradient` above a function")
        place = here()
        operands = [operand(leaf, owner) for _, leaf in flatten(list(inputs))]
        leaves = [operand(leaf, owner) for _, leaf in flatten(results)]
        found, cotangents, _ = owner.begin_gradient(function.__name__, operands, leaves, place)
        results, given = (rebuild(results, iter([Tensor(each, owner) for each in some])) for some in (found, cotangents))
        gradients = rule(*inputs, results, given)
        owner.end_gradient([operand(leaf, owner) for _, leaf in flatten(gradients)], place)
        return results

    return Differentiable(function, call, lambda rule: rule)


def stop_gradient(x: Any) -> Tensor:
    """`x`, which gradients take for a constant."""
    recorder("stop_gradient")
    stopped: Tensor = apply("stop_gradient", (x,), {}, 1)
    return stopped
