"""A network that knows the digits 0 to 4: PyTorch trains and exports it, and a program of cleave goes on with all ten (docs/guide/onnx.md).

    python3 docs/examples/digits_net.py     # writes docs/examples/digits_net.onnx
"""
import pathlib

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent.parent / "models" / "data"


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(64, 48)
        self.head = torch.nn.Linear(48, 10)

    def forward(self, image):
        return self.head(torch.relu(self.body(image / 16)))


def main():
    torch.manual_seed(0)
    images = torch.from_numpy(np.load(DATA / "digits_train.npy").astype(np.float32))
    labels = torch.from_numpy(np.load(DATA / "digits_train_labels.npy").astype(np.int64))
    images, labels = images[labels < 5], labels[labels < 5]
    net = Digits()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(20):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(images[rows]), labels[rows]).backward()
            optimizer.step()
    batch = torch.export.Dim("batch", min=1, max=4096)
    program = torch.onnx.export(net.eval(), (torch.rand(8, 64),), dynamo=True, input_names=["image"], output_names=["logits"],
                                dynamic_shapes=({0: batch},), verbose=False)
    for node in program.model.graph:
        node.metadata_props.clear()  # nodes are named by the file, on every machine
    program.save(HERE / "digits_net.onnx", external_data=False)


if __name__ == "__main__":
    main()
