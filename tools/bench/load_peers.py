#!/usr/bin/env python3
"""From a file to the first result: a model, its compiled plan, and ONNX Runtime's sessions from a model and from the file that its optimizer
saved (`optimized_model_filepath`). Each in a process of its own, on one thread, in turn; medians. Prints Markdown, or --json.

    tools/bench/load_peers.py --build build-bench [--python ENVIRONMENT/bin/python] [--models FOLDER]

`--python`: an interpreter with numpy, onnx and onnxruntime; by default this one. ONNX models are made here, with random weights.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#: The largest program of the zoo, at sizes at which planning and not running takes the time.
ZOO = [("char_transformer.yaml", {"steps": 2, "batch": 2, "context": 8, "width": 8, "heads": 2, "unseen": 4})]


def write_mobile(path):
    """Inverted residual blocks with depthwise convolutions and batch normalization, as MobileNet v2 has them: 3.4 million weights."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    draw = np.random.default_rng(0)
    nodes, weights = [], []

    def weight(*shape):
        name = f"w{len(weights)}"
        fan = max(1, int(np.prod(shape[1:])))
        weights.append(numpy_helper.from_array((draw.standard_normal(shape) / np.sqrt(fan)).astype(np.float32), name))
        return name

    def unit(value, to, kernel, stride=1, group=1, source=None, active=True):
        """Convolution, normalization, activation."""
        out = f"c{len(nodes)}"
        nodes.append(helper.make_node("Conv", [value, weight(to, source // group, kernel, kernel)], [out], kernel_shape=[kernel, kernel],
                                      strides=[stride, stride], pads=[kernel // 2] * 4, group=group))
        normal = f"n{len(nodes)}"
        scale = numpy_helper.from_array(np.ones(to, np.float32), f"s{len(weights)}")
        weights.append(scale)
        rest = []
        for kind in ("b", "m", "v"):
            rest.append(f"{kind}{len(weights)}")
            weights.append(numpy_helper.from_array(draw.random(to, np.float32) + (0.5 if kind == "v" else 0), rest[-1]))
        nodes.append(helper.make_node("BatchNormalization", [out, scale.name, *rest], [normal]))
        if not active:
            return normal
        clipped = f"r{len(nodes)}"
        nodes.append(helper.make_node("Clip", [normal, "zero", "six"], [clipped]))
        return clipped

    weights += [numpy_helper.from_array(np.array(0, np.float32), "zero"), numpy_helper.from_array(np.array(6, np.float32), "six")]
    value, channels = unit("x", 32, 3, 2, source=3), 32
    for factor, to, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            step, wide, start = stride if block == 0 else 1, channels * factor, value
            if factor > 1:
                value = unit(value, wide, 1, source=channels)
            value = unit(value, wide, 3, step, group=wide, source=wide)
            value = unit(value, to, 1, source=wide, active=False)
            if step == 1 and channels == to:
                nodes.append(helper.make_node("Add", [start, value], [f"a{len(nodes)}"]))
                value = nodes[-1].output[0]
            channels = to
    value = unit(value, 1280, 1, source=channels)
    nodes += [helper.make_node("GlobalAveragePool", [value], ["pooled"]), helper.make_node("Flatten", ["pooled"], ["flat"]),
              helper.make_node("Gemm", ["flat", weight(1000, 1280)], ["scores"], transB=1)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "mobile", [info("x", 1, [1, 3, 224, 224])], [info("scores", 1, [1, 1000])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_dense(path, layers=24, width=1024):
    """A multilayer perceptron with 100 MB of weights, on 64 rows: its products pack their weights."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    draw = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for layer in range(layers):
        weights.append(numpy_helper.from_array(draw.standard_normal((width, width), dtype=np.float32) / 32, f"w{layer}"))
        nodes += [helper.make_node("MatMul", [value, f"w{layer}"], [f"h{layer}"]), helper.make_node("Relu", [f"h{layer}"], [f"y{layer}"])]
        value = f"y{layer}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "dense", [info("x", 1, [64, width])], [info(value, 1, [64, width])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def time_session(path, save):
    """The seconds of ONNX Runtime until a session is ready, and of its first and second run. Writes the optimized model to `save`."""
    import time
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    if save:
        options.optimized_model_filepath = save
    elif str(path).endswith(".optimized.onnx"):
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    said = {"ready": time.perf_counter() - begin}
    given = {each.name: (np.arange(np.prod(each.shape), dtype=np.float32) % 251 / 251).reshape(each.shape) for each in session.get_inputs()}
    for name in ("first_run", "second_run"):
        begin = time.perf_counter()
        session.run(None, given)
        said[name] = time.perf_counter() - begin
    print(json.dumps(said))


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def race(contenders, rounds):
    """Medians of `rounds` processes of each contender, in turn."""
    seen = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, words in contenders.items():
            seen[name].append(call(*words))
    return {name: {key: statistics.median(each[key] for each in runs) for key in ("ready", "first_run", "second_run")} for name, runs in seen.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-bench")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--onnx", type=pathlib.Path, action="append", default=[], help="a further model of floating inputs")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--session", help=argparse.SUPPRESS)
    parser.add_argument("--save", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.session:
        return time_session(asked.session, asked.save)
    bench, results = asked.build / "tools/bench/load_bench", {}
    again = [asked.python, __file__, "--session"]
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("mobile", "dense"):
            subprocess.run([asked.python, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'tools/bench')!r}); import load_peers; "
                            f"load_peers.write_{name}({str(folder / (name + '.onnx'))!r})"], check=True)
        for path in [folder / "mobile.onnx", folder / "dense.onnx", *asked.onnx]:
            plan, optimized = folder / f"{path.stem}.plan", folder / f"{path.stem}.optimized.onnx"
            call(bench, path, 1, "--save", plan)
            call(*again, path, "--save", optimized)
            results[path.stem] = race({"model": (bench, path, 1), "plan": (bench, plan, 1), "ONNX Runtime": (*again, path),
                                       "ONNX Runtime, optimized file": (*again, optimized)}, asked.rounds)
        for model, dims in ZOO:
            plan, sizes = folder / f"{model}.plan", [f"{dim}={size}" for dim, size in dims.items()]
            call(bench, ROOT / "models" / model, 1, *sizes, "--save", plan)
            results[model.removesuffix(".yaml")] = race({"model": (bench, ROOT / "models" / model, 1, *sizes), "plan": (bench, plan, 1)}, asked.rounds)
    if asked.json:
        print(json.dumps(results, indent=1))
        return 0
    print("| model | from | ready, ms | first run, ms | second run, ms |\n|---|---|---|---|---|")
    for name, contenders in results.items():
        for contender, times in contenders.items():
            print(f"| {name} | {contender} | " + " | ".join(f"{1000 * times[key]:.1f}" for key in ("ready", "first_run", "second_run")) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
