"""Tracebacks that end at the user's line: frames of this package are left out where an uncaught exception is printed. CLEAVE_TRACEBACK=full
shows them. An exception that is caught keeps all of its frames."""
from __future__ import annotations

import os
import sys
import threading
import types
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def filtered(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without frames of this package; all of it if no other frame is in it."""
    kept: list[types.TracebackType] = []
    at = traceback
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(at)
        at = at.tb_next
    made: types.TracebackType | None = None
    for each in reversed(kept):
        made = types.TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made if made is not None else traceback


def shorten(raised: BaseException | None, seen: frozenset[int] = frozenset()) -> None:
    """Filters the tracebacks of an exception, and of its causes, that come from this package."""
    if raised is None or id(raised) in seen or os.environ.get("CLEAVE_TRACEBACK") == "full":
        return
    raised.__traceback__ = filtered(raised.__traceback__)
    shorten(raised.__cause__, seen | {id(raised)})
    shorten(raised.__context__, seen | {id(raised)})


def install() -> None:
    """Filters what Python, its threads and IPython print of uncaught exceptions; their own functions go on printing."""
    hook, of_threads = sys.excepthook, threading.excepthook

    def printed(kind: type[BaseException], raised: BaseException, traceback: types.TracebackType | None) -> None:
        shorten(raised)
        hook(kind, raised, raised.__traceback__)

    def printed_of_thread(given: Any) -> None:
        shorten(given.exc_value)
        if given.exc_value is not None:
            given = type(given)((given.exc_type, given.exc_value, given.exc_value.__traceback__, given.thread))
        of_threads(given)

    sys.excepthook, threading.excepthook = printed, printed_of_thread
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        _install_in(shell)


def _install_in(shell: Any) -> None:
    from ._errors import Error

    def shown(self: Any, kind: type[BaseException], raised: BaseException, traceback: Any, tb_offset: Any = None) -> None:
        shorten(raised)
        self.showtraceback((kind, raised, raised.__traceback__), tb_offset=tb_offset)

    shell.set_custom_exc((Error,), shown)
