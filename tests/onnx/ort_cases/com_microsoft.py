"""Cases of the operators of the domain `com.microsoft`, and of those of ai.onnx that only ONNX Runtime has. One function for each family of
operators."""
import numpy as np

from generate import Numbers, node_case

HALF = np.float16


def cases():
    yield from activations()


def activations():
    for op, attributes in (("Gelu", {}), ("QuickGelu", {}), ("QuickGelu", {"alpha": 1.0}), ("QuickGelu", {"alpha": -0.5})):
        name = "_".join([op, *(f"{key}_{value}" for key, value in attributes.items())])
        yield node_case(name, op, {"X": Numbers(name).normal(3, 4, scale=2)}, ["Y"], **attributes)
    for op in ("BiasGelu", "FastGelu"):
        numbers = Numbers(op)
        x, bias = numbers.normal(2, 3, 8, scale=2), numbers.normal(8)
        yield node_case(op, op, {"X": x, "bias": bias}, ["Y"])
        yield node_case(f"{op}_constant", op, {"X": x, "bias": bias}, ["Y"], ["bias"])
    yield node_case("FastGelu_no_bias", "FastGelu", {"X": Numbers("FastGelu").normal(2, 3)}, ["Y"])
