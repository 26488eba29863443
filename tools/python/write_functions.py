#!/usr/bin/env python3
"""Writes functions.py and _methods.py of the package from the vocabulary: one Python function, with types and docstring, for each function
that a program can call. CMake calls it with the folder that holds the extension module."""
import pathlib
import re
import sys

#: Written by hand in cleave/_host.py: it takes a Python function.
BY_HAND = {"host_call"}
#: The package has another function of that name, which calls this one for tensors.
OVERLOADED = {"trace", "log"}
#: Methods of a NumPy array that read as the function of the vocabulary of that name. The others are in cleave/_array_methods.py.
NUMPY_METHODS = ["all", "any", "argmax", "argmin", "argsort", "astype", "max", "min"]
#: Python's operators, and the functions that they stand for.
OPERATORS = {"add": ("+", "add"), "sub": ("-", "subtract"), "mul": ("*", "multiply"), "truediv": ("/", "divide"),
             "floordiv": ("//", "floor_divide"), "mod": ("%", "remainder"), "pow": ("**", "pow"), "matmul": ("@", "matmul"),
             "lshift": ("<<", "bitwise_left_shift"), "rshift": (">>", "bitwise_right_shift"), "and": ("&", "bitwise_and"),
             "or": ("|", "bitwise_or"), "xor": ("^", "bitwise_xor")}
COMPARISONS = {"eq": ("==", "equal"), "ne": ("!=", "not_equal"), "lt": ("<", "less"), "le": ("<=", "less_equal"),
               "gt": (">", "greater"), "ge": (">=", "greater_equal")}
UNARY = {"neg": "negative", "abs": "abs", "invert": "bitwise_invert"}
TYPES = {
    "boolean": "bool", "integer": "int", "number": "float", "text": "str", "integers": "int | Sequence[int]",
    "numbers": "float | Sequence[float]", "dtype": "DTypeLike", "shape": "int | Sequence[int]", "array": "ArrayLike",
    "any": "int | float | str | Sequence[int] | Sequence[float]",
}


class Parameter:
    """One parameter of a signature: an operand, a list of operands or an attribute."""

    def __init__(self, word, attributes):
        self.optional = word.endswith("?")
        word = word.rstrip("?")
        self.list = word.startswith("[")
        self.name = word.strip("[]")
        self.attribute = attributes.get(self.name)
        if self.attribute and not self.attribute[3]:
            self.optional = True

    @property
    def declared(self):
        type_ = "Sequence[ArrayLike]" if self.list else TYPES[self.attribute[1]] if self.attribute else "ArrayLike"
        return f"{self.name}: {type_} | None = None" if self.optional else f"{self.name}: {type_}"

    @property
    def described(self):
        if not self.attribute:
            return None
        _, kind, fallback, required = self.attribute
        if required:
            return None
        return f"    {self.name}: {'by default ' + fallback if fallback else 'may be left out'}"


class Function:
    """One function to write, for an entry of the vocabulary."""

    def __init__(self, entry):
        self.name, self.signature, self.summary = entry["name"], entry["signature"], entry["summary"]
        attributes = {attribute[0]: attribute for attribute in entry["attributes"]}
        words = re.search(r"\((.*)\)", self.signature).group(1)
        self.parameters = [Parameter(word.strip(), attributes) for word in words.split(",") if word.strip()]
        named = {parameter.name for parameter in self.parameters}
        self.others = [Parameter(name + "?", attributes) for name in attributes if name not in named]
        self.counts = entry["results"]

    @property
    def returns(self):
        if self.counts == [0]:
            return "None"
        if not self.counts or self.counts == [1]:
            return "Tensor"
        return f"tuple[{', '.join(['Tensor'] * self.counts[0])}]" if len(self.counts) == 1 else "tuple[Tensor, ...]"

    def lines(self):
        required = [p for p in self.parameters if not p.optional]
        optional = [p for p in self.parameters if p.optional]
        in_order = self.parameters if self.parameters == required + optional else required + optional
        declared = [p.declared for p in in_order] + (["*"] if self.others else []) + [p.declared for p in self.others]
        yield f"def {self.name}({', '.join(declared)}) -> {self.returns}:"
        described = [p.described for p in self.parameters + self.others if p.described]
        summary = self.summary.replace("\\", "\\\\")
        yield f'    """`{self.signature}`: {summary}.'
        if described:
            yield ""
            yield from described
        yield '    """'
        operands = ", ".join(f"*{p.name}" if p.list else p.name for p in self.parameters if not p.attribute)
        tail = "," if operands and "," not in operands and not operands.startswith("*") else ","
        given = [p for p in self.parameters + self.others if p.attribute]
        attributes = "{" + ", ".join(f'"{p.name}": {p.name}' for p in given) + "}"
        call = f'_apply("{self.name}", ({operands}{tail if operands else ""}), {attributes}'
        if self.returns == "None":
            yield f"    {call}, 0)"
        elif self.returns == "Tensor":
            yield f"    return {call}, 1)"
        elif self.returns == "tuple[Tensor, ...]":
            yield f"    return {call}, -1)"
        else:
            yield f"    return {call}, {self.counts[0]})"


HEADER = '''"""The functions that a traced program can call. Written by tools/python/write_functions.py from the vocabulary (docs/ops.md)."""
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from ._types import ArrayLike, DTypeLike

if TYPE_CHECKING:
    from ._tensor import Tensor


def _apply(name: str, operands: tuple[Any, ...], attributes: dict[str, Any], results: int) -> Any:
    from ._tensor import apply

    return apply(name, operands, attributes, results)

'''

METHODS = '''"""Methods of Tensor that NumPy's arrays have, too. Written by tools/python/write_functions.py from the vocabulary (docs/ops.md)."""
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from ._types import ArrayLike, DTypeLike

if TYPE_CHECKING:
    from ._tensor import Tensor


def _apply(name: str, operands: tuple[Any, ...], attributes: dict[str, Any], results: int) -> Any:
    from ._tensor import apply

    return apply(name, operands, attributes, results)


def _operator(symbol: str, name: str, first: Any, second: Any, other: Any) -> Any:
    from ._tensor import operator

    return operator(symbol, name, first, second, other)


class Methods:
    """The part of Tensor that is written from the vocabulary."""

    __slots__ = ()
'''


def operators():
    for name, (symbol, function) in OPERATORS.items():
        yield f'def __{name}__(self, other: ArrayLike) -> Tensor:\n    return _operator("{symbol}", "{function}", self, other, other)'
        yield f'def __r{name}__(self, other: ArrayLike) -> Tensor:\n    return _operator("{symbol}", "{function}", other, self, other)'
    for name, (symbol, function) in COMPARISONS.items():
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        yield f'def __{name}__(self, other: ArrayLike) -> Tensor:{ignored}\n    return _operator("{symbol}", "{function}", self, other, other)'
    for name, function in UNARY.items():
        yield f'def __{name}__(self) -> Tensor:\n    return _apply("{function}", (self,), {{}}, 1)'


def main():
    folder = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    import _cleave
    functions = [Function(entry) for entry in _cleave.vocabulary() if entry["name"] not in BY_HAND]
    functions.sort(key=lambda function: function.name)
    names = "\n".join(f'    "{function.name}",' for function in functions if function.name not in OVERLOADED)
    text = HEADER + f"__all__ = [\n{names}\n]\n"
    for function in functions:
        text += "\n\n" + "\n".join(function.lines()) + "\n"
    (folder / "functions.py").write_text(text, encoding="utf-8")
    text = METHODS
    for method in operators():
        text += "\n" + "\n".join("    " + line for line in method.splitlines()) + "\n"
    for function in functions:
        if function.name not in NUMPY_METHODS:
            continue
        lines = list(function.lines())
        first = function.parameters[0].name
        lines[0] = re.sub(rf"\({first}: ArrayLike", "(self", lines[0])
        lines[-1] = lines[-1].replace(f"({first},", "(self,")
        text += "\n" + "\n".join("    " + line if line else "" for line in lines) + "\n"
    (folder / "_methods.py").write_text(text, encoding="utf-8")


main()
