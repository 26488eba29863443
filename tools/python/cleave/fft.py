"""Fourier transforms. There are no complex numbers: they are pairs, real and imaginary part, in a last axis of extent 2.

`cleave.fft.rfft(x)` takes real numbers and gives pairs, `irfft` undoes it, `fft` and `ifft` take and give pairs; `pairs(x)` makes pairs of
real numbers, and `magnitude(pairs)` is the absolute value. The module can be called: `cleave.fft(pairs)` is `cleave.fft.fft(pairs)`.
"""
from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from . import functions as f
from ._shapes import as_tensor
from ._tensor import Tensor, constant_of
from ._types import ArrayLike


def _pairs_along(x: ArrayLike, axis: int, what: str) -> tuple[Tensor, int]:
    x = as_tensor(x)
    if x.ndim < 2 or x.shape[-1] != 2:
        raise TypeError(f"cleave: {what} of {x.type}: complex numbers are pairs in a last axis of extent 2; of real numbers rfft(x) gives one half of "
                        f"the spectrum, and {what}(cleave.fft.pairs(x)) all of it")
    return x, axis


def pairs(x: ArrayLike, imaginary: ArrayLike | None = None) -> Tensor:
    """Real numbers, and imaginary parts, as pairs in a new last axis."""
    x = as_tensor(x)
    return f.stack([x, f.zeros_like(x) if imaginary is None else imaginary], -1)


def magnitude(x: ArrayLike) -> Tensor:
    """The absolute values of pairs."""
    x = as_tensor(x)
    return f.hypot(x[..., 0], x[..., 1])


def fft(x: ArrayLike, *, axis: int = -1) -> Tensor:
    """The transform of pairs along an axis that does not count the last one."""
    return f.fft(*_pairs_along(x, axis, "fft"))


def ifft(x: ArrayLike, *, axis: int = -1) -> Tensor:
    """Undoes `fft`."""
    return f.ifft(*_pairs_along(x, axis, "ifft"))


def rfft(x: ArrayLike, *, n: int | None = None, axis: int = -1) -> Tensor:
    """The first `n // 2 + 1` pairs of the transform of real numbers, which are cut or filled up with zeros to `n` of them."""
    x = as_tensor(x)
    if n is not None:
        axis %= x.ndim
        if n < x.shape[axis]:
            x = x[(slice(None),) * axis + (slice(0, n),)]
        elif n > x.shape[axis]:
            x = f.pad(x, [each for at in range(x.ndim) for each in (0, n - x.shape[axis] if at == axis else 0)])
    return f.rfft(x, axis)


def irfft(x: ArrayLike, *, n: int | None = None, axis: int = -1) -> Tensor:
    """Undoes `rfft`: `n` real numbers (absent: an even number of them)."""
    x, axis = _pairs_along(x, axis, "irfft")
    return f.irfft(x, n, axis)


def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of the results of `fft`, for samples `d` apart."""
    return constant_of(np.fft.fftfreq(n, d).astype(np.float32))


def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of the results of `rfft`, for samples `d` apart."""
    return constant_of(np.fft.rfftfreq(n, d).astype(np.float32))


def _shifted(x: ArrayLike, axes: Any, sign: int) -> Tensor:
    x = as_tensor(x)
    along = list(range(x.ndim)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    shifts = [(x.shape[axis] // 2) if sign > 0 else -(x.shape[axis] // 2) for axis in along]
    return f.roll(x, shifts, along)


def fftshift(x: ArrayLike, *, axes: Any = None) -> Tensor:
    """The frequency 0 in the middle of the axes; name them for pairs, whose last axis is none."""
    return _shifted(x, axes, 1)


def ifftshift(x: ArrayLike, *, axes: Any = None) -> Tensor:
    """Undoes `fftshift`."""
    return _shifted(x, axes, -1)


__all__ = ["fft", "fftfreq", "fftshift", "ifft", "ifftshift", "irfft", "magnitude", "pairs", "rfft", "rfftfreq"]


class _Callable(types.ModuleType):
    """The module, which is also the function `fft` of the vocabulary."""

    def __call__(self, x: ArrayLike, axis: int = -1) -> Tensor:
        return f.fft(x, axis)


_Callable.__call__.__doc__ = f.fft.__doc__
sys.modules[__name__].__class__ = _Callable
