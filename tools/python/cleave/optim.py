"""Training: optimizers, schedules of the rate, limits of gradients, and mixed precision, as functions of tensors and nests of them.

They hold nothing: moments and counters are values of the program, which it carries and keeps from run to run like its weights. The same
functions are in share/cleave/optimizers.yaml and in C++ in <cleave/optim.h>; all three trace to equal programs.

    loss, grads = cleave.value_and_gradient(loss_of)(params, x, y)
    params, m, v = cleave.optim.adamw(params, grads, m, v, rate=cleave.optim.cosine(1e-3, step, 1000), step=step, weight_decay=0.01)
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import functions as f
from ._nest import flatten, rebuild, same_shape
from ._trace import scope

__all__ = ["adagrad", "adam", "adamw", "as_bf16", "as_f16", "clip_by_norm", "clip_by_value", "constant", "cosine", "ema", "linear_warmup", "lion",
           "loss_scale", "momentum", "rmsprop", "sgd", "step_decay", "unscale", "update_if"]


def _each(name: str, update: Callable[..., Any], results: int, *nests: Any) -> Any:
    """`update` of the members of equal nests: `results` nests."""
    for other in nests[1:]:
        if not same_shape(nests[0], other):
            raise TypeError(f"cleave: {name} takes nests of one structure")
    columns = [[leaf for _, leaf in flatten(nest)] for nest in nests]
    rows = []
    for members in zip(*columns):
        with scope(name):
            rows.append(update(*members))
    if results == 1:
        return rebuild(nests[0], iter(rows))
    return tuple(rebuild(nests[0], iter([row[k] for row in rows])) for k in range(results))


def sgd(params: Any, grads: Any, *, rate: Any, weight_decay: float = 0) -> Any:
    """Stochastic gradient descent: `value - rate * gradient`. `weight_decay` adds `weight_decay * value` to the gradient."""
    def update(w: Any, g: Any) -> Any:
        if weight_decay != 0:
            g = g + weight_decay * w
        return w - rate * g

    return _each("sgd", update, 1, params, grads)


def momentum(params: Any, grads: Any, speed: Any, *, rate: Any, momentum: float = 0.9, nesterov: bool = False,
             weight_decay: float = 0) -> tuple[Any, Any]:
    """Gradient descent with momentum, `speed = momentum * speed + gradient`; returns the next values and speeds.

    `nesterov`: the step looks ahead by `gradient + momentum * speed` (Sutskever et al., 2013). `speed` begins with zeros.
    """
    def update(w: Any, g: Any, s: Any) -> Any:
        if weight_decay != 0:
            g = g + weight_decay * w
        s = momentum * s + g
        return w - rate * (g + momentum * s if nesterov else s), s

    result: tuple[Any, Any] = _each("momentum", update, 2, params, grads, speed)
    return result


def _bias_correction(beta: float, step: Any, like: Any) -> Any:
    """`1 - beta ** (step + 1)` in the type of `like`, exact where `beta` is close to 1."""
    steps = f.astype(step + 1, like.dtype)
    return 0.0 - f.expm1(steps * f.log1p((beta - 1) * f.ones((), like.dtype)))


def _adam(name: str, decoupled: bool, params: Any, grads: Any, m: Any, v: Any, rate: Any, step: Any, beta1: float, beta2: float,
          epsilon: float, weight_decay: float) -> tuple[Any, Any, Any]:
    def update(w: Any, g: Any, m: Any, v: Any) -> Any:
        if weight_decay != 0 and decoupled:
            w = w * (1 - rate * weight_decay)
        if weight_decay != 0 and not decoupled:
            g = g + weight_decay * w
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * f.square(g)
        deviation = f.sqrt(v) / f.sqrt(_bias_correction(beta2, step, w)) + epsilon
        return w - rate / _bias_correction(beta1, step, w) * (m / deviation), m, v

    result: tuple[Any, Any, Any] = _each(name, update, 3, params, grads, m, v)
    return result


def adam(params: Any, grads: Any, m: Any, v: Any, *, rate: Any, step: Any, beta1: float = 0.9, beta2: float = 0.999,
         epsilon: float = 1e-8, weight_decay: float = 0) -> tuple[Any, Any, Any]:
    """Adam (Kingma and Ba, 2015), with moments `m` and `v` that begin with zeros; `step` is the number of steps made before this one.

    Returns the next values and moments. `weight_decay` adds `weight_decay * value` to the gradient.
    """
    return _adam("adam", False, params, grads, m, v, rate, step, beta1, beta2, epsilon, weight_decay)


def adamw(params: Any, grads: Any, m: Any, v: Any, *, rate: Any, step: Any, beta1: float = 0.9, beta2: float = 0.999,
          epsilon: float = 1e-8, weight_decay: float = 0.01) -> tuple[Any, Any, Any]:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): each value first shrinks by `rate * weight_decay`. As `adam`."""
    return _adam("adamw", True, params, grads, m, v, rate, step, beta1, beta2, epsilon, weight_decay)


def adagrad(params: Any, grads: Any, sums: Any, *, rate: Any, epsilon: float = 1e-10) -> tuple[Any, Any]:
    """Adagrad (Duchi et al., 2011), with the sums of squared gradients, which begin with zeros. Returns the next values and sums."""
    def update(w: Any, g: Any, s: Any) -> Any:
        s = s + f.square(g)
        return w - rate * (g / (f.sqrt(s) + epsilon)), s

    result: tuple[Any, Any] = _each("adagrad", update, 2, params, grads, sums)
    return result


def rmsprop(params: Any, grads: Any, means: Any, *, rate: Any, decay: float = 0.99, epsilon: float = 1e-8) -> tuple[Any, Any]:
    """RMSprop (Hinton, 2012), with running means of squared gradients, which begin with zeros. Returns the next values and means."""
    def update(w: Any, g: Any, v: Any) -> Any:
        v = decay * v + (1 - decay) * f.square(g)
        return w - rate * (g / (f.sqrt(v) + epsilon)), v

    result: tuple[Any, Any] = _each("rmsprop", update, 2, params, grads, means)
    return result


def lion(params: Any, grads: Any, m: Any, *, rate: Any, beta1: float = 0.9, beta2: float = 0.99, weight_decay: float = 0) -> tuple[Any, Any]:
    """Lion (Chen et al., 2023), with one moment, which begins with zeros. Returns the next values and moments."""
    def update(w: Any, g: Any, m: Any) -> Any:
        if weight_decay != 0:
            w = w * (1 - rate * weight_decay)
        direction = f.sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        return w - rate * direction, m

    result: tuple[Any, Any] = _each("lion", update, 2, params, grads, m)
    return result


def clip_by_norm(grads: Any, limit: Any) -> Any:
    """The gradients, scaled down together if the square root of the sum of all their squares exceeds `limit` (Pascanu et al., 2013)."""
    leaves = [leaf for _, leaf in flatten(grads)]
    if not leaves:
        return grads
    with scope("clip_by_norm"):
        norm = f.sqrt(f.sum(f.stack([f.sum(f.square(leaf)) for leaf in leaves])))
        scale = f.minimum(limit / (norm + 1e-6), 1.0)
        return rebuild(grads, iter([leaf * scale for leaf in leaves]))


def clip_by_value(grads: Any, limit: Any) -> Any:
    """The gradients with each element between `-limit` and `limit`."""
    return _each("clip_by_value", lambda g: f.maximum(f.minimum(g, limit), 0.0 - limit), 1, grads)


def ema(averages: Any, params: Any, *, decay: float = 0.999) -> Any:
    """The exponential moving average `decay * average + (1 - decay) * value`."""
    return _each("ema", lambda average, value: decay * average + (1 - decay) * value, 1, averages, params)


def as_bf16(params: Any) -> Any:
    """The values in bf16, for the loss. Their gradients come back in the types of the values."""
    return _each("as_bf16", lambda x: f.astype(x, "bf16"), 1, params)


def as_f16(params: Any) -> Any:
    """The values in f16, for a loss that is scaled (`unscale`)."""
    return _each("as_f16", lambda x: f.astype(x, "float16"), 1, params)


def unscale(grads: Any, scale: Any) -> tuple[Any, Any]:
    """The gradients of `loss * scale`, divided by the scale, and a bool scalar: whether all of them are finite.

    Small gradients of f16 become 0, and the scale keeps them above that (Micikevicius et al., 2018).

        grads, finite = cleave.optim.unscale(cleave.gradient(loss * scale, params), scale)
        params = cleave.optim.update_if(finite, cleave.optim.sgd(params, grads, rate=0.1), params)
        scale, steps = cleave.optim.loss_scale(scale, steps, finite)
    """
    leaves = [leaf for _, leaf in flatten(grads)]
    with scope("unscale"):
        finite = f.all(f.stack([f.all(f.isfinite(leaf)) for leaf in leaves]))
        inverse = 1.0 / scale
        return rebuild(grads, iter([leaf * inverse for leaf in leaves])), finite


def update_if(finite: Any, updated: Any, values: Any) -> Any:
    """`updated` if `finite`, a bool scalar, else `values`: an update that gradients which are not finite leave out."""
    return _each("update_if", lambda new, old: f.where(finite, new, old), 1, updated, values)


def loss_scale(scale: Any, steps: Any, finite: Any, *, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000) -> tuple[Any, Any]:
    """The next scale, and the next number of steps in a row with finite gradients, by the rule of `torch.amp.GradScaler`.

    The scale is multiplied by `backoff` behind gradients that are not finite, and by `growth` behind `interval` steps in a row that are.
    They are an f32 and an i32 scalar, which begin with 65536 and 0.
    """
    with scope("loss_scale"):
        more = steps + 1
        due = more >= interval
        grown = scale * growth
        larger = f.where(f.logical_and(due, f.isfinite(grown)), grown, scale)
        smaller = scale * backoff
        following = f.where(finite, larger, smaller)
        counted = f.where(due, 0, more)
        return following, f.where(finite, counted, 0)


def constant(rate: Any, step: Any) -> Any:
    """`rate` at every step."""
    return rate


def linear_warmup(rate: Any, step: Any, steps: float) -> Any:
    """The rate at `step` (an integer scalar from 0): from 0 to `rate` in the first `steps` steps, then `rate`."""
    with scope("linear_warmup"):
        return rate * f.minimum((step + 1) / float(steps), 1.0)


def cosine(rate: Any, step: Any, steps: float) -> Any:
    """From `rate` down to 0 along half a cosine wave in `steps` steps, then 0 (Loshchilov and Hutter, 2017)."""
    with scope("cosine"):
        part = f.minimum(step / float(steps), 1.0)
        return rate * (0.5 * (1 + f.cos(math.pi * part)))


def step_decay(rate: Any, step: Any, every: float, factor: float = 0.1) -> Any:
    """`rate`, multiplied by `factor` behind every `every` steps."""
    with scope("step_decay"):
        return rate * f.pow(factor, f.floor(step / float(every)))
