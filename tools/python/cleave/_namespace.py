"""The names of the array API that are no functions of tensors: element types, constants, and what is said of types."""
from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ._arrays import BFLOAT16
from ._tensor import Tensor
from ._types import DTypeLike, dtype_name, element_type

bool = np.bool_  # noqa: A001
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
bfloat16: Any = "bf16" if BFLOAT16 is None else BFLOAT16

e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

_INTEGERS = {"signed integer": ("i8", "i16", "i32", "i64"), "unsigned integer": ("u8", "u16", "u32", "u64")}
_KINDS = {"bool": ("bool",), **_INTEGERS, "integral": (*_INTEGERS["signed integer"], *_INTEGERS["unsigned integer"]),
          "real floating": ("f16", "bf16", "f32", "f64"), "complex floating": ()}
_KINDS["numeric"] = (*_KINDS["integral"], *_KINDS["real floating"])


def isdtype(dtype: DTypeLike, kind: Any) -> builtins.bool:
    """Whether an element type is of a kind ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
    "numeric"), is another one, or one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str) and kind in _KINDS and kind != "bool":
        return dtype_name(dtype) in _KINDS[kind]
    return dtype_name(dtype) == dtype_name(kind)


def _bits(name: str) -> int:
    return 8 if name == "bool" else int(name.lstrip("biuf"))


def _name_of(given: Any) -> str:
    """The element type of a tensor, an array, or a type itself."""
    if isinstance(given, Tensor):
        return given._kind()
    return dtype_name(given if isinstance(given, (type, str)) else getattr(given, "dtype", given))


def _promoted(a: str, b: str) -> str:
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    floating = [each for each in (a, b) if each in _KINDS["real floating"]]
    if len(floating) == 1:
        return floating[0]
    if floating:
        return "f32" if {a, b} == {"f16", "bf16"} else max(a, b, key=_bits)
    if a[0] == b[0]:
        return max(a, b, key=_bits)
    signed, unsigned = (a, b) if a[0] == "i" else (b, a)
    if _bits(unsigned) < _bits(signed):
        return signed
    if unsigned == "u64":
        raise TypeError(f"cleave: no integer type holds both {a} and {b}; convert one of them")
    return f"i{2 * _bits(unsigned)}"


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The element type of an operation on tensors, arrays and element types together. Python's numbers take the type of the others."""
    names: list[str] = []
    weak: list[Any] = []
    for each in arrays_and_dtypes:
        if isinstance(each, (builtins.bool, int, float)) and not isinstance(each, np.generic):
            weak.append(each)
        else:
            names.append(_name_of(each))
    if not names:
        names = ["bool"]
    found = names[0]
    for name in names[1:]:
        found = _promoted(found, name)
    if any(type(number) is float for number in weak) and found not in _KINDS["real floating"]:
        found = "f32"
    elif any(type(number) is int for number in weak) and found == "bool":
        found = "i32"
    return element_type(found)


def can_cast(from_: Any, to: DTypeLike, /) -> builtins.bool:
    """Whether `to` holds every value of the type `from_`, a type or a tensor."""
    given, wanted = _name_of(from_), dtype_name(to)
    try:
        return _promoted(given, wanted) == wanted and not (given in _KINDS["integral"] and wanted in _KINDS["real floating"])
    except TypeError:
        return False


def finfo(dtype: Any, /) -> Any:
    """The limits of a floating type, or of the type of a tensor: NumPy's object, `eps`, `max`, `min`, `smallest_normal`, `bits`."""
    name = _name_of(dtype)
    if name == "bf16":
        import ml_dtypes

        return ml_dtypes.finfo(ml_dtypes.bfloat16)  # type: ignore[no-untyped-call]
    return np.finfo(element_type(name))


def iinfo(dtype: Any, /) -> Any:
    """The limits of an integer type, or of the type of a tensor: NumPy's object, `max`, `min`, `bits`."""
    return np.iinfo(element_type(_name_of(dtype)))


class _Info:
    """What the array API asks of a library."""

    def capabilities(self) -> dict[str, Any]:
        """Sizes do not depend on data: masks, `nonzero` and `unique` have the number of elements as their size."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": None}

    def default_device(self) -> str:
        """The plan decides."""
        return "planned"

    def devices(self) -> list[str]:
        """The plan decides."""
        return ["planned"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Python's numbers are f32 and i32."""
        return {"real floating": element_type("f32"), "integral": element_type("i32"), "indexing": element_type("i32")}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The element types of a kind by name; f16 and bf16, which the standard does not have, are left out."""
        names = {"bool": bool, "int8": int8, "int16": int16, "int32": int32, "int64": int64, "uint8": uint8, "uint16": uint16, "uint32": uint32,
                 "uint64": uint64, "float32": float32, "float64": float64}
        return {name: np.dtype(dtype) for name, dtype in names.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:
    """What the array API asks of a library."""
    return _Info()


__all__ = ["bfloat16", "can_cast", "e", "finfo", "float16", "float32", "float64", "iinfo", "inf", "int16", "int32", "int64", "int8", "isdtype", "nan",
           "newaxis", "pi", "result_type", "uint16", "uint32", "uint64", "uint8"]
