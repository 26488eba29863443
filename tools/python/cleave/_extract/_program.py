"""`program`: an ordinary Python function becomes a program."""
from __future__ import annotations

import collections
import inspect
import threading
import traceback
import types
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from .. import _cleave
from .._calls import Form
from .._errors import Error
from .._plan import Plan
from .._run import Options
from .._tensor import Tensor, traces
from .._trace import TracedModel
from .._types import Type, TypeLike
from .._where import run_traced
from ._extraction import Again, Dead, Extraction, Known, Mistake, Probe, extractions
from ._marks import HostMark
from ._remarks import ProgramPlan
from ._rewrite import NotExtracted, Rewritten, is_rewritten, rewrite

_MOST_TRIES = 200
_OWN = ("name", "outputs", "limits", "dims", "static")


class _Inputs(threading.local):
    """The inputs of the run for which a program is made now."""

    def __init__(self) -> None:
        self.given: dict[str, Any] | None = None


_inputs = _Inputs()


class _Logged:
    """A function that receives logged numbers, once each: a run that begins again logs the same numbers first."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._received: list[Any] = []  # step by step, the labels that the function has received
        self._count = 0

    def again(self) -> None:
        """A new run begins."""
        self._count = 0

    def __call__(self, step: Any, values: dict[str, Any]) -> None:
        if self._count < len(self._received):  # the step in which a run ended may have fewer numbers
            values = {label: value for label, value in values.items() if label not in self._received[self._count]}
            self._received[self._count] |= values.keys()
        else:
            self._received.append(set(values))
        self._count += 1
        if values:
            self._function(step, values)


class ProgramModel(TracedModel):
    """An extracted Python function: a Model that is called like the function, with arrays."""

    _rewritten: Rewritten | None = None
    _begun: Known | None = None  # what is known of the program that is made next

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._hosts: dict[int, list[tuple[str, str, _cleave.Location]]] = {}  # by id() of a program
        self._open: dict[int, Known] = {}  # by id() of a program: those with calls of unknown types, which no run has reached
        super().__init__(*arguments, **named)

    def python(self, *arguments: Any, **named: Any) -> Any:
        """Calls the undecorated function, with NumPy arrays: what the program computes, as Python computes it. Arrays are copied, since
        arguments of a program are values."""
        return self._function(*_copied(arguments), **_copied(named))

    @property
    def extracted(self) -> str:
        """The rewritten source: what is run once to record the program."""
        return self._rewrite().text

    @property
    def host_calls(self) -> list[tuple[str, str, _cleave.Location]]:
        """The calls that were found to be the host's, for the sizes that were used last: the function, why, and where."""
        return list(self._hosts.get(id(self._latest), []))

    def explain(self, inputs: Any = None, /, **options: Any) -> Plan:
        """The plan, as of every Model; its report lists the host calls that were found, with the reason of each."""
        plan = super().explain(inputs, **options)
        return ProgramPlan(plan._raw, self.host_calls)

    def _rewrite(self) -> Rewritten:
        if self._rewritten is None:
            function = inspect.unwrap(self._function)
            plain = function.__func__ if isinstance(function, types.MethodType) else function
            if not isinstance(plain, types.FunctionType):
                raise TypeError(f"cleave: program() takes a Python function, not {function!r}")
            try:
                self._rewritten = rewrite(plain)
            except NotExtracted as mistakes:
                self._refuse_source(mistakes)
        assert self._rewritten is not None
        return self._rewritten

    def _refuse_source(self, found: NotExtracted) -> None:
        owner = _cleave.Recorder(self.name)
        for message, place in found.mistakes:
            owner.error("unsupported", message, place)
        owner.finish(None, None, None, None, self._place).raise_errors()

    def _run(self, inputs: Any, out: Any, options: Options, more: Any = None) -> Any:
        before, _inputs.given = _inputs.given, dict(inputs)
        logged = None
        if self._open and callable((more or {}).get("log")):
            logged = _Logged(more["log"])
            more = {**more, "log": logged}
        try:
            while True:
                for known in self._open.values():
                    known.made, known.replayed = None, []
                try:
                    results = super()._run(inputs, out, options, more)
                except Error:
                    if not self._made_again():
                        raise
                    if logged is not None:
                        logged.again()
                    continue
                finally:
                    for known in self._open.values():
                        known.replayed = None
                if self._open:
                    self._usual = None  # each run may be the first one that reaches an open call
                return results
        finally:
            _inputs.given = before

    def _made_again(self) -> bool:
        """Whether a run came to a call of unknown types, which it has made: the program is made again then."""
        for key, known in list(self._open.items()):
            if known.made is not None:
                known.unreached.discard(known.made)
                known.take_calls()
                del self._open[key]
                self._programs = {each: program for each, program in self._programs.items() if id(program) != key}
                self._usual = None
                self._begun = known
                return True
        return False

    def _record(self, types_: dict[str, Type], form: Form) -> tuple[_cleave.Program, Any]:
        function: Any = self._rewrite().function
        if isinstance(self._function, types.MethodType):
            function = types.MethodType(function, self._function.__self__)
        known, self._begun = self._begun or Known(), None
        for _ in range(_MOST_TRIES):
            attempt = _Attempt(self, function, known, types_, form)
            try:
                program, result = attempt.record()
                self._hosts[id(program)] = attempt.ext.hosts
                if known.unreached:
                    self._open[id(program)] = known
                    known.replayed = []
                return program, result
            except Again:
                continue
            except Probe as probe:
                known.searching = True
                if not attempt.ext.writes:
                    attempt.probe(probe)
        raise Error(f"error: `{self.name}` cannot be extracted: no fixed types of its loops and branches were found")

    def __repr__(self) -> str:
        return super().__repr__().replace("<traced", "<program", 1)


class _Attempt:
    """One recording of a program."""

    def __init__(self, model: ProgramModel, function: Any, known: Known, types_: dict[str, Type], form: Form) -> None:
        self.form = form
        self.model, self.function, self.known = model, function, known
        self.owner = _cleave.Recorder(model.name)
        self.inputs = {name: Tensor(self.owner.input(name, str(type_), model._place), self.owner) for name, type_ in types_.items()}
        wide = any(type_.dtype == "f64" for type_ in types_.values())
        self.ext = Extraction(self.owner, known, "f64" if wide else "f32")
        self.ext.scalars = list(self.inputs.values())

    def record(self) -> tuple[_cleave.Program, Any]:
        model, owner, ext = self.model, self.owner, self.ext
        arguments, named = self._arguments()
        for argument in [*arguments, *named.values()]:
            _note_local(argument, ext)
        ext.note_outside(model._function)
        traces.stack.append(owner)
        extractions.stack.append(ext)
        result = None
        try:
            try:
                result = run_traced(self.function, arguments, named)
                try:
                    model._return(owner, result)
                except (TypeError, ValueError) as wrong:
                    owner.error("type", str(wrong).removeprefix("cleave: "), ext.last_return or model._place)
                    raise Mistake(str(wrong)) from None
            except Dead:
                result = None
        except (Again, Probe):
            raise
        except NotExtracted as found:
            for message, place in found.mistakes:
                owner.error("unsupported", message, place)
            self._raise(found)
        except Exception as raised:
            self._raise(raised)
        finally:
            traces.stack.pop()
            extractions.stack.pop()
        program = self._finish()
        program.raise_errors()
        return program, result

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        arguments, named = self.model._signature.spread(self.form.filled(self.inputs))
        return list(arguments), dict(named)

    def _finish(self) -> _cleave.Program:
        limits = self.model._limits
        return self.owner.finish(limits.get("round_trips"), limits.get("transfers"), limits.get("bytes_per_run"),
                                 limits.get("prediction_error"), self.model._place)

    def _raise(self, raised: BaseException) -> None:
        """Raises the error of the program for what went wrong while it was recorded."""
        if isinstance(raised, Error):
            raise raised
        if not self.owner.has_errors:
            words = str(raised)
            if words.startswith("cleave: "):
                words = words[len("cleave: "):]
            else:
                words = f"{type(raised).__name__}: {words}" if words else type(raised).__name__
            self.owner.error("value", words, _place_of(raised, self.model._place))
        try:
            self._finish().raise_errors()
        except Error as error:
            raise error from (None if isinstance(raised, (Mistake, NotExtracted)) else raised)

    def probe(self, found: Probe) -> None:
        """Runs what was recorded up to a call of unknown types, with the inputs of this run, and so makes the call."""
        given = _inputs.given
        if given is None:
            owner = _cleave.Recorder(self.model.name)
            owner.error("unsupported", f"the types of the results of `{found.name}` are not known: declare them, @cleave.host(\"f32[4]\"), or call "
                        "the program once, which makes one real call", found.place)
            owner.finish(None, None, None, None, self.model._place).raise_errors()
        program = self._finish()
        program.raise_errors()
        executable = _cleave.compile(program, {"device": "none"}, _cleave.SharedConstants())
        known = self.known
        known.replayed = []
        known.made = None
        try:
            executable.run({name: value for name, value in given.items() if name in self.inputs}, None, None)  # type: ignore[union-attr]
        except Error as error:
            if known.made is None and "the call was not reached" not in str(error):
                raise
        if known.made is None:
            known.unreached.add(found.path)
        known.take_calls()


def _note_local(value: Any, ext: Extraction) -> None:
    import dataclasses

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        ext.made(value)
        for field in dataclasses.fields(value):
            _note_local(getattr(value, field.name), ext)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _note_local(each, ext)
    elif isinstance(value, dict):
        for each in value.values():
            _note_local(each, ext)


def _place_of(raised: BaseException, otherwise: Any) -> Any:
    """The line of the user's program at which an exception was raised."""
    found = None
    for frame, line in traceback.walk_tb(raised.__traceback__):
        if is_rewritten(frame.f_code):
            found = (frame.f_code, frame_position(raised, frame, line))
    return otherwise if found is None else _cleave.Location(found[0].co_filename, *found[1])


def frame_position(raised: BaseException, frame: Any, line: int) -> tuple[int, int]:
    """Line and column of a frame of a traceback."""
    tb = raised.__traceback__
    while tb is not None:
        if tb.tb_frame is frame and hasattr(frame.f_code, "co_positions"):
            positions = list(frame.f_code.co_positions())
            at = tb.tb_lasti // 2
            if at < len(positions) and positions[at][0] is not None:
                first, _, column, _ = positions[at]
                return first or line, (column or 0) + 1
        tb = tb.tb_next
    return line, 0


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_copied(each) for each in value])
    if type(value) in (list, tuple):
        return type(value)(_copied(each) for each in value)
    if type(value) is dict:
        return {key: _copied(each) for key, each in value.items()}
    return value


@overload
def program(function: Callable[..., Any], /, *types_: TypeLike | Any, name: str | None = None, outputs: Sequence[str] | None = None,
            limits: dict[str, Any] | None = None, dims: dict[str, int] | None = None, **options: Any) -> ProgramModel: ...


@overload
def program(*types_: str | tuple[Any, Any] | dict[str, Any] | Type, name: str | None = None, outputs: Sequence[str] | None = None,
            limits: dict[str, Any] | None = None, dims: dict[str, int] | None = None,
            **options: Any) -> Callable[[Callable[..., Any]], ProgramModel]: ...


def program(*arguments: Any, **named: Any) -> Any:
    """Makes a program of an ordinary Python function: its loops and branches become those of the program.

        @cleave.program
        def power(a, v):
            change = 1.0
            while change > 1e-6:
                w = a @ v
                w = w / np.sqrt((w * w).sum())
                change = abs(w - v).max()
                v = w
            return v

        power(a, v)                # runs, with arrays
        power.python(a, v)         # the function itself, on NumPy arrays

    `for i in range(…)`, a loop over a tensor and every `while` are loops of the program; `if`, `and`, `or` on values of the program are
    branches; `print`, `assert` and `raise` happen when the program runs. NumPy's and cleave's functions are operations; a Python function
    that is called is extracted, too; every other function is called on the host, in place. Takes the arguments of `trace`. What cannot be
    extracted is one cleave.Error at its line, before anything runs.
    """
    own = {key: named.pop(key, None) for key in _OWN}
    options = Options.of(named)

    def made(function: Any, types_: Sequence[Any]) -> ProgramModel:
        if isinstance(function, HostMark):
            raise TypeError("cleave: program() takes a function that is extracted, not one marked by `host`")
        return ProgramModel(function, types=types_, options=options, **own)

    if arguments and callable(arguments[0]) and not isinstance(arguments[0], type) and not hasattr(arguments[0], "dtype"):
        return made(arguments[0], arguments[1:])
    return lambda function: made(function, arguments)

