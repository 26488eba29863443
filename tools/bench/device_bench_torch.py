#!/usr/bin/env python3
"""The programs of device_programs.cpp in PyTorch, in the same precision, written to be fast. Those without work for the host also in
JAX, where it is installed.

Usage: device_bench_torch.py RESULTS.json [--seconds S] [--device cuda|cpu] [--modes MODE,...] [--out torch.json]
RESULTS.json is what device_bench wrote: names and sizes are taken from there. As there, inputs start in page-locked host memory, results end
there, and both are part of what is timed; what the host works on in between lies in page-locked memory, too, made once. Medians after
warm-up. Modes: eager; compile and reduce_overhead (torch.compile's default and reduce-overhead); graph (all of it in one CUDA graph);
segments (a CUDA graph made by hand for each part between two visits to the host); jax (all of it in one jitted function, loops by
fori_loop, branches by cond). A mode that a program does not allow is null, with the reason (one CUDA graph cannot hold a host function or
a branch on data; the host takes no part in what is jitted), and so is one whose results differ from eager's.
"""
import argparse
import functools
import json
import os
import statistics
import sys
import time

try:
    import numpy as np
    import torch
except ImportError:
    torch = None


def numbers(*shape, scale=1.0, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(*shape, generator=generator) * 2 - 1) * scale


MODES = ("eager", "compile", "reduce_overhead", "graph", "segments", "jax")


class Staging:
    """Page-locked buffers for each place of use, allocated once. A buffer is reused after `count` others: the copy that read it has completed."""

    def __init__(self):
        self.buffers = {}

    def take(self, key, shape, dtype, cuda, count=1):
        made, turn = self.buffers.get(key, ([], 0))
        if len(made) < count:
            made.append(torch.zeros(shape, dtype=dtype, pin_memory=cuda))
        self.buffers[key] = (made, turn + 1)
        return made[turn % count]

    def fetch(self, key, tensor):
        """Copies the tensor to host memory and waits for the copy."""
        if not tensor.is_cuda:
            return tensor.clone()
        into = self.take(key, tensor.shape, tensor.dtype, True)
        into.copy_(tensor, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return into


STAGING = Staging()


def halve(host):
    """Halves an array in place, on one thread: the host function of these programs, as in device_programs.cpp."""
    array = host.numpy()
    np.multiply(array, np.float32(0.5), out=array)
    return host


RING = 8  # buffers in flight


class Program:
    """`inputs` on the host; `run` takes and returns device tensors; `host`: whether it calls the host in between."""

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
            r = halve(STAGING.fetch("y", y)).to(w.device, non_blocking=True)
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
        picked = STAGING.take("picked", [len(ids), table.shape[1]], table.dtype, w1.is_cuda)
        picked = torch.index_select(table, 0, ids, out=picked).to(w1.device, non_blocking=True)
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
            if i % RING == 0 and total.is_cuda:
                torch.cuda.current_stream().synchronize()  # the copies out of the ring are done
            sent = STAGING.take("sent", [s["elements"]], torch.float32, total.is_cuda, RING)
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
            x = halve(STAGING.fetch("x", ops["add"](x))).to(x.device, non_blocking=True)
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


class Segment:
    """A function recorded as a CUDA graph: arguments are copied to the buffers that the graph reads."""

    def __init__(self, function):
        self.function, self.graph = function, None

    def __call__(self, *arguments):
        if self.graph is None:
            self.into = [argument.clone() for argument in arguments]
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.function(*self.into)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.results = self.function(*self.into)
        for into, argument in zip(self.into, arguments):
            if into.data_ptr() != argument.data_ptr():
                into.copy_(argument, non_blocking=True)
        self.graph.replay()
        return self.results


def caller(program, mode, device):
    """Runs the program once; returns its results in host memory."""
    run, ops = program.run
    wraps = {"compile": torch.compile, "reduce_overhead": lambda op: torch.compile(op, mode="reduce-overhead"), "segments": Segment}
    wrap = wraps.get(mode)
    if wrap:
        ops = {name: wrap(op) for name, op in ops.items()}

    def to_device():
        if mode == "reduce_overhead":
            torch.compiler.cudagraph_mark_step_begin()
        return [t if i in program.stay else t.to(device, non_blocking=True) for i, t in enumerate(program.inputs)]

    results = []

    def to_host(tensors):
        if not tensors[0].is_cuda:
            return tensors
        if not results:
            results.extend(torch.empty(t.shape, dtype=t.dtype, pin_memory=True) for t in tensors)
        for into, tensor in zip(results, tensors):
            into.copy_(tensor, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return results

    if mode != "graph":
        return lambda: to_host(run(ops, *to_device()))
    static = to_device()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run(ops, *static)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded = run(ops, *static)

    def replay():
        for into, source in zip(static, program.inputs):
            into.copy_(source, non_blocking=True)
        graph.replay()
        return to_host(recorded)

    return replay


def jax_tiny_ops(jax, s, x, y):
    def trip(_, x):
        for _ in range(10):
            x = jax.numpy.tanh(x * y) + 0.5
        return x

    return [jax.lax.fori_loop(0, s["steps"], trip, x)]


def jax_mlp_inference(jax, s, x, w1, b1, w2, b2, w3):
    h = jax.nn.relu(x @ w1 + b1)
    h = jax.nn.relu(h @ w2 + b2)
    return [jax.nn.softmax(h @ w3, -1)]


def jax_mlp_training(jax, s, x, y, w1, w2):
    def trip(_, weights):
        w1, w2 = weights
        z = x @ w1
        h = jax.nn.relu(z)
        error = (jax.nn.softmax(h @ w2, -1) - y) / s["batch"]
        back = jax.numpy.where(z > 0, error @ w2.T, 0.0)
        return w1 - 0.01 * (x.T @ back), w2 - 0.01 * (h.T @ error)

    return list(jax.lax.fori_loop(0, s["steps"], trip, (w1, w2)))


def jax_transformer_block(jax, s, x, wq, wk, wv, wo, w1, w2):
    depth = s["width"] // s["heads"]

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def split(t):
        return t.reshape(s["batch"], s["length"], s["heads"], depth).transpose(0, 2, 1, 3)

    n = norm(x)
    q, k, v = split(n @ wq), split(n @ wk), split(n @ wv)
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / depth**0.5, -1)
    y = x + (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ wo
    return [y + jax.nn.gelu(norm(y) @ w1, approximate=False) @ w2]


def jax_branch_on_data(jax, s, x):
    def trip(_, x):
        return jax.lax.cond(x.sum() > 0, lambda x: x * 0.5 - 0.25, lambda x: x * 0.5 + 0.25, x)

    return [jax.lax.fori_loop(0, s["steps"], trip, x)]


def jax_matmul_chain(jax, s, w, x):
    return [jax.lax.fori_loop(0, s["steps"], lambda _, x: w @ x, x)]


JAX_PROGRAMS = {
    "tiny_ops": jax_tiny_ops, "mlp_inference": jax_mlp_inference, "mlp_training": jax_mlp_training,
    "transformer_block": jax_transformer_block, "branch_on_data": jax_branch_on_data, "matmul_chain_bf16": jax_matmul_chain,
}


def jax_caller(name, sizes, inputs, device):
    """Runs the program once in JAX; returns its results in host memory."""
    if name not in JAX_PROGRAMS:
        raise ValueError("the host takes part: it is no program of the device alone")
    try:
        import jax
    except ImportError:
        raise ValueError("JAX is not installed") from None
    jax.config.update("jax_default_matmul_precision", "highest")  # no TF32, as in PyTorch
    here = jax.sharding.SingleDeviceSharding(jax.devices(device)[0], memory_kind="device")
    host = here.with_memory_kind("pinned_host")
    given = [jax.device_put(t.float().numpy().astype(str(t.dtype).split(".")[1]), host) for t in inputs]

    @functools.partial(jax.jit, out_shardings=host)
    def program(*inputs):
        return JAX_PROGRAMS[name](jax, sizes, *jax.device_put(inputs, here))

    return lambda: jax.block_until_ready(program(*given))


def kept(result):
    """A copy of a result, of PyTorch or JAX."""
    if torch.is_tensor(result):
        return result.clone()
    import numpy
    return torch.from_numpy(numpy.array(result, "float32"))


def alike(results, expected):
    """Whether results agree up to rounding errors, which accumulate in loops."""
    return all(torch.allclose(a.float(), b.float(), rtol=2e-2, atol=1e-2 * float(b.float().abs().max()))
               for a, b in zip(results, expected))


def time_mode(row, mode, program, arguments, synchronize, expected):
    """Records the time, or why there is none; returns the results."""
    row[mode] = None
    cuda = arguments.device == "cuda"
    try:
        if mode in ("graph", "segments", "reduce_overhead") and not cuda:
            raise ValueError("no GPU")
        if mode == "graph" and program.host:
            raise ValueError("the host takes part")
        if mode == "segments" and not program.host:
            raise ValueError("the host takes no part: see graph")
        if mode == "jax":
            call = jax_caller(row["name"], row["sizes"], program.inputs, arguments.device)
        else:
            call = caller(program, mode, arguments.device)
        results = [kept(result) for result in call()]
        if expected and not alike(results, expected):
            raise ValueError("its results differ from eager's")
        row[mode] = measure(call, synchronize, arguments.seconds)
        return results
    except Exception as error:  # noqa: BLE001 - one failing mode must not lose the others
        row[mode + "_why"] = (str(error).splitlines() or [type(error).__name__])[0][:200]
        return None


def write(document, file):
    """Writes to a file that is complete at every moment, or to standard output."""
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
    parser.add_argument("--modes", default=",".join(MODES))
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
            expected = None
            STAGING.buffers.clear()
            for mode in arguments.modes.split(","):
                results = time_mode(row, mode, program, arguments, synchronize, expected)
                expected = expected or results
                print(f"{each['name']} {mode}: {row[mode] or row[mode + '_why']}", file=sys.stderr)
                if arguments.out:
                    write(document, arguments.out)
    write(document, arguments.out)


if __name__ == "__main__":
    main()
