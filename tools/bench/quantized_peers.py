#!/usr/bin/env python3
"""Quantized ONNX models beside their f32 originals and beside ONNX Runtime: how long a run takes, and how far results are apart.

    tools/bench/quantized_peers.py --build build-ci                  # one and two threads
    tools/bench/quantized_peers.py --build build-ci --only cnn --rounds 3

The models have random weights: a CNN with residual blocks (`cnn`), one with depthwise convolutions (`mobile`), and a layer of a transformer
(`layer`). `qdq` and `qop` are those of quantize_static, per channel, `dynamic` is that of quantize_dynamic. Both programs run on the same
cores in turn; the shortest times count. The difference is that of all outputs to ONNX Runtime's, relative to the largest magnitude."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from peers import environment  # noqa: E402
from peers.table import as_ratio, milliseconds  # noqa: E402

OPSET = 17


class Net:
    """A graph under construction, with random weights."""

    def __init__(self, name, shape):
        import numpy as np
        from onnx import TensorProto, helper, numpy_helper
        self.np, self.helper, self.keep = np, helper, numpy_helper.from_array
        self.random, self.name, self.nodes, self.weights = np.random.default_rng(7), name, [], []
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        self.shape = shape

    def op(self, kind, *operands, **attributes):
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(operands), [name], name=f"n_{name}", **attributes))
        return name

    def weight(self, *shape, scale):
        name = f"w{len(self.weights)}"
        self.weights.append(self.keep((self.random.standard_normal(shape) * scale).astype(self.np.float32), name))
        return name

    def conv(self, x, channels, outputs, kernel=3, stride=1, group=1, relu=True):
        depth = channels // group * kernel * kernel
        w, b = self.weight(outputs, channels // group, kernel, kernel, scale=(2 / depth)**0.5), self.weight(outputs, scale=0.1)
        y = self.op("Conv", x, w, b, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
        return self.op("Relu", y) if relu else y

    def model(self, result):
        import onnx
        graph = self.helper.make_graph(self.nodes, self.name, self.inputs,
                                       [self.helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, None)], self.weights)
        model = self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", OPSET)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def cnn():
    """Residual blocks of 3 x 3 convolutions, as in ResNet-18 with half of its channels."""
    net = Net("cnn", [1, 3, 224, 224])
    x = net.conv("x", 3, 32, kernel=7, stride=2)
    x, channels = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 32
    for outputs in (32, 64, 128, 256):
        for block in range(2):
            stride = 2 if block == 0 and outputs != channels else 1
            y = net.conv(net.conv(x, channels, outputs, stride=stride), outputs, outputs, relu=False)
            if stride != 1:
                x = net.conv(x, channels, outputs, kernel=1, stride=2, relu=False)
            x, channels = net.op("Relu", net.op("Add", x, y)), outputs
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    return net.model(net.op("Gemm", x, net.weight(channels, 1000, scale=channels**-0.5), net.weight(1000, scale=0.1)))


def mobile():
    """Inverted residual blocks, as in MobileNetV2."""
    net = Net("mobile", [1, 3, 224, 224])
    x, channels = net.conv("x", 3, 32, stride=2), 32
    for outputs, repeats, stride in ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2)):
        for block in range(repeats):
            wide = channels * 6
            y = net.conv(x, channels, wide, kernel=1)
            y = net.conv(y, wide, wide, stride=stride if block == 0 else 1, group=wide)
            y = net.conv(y, wide, outputs, kernel=1, relu=False)
            x = net.op("Add", x, y) if block > 0 else y
            channels = outputs
    x = net.op("Flatten", net.op("GlobalAveragePool", net.conv(x, channels, 1280, kernel=1)))
    return net.model(net.op("Gemm", x, net.weight(1280, 1000, scale=0.03), net.weight(1000, scale=0.1)))


def layer(rows=128, width=768):
    """Projections and the feed-forward part of a layer of BERT; the attention in between is that of one head for each 64 columns."""
    net = Net("layer", [1, rows, width])

    def dense(x, inner, outer):
        return net.op("Add", net.op("MatMul", x, net.weight(inner, outer, scale=inner**-0.5)), net.weight(outer, scale=0.1))

    def keep(name, values):
        net.weights.append(net.keep(net.np.array(values), name))
        return name

    heads = keep("heads", [1, rows, width // 64, 64])
    q, k, v = [net.op("Transpose", net.op("Reshape", dense("x", width, width), heads), perm=order)
               for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
    scores = net.op("Softmax", net.op("Mul", net.op("MatMul", q, k), keep("scale", net.np.float32(0.125))), axis=-1)
    mixed = net.op("Reshape", net.op("Transpose", net.op("MatMul", scores, v), perm=[0, 2, 1, 3]), keep("whole", [1, rows, width]))
    x = net.op("Add", "x", dense(mixed, width, width))
    return net.model(net.op("Add", x, dense(net.op("Relu", dense(x, width, 4 * width)), 4 * width, width)))


def make(folder):
    """The files: {name: [(variant, path)]}, the f32 originals first."""
    import numpy as np
    import onnx
    from onnxruntime import quantization as q

    class Numbers(q.CalibrationDataReader):
        def __init__(self, shape):
            self.left = iter([{"x": np.random.default_rng(i).standard_normal(shape).astype(np.float32)} for i in range(4)])

        def get_next(self):
            return next(self.left, None)

    made = {}
    for build in (cnn, mobile, layer):
        name = build.__name__
        model = build()
        path = folder / f"{name}.onnx"
        onnx.save(model, path)
        shape = [axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim]
        np.save(folder / f"{name}.npy", np.random.default_rng(99).standard_normal(shape).astype(np.float32))
        made[name] = [("f32", path)]
        static = [] if name == "layer" else [("qdq", q.QuantFormat.QDQ), ("qop", q.QuantFormat.QOperator)]
        for variant, form in static:
            to = folder / f"{name}-{variant}.onnx"
            q.quantize_static(path, to, Numbers(shape), quant_format=form, per_channel=True, weight_type=q.QuantType.QInt8)
            made[name].append((variant, to))
        if name == "layer":
            to = folder / f"{name}-dynamic.onnx"
            q.quantize_dynamic(path, to, weight_type=q.QuantType.QInt8)
            made[name].append(("dynamic", to))
    return made


def theirs(path, given, threads, seconds):
    """The shortest run of ONNX Runtime, and its results."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    results, shortest, end = session.run(None, {"x": given}), float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        session.run(None, {"x": given})
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest, results


def ours(cleave, path, given, threads, seconds, expected):
    """The shortest run of cleave, and the largest difference of its results."""
    import numpy as np
    import onnx
    names = [output.name for output in onnx.load(str(path)).graph.output]
    with tempfile.TemporaryDirectory(prefix="cleave-quantized-") as temporary:
        files = [os.path.join(temporary, f"{i}.npy") for i in range(len(names))]
        outputs = [word for name, file in zip(names, files) for word in ("--output", f"{name}={file}")]
        words = [str(cleave), "run", str(path), "--device", "none", "--threads", str(threads), "--quiet", "--json", "--input", f"x={given}"]

        def shortest(runs, *more):
            done = subprocess.run([*words, "--runs", str(runs), *more], check=True, capture_output=True, text=True)
            return json.loads(done.stdout)["runs"]["seconds"]["min"]

        found = shortest(max(3, int(seconds / shortest(3))), *outputs)
        return found, max(float(np.abs(np.load(file) - should).max() / np.abs(should).max()) for file, should in zip(files, expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=environment.ROOT / "build", metavar="FOLDER", help="of the build")
    parser.add_argument("--cache", type=pathlib.Path, default=environment.cache_folder(), metavar="FOLDER", help="of the environment")
    parser.add_argument("--only", default="", metavar="PATTERN", help="models whose names match the regular expression")
    parser.add_argument("--threads", type=int, action="append", help="of runs; default: 1 and 2")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="in which both take their turn")
    parser.add_argument("--seconds", type=float, default=1, help="of each turn")
    asked = parser.parse_args()
    environment.enter(asked.cache, ["numpy", "onnx", "onnxruntime"])
    import numpy as np
    print(f"commit {environment.commit()}\n")
    print("| model | threads | cleave, ms | f32 / quantized | ONNX Runtime, ms | f32 / quantized | ONNX Runtime / cleave | difference |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="cleave-quantized-") as temporary:
        folder = pathlib.Path(temporary)
        for name, variants in make(folder).items():
            if not re.search(asked.only, name):
                continue
            file = folder / f"{name}.npy"
            for threads in asked.threads or [1, 2]:
                os.sched_setaffinity(0, cores[:threads])
                best = {}
                for _ in range(asked.rounds):
                    for variant, path in variants:
                        their, results = theirs(path, np.load(file), threads, asked.seconds)
                        our, difference = ours(asked.build / "tools" / "cleave", path, file, threads, asked.seconds, results)
                        before = best.get(variant, (float("inf"), float("inf"), 0))
                        best[variant] = (min(our, before[0]), min(their, before[1]), max(difference, before[2]))
                os.sched_setaffinity(0, cores)
                for variant, (our, their, difference) in best.items():
                    cells = [f"{name} {variant}", str(threads), milliseconds(our), as_ratio(best["f32"][0] / our), milliseconds(their),
                             as_ratio(best["f32"][1] / their), as_ratio(their / our), f"{difference:.1e}"]
                    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
