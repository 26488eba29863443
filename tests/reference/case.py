"""Case: an expression of a model, its inputs, and the results of another library for them. The files in families/ list cases."""
import dataclasses
import typing

import numpy as np


@dataclasses.dataclass
class Case:
    """`expression` uses the names of `inputs`; `expected` takes the same arrays in this order and returns an array, or one for each result
    of the expression. A number may differ by `relative` of the expected one plus `absolute` of the largest one."""
    name: str
    expression: str
    inputs: dict[str, np.ndarray]
    expected: typing.Callable
    relative: float | None = None
    absolute: float | None = None


TOLERANCES = {np.dtype(np.float64): (1e-11, 1e-12), np.dtype(np.float32): (2e-5, 2e-6), np.dtype(np.float16): (2e-3, 1e-3)}


def numbers(*shape, seed=1, low=-3.0, high=3.0, dtype=np.float32):
    """Uniformly distributed numbers; integers for integer types."""
    generator = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    return (generator.random(shape) * (high - low) + low).astype(dtype)


def onnx_op(op, inputs, *, results=1, opset=None, domain="", **attributes):
    """The result of ONNX's reference evaluator: `onnx_op("Conv", [x, w], strides=[2, 2])`. An absent operand is None."""
    from onnx import TensorProto, helper
    from onnx.defs import onnx_opset_version
    from onnx.reference import ReferenceEvaluator
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    outs = [f"y{i}" for i in range(results)]
    given = {name: np.asarray(x) for name, x in zip(names, inputs) if name}
    node = helper.make_node(op, names, outs, domain=domain, **attributes)
    graph = helper.make_graph(
        [node], "one", [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in given.items()],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset or onnx_opset_version())])
    made = ReferenceEvaluator(model).run(None, given)
    return made[0] if results == 1 else made
