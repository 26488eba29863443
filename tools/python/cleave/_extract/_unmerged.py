"""What a variable holds after a branch whose arms leave values of different types: it may not be read."""
from __future__ import annotations

from typing import Any

from ._extraction import current


class Unmerged:
    """Fails where it is used."""

    def __init__(self, name: str, message: str) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_message", message)

    def _fail(self, *_: Any, **__: Any) -> Any:
        ext = current()
        message: str = object.__getattribute__(self, "_message")
        if ext is None:
            raise TypeError(f"cleave: {message}")
        ext.fail("type", message)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array") or name in ("dtype", "shape", "__dlpack__"):
            self._fail()
        return self._fail()


for _name in ("bool", "len", "iter", "getitem", "call", "str", "repr", "format", "int", "float", "index", "hash", "contains", "neg", "pos", "abs", "invert",
              "eq", "ne", "lt", "le", "gt", "ge", *(prefix + operator for prefix in ("", "r") for operator in (
                  "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"))):
    setattr(Unmerged, f"__{_name}__", Unmerged._fail)
