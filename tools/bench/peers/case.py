"""A case: one computation, written four times: as a cleave model, for NumPy, for PyTorch and for ONNX Runtime. It makes the files and
functions that each side runs, but does not run them."""
import dataclasses
import inspect
import typing

import numpy

ONNX_TYPES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64", "float16": "float16", "uint8": "uint8"}
CLEAVE_TYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "float16": "f16", "uint8": "u8"}


@dataclasses.dataclass
class Target:
    """The targets for a row. A ratio is a peer's time over cleave's: at 1 cleave is as fast, above 1 it is faster."""
    best: float = 0  # the fastest peer
    roof: float = 0  # the machine's limit
    numpy: float = 0
    compiled: float = 0  # torch.compile
    threads: float = 0  # two threads over one


@dataclasses.dataclass
class Case:
    name: str
    inputs: typing.Callable  # returns name: array; called when the case is measured
    program: str  # statements of a cleave model, a line each
    numpy: typing.Callable
    target: Target
    torch: typing.Callable = None
    onnx: str = ""  # the body of a graph in ONNX's text form; empty: ONNX has no such operation
    output: str = "y"
    shape: tuple = ()  # of the output, if it is not that of the first input and functions write into `out`
    constants: tuple = ()  # inputs that are known before the run, as weights are
    compiled: bool = False  # torch.compile takes part
    multiply_adds: int = 0  # the roof: this number of them on one core ...
    copied: str = ""  # ... or one copy of this input
    tolerance: float = 1e-5  # of the largest element
    is_program: bool = False


def cleave_model(case, arrays, folder):
    """Writes the model and its data, and returns the model's path."""
    def declare(name):
        array = arrays[name]
        numpy.save(folder / f"{name}.npy", array)
        shape = ", ".join(str(extent) for extent in array.shape)
        return f'  {name}: {{type: "{CLEAVE_TYPES[str(array.dtype)]}[{shape}]", file: {name}.npy}}\n'

    text = "cleave: 1\nmodel: measured\n"
    for section, names in (("inputs", [n for n in arrays if n not in case.constants]), ("parameters", case.constants)):
        if names:
            text += f"{section}:\n" + "".join(declare(name) for name in names)
    text += "program:\n" + "".join(f"  {line}\n" for line in case.program.strip("\n").split("\n")) + f"outputs: [{case.output}]\n"
    path = folder / "model.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def onnx_model(case, arrays, result):
    """The serialized model; constants are initializers."""
    import onnx
    import onnx.parser
    from onnx import numpy_helper

    def declare(name, array):
        return f"{ONNX_TYPES[str(array.dtype)]}[{', '.join(str(extent) for extent in array.shape)}] {name}"

    inputs = ", ".join(declare(name, array) for name, array in arrays.items() if name not in case.constants)
    model = onnx.parser.parse_model(
        f'<ir_version: 11, opset_import: ["" : 23]> measured ({inputs}) => ({declare(case.output, result)}) {{ {case.onnx} }}')
    for name in case.constants:
        model.graph.initializer.append(numpy_helper.from_array(arrays[name], name))
    return model.SerializeToString()


def place_for_result(case, function, arrays):
    """{"out": array} for a function that writes its result into a given array, which is allocated already."""
    if "out" not in inspect.signature(function).parameters:
        return {}
    first = next(iter(arrays.values()))
    return {"out": numpy.zeros(case.shape or first.shape, first.dtype)}
