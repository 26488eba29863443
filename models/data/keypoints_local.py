"""keypoints.py without its wait for the host: a point is what is strongest around it, and no list of all points is sorted (docs/guide/onnx.md).

    python3 models/data/keypoints_local.py  # writes models/data/keypoints_local.onnx
"""
import pathlib

import torch
from keypoints import export
from torch.nn.functional import max_pool2d, relu

CHANNELS, AROUND = 8, 4


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
        strongest = max_pool2d(heat, 2 * AROUND + 1, stride=1, padding=AROUND)
        points = torch.where(heat == strongest, heat, 0)
        return relu(self.describe(torch.cat((features, points), 1))).mean((2, 3))


if __name__ == "__main__":
    torch.manual_seed(0)
    export(Keypoints(), pathlib.Path(__file__).with_suffix(".onnx"))
