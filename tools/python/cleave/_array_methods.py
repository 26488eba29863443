"""Methods of NumPy's arrays that read otherwise than the functions of the vocabulary of their name, or are none of it. Tensor has them."""
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING, cast

from ._types import ArrayLike, DTypeLike

if TYPE_CHECKING:
    from ._tensor import Tensor

_Axis = int | Sequence[int] | None


class ArrayMethods:
    """Methods with NumPy's arguments."""

    __slots__ = ()

    def _tensor(self) -> Tensor:
        return cast("Tensor", self)

    def sum(self, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        """The sum over the axes; `dtype`: the elements are converted first."""
        from . import _elementary

        return _elementary.sum(self, axis, dtype, keepdims)

    def prod(self, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        """The product over the axes; `dtype`: the elements are converted first."""
        from . import _elementary

        return _elementary.prod(self, axis, dtype, keepdims)

    def mean(self, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        """The mean over the axes; `dtype`: the elements are converted first."""
        from . import _numpy

        return _numpy.mean(self, axis, dtype, keepdims)

    def std(self, axis: _Axis = None, ddof: float | None = None, keepdims: bool = False, *, correction: float | None = None) -> Tensor:
        """The standard deviation over the axes, divided by `n - ddof` under the root."""
        from . import _statistics

        return _statistics.std(self, axis, ddof, keepdims, correction=correction)

    def var(self, axis: _Axis = None, ddof: float | None = None, keepdims: bool = False, *, correction: float | None = None) -> Tensor:
        """The variance over the axes, divided by `n - ddof`."""
        from . import _statistics

        return _statistics.var(self, axis, ddof, keepdims, correction=correction)

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """The running sum along an axis, or of all elements in order."""
        from . import _elementary

        return _elementary.cumsum(self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """The running product along an axis, or of all elements in order."""
        from . import _elementary

        return _elementary.cumprod(self, axis, dtype)

    def dot(self, other: ArrayLike) -> Tensor:
        """NumPy's product of arrays."""
        from . import _elementary

        return _elementary.dot(self, other)

    def ravel(self) -> Tensor:
        """The elements in one axis."""
        return self._tensor().reshape(-1)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Two axes exchanged."""
        from . import _shapes

        return _shapes.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: _Axis = None) -> Tensor:
        """Without axes of extent 1: these, or all."""
        from . import _shapes

        return _shapes.squeeze(self, axis)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Each element of an axis, or of all, several times in a row."""
        from . import _shapes

        return _shapes.repeat(self, repeats, axis)

    def take(self, indices: ArrayLike, axis: int | None = None) -> Tensor:
        """Elements of an axis, or of all in order, by index."""
        from . import _shapes

        return _shapes.take(self, indices, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """A diagonal of two axes, NumPy's first two by default."""
        from . import _numpy

        return _numpy.diagonal(self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """The sum of a diagonal of two axes, NumPy's first two by default."""
        from . import _numpy

        return _numpy.trace(self, offset, axis1, axis2)

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor:  # noqa: A002
        """No element below `min` or above `max`; None: no limit."""
        from . import _numpy

        return _numpy.clip(self, min, max)

    def round(self, decimals: int = 0) -> Tensor:
        """Rounded to so many decimals, ties to even."""
        from . import _numpy

        return _numpy.round(self, decimals)

    def __round__(self, decimals: int | None = None) -> Tensor:
        return self.round(decimals or 0)

    def sort(self, axis: int = -1, descending: bool = False) -> None:
        """Sorts the tensor itself along an axis, as NumPy does, and returns nothing; `cleave.sort(x)` gives a sorted tensor."""
        from . import functions

        self._tensor()[...] = functions.sort(self, axis, descending)

    def fill(self, value: Any) -> None:
        """Sets all elements of the tensor itself."""
        self._tensor()[...] = value

    def searchsorted(self, values: ArrayLike, side: str = "left") -> Tensor:
        """The indices at which values would keep this vector sorted."""
        from . import functions

        return functions.searchsorted(self, values, side)

    def conj(self) -> Tensor:
        """A copy: there are no complex numbers."""
        return self._tensor().copy()

    conjugate = conj

    @property
    def real(self) -> Tensor:
        """The tensor: there are no complex numbers."""
        return self._tensor()

    def nonzero(self) -> Any:
        """The positions of the elements that are not zero, along each axis; a run gives as many as there are."""
        from . import _numpy

        return _numpy.nonzero(self)
