#!/usr/bin/env python3
"""Measures what a call from Python costs: `model.run` of a tiny model, the same run from C++, and ONNX Runtime's.

    pip install . onnx==1.23.2 onnxruntime==1.31.1
    tools/bench/python_calls.py

A Relu, whose work is next to nothing; everyone on one thread, in turn. The figures are the shortest and the median of many batches of 100
calls, in microseconds: other users of the machine make calls longer, never shorter. Exits with 1 if a result is wrong."""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

import cleave


def relu_file(folder, shape):
    """Returns an ONNX file with one Relu."""
    def value(name):
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "relu", [value("x")], [value("y")])
    path = pathlib.Path(folder) / "relu.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), path)
    return str(path)


def contenders(path, x):
    """Yields names and the functions to call."""
    model = cleave.load(path, device="none", threads=1)
    traced = cleave.trace(lambda x: cleave.relu(x), x, device="none", threads=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    named, out = {"x": x}, {"y": np.empty_like(x)}
    expected = np.maximum(x, 0)
    calls = {
        "cleave: `model.run({\"x\": x})`": lambda: model.run(named)["y"],
        "cleave: `model.run(x=x)`": lambda: model.run(x=x)["y"],
        "cleave: `model.run(x=x, out=…)`": lambda: model.run(x=x, out=out)["y"],
        "cleave: `model(x)`": lambda: model(x),
        "cleave: a traced function": lambda: traced(x),
        "ONNX Runtime: `session.run(None, {\"x\": x})`": lambda: session.run(None, named)[0],
        "ONNX Runtime: `session.run([\"y\"], {\"x\": x})`": lambda: session.run(["y"], named)[0],
    }
    for name, call in calls.items():
        if not np.array_equal(call(), expected):
            sys.exit(f"{name}: a wrong result")
    return model, calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=500, help="of 100 calls each")
    parser.add_argument("--shape", default="4", metavar="4,8", help="of the tensor")
    arguments = parser.parse_args()
    x = np.random.default_rng(1).standard_normal([int(size) for size in arguments.shape.split(",")]).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        model, calls = contenders(relu_file(folder, x.shape), x)
    seconds = {name: [] for name in calls}
    for _ in range(arguments.batches):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(100):
                call()
            seconds[name].append((time.perf_counter() - begin) / 100)
    executable = model._usual[0]
    print("| call | shortest, us | median, us |\n|---|--:|--:|")
    print(f"| cleave: `Executable::run` from C++ | {1e6 * executable.shortest_run({'x': x}, arguments.batches):.2f} | – |")
    for name, times in seconds.items():
        print(f"| {name} | {1e6 * min(times):.2f} | {1e6 * statistics.median(times):.2f} |")


if __name__ == "__main__":
    main()
