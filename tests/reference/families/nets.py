"""Layers of networks: convolution, pooling, normalization and resizing."""
import numpy as np

from case import Case, numbers, onnx_op


def transposed(x, w, bias=None, *, strides, pads=None, dilations=None, output_padding=None, group=1):
    """A transposed convolution by its definition: each input element adds its multiple of the weights to the output. ONNX's reference
    evaluator supports only one group and two axes."""
    axes = x.ndim - 2
    pads, dilations, output_padding = pads or [0] * 2 * axes, dilations or [1] * axes, output_padding or [0] * axes
    extents = [(n - 1) * s + d * (k - 1) + 1 + more
               for n, s, d, k, more in zip(x.shape[2:], strides, dilations, w.shape[2:], output_padding)]
    y = np.zeros((x.shape[0], group * w.shape[1], *extents))
    for g in range(group):
        own = slice(g * x.shape[1] // group, (g + 1) * x.shape[1] // group)
        out = slice(g * w.shape[1], (g + 1) * w.shape[1])
        for at in np.ndindex(*x.shape[2:]):
            for k in np.ndindex(*w.shape[2:]):
                place = tuple(i * s + j * d for i, s, j, d in zip(at, strides, k, dilations))
                y[(slice(None), out, *place)] += x[(slice(None), own, *at)].astype(float) @ w[(own, slice(None), *k)]
    kept = tuple(slice(before, extent - after) for before, after, extent in zip(pads[:axes], pads[axes:], extents))
    y = y[(slice(None), slice(None), *kept)]
    return (y if bias is None else y + bias.reshape(-1, *[1] * axes)).astype(x.dtype)


def convolutions():
    for name, shapes, attributes in (
            ("strides and pads", [(2, 3, 9, 8), (4, 3, 3, 2), (4,)], {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
            ("dilations", [(1, 2, 11), (3, 2, 3)], {"dilations": [3]}),
            ("groups", [(2, 6, 7, 7), (8, 3, 3, 3), (8,)], {"group": 2, "pads": [1, 1, 1, 1]}),
            ("depthwise", [(1, 6, 9, 7), (6, 1, 5, 5)], {"group": 6, "pads": [2, 2, 2, 2], "strides": [2, 2]}),
            ("three axes", [(1, 2, 4, 5, 6), (3, 2, 2, 3, 2)], {"strides": [1, 2, 2]})):
        arrays = {key: numbers(*shape, seed=i) for i, (key, shape) in enumerate(zip("xwb", shapes))}
        given = "".join(f", {key}={value}" for key, value in attributes.items())
        yield Case(f"conv, {name}", f"conv({', '.join(arrays)}{given})", arrays,
                   lambda *arrays, attributes=attributes: onnx_op("Conv", list(arrays), **attributes))
    for same in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield Case(f"conv, {same}", f'conv(x, w, strides=2, auto_pad="{same.lower()}")',
                   {"x": numbers(1, 2, 8, 7), "w": numbers(3, 2, 3, 4)},
                   lambda x, w, same=same: onnx_op("Conv", [x, w], strides=[2, 2], auto_pad=same))
    for name, shapes, attributes in (
            ("strides and pads", [(2, 3, 5), (3, 4, 3), (4,)], {"strides": [2], "pads": [1, 1]}),
            ("groups, dilations, output padding", [(1, 4, 5, 4), (4, 3, 3, 2)],
             {"strides": [3, 2], "dilations": [2, 1], "output_padding": [1, 1], "group": 2})):
        arrays = {key: numbers(*shape, seed=i) for i, (key, shape) in enumerate(zip("xwb", shapes))}
        given = "".join(f", {key}={value}" for key, value in attributes.items())

        yield Case(f"conv_transpose, {name}", f"conv_transpose({', '.join(arrays)}{given})", arrays,
                   lambda *arrays, attributes=attributes: transposed(*arrays, **attributes))


def pools():
    for op, onnx in (("max_pool", "MaxPool"), ("avg_pool", "AveragePool")):
        for name, shape, attributes in (
                ("strides and pads", (2, 3, 9, 8), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}),
                ("one axis", (2, 3, 11), {"kernel_shape": [4], "strides": [3]}),
                ("ceil", (1, 2, 7, 10), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
                ("dilations", (1, 2, 9, 9), {"kernel_shape": [2, 3], "dilations": [3, 2]})):
            given = "".join(f", {key}={'true' if key == 'ceil_mode' else value}" for key, value in attributes.items())
            yield Case(f"{op}, {name}", f"{op}(x{given})", {"x": numbers(*shape)},
                       lambda x, onnx=onnx, attributes=attributes: onnx_op(onnx, [x], **attributes))
    yield Case("avg_pool with padding", "avg_pool(x, 3, strides=2, pads=1, count_include_pad=true)", {"x": numbers(1, 2, 8, 7)},
               lambda x: onnx_op("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1))
    yield Case("global_average_pool", "global_average_pool(x)", {"x": numbers(2, 3, 5, 4)}, lambda x: onnx_op("GlobalAveragePool", [x]))
    yield Case("global_max_pool", "global_max_pool(x)", {"x": numbers(2, 3, 5, 4)}, lambda x: onnx_op("GlobalMaxPool", [x]))


def normalizations():
    x, channels = numbers(2, 4, 3, 5), [numbers(4, seed=i) for i in range(3)]
    variance = numbers(4, seed=9, low=0.5, high=2)
    yield Case("batch_norm", "batch_norm(x, s, b, m, v)", dict(zip("xsbmv", [x, *channels, variance])),
               lambda *arrays: onnx_op("BatchNormalization", list(arrays)))
    yield Case("instance_norm", "instance_norm(x, s, b)", dict(zip("xsb", [x, *channels])),
               lambda *arrays: onnx_op("InstanceNormalization", list(arrays)))
    yield Case("group_norm", "group_norm(x, s, b, 2)", dict(zip("xsb", [x, *channels])),
               lambda *arrays: onnx_op("GroupNormalization", list(arrays), num_groups=2))
    scale, bias = numbers(3, 5, seed=4), numbers(3, 5, seed=5)
    yield Case("layer_norm", "layer_norm(x, s, b, axis=2)", {"x": x, "s": scale, "b": bias},
               lambda x, s, b: onnx_op("LayerNormalization", [x, s, b], axis=2))
    yield Case("rms_norm", "rms_norm(x, s)", {"x": x, "s": scale[0]},
               lambda x, s: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + np.float32(1e-5)) * s)
    yield Case("lp_norm 2", "lp_norm(x, axis=1)", {"x": x}, lambda x: onnx_op("LpNormalization", [x], axis=1, p=2))
    # The reference adds up signed numbers here, without taking absolute values.
    yield Case("lp_norm 1", "lp_norm(x, axis=1, p=1)", {"x": x}, lambda x: x / np.abs(x).sum(axis=1, keepdims=True))


def resizing():
    x = numbers(1, 2, 5, 4)
    for mode in ("nearest", "linear", "cubic"):
        for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            yield Case(f"resize {mode} {coordinates}",
                       f'resize(x, sizes=[8, 3], mode="{mode}", coordinate_transformation_mode="{coordinates}")', {"x": x},
                       lambda x, mode=mode, coordinates=coordinates: onnx_op(
                           "Resize", [x, None, None, np.array([1, 2, 8, 3], np.int64)], mode=mode,
                           coordinate_transformation_mode=coordinates))
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield Case(f"resize nearest {nearest}", f'resize(x, scales=[1.7, 0.7], nearest_mode="{nearest}")', {"x": x},
                   lambda x, nearest=nearest: onnx_op("Resize", [x, None, np.array([1, 1, 1.7, 0.7], np.float32)], mode="nearest",
                                                      nearest_mode=nearest))
    yield Case("resize cubic without what is outside", 'resize(x, sizes=[9, 7], mode="cubic", exclude_outside=true, cubic_coeff_a=-0.5)',
               {"x": x}, lambda x: onnx_op("Resize", [x, None, None, np.array([1, 2, 9, 7], np.int64)], mode="cubic", exclude_outside=1,
                                           cubic_coeff_a=-0.5))
    large = numbers(1, 2, 9, 12)
    for mode in ("linear", "cubic"):
        yield Case(f"resize {mode} smoothed", f'resize(x, scales=[0.4, 0.5], mode="{mode}", antialias=true)', {"x": large},
                   lambda x, mode=mode: onnx_op("Resize", [x, None, np.array([1, 1, 0.4, 0.5], np.float32)], mode=mode, antialias=1))
    region = np.array([0, 0, 0.25, 0.5, 1, 1, 0.75, 1.5], np.float32)
    yield Case("resize a region", 'resize(x, sizes=[3, 4], mode="linear", coordinate_transformation_mode="tf_crop_and_resize", '
               "roi=[0.25, 0.5, 0.75, 1.5], extrapolation_value=10.0)", {"x": x},
               lambda x: onnx_op("Resize", [x, region, None, np.array([1, 2, 3, 4], np.int64)], mode="linear", extrapolation_value=10.0,
                                 coordinate_transformation_mode="tf_crop_and_resize"))
    for coordinates in ("half_pixel_symmetric", "align_corners"):
        yield Case(f"resize by scales {coordinates}",
                   f'resize(x, scales=[1.7, 0.7], mode="linear", coordinate_transformation_mode="{coordinates}")', {"x": x},
                   lambda x, coordinates=coordinates: onnx_op("Resize", [x, None, np.array([1, 1, 1.7, 0.7], np.float32)], mode="linear",
                                                              coordinate_transformation_mode=coordinates))
    yield Case("resize in proportion", 'resize(x, sizes=[3, 2], scales=[0.6, 0.6], mode="linear")', {"x": x},
               lambda x: onnx_op("Resize", [x, None, None, np.array([3, 4], np.int64)], mode="linear", axes=[2, 3],
                                 keep_aspect_ratio_policy="not_larger"))


def cases():
    yield from convolutions()
    yield from pools()
    yield from normalizations()
    yield from resizing()
