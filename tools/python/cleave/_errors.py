"""Exceptions. `str()` of one is the text that the command line prints: location, source line, caret, notes."""
from __future__ import annotations

from ._cleave import Diagnostic, Location


class Error(Exception):
    """A request that cleave rejects, or a failure while a program runs."""

    #: All diagnostics, including the errors; `str()` of each is its text.
    diagnostics: list[Diagnostic]
    #: The first error in one line, without its location.
    message: str
    #: Where the first error is, or None.
    location: Location | None

    def __init__(self, text: str, message: str = "", location: Location | None = None, diagnostics: list[Diagnostic] | None = None) -> None:
        super().__init__(text)
        self.message = message or text
        self.location = location if location is not None and location.line is not None else None
        self.diagnostics = diagnostics if diagnostics is not None else []

    @property
    def file(self) -> str | None:
        """The file that the first error is in."""
        return self.location.file if self.location else None

    @property
    def line(self) -> int | None:
        """Its line, counted from 1."""
        return self.location.line if self.location else None

    @property
    def column(self) -> int | None:
        """Its column in bytes, counted from 1."""
        return self.location.column if self.location else None

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.message)  # locations and diagnostics are not pickled


class UserError(Error):
    """A mistake in the program or its data (exit code 1 of the command line)."""


class FileError(UserError):
    """A file that is missing, truncated or malformed."""


class UnknownNameError(UserError):
    """A name that does not exist."""


class Cancelled(UserError):
    """The run was ended by `Run.cancel()`."""


class UsageError(Error):
    """A wrong option or argument (exit code 2)."""


class MachineError(Error):
    """Out of memory, a device lost, a deadline (exit code 3)."""


class PlacementWarning(UserWarning):
    """A warning about a plan, such as a round trip: shown when a program is compiled, at the line of the program."""


_KINDS = {"user": UserError, "file": FileError, "unknown": UnknownNameError, "usage": UsageError, "machine": MachineError}


def make(kind: str, text: str, message: str, location: Location, diagnostics: list[Diagnostic]) -> Error:
    """The exception for a kind of error; called by the extension module."""
    made = Cancelled if kind == "user" and message == "cancelled" else _KINDS[kind]
    return made(text, message, location, diagnostics)
