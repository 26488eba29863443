"""Makes arrays ready for cleave, where they cannot be used as they lie."""
from __future__ import annotations

from typing import Any

import numpy as np

try:
    import ml_dtypes

    #: What bf16 is in NumPy; None without the package ml_dtypes: its bits then come and go as numpy.uint16.
    BFLOAT16: Any = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

_CPU = (1, 3)  # DLPack's numbers for host memory: ordinary, page-locked
_BY_NAME = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
            "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


def prepare(value: Any, wanted: str | None) -> Any:
    """Called by the extension module for what has no buffer that it can use: gives one, or a DLPack capsule, or ("bf16", bits)."""
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
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "USV" and array.dtype != BFLOAT16:
        raise TypeError(f"cleave: {type(value).__name__} is no array of numbers")
    # Numbers and lists have no element type of their own.
    if wanted and not hasattr(value, "dtype"):
        array = _adapted(array, wanted)
    return _contiguous(array)


def _adapted(array: np.ndarray[Any, Any], wanted: str) -> np.ndarray[Any, Any]:
    target = BFLOAT16 if wanted == "bf16" else np.dtype(_BY_NAME[wanted])
    if target is None:
        raise TypeError("cleave: numbers become bf16 where the package ml_dtypes is installed; else give the bits as numpy.uint16")
    floating = array.dtype.kind == "f"
    if floating and wanted[0] in "iub" and array.size and not np.array_equal(array, np.trunc(array)):
        raise TypeError(f"cleave: numbers with a fraction are given where {wanted} is wanted")
    return array.astype(target)


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
        raise TypeError(f"cleave: arrays of {array.dtype} cannot be used")
    return array
