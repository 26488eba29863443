"""The package as an eager library, for the test suite of the Python array API: each call of a function, operator or method is traced, compiled
and run for its arrays. Arrays here hold numbers; what they do is what cleave's tensors do.

    ARRAY_API_TESTS_MODULE=eager PYTHONPATH=tests/python/array_api pytest array_api_tests
"""
import builtins
import functools
import inspect
import types
import warnings

import hypothesis
import numpy as np

import cleave
from cleave._nest import flatten, transform

__name__ = "cleave"
__version__ = cleave.__version__
__array_api_version__ = "2024.12"

warnings.simplefilter("ignore", cleave.PlacementWarning)
# Failures are listed and not made smaller, which takes the most of the time.
hypothesis.settings.register_profile("unshrunk", phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate])
hypothesis.settings.load_profile("unshrunk")


class Array:
    """An array with numbers."""

    __hash__ = None

    def __init__(self, numbers):
        self._numbers = np.asarray(numbers)

    dtype = property(lambda self: self._numbers.dtype)
    shape = property(lambda self: self._numbers.shape)
    ndim = property(lambda self: self._numbers.ndim)
    size = property(lambda self: self._numbers.size)
    device = property(lambda self: "planned")

    def __array_namespace__(self, *, api_version=None):
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"no version {api_version}")
        import eager

        return eager

    def __bool__(self):
        return builtins.bool(self._numbers)

    def __int__(self):
        return int(self._numbers)

    def __float__(self):
        return float(self._numbers)

    def __complex__(self):
        return complex(self._numbers)

    def __index__(self):
        return self._numbers.__index__()

    def __len__(self):
        return len(self._numbers)

    def __repr__(self):
        return f"Array({self._numbers!r})"

    def __dlpack__(self, **named):
        return self._numbers.__dlpack__(**named)

    def __dlpack_device__(self):
        return self._numbers.__dlpack_device__()

    def to_device(self, device, /, *, stream=None):
        if device != "planned":
            raise ValueError(f"no device {device}")
        return self

    def __getitem__(self, key, /):
        return run(lambda x, key: x[key], (self, key), {})

    def __setitem__(self, key, value, /):
        def changed(x, key, value):
            x[key] = value
            return x

        self._numbers = run(changed, (self, key, value), {})._numbers

    @property
    def T(self):
        return run(lambda x: x.T, (self,), {})

    @property
    def mT(self):
        return run(lambda x: x.mT, (self,), {})


def run(function, arguments, named):
    """Calls a function of tensors with arrays."""
    arrays = []

    def replaced(value):
        if isinstance(value, Array):
            arrays.append(value._numbers)
            return _Input(len(arrays) - 1)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(replaced(each) for each in value)
        return value

    given, given_named = replaced(tuple(arguments)), {key: replaced(value) for key, value in named.items()}
    plain = []

    def traced(tensors):
        def filled(value):
            if isinstance(value, _Input):
                return tensors[value.number]
            if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
                return type(value)(filled(each) for each in value)
            return value

        result = function(*filled(given), **{key: filled(value) for key, value in given_named.items()})
        if builtins.all(not isinstance(leaf, cleave.Tensor) for _, leaf in flatten(result)):
            plain.append(result)
            return ()
        return result

    try:
        result = cleave.trace(traced, [(array.dtype, array.shape) for array in arrays], device="none")(arrays)
    except cleave.Error as error:
        raise (IndexError if "index" in error.message and "outside" in error.message else ValueError)(str(error)) from error
    return plain[0] if plain else transform(result, Array)


class _Input:
    def __init__(self, number):
        self.number = number


def _method(name):
    def method(self, *others):
        if not builtins.all(isinstance(other, (Array, builtins.bool, int, float)) for other in others):
            return NotImplemented
        return run(lambda x, *rest: getattr(x, name)(*rest), (self, *others), {})

    method.__name__ = name
    return method


def _in_place(name):
    def method(self, other, /):
        def changed(x, other):
            x = x.copy()
            result = getattr(x, name)(other)
            return result

        found = run(changed, (self, other), {})
        if found.dtype != self.dtype or found.shape != self.shape:
            raise TypeError(f"{name} would change the type")
        self._numbers = found._numbers
        return self

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
    setattr(Array, f"__{_name}__", _method(f"__{_name}__"))
    setattr(Array, f"__r{_name}__", _method(f"__r{_name}__"))
    setattr(Array, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"):
    setattr(Array, f"__{_name}__", _method(f"__{_name}__"))


def eager(function):
    """A function of tensors as one of arrays."""
    @functools.wraps(function)
    def called(*arguments, **named):
        return run(function, arguments, named)

    return called


def on_types(function):
    """A function of element types, which tells those of arrays."""
    @functools.wraps(function)
    def called(*arguments, **named):
        return function(*[each._numbers if isinstance(each, Array) else each for each in arguments], **named)

    return called


_TYPES = {"result_type", "can_cast", "finfo", "iinfo", "isdtype", "__array_namespace_info__"}
for _name in cleave.__all__:
    _value = getattr(cleave, _name)
    if _name in _TYPES:
        globals()[_name] = on_types(_value)
    elif inspect.isfunction(_value) and _value.__module__ != "cleave._load":
        globals()[_name] = eager(_value)
    elif not inspect.isclass(_value) and not inspect.isfunction(_value) and not inspect.ismodule(_value):
        globals()[_name] = _value
for _name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"):
    globals()[_name] = np.dtype(getattr(cleave, _name))
bool = np.dtype(cleave.bool)  # noqa: A001
linalg = types.ModuleType("linalg")
for _name in cleave.linalg.__all__:
    if _name[0].islower():
        setattr(linalg, _name, eager(getattr(cleave.linalg, _name)))


def from_dlpack(x, /, *, device=None, copy=None):
    """An array on the memory of another library's."""
    numbers = np.from_dlpack(x)
    return Array(numbers.copy() if copy else numbers)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers; of an array itself, unless `copy` or `dtype` ask for another one."""
    if isinstance(obj, Array) and not copy and dtype in (None, obj.dtype):
        return obj
    if isinstance(obj, np.ndarray):
        obj = Array(obj)
    return run(lambda x: cleave.asarray(x, dtype=dtype, copy=copy), (obj,), {})
