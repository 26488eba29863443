"""Calls: `callee` says how the program calls a function. Functions of cleave and NumPy are operations; a Python function of the user's is
extracted in turn; everything else is a host call."""
from __future__ import annotations

import builtins
import functools
import inspect
import math
import os
import site
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functions
from .._gradient import Differentiable
from .._host import HostDeclaration
from .._model import Model
from .._tensor import Tensor
from .._where import END
from ._builtins import BUILTINS, MATH
from ._effects import LaterException, printed, written
from ._extraction import Extraction, current, plain
from ._hosts import NOTHING, UNKNOWN, Call, declared_results
from ._marks import HostMark
from ._numpy import ALLOCATING, allocated, apply
from ._objects import changes_itself, check_local_container, set_attr
from ._texts import called, holds_values

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_ELSEWHERE = tuple(os.path.abspath(path) + os.sep for path in {
    *(sysconfig.get_paths().get(name, "") for name in ("stdlib", "platstdlib", "purelib", "platlib")), *site.getsitepackages(),
    site.getusersitepackages()} if path)
_IN_PLACE = {list: {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
             dict: {"update", "pop", "popitem", "clear", "setdefault"}, set: {"add", "remove", "discard", "pop", "clear", "update"}}
_OF_VALUES = (str, bytes, int, float, complex, bool, list, tuple, dict, set, frozenset, range, type(None), slice)
_UNRANDOM = {"random", "ctypeslib", "testing", "f2py"}
_EFFECTS = {"save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "tofile", "fromregex"}


def f(function: Any) -> Any:
    """The callable that the program calls in place of `function`."""
    ext = current()
    return function if ext is None else callee(function, ext, UNKNOWN)


def do(function: Any) -> Any:
    """The same for a call whose result nothing reads."""
    ext = current()
    return function if ext is None else callee(function, ext, NOTHING)


def callee(function: Any, ext: Extraction, results: Any) -> Any:
    if isinstance(function, types.FunctionType):
        return _of_function(function, ext, results)
    if isinstance(function, types.MethodType):
        return _of_method(function, ext, results)
    if isinstance(function, HostMark):
        return _hosted(ext, function.call(results))
    if isinstance(function, Differentiable):
        return _of_differentiable(function, ext)
    if isinstance(function, Model):
        inner = getattr(function, "__wrapped__", None)
        return function if inner is None else callee(inner, ext, results)
    if function is print:
        return lambda *arguments, **named: printed(ext, arguments, named)
    if isinstance(function, type):
        return _of_class(function, ext)
    try:
        own = BUILTINS.get(function)
    except TypeError:
        own = None
    if own is not None:
        return functools.partial(own, ext)
    if isinstance(function, (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType)):
        return _of_builtin(function, ext, results)
    if isinstance(function, np.ufunc) or _is_numpy(function):
        return _of_numpy(function, ext, results)
    if isinstance(function, functools.partial):
        inner = callee(function.func, ext, results)
        return functools.partial(inner, *function.args, **function.keywords)
    kind: Any = type(function)
    if "__call__" in dir(kind) and isinstance(getattr(kind, "__call__", None), types.FunctionType):
        if _is_own(kind.__call__):
            return function
        return callee(types.MethodType(kind.__call__, function), ext, results)
    return _host(function, ext, results, "it has no Python source")


def _file_of(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return os.path.abspath(code.co_filename) if code is not None and not code.co_filename.startswith("<") else ""


def _is_own(function: Any) -> bool:
    return _file_of(function).startswith(_PACKAGE) or (getattr(function, "__module__", None) or "").split(".")[0] == "cleave"


def _is_elsewhere(function: Any) -> bool:
    return _file_of(function).startswith(_ELSEWHERE)


def _is_numpy(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module.split(".")[0] == "numpy" and not isinstance(function, type)


def _host(function: Any, ext: Extraction, results: Any, why: str) -> Any:
    name = getattr(function, "__name__", None) or type(function).__name__
    owner = getattr(function, "__self__", None)
    if isinstance(function, (types.MethodType, types.BuiltinMethodType)) and not isinstance(owner, types.ModuleType):
        name = f"{type(function.__self__).__name__}.{name}"
    return _hosted(ext, Call(function, name, why, _annotated(function, results)))


def _hosted(ext: Extraction, call: Call) -> Any:
    return lambda *arguments, **named: call.record(ext, arguments, named)


def _annotated(function: Any, results: Any) -> Any:
    """The result types that annotations state, if they do."""
    if results is NOTHING:
        return NOTHING
    given = getattr(function, "__annotations__", {}).get("return", UNKNOWN)
    if isinstance(given, str):
        text = given.strip("'\"")
        given = {"None": None, "float": float, "int": int, "bool": bool}.get(text, text)
    if given is UNKNOWN:
        return UNKNOWN
    try:
        return declared_results(given)
    except (TypeError, ValueError):
        return UNKNOWN


def _of_function(function: types.FunctionType, ext: Extraction, results: Any) -> Any:
    from ._rewrite import is_rewritten, rewrite

    if is_rewritten(function.__code__):
        _check_recursion(function, ext)
        return function
    mark = getattr(function, "_cleave_host", None)
    if mark is not None:
        return _hosted(ext, mark.call(results))
    if _is_own(function):
        return _own(function, ext)
    if _is_numpy(function):
        return _of_numpy(function, ext, results)
    if _is_elsewhere(function):
        return _host(function, ext, results, f"it belongs to the package `{function.__module__.split('.')[0]}`")
    if function.__name__ == "<lambda>" and not _simple_lambda(function):
        ext.fail("unsupported", "a lambda from outside of the program cannot be extracted: write a function with `def`")
    if function.__name__ == "<lambda>":
        return function
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return _reject(function, ext)
    ext.note_outside(function)
    made = rewrite(function).function
    _check_recursion(made, ext)
    return made


def _simple_lambda(function: types.FunctionType) -> bool:
    """Whether a lambda can be called as it is: it has no branches and calls."""
    import dis

    branching = ("POP_JUMP", "JUMP_IF", "CALL", "FOR_ITER", "PRECALL")
    return not any(each.opname.startswith(branching) for each in dis.get_instructions(function))


def _reject(function: Any, ext: Extraction) -> Any:
    from ._rewrite import rewrite

    return rewrite(function)


def _check_recursion(made: types.FunctionType, ext: Extraction) -> None:
    """Fails if the function is being extracted already."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not END:
        if frame.f_code is made.__code__:
            ext.fail("unsupported", f"`{made.__name__}` calls itself; recursion cannot be extracted: write a loop")
        frame = frame.f_back  # type: ignore[assignment]


def _own(function: Any, ext: Extraction) -> Any:
    if function is functions.print:
        return lambda label, value: printed(ext, (_labeled(label, value),), {})
    if function is functions.write_npy:
        return functools.partial(written, ext)
    return function


def _labeled(label: str, value: Any) -> Any:
    from ._texts import Text

    return Text((value,), lambda values: f"{label}: {values[0]}")


def _of_method(method: types.MethodType, ext: Extraction, results: Any) -> Any:
    function, owner = method.__func__, method.__self__
    if isinstance(owner, Tensor):
        return _of_tensor(method, ext)
    if isinstance(function, types.FunctionType) and _is_own(function):
        return method
    if not isinstance(function, types.FunctionType):
        inner = callee(function, ext, results)
        return lambda *arguments, **named: inner(owner, *arguments, **named)
    mark = getattr(function, "_cleave_host", None)
    if mark is not None:
        return _hosted(ext, mark.call(results, method))
    if _is_numpy(function) or isinstance(owner, np.random.Generator):
        return _of_numpy(method, ext, results)
    if _is_elsewhere(function):
        return _host(method, ext, results, f"it belongs to the package `{function.__module__.split('.')[0]}`")
    if not isinstance(owner, type) and not ext.is_local(owner):
        if changes_itself(function, type(owner)):
            return _host(method, ext, results, f"it changes an object from outside of the program, a {type(owner).__name__}")
    inner = _of_function(function, ext, results)
    if isinstance(inner, types.FunctionType):
        return types.MethodType(inner, owner)
    return lambda *arguments, **named: inner(owner, *arguments, **named)


_VIEWS = {"reshape", "ravel", "transpose", "swapaxes", "squeeze", "view", "diagonal"}


def _of_tensor(method: types.MethodType, ext: Extraction) -> Any:
    if method.__name__ in _VIEWS:
        return lambda *arguments, **named: ext.view(method(*arguments, **named), method.__self__)
    if method.__name__ == "copy":
        return lambda *arguments: method()
    return method


def _of_differentiable(function: Differentiable, ext: Extraction) -> Any:
    declared = getattr(function, "declared", None)
    if not isinstance(declared, HostDeclaration) or declared.pure or function.rule is not None or callable(declared.results):
        return function
    inner = function.__wrapped__  # type: ignore[attr-defined]
    return _hosted(ext, Call(inner, declared.name or inner.__name__, "", declared_results(declared.results), declared.pure,
                             declared.seconds, declared.deadline, declared.copy))


def _of_class(made: Any, ext: Extraction) -> Any:
    if issubclass(made, BaseException):
        return lambda *arguments, **named: (LaterException(made, arguments, named) if holds_values((arguments, named))
                                            else made(*arguments, **named))
    own = BUILTINS.get(made)
    if own is not None:
        return functools.partial(own, ext)
    if issubclass(made, np.generic):
        return lambda *arguments: (arguments[0].astype(made) if arguments and isinstance(arguments[0], Tensor) else made(*arguments))
    if made.__module__ == "builtins" or _is_own(made) or issubclass(made, tuple):
        return made
    initialize = made.__init__
    if made.__new__ is not object.__new__ or type(made) is not type or _elsewhere_module(made):
        return lambda *arguments, **named: ext.made(made(*arguments, **named))

    def construct(*arguments: Any, **named: Any) -> Any:
        value = ext.made(object.__new__(made))
        if isinstance(initialize, types.FunctionType):
            if not _file_of(initialize):
                initialize(value, *arguments, **named)  # of a dataclass
            else:
                _of_function(initialize, ext, NOTHING)(value, *arguments, **named)
        elif arguments or named:
            made(*arguments, **named)  # raises Python's error
        return value

    return construct


def _elsewhere_module(made: Any) -> bool:
    file = getattr(sys.modules.get(made.__module__), "__file__", None) or ""
    return not file or os.path.abspath(file).startswith(_ELSEWHERE)


def _of_builtin(function: Any, ext: Extraction, results: Any) -> Any:
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or ""
    if owner is math or module == "math":
        return lambda *arguments: _math(function, arguments)
    if isinstance(owner, types.ModuleType) or owner is None:
        if owner is builtins or module in ("builtins", "_operator", "_functools", "itertools"):
            return _plain_builtin(function, ext, results)
        if module.split(".")[0] == "numpy":
            return _of_numpy(function, ext, results)
        return _host(function, ext, results, "it has no Python source")
    if isinstance(owner, type):
        return function
    if type(owner) in (str, bytes):
        return lambda *arguments, **named: (called(function, arguments, named) if holds_values((arguments, named))
                                            else function(*arguments, **named))
    for kind, names in _IN_PLACE.items():
        if type(owner) is kind and function.__name__ in names:
            check_local_container(owner, ext, function.__name__)
    if isinstance(owner, _OF_VALUES):
        return function
    if isinstance(owner, np.ndarray):
        return _of_array_method(function, owner, ext, results)
    if isinstance(owner, (np.random.RandomState, np.random.Generator)) or module.startswith("numpy.random"):
        return _host(function, ext, results, "random numbers of NumPy are made on the host")
    if type(owner).__module__ in ("builtins", "collections", "itertools", "functools", "re"):
        if type(owner).__name__ not in ("TextIOWrapper", "BufferedWriter", "FileIO"):
            return function
    return _host(function, ext, results, "it has no Python source")


def _plain_builtin(function: Any, ext: Extraction, results: Any) -> Any:
    if function is setattr:
        return lambda base, name, value: set_attr(value, base, name)
    if function.__name__ in ("input", "open", "exec", "eval", "breakpoint", "__import__"):
        return _host(function, ext, results, "it acts outside of the program")

    def plain(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return plain


def _of_array_method(function: Any, owner: Any, ext: Extraction, results: Any) -> Any:
    name = function.__name__
    if name in ("tofile", "dump"):
        return _host(function, ext, results, "it writes a file")
    if name in ("sort", "fill", "put", "itemset", "partition", "resize", "setfield", "setflags", "byteswap") and (name != "byteswap"):
        ext.fail("unsupported", f".{name}() changes an array in place, which cannot be extracted: write x[...] = v, or take numpy.{name}")

    def method(*arguments: Any, **named: Any) -> Any:
        if holds_values((arguments, named)):
            from ._extraction import tensor_of

            return getattr(tensor_of(owner, ext), name)(*arguments, **named)
        value = function(*arguments, **named)
        return allocated(ext, name, value) if name == "copy" else value

    return method


def _math(function: Any, arguments: tuple[Any, ...]) -> Any:
    if not any(isinstance(each, Tensor) for each in arguments):
        return function(*arguments)
    for each in arguments:
        if isinstance(each, Tensor) and each.size != 1:
            raise TypeError(f"math.{function.__name__}() takes a scalar, not {each.type}; numpy.{function.__name__}() takes arrays")
    made: Callable[..., Any] | None = MATH.get(function.__name__)
    if made is None:
        raise TypeError(f"cleave: math.{function.__name__} cannot be extracted")
    return made(*arguments)


def _of_numpy(function: Any, ext: Extraction, results: Any) -> Any:
    name = getattr(function, "__name__", "")
    module = (getattr(function, "__module__", None) or "numpy").split(".")
    drawn = isinstance(getattr(function, "__self__", None), (np.random.Generator, np.random.RandomState))
    if len(module) > 1 and module[1] in _UNRANDOM or drawn:
        return _host(function, ext, results, "random numbers of NumPy are made on the host")
    if name in _EFFECTS:
        return _host(function, ext, results, "it reads or writes a file")

    def applied(*arguments: Any, **named: Any) -> Any:
        if not holds_values((arguments, named)):
            value = function(*arguments, **named)
            if not any(isinstance(each, (np.ndarray, np.generic)) for each in arguments):
                value = plain(value)
            return allocated(ext, name, value) if name in ALLOCATING else value
        return apply(ext, function, arguments, named, lambda why: _host(function, ext, results, why)(*arguments, **named))

    return applied
