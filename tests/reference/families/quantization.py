"""Quantization, compared with ONNX's reference evaluator."""
import numpy as np

from case import Case, numbers, onnx_op


def cases():
    x = np.concatenate([numbers(41, low=-40, high=40), np.float32([0.5, 1.5, 2.5, -0.5, 1e6, -1e6])])
    for dtype in (np.int8, np.uint8, np.int16, np.uint16):
        zero = np.array(3, dtype)
        yield Case(f"quantize {np.dtype(dtype)}", "quantize(x, s, z)", {"x": x, "s": np.array(0.5, np.float32), "z": zero},
                   lambda x, s, z: onnx_op("QuantizeLinear", [x, s, z]))
        q = numbers(5, 7, low=0, high=100, dtype=dtype)
        yield Case(f"dequantize {np.dtype(dtype)}", "dequantize(q, s, z)", {"q": q, "s": np.array(0.3, np.float32), "z": zero},
                   lambda q, s, z: onnx_op("DequantizeLinear", [q, s, z]))
    y, scales = numbers(2, 3, 4), numbers(3, low=0.01, high=0.2)
    zeros = np.array([0, 7, 200], np.uint8)
    yield Case("quantize by channel", "quantize(y, s, z, axis=1)", {"y": y, "s": scales, "z": zeros},
               lambda y, s, z: onnx_op("QuantizeLinear", [y, s, z], axis=1))
    yield Case("quantize without a zero point", "quantize(y, 0.05)", {"y": y}, lambda y: onnx_op("QuantizeLinear", [y, np.float32(0.05)]))
    q = numbers(2, 3, 4, low=0, high=255, dtype=np.uint8)
    yield Case("dequantize by channel", "dequantize(q, s, z, axis=-2)", {"q": q, "s": scales, "z": zeros},
               lambda q, s, z: onnx_op("DequantizeLinear", [q, s, z], axis=1))
    a, b = numbers(4, 9, low=-128, high=127, dtype=np.int8), numbers(9, 5, seed=2, low=-128, high=127, dtype=np.int8)
    yield Case("matmul of i8", "matmul(a, b)", {"a": a, "b": b}, lambda a, b: onnx_op("MatMulInteger", [a, b]))
    c = numbers(9, 5, seed=2, low=0, high=255, dtype=np.uint8)
    yield Case("matmul of i8 and u8", "matmul(a, c)", {"a": a, "c": c}, lambda a, c: a.astype(np.int32) @ c.astype(np.int32))
    byte = lambda *shape, seed, dtype: numbers(*shape, seed=seed, low=np.iinfo(dtype).min, high=np.iinfo(dtype).max, dtype=dtype)
    scalar = lambda value, dtype: np.array(value, dtype)
    for x, w in ((np.uint8, np.int8), (np.int8, np.int8), (np.int8, np.uint8)):
        a, b, za = byte(17, 33, seed=3, dtype=x), byte(33, 21, seed=4, dtype=w), scalar(5, x)
        name = f"{np.dtype(x)} by {np.dtype(w)}"
        yield Case(f"quantized_matmul, {name}", "quantized_matmul(a, b, y, z)", {"a": a, "b": b, "y": za, "z": scalar(9, w)},
                   lambda a, b, y, z: onnx_op("MatMulInteger", [a, b, y, z]))
        image, kernel = byte(2, 6, 11, 9, seed=5, dtype=x), byte(8, 3, 3, 3, seed=6, dtype=w)
        yield Case(f"quantized_conv, {name}", "quantized_conv(x, w, y, z, pads=1, strides=2, group=2)",
                   {"x": image, "w": kernel, "y": za, "z": scalar(9, w)},
                   lambda x, w, y, z: direct_conv(x, w, y, z, pads=1, stride=2, group=2))


def direct_conv(x, w, x_zero, w_zero, *, pads, stride, group):
    """A convolution of integers by its definition."""
    x, w = x.astype(np.int64) - int(x_zero), w.astype(np.int64) - int(w_zero)
    x = np.pad(x, ((0, 0), (0, 0), (pads, pads), (pads, pads)))
    rows, columns = ((extent - k) // stride + 1 for extent, k in zip(x.shape[2:], w.shape[2:]))
    y = np.zeros((x.shape[0], w.shape[0], rows, columns), np.int32)
    for output in range(w.shape[0]):
        first = output // (w.shape[0] // group) * w.shape[1]
        for i in range(rows):
            for j in range(columns):
                part = x[:, first:first + w.shape[1], i * stride:i * stride + w.shape[2], j * stride:j * stride + w.shape[3]]
                y[:, output, i, j] = (part * w[output]).sum((1, 2, 3))
    return y
