"""Converts values that cleave cannot use without conversion."""
from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ._cleave import range_text

try:
    import ml_dtypes

    #: NumPy's type for bf16; None without the package ml_dtypes: bits of bf16 are then passed as numpy.uint16.
    BFLOAT16: Any = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

_CPU = (1, 3)  # DLPack's numbers for host memory: ordinary, page-locked
_BY_NAME = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
            "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


def is_number_list(value: Any) -> bool:
    """Whether a list or tuple is one of numbers, or of such lists: an array as NumPy would make it. Others are nests."""
    kinds = set(map(type, value))
    if any(issubclass(kind, (list, tuple)) for kind in kinds):
        return all(isinstance(each, (list, tuple)) and is_number_list(each) for each in value)
    return all(kind in _NUMBERS or issubclass(kind, np.generic) for kind in kinds) or all(
        isinstance(each, (int, float, np.generic)) or isinstance(each, np.ndarray) and each.ndim == 0 for each in value)


_NUMBERS = frozenset((bool, int, float))


def _check_list(value: Any, what: str) -> None:
    """Refuses lists that are no arrays: of arrays, which NumPy would stack, ragged ones, and those of other objects."""
    called = f"{what}: " if what else ""
    if not is_number_list(value):
        inner = _odd(value)
        if hasattr(inner, "shape") and hasattr(inner, "dtype"):
            raise TypeError(f"cleave: {called}a list of arrays is not stacked by itself; write numpy.stack(list), cleave.stack(list) in a "
                            "traced function, or declare a type for each of them: [\"f32[4]\", \"f32[4]\"]")
        if isinstance(inner, (list, tuple)):
            raise TypeError(f"cleave: {called}a ragged list, in which numbers stand beside lists, is no array")
        raise TypeError(f"cleave: {called}a list that holds {'None' if inner is None else 'a ' + type(inner).__name__} is no array of numbers")
    _shape_of_list(value, called)


def _odd(value: Any) -> Any:
    """The element of a list for which it is no array of numbers."""
    lists = [each for each in value if isinstance(each, (list, tuple))]
    for each in value:
        if isinstance(each, (list, tuple)):
            if not is_number_list(each):
                return _odd(each)
        elif lists or not isinstance(each, (int, float, np.generic)):
            return lists[0] if lists and isinstance(each, (int, float, np.generic)) else each
    return lists[0]


def _shape_of_list(value: Any, called: str, place: str = "") -> tuple[int, ...]:
    if not len(value) or not isinstance(value[0], (list, tuple)):
        return (len(value),)
    first = _shape_of_list(value[0], called, f"{place}[0]")
    for at, each in enumerate(value[1:], 1):
        shape = _shape_of_list(each, called, f"{place}[{at}]")
        if shape != first:
            raise TypeError(f"cleave: {called}a ragged list is no array: element {place}[0] has shape {list(first)} and {place}[{at}] has shape "
                            f"{list(shape)}")
    return (len(value), *first)


def prepare(value: Any, wanted: str | None, what: str = "") -> Any:
    """Called by the extension module for a value without a usable buffer: returns one, or a DLPack capsule, or ("bf16", bits). Errors call
    the value `what`: "input `x`"."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _contiguous(np.asarray(value))
    if hasattr(value, "__dlpack__"):
        device = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else 1
        if int(device) not in _CPU:
            raise TypeError(f"cleave: the {type(value).__name__} is on a device; copy it to the host first")
        if getattr(value, "requires_grad", False):
            value = value.detach()
        if hasattr(value, "is_contiguous") and not value.is_contiguous():
            value = value.contiguous()
        try:
            return value.__dlpack__()
        except BufferError:
            pass
    # Numbers and lists have no element type of their own.
    if wanted and not hasattr(value, "dtype"):
        return _contiguous(adapted(value, wanted, what))
    return _contiguous(numbers(value, what))


def numbers(value: Any, what: str = "") -> np.ndarray[Any, Any]:
    """The array that NumPy makes of `value`; its dtype is object if an integer is too large for every other dtype."""
    if isinstance(value, (list, tuple)):
        _check_list(value, what)
    array = np.asarray(value)
    large = array.dtype == object and array.size and all(isinstance(number, (int, float)) for number in array.flat)
    if not large and array.dtype.kind not in "biuf" and array.dtype != BFLOAT16:
        raise TypeError(f"cleave: {what + ': ' if what else ''}{_kind_of(value, array)} is no array of numbers")
    return array


def _kind_of(value: Any, array: Any) -> str:
    if array.dtype.kind == "c":
        return "an array of complex numbers, which cleave does not have (the real and imaginary parts are two arrays: x.real, x.imag),"
    return f"an array of {array.dtype}" if hasattr(value, "dtype") else f"a {type(value).__name__}"


def adapted(value: Any, wanted: str, what: str = "") -> np.ndarray[Any, Any]:
    """A number or a list of numbers as an array of the element type `wanted`; an error names the first number that this type does not hold.

    Integer types hold whole numbers between their ends, bool 0 and 1; floating types round, but no finite number becomes infinite.
    """
    array = numbers(value, what)
    target = BFLOAT16 if wanted == "bf16" else np.dtype(_BY_NAME[wanted])
    if target is None:
        raise TypeError("cleave: numbers become bf16 where the package ml_dtypes is installed; else give the bits as numpy.uint16")
    if array.dtype.kind not in "iub" and (wanted[0] in "iu" or wanted == "bool" or array.dtype == object):
        return _one_by_one(np.asarray(value, dtype=object), target, wanted, what)
    if wanted[0] in "iu" or wanted == "bool":
        lowest, highest = _ends(target)
        refused = (array < lowest) | (array > highest) if array.dtype.kind != "b" else np.zeros(array.shape, np.bool_)
        result = array.astype(target)
    else:
        with np.errstate(over="ignore"):
            result = array.astype(np.float64).astype(target)
        refused = np.isfinite(array) & ~np.isfinite(result)
    if refused.any():
        place = tuple(int(position) for position in np.argwhere(refused)[0])
        _refuse(array[place], place, wanted, what)
    return result


def _one_by_one(numbers: np.ndarray[Any, Any], target: Any, wanted: str, what: str) -> np.ndarray[Any, Any]:
    """The same for floating numbers that become integers, and for integers that no type of NumPy holds."""
    result = np.zeros(numbers.shape, target)
    floating = target.kind not in "iub"
    for place in np.ndindex(numbers.shape):
        number = numbers[place]
        if not floating and (number != number or number in (float("inf"), -float("inf")) or number != int(number)):
            kind = "has a fraction" if number == number and abs(number) != float("inf") else "is no integer"
            raise TypeError(f"cleave: {_called(number, place, what)} {kind}, and {wanted} is wanted")
        lowest, highest = (-float(np.finfo(np.float64).max), float(np.finfo(np.float64).max)) if floating else _ends(target)
        finite = not floating or number == number and abs(number) != float("inf")
        if finite and not lowest <= number <= highest:
            _refuse(number, place, wanted, what)
        with np.errstate(over="ignore"):
            result[place] = float(number) if floating else int(number)
        if floating and finite and not np.isfinite(result[place]):
            _refuse(number, place, wanted, what)
    return result


def _ends(target: Any) -> tuple[int, int]:
    if target.kind == "b":
        return 0, 1
    info = np.iinfo(target)
    return int(info.min), int(info.max)


def _called(number: Any, place: tuple[int, ...], what: str) -> str:
    plain = number.item() if isinstance(number, np.generic) else number
    long = isinstance(plain, int) and plain.bit_length() > 512
    text = f"an integer of {plain.bit_length()} bits" if long else str(plain)
    at = f" at [{', '.join(map(str, place))}]" if place else ""
    return f"{what + ': ' if what else ''}{text}{at}"


def _refuse(number: Any, place: tuple[int, ...], wanted: str, what: str) -> NoReturn:
    from ._errors import UserError

    raise UserError(f"error: {_called(number, place, what)} does not fit in {wanted}; {range_text(wanted)}")


def _contiguous(array: np.ndarray[Any, Any]) -> Any:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.c_contiguous or not array.flags.aligned:
        array = array.copy(order="C")
    if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        array = array.view(np.uint8) != 0
    if BFLOAT16 is not None and array.dtype == BFLOAT16 or array.dtype.name == "bfloat16":
        return "bf16", array.view(np.uint16)
    if array.dtype.name not in ("bool", "float16", "float32", "float64") and array.dtype.kind not in "iu":
        raise TypeError(f"cleave: arrays of {array.dtype} cannot be used" + ("; give real and imaginary part as two arrays" if array.dtype.kind
                        == "c" else ""))
    return array
