#!/usr/bin/env python3
"""Writes the cases of this folder: models of operators for which the `onnx` package has no case, with the results that ONNX Runtime gives.

    tests/onnx/ort_cases/generate.py                      # all families
    tests/onnx/ort_cases/generate.py com.microsoft        # one of them
    tests/onnx/ort_cases/generate.py com.microsoft Gelu   # of that one, cases whose name contains a text

Needs the packages onnx, onnxruntime, numpy and ml_dtypes. The cases are in the repository, in ONNX's layout of test data (CASE/model.onnx,
test_data_set_N/input_M.pb, output_M.pb), so that tests/onnx/check.py needs no ONNX Runtime to run them: a suite for each family.

A family is a folder, and a module beside this file whose `cases()` yields a `Case` each. Numbers come from `Numbers(name)`, which is seeded by
the case's name, so that a new case leaves the others as they are."""
import dataclasses
import importlib
import pathlib
import shutil
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = {  # folder and suite: module
    "ai.onnx.ml": "ai_onnx_ml",
    "com.microsoft": "com_microsoft",
    "sizes": "sizes",
    "quantized": "quantized",
}
IR_VERSION = 10
OPSETS = {"": 17, "com.microsoft": 1}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    sets: list  # of each data set the inputs by name, as arrays
    oracle: onnx.ModelProto | None = None  # computes the expected values in its place, where ONNX Runtime's CPU has no kernel


class Numbers:
    """Random arrays for the case of this name."""

    def __init__(self, name):
        self.generator = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, *shape, dtype=np.float32, scale=1.0):
        return (scale * self.generator.standard_normal(shape)).astype(dtype)

    def uniform(self, *shape, low=0.0, high=1.0, dtype=np.float32):
        return self.generator.uniform(low, high, shape).astype(dtype)

    def integers(self, *shape, low=0, high=2, dtype=np.int32):
        return self.generator.integers(low, high, shape).astype(dtype)


def node_case(name, op, inputs, outputs, constants=(), opsets=None, domain="com.microsoft", oracle=None, **attributes):
    """A case of one node. `inputs` has the node's operands by name, None for one that is left out; those in `constants` become initializers.
    `outputs` names its results, "" for one that is not wanted. `oracle`: other nodes with the same result, which ONNX Runtime's CPU can run."""
    names = [each if array is not None else "" for each, array in inputs.items()]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(op, names, list(outputs), name=op.lower(), domain=domain, **attributes)
    given = {each: array for each, array in inputs.items() if array is not None}
    fed = {each: array for each, array in given.items() if each not in constants}
    fixed, wanted = {each: array for each, array in given.items() if each in constants}, [each for each in outputs if each]
    case = graph_case(name, [node], fed, wanted, fixed, opsets)
    case.oracle = graph_case(name, oracle, fed, wanted, fixed, opsets).model if oracle else None
    return case


def graph_case(name, nodes, inputs, outputs, initializers=None, opsets=None):
    """A case of several nodes with one data set."""
    declared = [helper.make_tensor_value_info(each, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for each, array in inputs.items()]
    weights = [numpy_helper.from_array(np.asarray(array, order="C"), each) for each, array in (initializers or {}).items()]
    graph = helper.make_graph(nodes, name, declared, [onnx.ValueInfoProto(name=each) for each in outputs], weights)
    model = helper.make_model(graph, ir_version=IR_VERSION, producer_name="cleave",
                              opset_imports=[helper.make_opsetid(*each) for each in (opsets or OPSETS).items()])
    return Case(name, model, [dict(inputs)])


def results_of(model, inputs):
    """ONNX Runtime's results on the CPU, without optimizations of the graph."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run([each.name for each in model.graph.output], inputs)


def write(folder, case):
    results = [results_of(case.oracle or case.model, inputs) for inputs in case.sets]
    for declared, array in zip(case.model.graph.output, results[0]):
        if not declared.HasField("type") and isinstance(array, np.ndarray):
            shape = array.shape if all(each[0].shape == results[0][0].shape for each in results) else None
            declared.CopyFrom(helper.make_tensor_value_info(declared.name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString(deterministic=True))
    fed = {each.name for each in case.model.graph.initializer}
    given = [each.name for each in case.model.graph.input if each.name not in fed]
    for number, (inputs, outputs) in enumerate(zip(case.sets, results)):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for i, each in enumerate(given):
            tensor = numpy_helper.from_array(np.ascontiguousarray(inputs[each]).reshape(inputs[each].shape), each)
            (data / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
        for i, (declared, array) in enumerate(zip(case.model.graph.output, outputs)):
            tensor = numpy_helper.from_array(np.asarray(array), declared.name)
            (data / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


def main():
    wanted = sys.argv[1:2] or list(FAMILIES)
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    sys.path.insert(0, str(HERE))
    sys.modules["generate"] = sys.modules[__name__]  # so that the families use this module's types
    for family in wanted:
        made, failed = {}, 0
        for case in importlib.import_module(FAMILIES[family]).cases():
            assert case.name not in made, f"two cases are named {case.name}"
            made[case.name] = case
            if part not in case.name:
                continue
            try:
                write(HERE / family / case.name, case)
            except Exception as problem:  # ONNX Runtime's own classes
                failed += 1
                print(f"{family}/{case.name}: {str(problem).splitlines()[0]}")
        for folder in (HERE / family).glob("*"):
            if folder.name not in made:
                shutil.rmtree(folder)
        size = sum(path.stat().st_size for path in (HERE / family).rglob("*.*"))
        print(f"{family}: {len(made)} cases, {size} bytes" + (f", {failed} failed" if failed else ""))


if __name__ == "__main__":
    main()
