"""Gradients of traced programs."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._nest import flatten, rebuild
from ._tensor import Tensor, apply, recorder


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
        result = function(values, *args, **kwargs)
        loss = result[0] if has_aux else result
        return result, gradient(loss, values)

    return both


def stop_gradient(x: Any) -> Tensor:
    """`x`, which gradients take for a constant."""
    recorder("stop_gradient")
    stopped: Tensor = apply("stop_gradient", (x,), {}, 1)
    return stopped
