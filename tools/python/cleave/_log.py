"""`log`: the logarithm, and the numbers that a program logs."""
from __future__ import annotations

from typing import Any, overload

from . import functions
from ._tensor import Tensor
from ._types import ArrayLike


@overload
def log(x: ArrayLike, /) -> Tensor: ...


@overload
def log(label: str, x: ArrayLike) -> None: ...


def log(label: Any = None, x: Any = None) -> Any:
    """`log(x)`: the natural logarithm. `log("loss", x)`: logs a number, a scalar of any numeric type, each time that the program reaches
    it; `Model.run(log=…)` receives it. It never waits: an accelerator goes on, and the host gets the number when it comes."""
    if isinstance(label, str):
        return functions.log_metric(label, x)
    if label is not None and x is not None:
        raise TypeError("cleave: log(x), or log(\"label\", x)")
    return functions.log(x if label is None else label)
