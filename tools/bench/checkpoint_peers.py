#!/usr/bin/env python3
"""Memory of the gradient of a deep network, against PyTorch's checkpointing.

    tools/bench/checkpoint_peers.py --build build --json now.json

PyTorch computes segments of the network again (torch.utils.checkpoint), in 1 to LAYERS segments; every tensor that is alive is counted,
parameters, gradients and the input included. Its extra work is that of the segments but the last, as a share of the forward part. For each
row, cleave plans for the least memory that it can with no more extra work: everything on the accelerator, the peak as the executor's memory
planner lays the values out, extra work as the predicted seconds above those with enough memory, as a share of the forward part's. So the
figures depend on no clock. Exits with 1 if less memory ever costs less."""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import weakref

from peers import environment

PACKAGES = ["numpy", "torch"]
LAYERS, WIDTH, BATCH = 12, 512, 4096
MIB = 2**20


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="the rows as a family of results")
    parser.add_argument("--build", type=pathlib.Path, default=environment.ROOT / "build", metavar="FOLDER", help="which has tools/cleave")
    parser.add_argument("--cache", type=pathlib.Path, default=environment.cache_folder(), metavar="FOLDER", help="of the environment")
    return parser.parse_args()


def model(gradient):
    layers = range(LAYERS)
    lines = ["cleave: 1", "model: stack", f'inputs: {{x: "f32[{BATCH}, {WIDTH}]"}}', "parameters:"]
    lines += [f'  w{i}: {{type: "f32[{WIDTH}, {WIDTH}]", uniform: [-0.05, 0.05], seed: {i}}}' for i in layers]
    lines += ["program:", "  - h0: x"] + [f"  - h{i + 1}: gelu(matmul(h{i}, w{i}))" for i in layers]
    lines.append(f"  - loss: mean(h{LAYERS} * h{LAYERS})")
    gradients = ", ".join(f"g{i}" for i in layers)
    if gradient:
        lines.append(f'  - "{gradients}": gradient(loss, {", ".join(f"w{i}" for i in layers)})')
    return "\n".join(lines + [f"outputs: [{gradients if gradient else 'loss'}]"]) + "\n"


class Plans:
    def __init__(self, build):
        self.program = build / "tools" / "cleave"

    def seconds_and_peak(self, path, mebibytes=None):
        """None where no plan fits."""
        memory = [] if mebibytes is None else ["--accelerator-memory", f"{mebibytes}MiB"]
        command = [self.program, "explain", path, "--device", "simulated", "--placement", "accelerator", "--json"] + memory
        document = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        if "memory" not in document:
            return None
        peak = next(side["peak_bytes"] for side in document["memory"] if side["on"] != "host")
        return document["placement"]["objective_seconds"], peak / MIB


def live_bytes():
    from torch import Tensor
    from torch.utils._python_dispatch import TorchDispatchMode

    class Live(TorchDispatchMode):
        """Counts the bytes of all storages that operations made and that are still alive."""

        def __init__(self):
            super().__init__()
            self.sizes, self.live, self.peak = {}, 0, 0

        def drop(self, key):
            self.live -= self.sizes.pop(key, 0)

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, (tuple, list)) else [out]:
                if not isinstance(tensor, Tensor):
                    continue
                storage = tensor.untyped_storage()
                key = storage._cdata
                if key not in self.sizes:
                    self.sizes[key] = storage.nbytes()
                    self.live += storage.nbytes()
                    self.peak = max(self.peak, self.live)
                    weakref.finalize(storage, self.drop, key)
            return out

    return Live()


def peer_peak(segments):
    import torch
    from torch.utils.checkpoint import checkpoint_sequential

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH) * 0.04)

        def forward(self, h):
            return torch.nn.functional.gelu(h @ self.weight)

    torch.manual_seed(0)
    net, x = torch.nn.Sequential(*[Layer() for _ in range(LAYERS)]), torch.randn(BATCH, WIDTH)
    live = live_bytes()
    with live:
        h = checkpoint_sequential(net, segments, x, use_reentrant=False) if segments > 1 else net(x)
        (h * h).mean().backward()
    given = sum(4 * each.numel() for each in net.parameters()) + 4 * x.numel()
    return (live.peak + given) / MIB


def extra_of(segments):
    """The share of the forward part that is computed again: all segments but the last, which checkpoint_sequential keeps."""
    return LAYERS // segments * (segments - 1) / LAYERS


def main():
    args = parse()
    environment.enter(args.cache, PACKAGES)
    import torch
    plans = Plans(args.build)
    with tempfile.TemporaryDirectory() as folder:
        whole, forward = pathlib.Path(folder, "stack.yaml"), pathlib.Path(folder, "forward.yaml")
        whole.write_text(model(True))
        forward.write_text(model(False))
        enough, full_peak = plans.seconds_and_peak(whole)
        forward_seconds, _ = plans.seconds_and_peak(forward)
        found = [(enough, full_peak)]
        for mebibytes in range(int(full_peak), 0, -4):
            one = plans.seconds_and_peak(whole, mebibytes)
            if one is None:
                break
            found.append(one)
    monotone = all(a[0] <= b[0] * (1 + 1e-9) for a, b in zip(found, found[1:]))
    rows = []
    for segments in [each for each in range(1, LAYERS + 1) if LAYERS % each == 0]:
        extra = extra_of(segments)
        fitting = [one for one in found if (one[0] - enough) / forward_seconds <= extra + 1e-9]
        seconds, peak = min(fitting, key=lambda one: one[1])
        theirs = peer_peak(segments)
        rows.append([segments, round(100 * extra), round(theirs), round(peak), round(100 * (seconds - enough) / forward_seconds),
                     round(theirs / peak, 2)])
    columns = ["segments", "extra work, % of the forward part", "PyTorch, MiB", "cleave, MiB", "its extra work, %", "PyTorch / cleave"]
    for row in [columns] + rows:
        print(" | ".join(str(each) for each in row))
    conditions = (f"PyTorch {torch.__version__.split('+')[0]}; {LAYERS} layers `gelu(h @ w)` of width {WIDTH}, batch {BATCH}, f32; cleave "
                  "on machine `simulated`, everything on the accelerator")
    if args.json:
        family = {"family": "saved_values", "conditions": conditions, "columns": columns, "rows": rows, "notes": [], "caveats": []}
        document = {"date": datetime.date.today().isoformat(), "commit": environment.commit(), "machine": "none: figures of plans, not of time",
                    "source": "tools/bench/checkpoint_peers.py", "results": [family]}
        pathlib.Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    if not monotone:
        print("less memory costs less somewhere", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
