#!/usr/bin/env python3
"""Writes fine_tuning.onnx, a small convolutional network as PyTorch exports it, and fine_tuning.json: its losses and weights while PyTorch
trains it. tests/models/onnx/function_test.cpp trains the file and compares.

    pip install torch==2.15.0 onnx onnxscript && tests/reference/fine_tuning.py

PyTorch is too large for continuous integration, so that file and figures are part of the tree."""
import json
import pathlib

import torch

STEPS = 8


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3, padding=1)
        self.norm = torch.nn.LayerNorm(6)
        self.fc = torch.nn.Linear(27, 4)

    def forward(self, x):
        h = torch.tanh(self.norm(self.conv(x)))
        return self.fc(torch.max_pool2d(h, 2).flatten(1))


def data():
    """As in tests/models/onnx/function_test.cpp: eight images of 2 x 6 x 6, and their classes."""
    x = ((torch.arange(8 * 2 * 6 * 6) * 37 + 11) % 64 - 32).to(torch.float32).reshape(8, 2, 6, 6) / 16
    return x, torch.arange(8) % 4


def main():
    torch.manual_seed(1)
    net, here = Net(), pathlib.Path(__file__).parent
    x, y = data()
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.onnx.export(net.eval(), (x,), dynamo=True, input_names=["x"], output_names=["y"], dynamic_shapes=({0: batch},), verbose=False)
    for node in program.model.graph:
        node.metadata_props.clear()
    program.save(here / "fine_tuning.onnx", external_data=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found = {"torch": torch.__version__, "steps": STEPS, "losses": losses,
             "weights": {name: weight.flatten().tolist() for name, weight in net.named_parameters()}}
    (here / "fine_tuning.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
