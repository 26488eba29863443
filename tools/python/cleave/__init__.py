"""cleave: places a whole program on host and accelerator by an exact minimum cut, and runs it.

    import cleave

    model = cleave.load("model.yaml")       # or .onnx, .graph; or @cleave.trace("f32[4, 2]") above a Python function
    print(model.explain())                  # what would run where, what it costs, and why
    y = model.run(x=x)["y"]                 # NumPy arrays in, NumPy arrays out

Functions of the vocabulary (`cleave.matmul`, `cleave.relu`, …) have the names of the Python array API and are called inside of traced
functions; so are NumPy's further names (`cleave.median`, `cleave.linalg.norm`), which record them. docs/guide/python.md is the complete guide.
"""
from __future__ import annotations

from . import fft as _fft, _elementary, _namespace, _shapes, _sources, _statistics, _tracebacks, functions, linalg, optim, random
from ._cleave import Diagnostic, Location, Note
from ._cleave import version as __version__
from ._control import Batches, Until, batches, cond, for_loop, until, while_loop
from ._errors import Cancelled, Error, FileError, MachineError, PlacementWarning, UnknownNameError, UsageError, UserError
from ._extract import HostMark, ProgramModel, host, program, unrolled
from ._gradient import custom_gradient, gradient, stop_gradient, value_and_gradient
from ._host import host_call, host_function
from ._load import load, parse
from ._log import log
from ._model import Model
from ._network import Network
from ._plan import Diagnostics, Plan
from ._progress import Progress
from ._run import Results, Run
from ._tensor import Tensor
from .functions import *  # noqa: F403
from ._elementary import *  # type: ignore[assignment]  # noqa: F403
from ._namespace import *  # noqa: F403
from ._namespace import __array_namespace_info__, bool as bool  # noqa: A004
from ._shapes import *  # type: ignore[assignment]  # noqa: F403
from ._statistics import *  # type: ignore[assignment]  # noqa: F403
from ._trace import TracedModel, allow, constant, named, parameter, place, recompute, scope, trace
from ._types import Type

_tracebacks.install()
fft = _fft  # type: ignore[assignment]  # in place of the function of the vocabulary, which this module also is

__all__ = [
    "Batches", "Cancelled", "Diagnostic", "Diagnostics", "Error", "FileError", "HostMark", "Location", "MachineError", "Model", "Network", "Note",
    "PlacementWarning", "Plan", "ProgramModel", "Progress", "Results",
    "Run", "Tensor", "TracedModel", "Type", "UnknownNameError", "Until", "UsageError", "UserError", "__array_namespace_info__", "__version__", "allow",
    "batches", "cond", "constant", "custom_gradient", "fft",
    "for_loop", "functions", "gradient", "host", "host_call", "host_function", "linalg", "load", "log", "named", "optim",
    "parameter", "parse", "place", "program", "random", "recompute", "scope", "stop_gradient", "trace",
    "unrolled", "until", "value_and_gradient", "while_loop",
]
__all__ += [name for module in (functions, _elementary, _namespace, _shapes, _statistics) for name in module.__all__ if name not in __all__]
