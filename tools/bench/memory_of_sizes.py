#!/usr/bin/env python3
"""Private memory of a process that runs one ONNX model with several batch sizes: each compiles a program, and all have the weights in common.

    PYTHONPATH=build/tools/python tools/bench/memory_of_sizes.py --megabytes 512

Needs the packages numpy and onnx. Prints the memory after each size, and what it is of that after the first one.
"""
import argparse
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

import cleave

WIDTH = 1024


def write_model(path, megabytes):
    """Layers of 4 MiB, each a product with weights and a Relu."""
    draw = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for layer in range(megabytes * 2**20 // (4 * WIDTH * WIDTH)):
        weights.append(numpy_helper.from_array(draw.standard_normal((WIDTH, WIDTH), dtype=np.float32) / 32, f"w{layer}"))
        nodes += [helper.make_node("Gemm", [value, f"w{layer}"], [f"h{layer}"], transB=1), helper.make_node("Relu", [f"h{layer}"], [f"y{layer}"])]
        value = f"y{layer}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "layers", [info("x", 1, ["batch", WIDTH])], [info(value, 1, ["batch", WIDTH])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def private_bytes():
    with open("/proc/self/smaps_rollup", encoding="ascii") as lines:
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=256, help="of weights")
    parser.add_argument("--sizes", type=int, default=10, help="batch sizes from 1 on")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "layers.onnx"
        write_model(path, arguments.megabytes)
        before = private_bytes()
        model = cleave.load(path, device="none", threads=1)
        first = None
        for batch in range(1, arguments.sizes + 1):
            model.run(x=np.ones((batch, WIDTH), np.float32))
            used = private_bytes() - before
            first = first or used
            print(f"batch {batch:3}: {used / 1e6:8.0f} MB, {used / first:.2f} of the first")


if __name__ == "__main__":
    main()
