"""Element types and tensor types as users write them."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from ._cleave import dtypes

#: An argument in place of a tensor: a Tensor, a number, or an array, which becomes part of the program.
ArrayLike = Any
#: "f32", numpy.float32, numpy.dtype("float32"), …
DTypeLike = Any
#: "f32[4, 2]", ("f32", (4, 2)), or something with `dtype` and `shape`.
TypeLike = Union[str, tuple[Any, Sequence[int]], Any]

_NUMPY = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int16": "i16", "int32": "i32",
          "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool"}
_NAMES = frozenset(dtypes())
_TO_NUMPY = {own: numpy for numpy, own in _NUMPY.items()}
_TYPE = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*")


#: Names that NumPy reads in another way (it counts bytes), and what it makes of them.
_READ_DIFFERENTLY = {"i8": "int64", "u8": "uint64", "f16": "float128"}


def dtype_name(dtype: DTypeLike) -> str:
    """ "f32" for "f32", numpy.float32, "float32", torch.float32, … A name that NumPy takes for another type is a ValueError."""
    if isinstance(dtype, str) and dtype in _NAMES:
        if dtype in _READ_DIFFERENTLY:
            own = _TO_NUMPY[dtype]
            raise ValueError(f"cleave: the element type \"{dtype}\" is {own} in models and {_READ_DIFFERENTLY[dtype]} in NumPy, which counts "
                             f"bytes; write \"{own}\" or numpy.{own}")
        return dtype
    text = str(dtype)
    if text.startswith("torch."):
        text = text[len("torch."):]
    if text not in _NUMPY:
        try:
            text = np.dtype(dtype).name
        except TypeError:
            pass
    if text not in _NUMPY:
        raise TypeError(f"cleave: no element type: {dtype!r}; there are {', '.join(sorted(_NAMES))}")
    return _NUMPY[text]


def element_type(name: str) -> Any:
    """The element type as programs see it: NumPy's dtype, that of ml_dtypes for bf16, or the name "bf16" where that is not installed."""
    found = numpy_dtype(name)
    return found if name != "bf16" or found != np.dtype(np.uint16) else name


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype for an element type; bits of bf16 are numpy.uint16 if ml_dtypes is not installed."""
    if name == "bf16":
        from ._arrays import BFLOAT16

        return BFLOAT16 if BFLOAT16 is not None else np.dtype(np.uint16)
    return np.dtype(_TO_NUMPY[name])


class Type:
    """The type of a tensor: an element type and sizes, of which some may be open (a name, or None)."""

    __slots__ = ("dtype", "shape")
    dtype: str
    shape: tuple[int | str | None, ...]

    def __init__(self, dtype: DTypeLike, shape: Sequence[int | str | None] = ()) -> None:
        self.dtype = dtype if isinstance(dtype, str) and dtype in _NAMES else dtype_name(dtype)
        self.shape = tuple(shape)

    @staticmethod
    def of(like: TypeLike) -> Type:
        """From any way to write a type."""
        if isinstance(like, Type):
            return like
        if isinstance(like, str):
            found = _TYPE.fullmatch(like)
            if not found or found.group(1) not in _NAMES:
                raise ValueError(f"cleave: `{like}` is no tensor type; write for example `f32[4, 2]`, `f32[batch, 2]` or `i32[]`")
            words = [word.strip() for word in found.group(2).split(",")] if found.group(2).strip() else []
            return Type(found.group(1), [_size(word, like) for word in words])
        if isinstance(like, tuple) and len(like) == 2 and not hasattr(like, "dtype"):
            return Type(dtype_name(like[0]), like[1])
        if hasattr(like, "dtype") and hasattr(like, "shape"):
            return Type(like.dtype, tuple(like.shape))
        raise TypeError(f"cleave: {like!r} is no tensor type; write for example \"f32[4, 2]\"")

    @property
    def open(self) -> bool:
        """Whether a size is left open."""
        return not all(isinstance(size, int) for size in self.shape)

    def bound(self, sizes: dict[str, int]) -> Type:
        """The type with the sizes of these names put in."""
        return Type(self.dtype, [sizes.get(size, size) if isinstance(size, str) else size for size in self.shape])

    def match(self, given: Type, sizes: dict[str, int]) -> bool:
        """Whether `given` fits; adds the sizes of named extents to `sizes`."""
        if len(given.shape) != len(self.shape) or given.dtype != self.dtype:
            return False
        for own, other in zip(self.shape, given.shape):
            if isinstance(own, str):
                own = sizes.setdefault(own, int(other))  # type: ignore[arg-type]
            if own is not None and own != other:
                return False
        return True

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if size is None else str(size) for size in self.shape)}]"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (Type, str)) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def _size(word: str, whole: str) -> int | str | None:
    if word == "?":
        return None
    if word.isdigit():
        return int(word)
    if word.isidentifier():
        return word
    raise ValueError(f"cleave: `{whole}` is no tensor type: a size is a number, a name or `?`")
