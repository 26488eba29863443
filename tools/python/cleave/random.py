"""Random numbers by the names of NumPy: `rng = cleave.random.default_rng(seed)` and `rng.normal(size=3)`, inside of traced functions.

They follow from the seed, on every machine and device, and repeat in every run, as those of `numpy.random.default_rng(seed)` do at each call
of a function that makes it. The numbers are others than NumPy's.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from . import functions as f
from ._tensor import Tensor, traces
from ._types import ArrayLike, DTypeLike

_Size = int | Sequence[int] | None
_STEP = 1_000_003  # the seeds of successive calls of one generator are so far apart


class Generator:
    """Random numbers from a seed: each call gives others. Inside of a loop or branch a call is recorded once and would repeat its numbers in
    every iteration; there it takes an integer scalar `step`, such as the counter of the loop, and others for each step."""

    def __init__(self, seed: int) -> None:
        self._seed, self._calls = operator.index(seed), 0
        self._region = traces.region

    def _next(self, step: ArrayLike | None, what: str) -> dict[str, Any]:
        if step is None and traces.region is not self._region:
            raise TypeError(f"cleave: `{what}` in a loop or branch is recorded once, so that each iteration would get the same numbers; pass step=i, "
                            "with the counter of the loop")
        self._calls += 1
        return {"seed": self._seed + _STEP * (self._calls - 1), "step": step}

    def random(self, size: _Size = None, dtype: DTypeLike = "float32", *, step: ArrayLike | None = None) -> Tensor:
        """Uniform on [0, 1)."""
        return f.random_uniform(_shape(size), dtype=dtype, **self._next(step, "random"))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: _Size = None, *, step: ArrayLike | None = None) -> Tensor:
        """Uniform on [low, high); the ends may be tensors."""
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            return f.random_uniform(_shape(size), float(low), float(high), **self._next(step, "uniform"))
        shares = self.random(size if size is not None else _common(low, high), step=step)
        return f.add(low, f.multiply(f.subtract(high, low), shares))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: _Size = None, *, step: ArrayLike | None = None) -> Tensor:
        """Normally distributed; mean and deviation may be tensors."""
        if isinstance(loc, (int, float)) and isinstance(scale, (int, float)):
            return f.random_normal(_shape(size), float(loc), float(scale), **self._next(step, "normal"))
        numbers = self.standard_normal(size if size is not None else _common(loc, scale), step=step)
        return f.add(loc, f.multiply(scale, numbers))

    def standard_normal(self, size: _Size = None, dtype: DTypeLike = "float32", *, step: ArrayLike | None = None) -> Tensor:
        """Normally distributed with mean 0 and deviation 1."""
        return f.random_normal(_shape(size), dtype=dtype, **self._next(step, "standard_normal"))

    def exponential(self, scale: Any = 1.0, size: _Size = None, *, step: ArrayLike | None = None) -> Tensor:
        """Exponentially distributed with mean `scale`."""
        return f.multiply(scale, f.negative(f.log1p(f.negative(self.random(size, step=step)))))

    def integers(self, low: int, high: int | None = None, size: _Size = None, dtype: DTypeLike = "int32", endpoint: bool = False, *,
                 step: ArrayLike | None = None) -> Tensor:
        """Integers from low to below high, each as likely as another; from 0 if one bound is given."""
        low, high = (0, low) if high is None else (low, high)
        return f.random_integers(_shape(size), low, high + endpoint, dtype=dtype, **self._next(step, "integers"))

    def permutation(self, x: int | ArrayLike, *, step: ArrayLike | None = None) -> Tensor:
        """The numbers below x in a random order, or x with its first axis in one."""
        if isinstance(x, int):
            return f.random_permutation(x, **self._next(step, "permutation"))
        from ._shapes import as_tensor

        x = as_tensor(x)
        return f.take(x, f.random_permutation(x.shape[0], **self._next(step, "permutation")), 0)


def _shape(size: _Size) -> Any:
    return () if size is None else size


def _common(*values: Any) -> Any:
    import numpy as np

    return np.broadcast_shapes(*[tuple(value.shape) if hasattr(value, "shape") else () for value in values])


def default_rng(seed: int | None = None) -> Generator:
    """A generator. The seed must be given: a program would repeat the numbers of its tracing in every run."""
    if seed is None:
        raise TypeError("cleave: default_rng(seed) takes a seed: a program has the same numbers in every run; pass one in as a `step` for others")
    return Generator(seed)


__all__ = ["Generator", "default_rng"]
