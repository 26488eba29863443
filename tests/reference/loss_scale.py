#!/usr/bin/env python3
"""Writes loss_scale.json: parameters, scales and growth trackers of torch.amp.GradScaler, step by step, which tests/models/loss_scale_test.cpp
compares with the functions of optimizers.yaml.

    pip install torch==2.15.0 && tests/reference/loss_scale.py

PyTorch is too large for continuous integration, so that its figures are part of the tree. The gradients are made by hand in f16: times the
scale, some of them overflow."""
import json
import pathlib

import torch

STEPS = 60
START = [0.5, -1.25, 2.0, 0.75, -0.375, 3.0]
#: Name, the arguments of the scaler, and the same in YAML.
CASES = [
    ("defaults", {}, ""),
    ("short_interval", {"growth_interval": 3}, ", interval=3"),
    ("other_factors", {"growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 5}, ", growth=4.0, backoff=0.25, interval=5"),
    ("largest_scale", {"init_scale": 2.0**126, "growth_interval": 1}, ", interval=1"),
]


def gradient(step):
    """As in tests/models/loss_scale_test.cpp: exact in f16, and zero in every seventh step, so that no scale makes it overflow."""
    values = (step * 7 + torch.arange(len(START)) * 13) % 31 - 15
    return (0.0 if step % 7 == 0 else 1.0) * values.to(torch.float32) / 8


def run(options):
    w = torch.nn.Parameter(torch.tensor(START))
    optimizer = torch.optim.SGD([w], lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", **options)
    rows = []
    for step in range(STEPS):
        scale = scaler.scale(torch.tensor(1.0))
        w.grad = (gradient(step) * scale).to(torch.float16).to(torch.float32)
        scaler.step(optimizer)
        scaler.update()
        rows.append({"w": w.tolist(), "scale": scaler.get_scale(), "steps": scaler._get_growth_tracker()})
    return rows


def main():
    cases = [{"name": name, "start": options.get("init_scale", 65536.0), "call": call, "rows": run(options)} for name, options, call in CASES]
    for case in cases:
        scales = [case["start"]] + [row["scale"] for row in case["rows"]]
        print(case["name"], "skipped", sum(b < a for a, b in zip(scales, scales[1:])), "grown", sum(b > a for a, b in zip(scales, scales[1:])))
    head = json.dumps({"torch": torch.__version__, "steps": STEPS, "start": START})
    text = head[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]}\n"
    pathlib.Path(__file__).with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
