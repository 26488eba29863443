"""The cases of single layers over images: convolutions, pools, normalizations, resizing. Whole networks are in networks.py."""
import numpy as np

from peers.case import Case, Target
from peers.primitives import functional, numbers, torch

TARGET = Target(best=0.9)


def layer(name, inputs, program, in_torch, onnx):
    """`inputs`: name: shape. The reference is PyTorch in f64: NumPy has none of these."""
    def arrays():
        return {each: numbers(*shape, seed=seed, low=0.1) for seed, (each, shape) in enumerate(inputs.items(), 1)}

    def exact(**given):
        with torch.inference_mode():
            return in_torch(*(torch.from_numpy(array).double() for array in given.values())).numpy().astype(np.float32)

    return Case(name, arrays, f"- y: {program}", exact, TARGET, torch=in_torch, onnx=onnx, constants=tuple(inputs)[1:], tolerance=2e-5)


def convolution(name, x, w, *, stride=1, pad=1, group=1):
    return layer(name, {"x": x, "w": w}, f"conv(x, w, strides={stride}, pads={pad}, group={group})",
                 lambda x, w: functional.conv2d(x, w, None, stride, pad, 1, group),
                 f"y = Conv <strides = [{stride}, {stride}], pads = [{pad}, {pad}, {pad}, {pad}], group = {group}> (x, w)")


def images():
    yield convolution("conv 64 to 64, 56x56, 3x3", (1, 64, 56, 56), (64, 64, 3, 3))
    yield convolution("conv 256 to 256, 14x14, 3x3", (1, 256, 14, 14), (256, 256, 3, 3))
    yield convolution("conv 256 to 64, 56x56, 1x1", (1, 256, 56, 56), (64, 256, 1, 1), pad=0)
    yield convolution("conv 3 to 64, 224x224, 7x7, stride 2", (1, 3, 224, 224), (64, 3, 7, 7), stride=2, pad=3)
    yield convolution("depthwise 240, 28x28, 3x3", (1, 240, 28, 28), (240, 1, 3, 3), group=240)
    yield convolution("depthwise 672, 14x14, 5x5", (1, 672, 14, 14), (672, 1, 5, 5), pad=2, group=672)
    yield layer("conv_transpose 64 to 32, 56x56, 2x2, stride 2", {"x": (1, 64, 56, 56), "w": (64, 32, 2, 2)},
                "conv_transpose(x, w, strides=2)", lambda x, w: functional.conv_transpose2d(x, w, stride=2),
                "y = ConvTranspose <strides = [2, 2]> (x, w)")
    image = {"x": (8, 64, 56, 56)}
    yield layer("max_pool 3x3, stride 2", image, "max_pool(x, 3, strides=2, pads=1)", lambda x: functional.max_pool2d(x, 3, 2, 1),
                "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)")
    yield layer("avg_pool 2x2, stride 2", image, "avg_pool(x, 2, strides=2)", lambda x: functional.avg_pool2d(x, 2),
                "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x)")
    channels = {name: (64,) for name in ("s", "b", "m", "v")}
    yield layer("batch_norm", {**image, **channels}, "batch_norm(x, s, b, m, v)",
                lambda x, s, b, m, v: functional.batch_norm(x, m, v, s, b), "y = BatchNormalization (x, s, b, m, v)")
    affine = {name: (64,) for name in ("s", "b")}
    yield layer("group_norm, 8 groups", {**image, **affine}, "group_norm(x, s, b, 8)",
                lambda x, s, b: functional.group_norm(x, 8, s, b), "y = GroupNormalization <num_groups = 8> (x, s, b)")
    yield layer("instance_norm", {**image, **affine}, "instance_norm(x, s, b)",
                lambda x, s, b: functional.instance_norm(x, weight=s, bias=b), "y = InstanceNormalization (x, s, b)")
    yield layer("rms_norm 4096x1024", {"x": (4096, 1024), "s": (1024,)}, "rms_norm(x, s)",
                lambda x, s: functional.rms_norm(x, (1024,), s, 1e-5), "y = RMSNormalization (x, s)")
    for mode, in_torch in (("nearest", "nearest"), ("linear", "bilinear"), ("cubic", "bicubic")):
        corner = {} if mode == "nearest" else {"align_corners": False}
        extra = ', coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"' if mode == "nearest" else ""
        ours = ', coordinate_transformation_mode="asymmetric", nearest_mode="floor"' if mode == "nearest" else ""
        yield layer(f"resize {mode}, 64x64 to 128x128", {"x": (1, 64, 64, 64)}, f'resize(x, sizes=[128, 128], mode="{mode}"{ours})',
                    lambda x, how=in_torch, corner=corner: functional.interpolate(x, scale_factor=2, mode=how, **corner),
                    'n = Constant <value_ints = [1, 64, 128, 128]> () '
                    f'y = Resize <mode = "{mode}"{extra}> (x, , , n)')
