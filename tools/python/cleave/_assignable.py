"""The part of Tensor that is assigned to: `x[i] = v`, `x += v` and `x.at[i].set(v)`."""
from __future__ import annotations

from typing import Any, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ._tensor import Tensor


class At:
    """`x.at`, which takes an index."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._x, index)


class AtIndex:
    """`x.at[index]`: updates that give a new tensor and leave `x` as it was. Of several updates of one position `set` keeps the last, the
    others take all."""

    __slots__ = ("_x", "_index")

    def __init__(self, x: Tensor, index: Any) -> None:
        self._x, self._index = x, index

    def _updated(self, value: Any, how: str) -> Tensor:
        from ._update import updated

        return updated(self._x, self._index, value, how)

    def set(self, value: Any) -> Tensor:
        """`x` after `x[index] = value`."""
        return self._updated(value, "set")

    def add(self, value: Any) -> Tensor:
        """`x` after `x[index] += value`."""
        return self._updated(value, "add")

    def subtract(self, value: Any) -> Tensor:
        """`x` after `x[index] -= value`."""
        return self._updated(value, "subtract")

    def multiply(self, value: Any) -> Tensor:
        """`x` after `x[index] *= value`."""
        return self._updated(value, "multiply")

    def divide(self, value: Any) -> Tensor:
        """`x` after `x[index] /= value`, for floating elements."""
        return self._updated(value, "divide")

    def min(self, value: Any) -> Tensor:
        """`x` after `x[index] = minimum(x[index], value)`."""
        return self._updated(value, "min")

    def max(self, value: Any) -> Tensor:
        """`x` after `x[index] = maximum(x[index], value)`."""
        return self._updated(value, "max")

    def get(self) -> Any:
        """`x[index]`, as a copy."""
        from ._index import read

        return read(self._x, self._index)


class Assignable:
    """Assignments to a tensor. They change what it stands for; the operations that it was part of before are not affected."""

    __slots__ = ()

    def __setitem__(self, index: Any, value: Any) -> None:
        from ._update import updated
        from ._views import assign, written_already

        x = cast("Tensor", self)
        if not written_already(x, index, value):
            assign(x, updated(x, index, value))

    @property
    def at(self) -> At:
        """`x.at[i].set(v)`: a new tensor with an update, and `x` as it was; also add, subtract, multiply, divide, min, max, get."""
        return At(cast("Tensor", self))

    def _changed(self, symbol: str, name: str, other: Any) -> Any:
        """`self += other`: changes the tensor itself, and what it is a view of, as NumPy does; a scalar becomes another one."""
        from ._tensor import operator
        from ._update import updated
        from ._views import assign

        x = cast("Tensor", self)
        result = operator(symbol, name, x, other, other)
        if result is NotImplemented or x.ndim == 0:
            return result
        if not result._operand.poisoned:
            assign(x, updated(x, ..., result))
        return x

    def __iadd__(self, other: Any) -> Any:
        return self._changed("+", "add", other)

    def __isub__(self, other: Any) -> Any:
        return self._changed("-", "subtract", other)

    def __imul__(self, other: Any) -> Any:
        return self._changed("*", "multiply", other)

    def __itruediv__(self, other: Any) -> Any:
        return self._changed("/", "divide", other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._changed("//", "floor_divide", other)

    def __imod__(self, other: Any) -> Any:
        return self._changed("%", "remainder", other)

    def __ipow__(self, other: Any) -> Any:
        return self._changed("**", "pow", other)

    def __imatmul__(self, other: Any) -> Any:
        return self._changed("@", "matmul", other)

    def __ilshift__(self, other: Any) -> Any:
        return self._changed("<<", "bitwise_left_shift", other)

    def __irshift__(self, other: Any) -> Any:
        return self._changed(">>", "bitwise_right_shift", other)

    def __iand__(self, other: Any) -> Any:
        return self._changed("&", "bitwise_and", other)

    def __ior__(self, other: Any) -> Any:
        return self._changed("|", "bitwise_or", other)

    def __ixor__(self, other: Any) -> Any:
        return self._changed("^", "bitwise_xor", other)
