#!/usr/bin/env python3
"""The programs of device_programs.cpp in PyTorch: eager, torch.compile and CUDA graphs, in the same precision.

Usage: device_bench_torch.py RESULTS.json [--seconds S] [--device cuda|cpu] [--modes eager,compile,graph] [--out torch.json]
RESULTS.json is what device_bench wrote: names and sizes are taken from there. As there, inputs start in (page-locked) host memory and
results end in host memory, and both are part of what is timed. Medians after warm-up. A mode that a program does not allow is null, with
the reason (CUDA graphs cannot hold a host function or a branch on data).
"""
import argparse
import json
import os
import statistics
import sys
import time

try:
    import torch
except ImportError:
    torch = None


def numbers(*shape, scale=1.0, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, generator=generator) * 2 - 1) * scale


class Program:
    """`inputs` on the host; `run` on device tensors gives device tensors; `host` says that it calls the host in between."""

    def __init__(self, inputs, run, host=False, stay=()):
        self.inputs, self.run, self.host, self.stay = inputs, run, host, set(stay)


def host_in_loop(s):
    n, steps = s["rows"], s["steps"]

    def step(w, x):
        return torch.tanh(x @ w / n)

    def update(w, r):
        return w - 0.1 * r

    def run(ops, w, x):
        for _ in range(steps):
            y = ops["step"](w, x)
            r = (y.cpu() * 0.5).to(w.device, non_blocking=True)
            w = ops["update"](w, r)
        return [w]

    return Program([numbers(n, n), numbers(n, n)], (run, {"step": step, "update": update}), host=True)


def tiny_ops(s):
    def ten(x, y):
        for _ in range(10):
            x = torch.tanh(x * y) + 0.5
        return x

    def run(ops, x, y):
        for _ in range(s["steps"]):
            x = ops["ten"](x, y)
        return [x]

    return Program([numbers(s["elements"]), numbers(s["elements"])], (run, {"ten": ten}))


def mlp_inference(s):
    def forward(x, w1, b1, w2, b2, w3):
        h = torch.relu(x @ w1 + b1)
        h = torch.relu(h @ w2 + b2)
        return torch.softmax(h @ w3, -1)

    n, w = s["batch"], s["width"]
    inputs = [numbers(n, 784), numbers(784, w), numbers(w), numbers(w, w), numbers(w), numbers(w, 10)]
    return Program(inputs, (lambda ops, *a: [ops["forward"](*a)], {"forward": forward}))


def mlp_training(s):
    batch = s["batch"]

    def step(x, y, w1, w2):
        z = x @ w1
        h = torch.relu(z)
        error = (torch.softmax(h @ w2, -1) - y) / batch
        back = torch.where(z > 0, error @ w2.T, 0.0)
        return w1 - 0.01 * (x.T @ back), w2 - 0.01 * (h.T @ error)

    def run(ops, x, y, w1, w2):
        for _ in range(s["steps"]):
            w1, w2 = ops["step"](x, y, w1, w2)
        return [w1, w2]

    inputs = [numbers(batch, 784), numbers(batch, 10), numbers(784, s["width"]), numbers(s["width"], 10)]
    return Program(inputs, (run, {"step": step}))


def transformer_block(s):
    batch, length, width, heads = s["batch"], s["length"], s["width"], s["heads"]
    depth = width // heads

    def norm(x):
        return torch.nn.functional.layer_norm(x, (width,))

    def split(t):
        return t.reshape(batch, length, heads, depth).permute(0, 2, 1, 3)

    def forward(x, wq, wk, wv, wo, w1, w2):
        n = norm(x)
        q, k, v = split(n @ wq), split(n @ wk), split(n @ wv)
        weights = torch.softmax(q @ k.transpose(-1, -2) / depth**0.5, -1)
        y = x + (weights @ v).permute(0, 2, 1, 3).reshape(batch, length, width) @ wo
        return y + torch.nn.functional.gelu(norm(y) @ w1) @ w2

    inputs = [numbers(batch, length, width)] + [numbers(width, width) for _ in range(4)]
    inputs += [numbers(width, 4 * width), numbers(4 * width, width)]
    return Program(inputs, (lambda ops, *a: [ops["forward"](*a)], {"forward": forward}))


def kmeans(s):
    clusters = s["clusters"]

    def step(x, centres):
        distance = (centres * centres).sum(1) - 2 * (x @ centres.T)
        member = torch.nn.functional.one_hot(distance.argmin(1), clusters).to(torch.float32)
        moved = (member.T @ x) / member.sum(0).clamp(min=1)[:, None]
        return moved, (moved - centres).abs().max()

    def run(ops, x, centres):
        for _ in range(s["steps"]):
            centres, shift = ops["step"](x, centres)
            if shift.item() < 0:
                break
        return [centres]

    return Program([numbers(s["points"], s["features"]), numbers(clusters, s["features"])], (run, {"step": step}), host=True)


def embedding(s):
    def dense(picked, w1, w2):
        return torch.relu(picked @ w1) @ w2

    def run(ops, table, ids, w1, w2):
        picked = table.index_select(0, ids).to(w1.device, non_blocking=True)
        return [ops["dense"](picked, w1, w2)]

    ids = torch.arange(s["batch"]) * 7919 % s["rows"]
    inputs = [numbers(s["rows"], s["width"]), ids, numbers(s["width"], 1024), numbers(1024, 16)]
    return Program(inputs, (run, {"dense": dense}), host=True, stay=(0, 1))


def streaming(s):
    n = s["rows"]

    def work(total, sent, w):
        return total + sent, torch.tanh(w @ w / n)

    def run(ops, total, w):
        for i in range(s["steps"]):
            sent = torch.zeros(s["elements"], pin_memory=total.is_cuda)
            sent[0] = float(i)
            total, w = ops["work"](total, sent.to(w.device, non_blocking=True), w)
        return [total, w]

    return Program([numbers(s["elements"]), numbers(n, n)], (run, {"work": work}), host=True)


def branch_on_data(s):
    def test(x):
        return x.sum() > 0

    def run(ops, x):
        for _ in range(s["steps"]):
            x = x * 0.5 - 0.25 if ops["test"](x).item() else x * 0.5 + 0.25
        return [x]

    return Program([numbers(s["elements"])], (run, {"test": test}), host=True)


def ping_pong(s):
    def run(ops, x):
        for _ in range(s["steps"]):
            x = ((ops["add"](x)).cpu() * 0.5).to(x.device, non_blocking=True)
        return [x]

    return Program([numbers(16)], (run, {"add": lambda x: x + 1.0}), host=True)


def matmul_chain(s):
    n = s["rows"]

    def run(ops, w, x):
        for _ in range(s["steps"]):
            x = ops["product"](w, x)
        return [x]

    scale = (3.0 / n) ** 0.5
    return Program([numbers(n, n, scale=scale).bfloat16(), numbers(n, n).bfloat16()], (run, {"product": lambda w, x: w @ x}))


PROGRAMS = {
    "host_in_loop_small": host_in_loop, "host_in_loop_large": host_in_loop, "tiny_ops": tiny_ops, "mlp_inference": mlp_inference,
    "mlp_training": mlp_training, "transformer_block": transformer_block, "kmeans": kmeans, "embedding": embedding,
    "transfers_4k": streaming, "copies_with_compute": streaming, "branch_on_data": branch_on_data, "ping_pong": ping_pong,
    "matmul_chain_bf16": matmul_chain,
}


def measure(call, synchronize, seconds):
    for _ in range(3):
        call()
    synchronize()
    times = []
    start = time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < seconds and len(times) < 10000):
        before = time.perf_counter()
        call()
        synchronize()
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def caller(program, mode, device):
    run, ops = program.run
    if mode == "compile":
        ops = {name: torch.compile(op) for name, op in ops.items()}

    def to_device():
        return [t if i in program.stay else t.to(device, non_blocking=True) for i, t in enumerate(program.inputs)]

    if mode != "graph":
        return lambda: [t.cpu() for t in run(ops, *to_device())]
    static = to_device()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run(ops, *static)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = run(ops, *static)

    def replay():
        for into, source in zip(static, program.inputs):
            into.copy_(source, non_blocking=True)
        graph.replay()
        return [t.cpu() for t in results]

    return replay


def write(document, file):
    """To a file that is whole at every moment, or to standard output."""
    text = json.dumps(document, indent=1) + "\n"
    if not file:
        sys.stdout.write(text)
        return
    with open(file + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(file + ".new", file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--modes", default="eager,compile,graph")
    parser.add_argument("--out", default="", help="written anew after every measurement")
    arguments = parser.parse_args()
    cuda = arguments.device == "cuda"
    missing = "PyTorch is not installed" if not torch else "PyTorch finds no GPU" if cuda and not torch.cuda.is_available() else None
    if missing:
        write({"skipped": missing}, arguments.out)
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    synchronize = torch.cuda.synchronize if cuda else (lambda: None)
    with open(arguments.results, encoding="utf-8") as file:
        wanted = json.load(file)["programs"]
    rows = []
    document = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if cuda else "cpu", "programs": rows}
    for each in wanted:
        row = {"name": each["name"], "sizes": each["sizes"]}
        rows.append(row)
        with torch.no_grad():
            program = PROGRAMS[each["name"]](each["sizes"])
            if cuda:
                program.inputs = [t if i in program.stay else t.pin_memory() for i, t in enumerate(program.inputs)]
            for mode in arguments.modes.split(","):
                if mode == "graph" and (program.host or not cuda):
                    row[mode] = None
                    row["graph_why"] = "the host takes part" if program.host else "no GPU"
                    continue
                try:
                    row[mode] = measure(caller(program, mode, arguments.device), synchronize, arguments.seconds)
                except Exception as error:  # noqa: BLE001 - one failing mode must not lose the others
                    row[mode] = None
                    row[mode + "_why"] = str(error).splitlines()[0][:200]
                print(f"{each['name']} {mode}: {row[mode]}", file=sys.stderr)
                if arguments.out:
                    write(document, arguments.out)
    write(document, arguments.out)


main()
