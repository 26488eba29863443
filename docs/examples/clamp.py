"""A file with an operator that no library knows, and the Python function that computes it (docs/guide/onnx.md)."""
import numpy as np
import onnx

import cleave

node = onnx.helper.make_node("Clamp", ["x"], ["y"], domain="com.acme", most=2.0)
value = onnx.helper.make_tensor_value_info
graph = onnx.helper.make_graph([node], "clamp", [value("x", 1, ["n"])], [value("y", 1, ["n"])])
onnx.save(onnx.helper.make_model(graph), "clamp.onnx")


def clamp(x, most):
    return np.minimum(x, np.float32(most))


model = cleave.load("clamp.onnx", host_functions={"com.acme.Clamp": clamp}, device="none")
print(model.run(x=[1, 2, 3])["y"])  # [1. 2. 2.]
