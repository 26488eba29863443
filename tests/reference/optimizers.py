#!/usr/bin/env python3
"""Writes optimizers.json: parameters after 100 steps of each optimizer of PyTorch, which tests/models/optimizers_test.cpp compares with the
functions of optimizers.yaml.

    pip install torch==2.15.0 && tests/reference/optimizers.py

PyTorch is too large for continuous integration, so that its figures are part of the tree. PyTorch has no Lion: it is written out here from
its paper (Chen et al., 2023). Gradients do not depend on the parameters and are exact in f32: what is compared are the optimizers alone."""
import json
import pathlib

import torch

STEPS = 100
START = [0.5, -1.25, 2.0, 0.75, -0.375, 3.0]


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                m = self.state[w].setdefault("m", torch.zeros_like(w))
                beta1, beta2 = group["betas"]
                w.mul_(1 - group["lr"] * group["weight_decay"])
                w.add_((beta1 * m + (1 - beta1) * w.grad).sign(), alpha=-group["lr"])
                m.mul_(beta2).add_(w.grad, alpha=1 - beta2)


optim = torch.optim
#: Name, the call in YAML, how many states it has, and the same in PyTorch.
CASES = [
    ("sgd", "sgd(w, g, 0.1)", 0, lambda w: optim.SGD(w, lr=0.1)),
    ("sgd_decay", "sgd(w, g, 0.1, weight_decay=0.01)", 0, lambda w: optim.SGD(w, lr=0.1, weight_decay=0.01)),
    ("momentum", "momentum(w, g, s, 0.01)", 1, lambda w: optim.SGD(w, lr=0.01, momentum=0.9)),
    ("nesterov", "momentum(w, g, s, 0.01, momentum=0.8, nesterov=true, weight_decay=0.01)", 1,
     lambda w: optim.SGD(w, lr=0.01, momentum=0.8, nesterov=True, weight_decay=0.01)),
    ("adam", "adam(w, g, s, t, 0.01, step=i)", 2, lambda w: optim.Adam(w, lr=0.01)),
    ("adam_decay", "adam(w, g, s, t, 0.01, step=i, beta1=0.8, beta2=0.99, weight_decay=0.01)", 2,
     lambda w: optim.Adam(w, lr=0.01, betas=(0.8, 0.99), weight_decay=0.01)),
    ("adamw", "adamw(w, g, s, t, 0.01, step=i)", 2, lambda w: optim.AdamW(w, lr=0.01)),
    ("adagrad", "adagrad(w, g, s, 0.1)", 1, lambda w: optim.Adagrad(w, lr=0.1)),
    ("rmsprop", "rmsprop(w, g, s, 0.01)", 1, lambda w: optim.RMSprop(w, lr=0.01)),
    ("lion", "lion(w, g, s, 0.01)", 1, lambda w: Lion(w, lr=0.01)),
    ("lion_decay", "lion(w, g, s, 0.01, weight_decay=0.1)", 1, lambda w: Lion(w, lr=0.01, weight_decay=0.1)),
]


def final(make, dtype):
    w = torch.nn.Parameter(torch.tensor(START, dtype=dtype))
    optimizer = make([w])
    for i in range(STEPS):
        w.grad = ((i * 7 + torch.arange(len(START)) * 13) % 31 - 15).to(dtype) / 16
        optimizer.step()
    return w.tolist()


def main():
    cases = [{"name": name, "call": call, "states": states, "f32": final(make, torch.float32), "f64": final(make, torch.float64)}
             for name, call, states, make in CASES]
    head = json.dumps({"torch": torch.__version__, "steps": STEPS, "start": START})
    text = head[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]}\n"
    pathlib.Path(__file__).with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
