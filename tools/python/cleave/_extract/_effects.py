"""`print`, `assert` and `raise` of a program: calls of the host, in program order."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import functions
from .._tensor import Tensor
from ._branches import choose, predicate_of
from ._extraction import Dead, Extraction, current
from ._hosts import NOTHING, Call
from ._logic import not_


class LaterException:
    """An exception whose message has values of the program in it."""

    def __init__(self, kind: type[BaseException], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.kind, self.arguments, self.named = kind, arguments, named


def printed(ext: Extraction, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """`print(arguments)` when the program runs."""
    Call(builtins.print, "print", "", NOTHING).record(ext, arguments, named)


def written(ext: Extraction, path: str, x: Any) -> None:
    """`write_npy(path, x)`. Where runs look for the types of a call, it is a call of the host like others, so that it is made once."""
    if ext.known.searching and not (isinstance(x, Tensor) and x._known()[0] == "bf16"):
        Call(_write_npy, "write_npy", "", NOTHING).record(ext, (path, x), {})
    else:
        ext.writes = True
        functions.write_npy(path, x)


def _write_npy(path: str, x: Any) -> None:
    with open(path, "wb") as file:
        np.lib.format.write_array(file, np.asarray(x), allow_pickle=False)


def raise_(later: Callable[[], Any]) -> NoReturn:
    """`raise later()`."""
    ext = current()
    exception = later()
    if ext is None:
        raise exception
    if isinstance(exception, LaterException):
        kind, arguments, named = exception.kind, exception.arguments, exception.named
    elif isinstance(exception, type) and issubclass(exception, BaseException):
        kind, arguments, named = exception, (), {}
    elif isinstance(exception, BaseException):
        kind, arguments, named = type(exception), exception.args, {}
    else:
        raise TypeError("exceptions must derive from BaseException")

    def raising(*given: Any, **by_name: Any) -> None:
        raise kind(*given, **by_name)

    Call(raising, "raise", "", NOTHING).record(ext, arguments, named)
    raise Dead


def assert_(test: Any, later: Callable[[], Any] | None = None) -> None:
    """`assert test, later()`."""
    ext = current()
    if ext is None:
        assert test, later() if later is not None else ""
        return
    predicate = predicate_of(test, ext)

    def fails() -> None:
        message = () if later is None else (later(),)
        raise_(lambda: LaterException(AssertionError, message, {}))

    if isinstance(predicate, Tensor):
        choose(ext, not_(predicate), fails, None, (), (), probability=0.001)
    elif not predicate:
        fails()
