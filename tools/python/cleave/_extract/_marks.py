"""`host` marks a Python function that a program calls on the host, in place, without looking into it."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, overload

from .._types import TypeLike
from ._hosts import NOTHING, UNKNOWN, Call, declared_results


class HostMark:
    """A function marked by `host`. It is called as ever outside of a program."""

    def __init__(self, function: Callable[..., Any], results: Any, name: str | None, pure: bool, seconds: float | None, deadline: float | None,
                 copy: bool) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._results, self._pure, self._seconds, self._deadline, self._copy = results, pure, seconds, deadline, copy
        self._name: str = name or getattr(function, "__name__", None) or type(function).__name__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from .._tensor import traces
        from ._extraction import current

        if traces.stack and current() is None:
            raise TypeError(f"cleave: `{self._name}`, which is marked by `host`, is called by a program of `cleave.program`; in a traced "
                            "function it is `host_function`, with the types of its results")
        ext = current()
        if ext is not None:
            return self.call(UNKNOWN).record(ext, arguments, named)
        return self.__wrapped__(*arguments, **named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = HostMark(types.MethodType(self.__wrapped__, instance), self._results, self._name, self._pure, self._seconds, self._deadline,
                         self._copy)
        return bound

    def call(self, results: Any, function: Callable[..., Any] | None = None) -> Call:
        """How a program calls it; `results` is NOTHING if nothing reads them."""
        wanted = results
        if results is not NOTHING:
            wanted = self._declared()
        return Call(function or self.__wrapped__, self._name, "it is marked by cleave.host", wanted, self._pure, self._seconds, self._deadline,
                    self._copy)

    def _declared(self) -> Any:
        if self._results is not UNKNOWN:
            return declared_results(self._results)
        from ._calls import _annotated

        return _annotated(self.__wrapped__, UNKNOWN)


@overload
def host(function: Callable[..., Any], /) -> HostMark: ...


@overload
def host(results: TypeLike | Sequence[TypeLike] | None = None, *, name: str | None = None, pure: bool = False, seconds: float | None = None,
         deadline: float | None = None, copy: bool = True) -> Callable[[Callable[..., Any]], HostMark]: ...


def host(results: Any = UNKNOWN, *, name: str | None = None, pure: bool = False, seconds: float | None = None, deadline: float | None = None,
         copy: bool = True) -> Any:
    """Marks a Python function that programs call on the host and do not look into: `@cleave.host`, or `@cleave.host("f32[4]", pure=True)`.

    Without `results`, the annotation of the function states the types, or the first real call shows them. Calls keep their order unless
    `pure` says that equal inputs give equal results and nothing else happens. `seconds`, `deadline` and `copy`: as for `host_call`.
    """
    if callable(results) and not isinstance(results, type):
        return HostMark(results, UNKNOWN, name, pure, seconds, deadline, copy)
    return lambda function: HostMark(function, results, name, pure, seconds, deadline, copy)
