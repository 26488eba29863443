"""Describes the strongest points of an image: a small network of PyTorch that the guide exports to ONNX (docs/guide/onnx.md).

    python3 models/data/keypoints.py        # writes models/data/keypoints.onnx
"""
import pathlib
import re

import torch
from torch.nn.functional import relu

CHANNELS, STRONGEST = 8, 64


class Keypoints(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, CHANNELS, 3, padding=1)
        self.second = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.score = torch.nn.Conv2d(CHANNELS, 1, 1)
        self.describe = torch.nn.Conv2d(CHANNELS + 1, CHANNELS, 3, padding=1)

    def forward(self, image):
        features = relu(self.second(relu(self.first(image))))
        heat = self.score(features)
        threshold = heat.flatten().topk(STRONGEST).values[-1]
        points = torch.where(heat >= threshold, heat, 0)
        return relu(self.describe(torch.cat((features, points), 1))).mean((2, 3))


def export(model, path):
    """With the paths of its sources as seen from here, so that messages name them so on every machine."""
    size = {2: torch.export.Dim("height", min=16), 3: torch.export.Dim("width", min=16)}
    program = torch.onnx.export(model.eval(), (torch.rand(1, 1, 64, 96),), dynamo=True, input_names=["image"], output_names=["description"],
                                dynamic_shapes=(size,), verbose=False)
    for node in program.model.graph:
        for name, text in node.metadata_props.items():
            node.metadata_props[name] = re.sub(r'"/[^"]*/(?=python3[^"]*/site-packages/)', '"', text.replace(f"{pathlib.Path.cwd()}/", ""))
    program.save(path)


if __name__ == "__main__":
    torch.manual_seed(0)
    export(Keypoints(), pathlib.Path(__file__).with_suffix(".onnx"))
