"""Cases of quantized operators: those of ONNX Runtime's domain, and conversions to and from narrow element types that the `onnx` package has no
case for. Scales are drawn so that no result lies on the border of two steps, where the rounding of a fused multiplication decides."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from generate import Numbers, graph_case, node_case

SMALL = (np.uint8, np.int8)
NARROW_OPSETS = {"": 21, "com.microsoft": 1}


def cases():
    yield from element_wise()
    yield from pools()
    yield from products()
    yield from convolutions()
    yield from recurrent()
    yield from attention()
    yield from linear()
    yield from packed_weights()


class Quantized(Numbers):
    """Quantized operands, each with its scale and zero point."""

    def array(self, *shape, dtype=np.uint8):
        limits = np.iinfo(dtype)
        return self.integers(*shape, low=limits.min, high=limits.max + 1, dtype=dtype)

    def scale(self, *shape, low=0.01, high=0.2):
        return self.uniform(*shape, low=low, high=high)

    def operand(self, name, *shape, dtype=np.uint8, point=True):
        return {name: self.array(*shape, dtype=dtype), f"{name}_scale": self.scale(),
                f"{name}_zero_point": self.array(dtype=dtype) if point else None}

    def result(self, name, dtype=np.uint8, point=True, low=0.01, high=0.2):
        return {f"{name}_scale": self.scale(low=low, high=high), f"{name}_zero_point": self.array(dtype=dtype) if point else None}


def named(op, dtype, *parts):
    return "_".join([op, np.dtype(dtype).name, *map(str, parts)])


def case(op, dtype, parts, make, constants=(), **attributes):
    """A case whose name says the element type; `make` gets the numbers of that name and returns the operands."""
    name = named(op, dtype, *parts)
    return node_case(name, op, make(Quantized(name)), ["Y"], constants, **attributes)


def element_wise():
    for op in ("QLinearAdd", "QLinearMul"):
        for dtype in SMALL:
            for kind, shape in (("same", (2, 3, 8)), ("broadcast", (3, 1)), ("scalar", ())):
                yield case(op, dtype, [kind], lambda n: {**n.operand("A", 2, 3, 8, dtype=dtype), **n.operand("B", *shape, dtype=dtype),
                                                         **n.result("C", dtype, low=0.2, high=1)})
        operands = ("A_scale", "A_zero_point", "B", "B_scale", "B_zero_point", "C_scale", "C_zero_point")
        yield case(op, np.uint8, ["constants"], lambda n: {**n.operand("A", 4, 5), **n.operand("B", 5), **n.result("C")}, operands)
    for dtype in SMALL:
        yield case("QLinearSigmoid", dtype, [], lambda n: {**n.operand("X", 3, 40, dtype=dtype), **n.result("Y", dtype, low=0.003, high=0.005)})
        for alpha in (0.01, 0.3, -0.5):
            yield case("QLinearLeakyRelu", dtype, [alpha], lambda n: {**n.operand("X", 3, 40, dtype=dtype), **n.result("Y", dtype)}, alpha=alpha)
        for opset, axis in ((13, -1), (13, 1), (12, 1)):
            point = np.iinfo(dtype).min
            yield case("QLinearSoftmax", dtype, [opset, axis],
                       lambda n: {**n.operand("X", 2, 3, 8, dtype=dtype), "Y_scale": np.array(1 / 256, np.float32), "Y_zero_point": np.array(point, dtype)},
                       opset=opset, axis=axis)
        for scale in (1 / 255, 0.01):
            yield case("QLinearSoftmax", dtype, ["scale", round(scale, 4)],
                       lambda n: {**n.operand("X", 3, 8, dtype=dtype), "Y_scale": np.array(scale, np.float32), "Y_zero_point": np.array(point, dtype)}, opset=13)
        yield case("QLinearWhere", dtype, [], lambda n: {"condition": n.integers(3, 8) > 0, **n.operand("X", 3, 8, dtype=dtype),
                                                         **n.operand("Z", 8, dtype=dtype), **n.result("Y", dtype)})
        yield case("QLinearConcat", dtype, [], lambda n: {**n.result("Y", dtype), **n.operand("A", 2, 3, 4, dtype=dtype),
                                                          **n.operand("B", 2, 1, 4, dtype=dtype)}, axis=1)
    yield case("QLinearConcat", np.uint8, ["equal_scales"], lambda n: {"Y_scale": np.array(0.1, np.float32), "Y_zero_point": np.array(7, np.uint8),
                                                                     "A": n.array(2, 3), "A_scale": np.array(0.1, np.float32), "A_zero_point": np.array(7, np.uint8),
                                                                     "B": n.array(2, 4), "B_scale": np.array(0.1, np.float32), "B_zero_point": np.array(7, np.uint8)}, axis=-1)


def pools():
    for dtype in SMALL:
        for name, attributes in (("plain", {"kernel_shape": [2, 3]}), ("padded", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
                                 ("with_padding", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}),
                                 ("ceil", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1})):
            yield case("QLinearAveragePool", dtype, [name], lambda n: {**n.operand("X", 2, 3, 7, 6, dtype=dtype), **n.result("Y", dtype)}, **attributes)
        yield case("QLinearAveragePool", dtype, ["channels_last"], lambda n: {**n.operand("X", 2, 7, 6, 3, dtype=dtype), **n.result("Y", dtype)},
                   kernel_shape=[2, 2], channels_last=1)
        yield case("NhwcMaxPool", dtype, [], lambda n: {"x": n.array(2, 7, 6, 3, dtype=dtype)}, kernel_shape=[3, 2], pads=[1, 0, 1, 0], strides=[2, 1])
        for last in (0, 1):
            yield case("QLinearGlobalAveragePool", dtype, [f"channels_last_{last}"],
                       lambda n: {**n.operand("X", 2, 3, 7, 6, dtype=dtype), **n.result("Y", dtype)}, channels_last=last)
    yield case("QLinearAveragePool", np.uint8, ["one_axis"], lambda n: {**n.operand("X", 1, 2, 9), **n.result("Y")}, kernel_shape=[3])


def products():
    for a, b in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        pair = np.dtype(b).name
        for per_column in (False, True):
            shape = (5,) if per_column else ()
            yield case("MatMulIntegerToFloat", a, [pair, "columns" if per_column else "whole"],
                       lambda n: {"A": n.array(3, 8, dtype=a), "B": n.array(8, 5, dtype=b), "a_scale": n.scale(), "b_scale": n.scale(*shape),
                                  "a_zero_point": n.array(dtype=a), "b_zero_point": n.array(*shape, dtype=b), "bias": n.normal(5)}, ["B"])
            for output in ("quantized", "float"):
                if a == np.int8 and output == "float":
                    continue
                yield case("QGemm", a, [pair, "columns" if per_column else "whole", output],
                           lambda n: {**n.operand("A", 3, 8, dtype=a), "B": n.array(8, 5, dtype=b), "B_scale": n.scale(*shape),
                                      "B_zero_point": n.array(*shape, dtype=b), "C": n.integers(5, low=-999, high=999),
                                      **(n.result("Y", a, low=5, high=9) if output == "quantized" else {})}, ["B"])
    yield case("MatMulIntegerToFloat", np.uint8, ["batch"], lambda n: {"A": n.array(2, 3, 8), "B": n.array(2, 8, 5), "a_scale": n.scale(), "b_scale": n.scale()})
    yield case("QGemm", np.uint8, ["transposed"], lambda n: {**n.operand("A", 8, 3), "B": n.array(5, 8, dtype=np.int8), "B_scale": n.scale(5),
                                                             "B_zero_point": n.array(5, dtype=np.int8), "C": n.integers(3, 1, low=-999, high=999),
                                                             **n.result("Y", low=5, high=9)}, transA=1, transB=1, alpha=0.5)
    for dtype in SMALL:
        for per_column in (False, True):
            shape = (5,) if per_column else ()
            yield case("DynamicQuantizeMatMul", dtype, ["columns" if per_column else "whole"],
                       lambda n: {"A": n.normal(2, 3, 8), "B": n.array(8, 5, dtype=dtype), "b_scale": n.scale(*shape),
                                  "b_zero_point": n.array(*shape, dtype=dtype), "bias": n.normal(5)}, ["B"])
    yield case("DynamicQuantizeMatMul", np.uint8, ["positive"], lambda n: {"A": n.uniform(3, 8, low=1, high=2), "B": n.array(8, 5), "b_scale": n.scale()})
    yield case("MatMulInteger16", np.int16, [], lambda n: {"A": n.integers(3, 8, low=-3000, high=3000, dtype=np.int16),
                                                           "B": n.integers(8, 5, low=-3000, high=3000, dtype=np.int16)})


def convolutions():
    weights = ("W", "W_scale", "W_zero_point", "B")
    for dtype in SMALL:
        for name, group, per_channel, attributes in (("plain", 1, False, {}), ("channels", 1, True, {"pads": [1, 1, 1, 1]}), ("groups", 2, True, {"strides": [2, 2]})):
            for last in (0, 1):
                shape = (4,) if per_channel else ()
                x = (1, 6, 5, 4) if last else (1, 4, 6, 5)
                # A zero point for each channel is 0.
                yield case("QLinearConv", dtype, [name, f"channels_last_{last}"],
                           lambda n: {**n.operand("X", *x, dtype=dtype), "W": n.array(4, 4 // group, 3, 2, dtype=np.int8), "W_scale": n.scale(*shape),
                                      "W_zero_point": np.zeros(shape, np.int8), **n.result("Y", dtype, low=5, high=9),
                                      "B": n.integers(4, low=-999, high=999)}, weights, group=group, channels_last=last, **attributes)


def recurrent():
    for dtype in SMALL:
        for direction, directions in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            for per_column in (False, True):
                gates = (directions, 16) if per_column else (directions,)
                name = named("DynamicQuantizeLSTM", dtype, direction, "columns" if per_column else "whole")
                n = Quantized(name)
                inputs = {"X": n.normal(5, 1, 3), "W": n.array(directions, 3, 16, dtype=dtype), "R": n.array(directions, 4, 16, dtype=dtype),
                          "B": n.normal(directions, 32, scale=0.2), "sequence_lens": None, "initial_h": None, "initial_c": None, "P": None,
                          "W_scale": n.scale(*gates, low=0.002, high=0.006), "W_zero_point": np.full(gates, 0 if dtype == np.int8 and per_column else n.array(dtype=dtype), dtype),
                          "R_scale": n.scale(*gates, low=0.002, high=0.006), "R_zero_point": np.full(gates, 0 if dtype == np.int8 and per_column else n.array(dtype=dtype), dtype)}
                constants = [each for each in inputs if each != "X"]
                yield node_case(name, "DynamicQuantizeLSTM", inputs, ["Y", "Y_h", "Y_c"], constants, hidden_size=4, direction=direction)


def attention():
    def operands(n, dtype, per_column=False, past=False, mask=None):
        shape = (24,) if per_column else ()
        return {"input": n.array(2, 4, 6), "weight": n.array(6, 24, dtype=dtype), "bias": n.normal(24), "input_scale": n.scale(high=0.03),
                "weight_scale": n.scale(*shape, high=0.03), "mask_index": mask, "input_zero_point": n.array(),
                "weight_zero_point": n.array(*shape, dtype=dtype), "past": n.normal(2, 2, 2, 3, 4) if past else None}

    masks = {"no_mask": None, "lengths": np.int32([4, 2]), "ends": np.int32([4, 3, 0, 1]), "mask": np.int32([[1, 1, 1, 1], [1, 1, 0, 0]])}
    for dtype in SMALL:
        for kind, mask in masks.items():
            name = named("QAttention", dtype, kind)
            yield node_case(name, "QAttention", operands(Quantized(name), dtype, mask=mask), ["Y"], num_heads=2)
    for name, causal, given in (("columns", 0, {"per_column": True}), ("causal", 1, {}), ("causal_mask", 1, {"mask": masks["mask"]}),
                                ("past", 0, {"past": True}), ("past_causal", 1, {"past": True}),
                                ("past_mask", 1, {"past": True, "mask": np.int32([[1, 1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 1]])})):
        name = named("QAttention", np.uint8, name)
        yield node_case(name, "QAttention", operands(Quantized(name), np.uint8, **given), ["Y", "present"] if "past" in name else ["Y"],
                        num_heads=2, unidirectional=causal)


def linear():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16):
        yield case("QuantizeLinear", dtype, [], lambda n: {"x": n.normal(4, 9, scale=3), "y_scale": n.scale(), "y_zero_point": n.array(dtype=dtype)})
        yield case("QuantizeLinear", dtype, ["axis"], lambda n: {"x": n.normal(4, 9, scale=3), "y_scale": n.scale(4), "y_zero_point": n.array(4, dtype=dtype)}, axis=0)
        yield case("DequantizeLinear", dtype, [], lambda n: {"x": n.array(4, 9, dtype=dtype), "x_scale": n.scale(), "x_zero_point": n.array(dtype=dtype)})
        yield case("DequantizeLinear", dtype, ["axis"], lambda n: {"x": n.array(4, 9, dtype=dtype), "x_scale": n.scale(4), "x_zero_point": n.array(4, dtype=dtype)},
                   ["x", "x_scale", "x_zero_point"], axis=0)


def packed_weights():
    """Weights of 4 bits, dequantized by blocks and multiplied; and a value that is quantized to 4 bits and back."""
    import ml_dtypes
    for element, dtype in (("INT4", ml_dtypes.int4), ("UINT4", ml_dtypes.uint4)):
        for kind, axis, block, shape in (("whole", 0, 0, ()), ("axis", 1, 0, (5,)), ("blocks", 0, 4, (2, 5)), ("uneven_blocks", 0, 3, (3, 5)),
                                         ("blocks_of_rows", 1, 2, (8, 3))):
            for point in (False, True):
                name = f"packed_{element.lower()}_{kind}" + ("_zero_point" if point else "")
                n = Quantized(name)
                limits = ml_dtypes.iinfo(dtype)
                draw = lambda *size: n.integers(*size, low=int(limits.min), high=int(limits.max) + 1).astype(dtype)
                tensors = {"w": draw(8, 5), "scale": n.scale(*shape), **({"point": draw(*shape)} if point else {})}
                yield packed(name, tensors, {"x": n.normal(3, 8)},
                             [helper.make_node("DequantizeLinear", list(tensors), ["weights"], axis=axis, block_size=block),
                              helper.make_node("MatMul", ["x", "weights"], ["y"])], ["y"])
        name = f"quantize_{element.lower()}"
        n = Quantized(name)
        code = getattr(TensorProto, element)
        yield packed(name, {"scale": n.scale(4), "point": np.zeros(4, dtype)}, {"x": n.normal(4, 9)},
                     [helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["q"], axis=0),
                      helper.make_node("Transpose", ["q"], ["t"]), helper.make_node("Cast", ["t"], ["y"], to=TensorProto.FLOAT),
                      helper.make_node("QuantizeLinear", ["x", "scale"], ["r"], axis=0, output_dtype=code),
                      helper.make_node("DequantizeLinear", ["r", "scale"], ["z"], axis=0)], ["y", "z"])
    for element, dtype in (("INT4", ml_dtypes.int4), ("UINT4", ml_dtypes.uint4)):
        for point in (False, True):
            name = f"gather_{element.lower()}" + ("_zero_point" if point else "")
            n = Quantized(name)
            limits = ml_dtypes.iinfo(dtype)
            draw = lambda *size: n.integers(*size, low=int(limits.min), high=int(limits.max) + 1).astype(dtype)
            tensors = {"table": draw(6, 32), "scale": n.scale(6, 2), **({"point": draw(6, 2)} if point else {})}
            names = ["table", "x", *list(tensors)[1:]]
            yield packed(name, tensors, {"x": n.integers(2, 3, low=0, high=6)},
                         [helper.make_node("GatherBlockQuantized", names, ["y"], domain="com.microsoft", gather_axis=0, quantize_axis=1, block_size=16)], ["y"])
    for element, dtype in (("FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn), ("FLOAT8E5M2", ml_dtypes.float8_e5m2),
                           ("FLOAT8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz), ("FLOAT8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz)):
        for saturate in (1, 0):
            name = f"quantize_{element.lower()}" + ("" if saturate else "_to_nan")
            if not saturate and "E5M2" in element:
                continue  # ONNX Runtime gives NaN beyond the largest number, ml_dtypes and ONNX's reference infinity
            n = Quantized(name)
            x = n.normal(6, 20, scale=2) * np.exp2(n.integers(6, 20, low=-12, high=9)).astype(np.float32)
            yield packed(name, {"scale": n.scale(low=0.5, high=1), "point": np.zeros((), dtype)}, {"x": x},
                         [helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["q"], saturate=saturate),
                          helper.make_node("Cast", ["q"], ["y"], to=TensorProto.FLOAT),
                          helper.make_node("DequantizeLinear", ["q", "scale", "point"], ["z"])], ["y", "z"])
        name = f"weights_{element.lower()}"
        n = Quantized(name)
        yield packed(name, {"w": n.normal(8, 5).astype(dtype), "scale": n.scale()}, {"x": n.normal(3, 8)},
                     [helper.make_node("Cast", ["w"], ["cast"], to=TensorProto.FLOAT), helper.make_node("MatMul", ["x", "cast"], ["y"]),
                      helper.make_node("DequantizeLinear", ["w", "scale"], ["weights"]), helper.make_node("MatMul", ["x", "weights"], ["z"])], ["y", "z"])


def packed(name, tensors, inputs, nodes, outputs):
    case = graph_case(name, nodes, inputs, outputs, opsets=NARROW_OPSETS)
    case.model.graph.initializer.extend(numpy_helper.from_array(array, each) for each, array in tensors.items())
    return case
