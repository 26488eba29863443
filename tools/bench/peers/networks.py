"""The cases that are convolutional networks for images, with random weights: ResNet-50 and MobileNetV3-Large as torchvision defines them for
inference, each normalization folded into the convolution before it. A network is recorded once and written in all languages."""
import numpy as np

from peers.case import Case, Target
from peers.primitives import functional, numbers, torch

TARGET = Target(best=1)


class Network:
    """The operations of a network on `x`, as statements in all languages. Methods take and return names of values."""

    def __init__(self):
        self.weights, self.model, self.onnx, self.steps = {}, [], [], []

    def record(self, model, onnx, step, *inputs):
        name = f"v{len(self.steps)}"
        self.model.append(f"- {name}: {model}")
        self.onnx.append(f"{name} = {onnx}")
        self.steps.append((name, step, inputs))
        return name

    def weight(self, shape, deviation):
        name = f"p{len(self.weights)}"
        self.weights[name] = (shape, deviation)
        return name

    def conv(self, x, channels, outputs, kernel=1, stride=1, groups=1, gain=1.0):
        pad = kernel // 2
        w = self.weight((outputs, channels // groups, kernel, kernel), gain * (2 / (channels // groups * kernel * kernel))**0.5)
        b = self.weight((outputs,), 0.1)
        return self.record(f"conv({x}, {w}, {b}, strides={stride}, pads={pad}, group={groups})",
                           f"Conv <strides = [{stride}, {stride}], pads = [{pad}, {pad}, {pad}, {pad}], group = {groups}> ({x}, {w}, {b})",
                           lambda x, w, b: functional.conv2d(x, w, b, stride, pad, 1, groups), x, w, b)

    def act(self, x, kind):
        if kind == "relu":
            return self.record(f"relu({x})", f"Relu({x})", functional.relu, x)
        if kind == "hard_swish":
            return self.record(f"{x} * clip({x} + 3.0, 0.0, 6.0) * {1 / 6}", f"HardSwish({x})", functional.hardswish, x)
        return self.record(f"clip({x} + 3.0, 0.0, 6.0) * {1 / 6}", f"HardSigmoid <alpha = {1 / 6:.9f}, beta = 0.5> ({x})",
                           functional.hardsigmoid, x)

    def add(self, a, b):
        return self.record(f"{a} + {b}", f"Add({a}, {b})", lambda a, b: a + b, a, b)

    def multiply(self, a, b):
        return self.record(f"{a} * {b}", f"Mul({a}, {b})", lambda a, b: a * b, a, b)

    def max_pool(self, x):
        return self.record(f"max_pool({x}, 3, strides=2, pads=1)",
                           f"MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> ({x})",
                           lambda x: functional.max_pool2d(x, 3, 2, 1), x)

    def mean(self, x):
        return self.record(f"global_average_pool({x})", f"GlobalAveragePool({x})", lambda x: functional.adaptive_avg_pool2d(x, 1), x)

    def flat(self, x, batch, width):
        return self.record(f"reshape({x}, [{batch}, {width}])", f"Flatten <axis = 1> ({x})", lambda x: x.flatten(1), x)

    def dense(self, x, inputs, outputs):
        w, b = self.weight((inputs, outputs), inputs**-0.5), self.weight((outputs,), 0.1)
        return self.record(f"matmul({x}, {w}) + {b}", f"Gemm({x}, {w}, {b})", lambda x, w, b: torch.addmm(b, x, w), x, w, b)

    def arrays(self, batch, side):
        made = {"x": numbers(batch, 3, side, side)}
        for seed, (name, (shape, deviation)) in enumerate(self.weights.items(), 1):
            made[name] = (np.random.default_rng(seed).standard_normal(shape) * deviation).astype(np.float32)
        return made

    def run(self, values):
        for name, step, inputs in self.steps:
            values[name] = step(*(values[each] for each in inputs))
        return values[name]

    def case(self, title, batch, side=224):
        last, names = self.steps[-1][0], ["x", *self.weights]

        def in_torch(*tensors):
            return self.run(dict(zip(names, tensors)))

        def exact(**arrays):
            with torch.inference_mode():
                return self.run({name: torch.from_numpy(array).double() for name, array in arrays.items()}).numpy().astype(np.float32)

        return Case(f"{title}, batch {batch}", lambda: self.arrays(batch, side), "\n".join(self.model), exact, TARGET, torch=in_torch,
                    onnx="\n".join(self.onnx), output=last, constants=tuple(self.weights), tolerance=1e-4, is_program=True)


def resnet_50(batch):
    net = Network()
    y = net.max_pool(net.act(net.conv("x", 3, 64, 7, 2), "relu"))
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            z = net.act(net.conv(y, channels, width), "relu")
            z = net.act(net.conv(z, width, width, 3, stride), "relu")
            z = net.conv(z, width, 4 * width, gain=0.3)
            beside = net.conv(y, channels, 4 * width, 1, stride) if block == 0 else y
            y = net.act(net.add(z, beside), "relu")
            channels = 4 * width
    net.dense(net.flat(net.mean(y), batch, channels), channels, 1000)
    return net.case("ResNet-50", batch)


# kernel, expanded, out, squeezed, activation, stride
MOBILE = [(3, 16, 16, False, "relu", 1), (3, 64, 24, False, "relu", 2), (3, 72, 24, False, "relu", 1), (5, 72, 40, True, "relu", 2),
          (5, 120, 40, True, "relu", 1), (5, 120, 40, True, "relu", 1), (3, 240, 80, False, "hard_swish", 2),
          (3, 200, 80, False, "hard_swish", 1), (3, 184, 80, False, "hard_swish", 1), (3, 184, 80, False, "hard_swish", 1),
          (3, 480, 112, True, "hard_swish", 1), (3, 672, 112, True, "hard_swish", 1), (5, 672, 160, True, "hard_swish", 2),
          (5, 960, 160, True, "hard_swish", 1), (5, 960, 160, True, "hard_swish", 1)]


def mobilenet_v3(batch):
    net = Network()
    y, channels = net.act(net.conv("x", 3, 16, 3, 2), "hard_swish"), 16
    for kernel, expanded, out, squeezed, kind, stride in MOBILE:
        z = y if expanded == channels else net.act(net.conv(y, channels, expanded), kind)
        z = net.act(net.conv(z, expanded, expanded, kernel, stride, expanded), kind)
        if squeezed:
            narrow = (expanded // 4 + 4) // 8 * 8
            s = net.act(net.conv(net.mean(z), expanded, narrow), "relu")
            z = net.multiply(z, net.act(net.conv(s, narrow, expanded), "hard_sigmoid"))
        z = net.conv(z, expanded, out)
        y = net.add(z, y) if stride == 1 and out == channels else z
        channels = out
    y = net.act(net.conv(y, channels, 960), "hard_swish")
    y = net.act(net.dense(net.flat(net.mean(y), batch, 960), 960, 1280), "hard_swish")
    net.dense(y, 1280, 1000)
    return net.case("MobileNetV3", batch)


def networks():
    for batch in (1, 8):
        yield resnet_50(batch)
        yield mobilenet_v3(batch)
