"""Cases of the operators of the domain `com.microsoft`, and of those of ai.onnx that only ONNX Runtime has. One function for each family of
operators."""
import ml_dtypes
import numpy as np
from onnx import helper

from generate import Numbers, graph_case, node_case

HALF = np.float16


def cases():
    yield from activations()
    yield from gates()
    yield from normalizations()
    yield from embeddings()
    yield from group_normalizations()
    yield from products()
    yield from convolutions()
    yield from array_operators()
    yield from rotary_embeddings()
    yield from attentions()
    yield from multi_head_attentions()
    yield from decoder_attentions()
    yield from group_query_attentions()
    yield from normalized_group_query_attention()
    yield from block_weights()
    yield from gathered_narrow_elements()
    yield from experts()


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, domain=domain, **attributes)


# --- activation functions ------------------------------------------------------------------------------------------------------------------


def activations():
    for op, attributes in (("Gelu", {}), ("QuickGelu", {}), ("QuickGelu", {"alpha": 1.0}), ("QuickGelu", {"alpha": -0.5})):
        name = "_".join([op, *(f"{key}_{value}" for key, value in attributes.items())])
        yield node_case(name, op, {"X": Numbers(name).normal(3, 4, scale=2)}, ["Y"], **attributes)
    for op in ("BiasGelu", "FastGelu"):
        numbers = Numbers(op)
        x, bias = numbers.normal(2, 3, 8, scale=2), numbers.normal(8)
        yield node_case(op, op, {"X": x, "bias": bias}, ["Y"])
        yield node_case(f"{op}_constant", op, {"X": x, "bias": bias}, ["Y"], ["bias"])
    yield node_case("FastGelu_no_bias", "FastGelu", {"X": Numbers("FastGelu").normal(2, 3)}, ["Y"])
    numbers = Numbers("BiasAdd")
    inputs = {"X": numbers.normal(2, 3, 4), "bias": numbers.normal(4), "skip": numbers.normal(2, 3, 4)}
    yield node_case("BiasAdd", "BiasAdd", inputs, ["Y"], oracle=[node("Add", ["X", "bias"], ["s"]), node("Add", ["s", "skip"], ["Y"])])
    inputs = {"X": numbers.normal(2, 3, 8), "bias": numbers.normal(8)}
    yield node_case("BiasSplitGelu", "BiasSplitGelu", inputs, ["Y"], opsets={"": 20, "com.microsoft": 1},
                    oracle=[node("Add", ["X", "bias"], ["s"]), node("Split", ["s"], ["l", "r"], axis=2, num_outputs=2),
                            node("Gelu", ["r"], ["g"]), node("Mul", ["l", "g"], ["Y"])])


def gates():
    numbers = Numbers("ScaledSiLU")
    yield node_case("ScaledSiLU", "ScaledSiLU", {"X": numbers.normal(3, 4)}, ["Y"], alpha=0.5)
    yield node_case("ScaledSiLU_scale", "ScaledSiLU", {"X": numbers.normal(3, 4), "scale": np.array(1.5, np.float32)}, ["Y"])
    yield node_case("ScaledSiLU_f16", "ScaledSiLU", {"X": numbers.normal(3, 4, dtype=HALF), "scale": np.array(1.5, np.float32)}, ["Y"])
    for name, activation, epsilon in (("GatedRMSNorm", None, None), ("GatedRMSNorm_sigmoid", "sigmoid", 0.1), ("GatedRMSNorm_swish", "swish", None)):
        numbers = Numbers(name)
        attributes = ({"activation": activation} if activation else {}) | ({"epsilon": epsilon} if epsilon else {})
        yield node_case(name, "GatedRMSNorm", {"X": numbers.normal(2, 3, 8), "scale": numbers.normal(4), "gate": numbers.normal(2, 3, 8)}, ["Y"], **attributes)
    numbers = Numbers("GatedAdd")
    yield node_case("GatedAdd", "GatedAdd", {"X": numbers.normal(2, 3, 4), "Y": numbers.normal(2, 3, 4), "gate": numbers.normal(2, 3, 1)}, ["Z"])
    for name, data, bias, axis, inner in (("BiasSoftmax", (2, 3, 4), (2, 1, 4), 2, 1), ("BiasSoftmax_axes", (2, 3, 4), (3, 4), 1, 0)):
        numbers = Numbers(name)
        oracle = [node("Add", ["data", "bias"], ["s"]), helper.make_node("Constant", [], ["flat"], value_ints=[0, -1] if axis == 1 else [0, 0, -1]),
                  node("Reshape", ["s", "flat"], ["f"]), node("Softmax", ["f"], ["p"], axis=-1), node("Shape", ["data"], ["shape"]), node("Reshape", ["p", "shape"], ["Y"])]
        yield node_case(name, "BiasSoftmax", {"data": numbers.normal(*data), "bias": numbers.normal(*bias)}, ["Y"], oracle=oracle, axis=axis, is_inner_broadcast=inner)


# --- normalizations ------------------------------------------------------------------------------------------------------------------------


def normalizations():
    for name, dtype, opset, attributes, outputs in (
            ("LayerNormalization_11", np.float32, 11, {"epsilon": 1e-6}, ["Y"]),
            ("LayerNormalization_11_axis", np.float32, 11, {"axis": 1}, ["Y"]),
            ("LayerNormalization_11_statistics", np.float32, 11, {}, ["Y", "mean", "factor"]),
            ("LayerNormalization_16_f16", HALF, 16, {}, ["Y"])):
        numbers = Numbers(name)
        rest = [3, 4] if attributes.get("axis") == 1 else [4]
        inputs = {"X": numbers.normal(2, 3, 4, dtype=dtype), "scale": numbers.normal(*rest, dtype=dtype), "bias": numbers.normal(*rest, dtype=dtype)}
        if name.endswith("16_f16"):
            del inputs["bias"]
        yield node_case(name, "LayerNormalization", inputs, outputs, opsets={"": opset}, domain="", **attributes)
    for name, dtype, attributes, outputs in (
            ("SimplifiedLayerNormalization", np.float32, {"epsilon": 1e-6, "stash_type": 1}, ["Y"]),
            ("SimplifiedLayerNormalization_axis", np.float32, {"axis": 1}, ["Y"]),
            ("SimplifiedLayerNormalization_factor", np.float32, {}, ["Y", "factor"]),
            ("SimplifiedLayerNormalization_f16", HALF, {"axis": -1}, ["Y"])):
        numbers = Numbers(name)
        rest = [3, 4] if attributes.get("axis") == 1 else [4]
        yield node_case(name, "SimplifiedLayerNormalization", {"X": numbers.normal(2, 3, 4, dtype=dtype), "scale": numbers.normal(*rest, dtype=dtype)},
                        outputs, opsets={"": 17}, domain="", **attributes)
    for name, dtype, given, outputs in (
            ("SkipLayerNormalization", np.float32, "beta bias", ["Y"]), ("SkipLayerNormalization_plain", np.float32, "", ["Y"]),
            ("SkipLayerNormalization_bias_alone", np.float32, "bias", ["Y"]),
            ("SkipLayerNormalization_all_results", np.float32, "beta bias", ["Y", "mean", "factor", "sum"]),
            ("SkipLayerNormalization_sum", np.float32, "beta", ["Y", "", "", "sum"]),
            ("SkipLayerNormalization_broadcast", np.float32, "beta row", ["Y", "", "", "sum"]),
            ("SkipLayerNormalization_f16", HALF, "beta bias", ["Y", "", "", "sum"])):
        numbers = Numbers(name)
        inputs = {"X": numbers.normal(2, 3, 8, dtype=dtype), "skip": numbers.normal(*([3, 8] if "row" in given else [2, 3, 8]), dtype=dtype),
                  "gamma": numbers.normal(8, dtype=dtype), "beta": numbers.normal(8, dtype=dtype) if "beta" in given else None,
                  "bias": numbers.normal(8, dtype=dtype) if "bias" in given else None}
        yield node_case(name, "SkipLayerNormalization", inputs, outputs, epsilon=1e-5)
    for name, dtype, bias, shape, outputs in (
            ("SkipSimplifiedLayerNormalization", np.float32, True, (2, 3, 8), ["Y", "", "", "sum"]),
            ("SkipSimplifiedLayerNormalization_tokens", np.float32, False, (3, 8), ["Y"]),
            ("SkipSimplifiedLayerNormalization_factor", np.float32, False, (2, 3, 8), ["Y", "", "factor", "sum"]),
            ("SkipSimplifiedLayerNormalization_f16", HALF, False, (2, 3, 8), ["Y", "", "", "sum"])):
        numbers = Numbers(name)
        inputs = {"X": numbers.normal(*shape, dtype=dtype), "skip": numbers.normal(*shape, dtype=dtype), "gamma": numbers.normal(8, dtype=dtype),
                  "bias": numbers.normal(8, dtype=dtype) if bias else None}
        yield node_case(name, "SkipSimplifiedLayerNormalization", inputs, outputs, epsilon=1e-6)


def embeddings():
    for name, given, outputs in (
            ("EmbedLayerNormalization", "segments mask", ["Y", "mask_index"]),
            ("EmbedLayerNormalization_no_segments", "", ["Y", "mask_index"]),
            ("EmbedLayerNormalization_sum", "segments mask holes", ["Y", "mask_index", "sum"]),
            ("EmbedLayerNormalization_positions", "segments each", ["Y", "", "sum"]),
            ("EmbedLayerNormalization_shared_positions", "mask shared", ["Y", "mask_index"])):
        numbers = Numbers(name)
        segments = "segments" in given
        mask = np.array([[1, 0, 1], [0, 1, 1]] if "holes" in given else [[1, 1, 0], [1, 1, 1]], np.int32)
        positions = numbers.integers(2 if "each" in given else 1, 3, high=6) if "each" in given or "shared" in given else None
        inputs = {"ids": numbers.integers(2, 3, high=5), "segments": numbers.integers(2, 3) if segments else None, "words": numbers.normal(5, 4),
                  "places": numbers.normal(6, 4), "kinds": numbers.normal(2, 4) if segments else None, "gamma": numbers.normal(4),
                  "beta": numbers.normal(4), "mask": mask if "mask" in given else None, "positions": positions}
        yield node_case(name, "EmbedLayerNormalization", inputs, outputs, ["words", "places", "kinds"], epsilon=1e-6)


def group_normalizations():
    opsets = {"": 21, "com.microsoft": 1}
    for name, last, activation in (("GroupNorm", 1, 0), ("GroupNorm_silu", 1, 1), ("GroupNorm_channels_first", 0, 1)):
        numbers = Numbers(name)
        inputs = {"X": numbers.normal(*((2, 3, 2, 4) if last else (2, 4, 3, 2))), "gamma": numbers.normal(4), "beta": numbers.normal(4)}
        oracle = [node("Transpose", ["X"], ["x"], perm=[0, 3, 1, 2] if last else [0, 1, 2, 3]), *_group_norm("x", last, activation)]
        yield node_case(name, "GroupNorm", inputs, ["Y"], opsets=opsets, oracle=oracle, groups=2, activation=activation, channels_last=last, epsilon=1e-5)
    for name, skip, bias in (("SkipGroupNorm", (2, 3, 2, 4), True), ("SkipGroupNorm_by_sample", (2, 1, 1, 4), False), ("SkipGroupNorm_rank2", (2, 4), True)):
        numbers = Numbers(name)
        inputs = {"X": numbers.normal(2, 3, 2, 4), "gamma": numbers.normal(4), "beta": numbers.normal(4), "skip": numbers.normal(*skip),
                  "bias": numbers.normal(4) if bias else None}
        oracle = [helper.make_node("Constant", [], ["shape"], value_ints=[2, 1, 1, 4] if len(skip) == 2 else list(skip)),
                  node("Reshape", ["skip", "shape"], ["wide"]), node("Add", ["X", "wide"], ["s" if bias else "S"])]
        oracle += [node("Add", ["s", "bias"], ["S"])] if bias else []
        oracle += [node("Transpose", ["S"], ["x"], perm=[0, 3, 1, 2]), *_group_norm("x", 1, 1)]
        yield node_case(name, "SkipGroupNorm", inputs, ["Y", "S"], opsets=opsets, oracle=oracle, groups=2, activation=1, epsilon=1e-5)


def _group_norm(x, last, activation):
    back = [0, 2, 3, 1] if last else [0, 1, 2, 3]
    made = [node("GroupNormalization", [x, "gamma", "beta"], ["n"], num_groups=2, epsilon=1e-5), node("Transpose", ["n"], ["t"], perm=back)]
    if activation:
        return [*made, node("Sigmoid", ["t"], ["g"]), node("Mul", ["t", "g"], ["Y"])]
    return [*made, node("Identity", ["t"], ["Y"])]


# --- products ------------------------------------------------------------------------------------------------------------------------------


def products():
    for name, a, b, attributes in (
            ("FusedMatMul", (2, 3, 4), (2, 4, 5), {"alpha": 0.5}), ("FusedMatMul_transposed", (2, 4, 3), (2, 5, 4), {"transA": 1, "transB": 1}),
            ("FusedMatMul_batches", (3, 2, 4), (4, 2, 5), {"transBatchA": 1, "transBatchB": 1, "alpha": -2.0}),
            ("FusedMatMul_batch_and_matrix", (4, 2, 6, 3), (2, 6, 4, 5), {"transBatchA": 1, "transA": 1}),
            ("FusedMatMul_both", (3, 2, 4), (5, 2, 4), {"transBatchA": 1, "transBatchB": 1, "transB": 1}),
            ("FusedMatMul_vector", (3,), (5, 3), {"transA": 1, "transB": 1}), ("FusedMatMul_broadcast", (2, 3, 4), (5, 4), {"transB": 1})):
        numbers = Numbers(name)
        yield node_case(name, "FusedMatMul", {"A": numbers.normal(*a), "B": numbers.normal(*b)}, ["Y"], **attributes)
    numbers = Numbers("TransposeMatMul")
    yield node_case("TransposeMatMul", "TransposeMatMul", {"A": numbers.normal(4, 3), "B": numbers.normal(4, 2)}, ["Y"], transA=1, alpha=0.25)
    numbers = Numbers("FusedMatMul_f64")
    yield node_case("FusedMatMul_f64", "FusedMatMul", {"A": numbers.normal(3, 4, dtype=np.float64), "B": numbers.normal(5, 4, dtype=np.float64)}, ["Y"],
                    transB=1, alpha=3.0)
    for activation, parameters in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.1}), ("Tanh", {}), ("Sigmoid", {}), ("Softplus", {}), ("Softsign", {}),
                                   ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.2}), ("Elu", {"activation_alpha": 0.7}),
                                   ("Celu", {"activation_alpha": 0.7}), ("ThresholdedRelu", {"activation_alpha": 0.3}),
                                   ("ScaledTanh", {"activation_alpha": 0.3, "activation_beta": 2.0}),
                                   ("ParametricSoftplus", {"activation_alpha": 0.3, "activation_beta": 2.0}),
                                   ("Selu", {"activation_alpha": 1.6, "activation_gamma": 1.1})):
        numbers = Numbers("FusedGemm")
        inputs = {"A": numbers.normal(3, 4), "B": numbers.normal(4, 5), "C": numbers.normal(5)}
        yield node_case(f"FusedGemm_{activation}", "FusedGemm", inputs, ["Y"], activation=activation, **parameters)
    numbers = Numbers("FusedGemm_transposed")
    inputs = {"A": numbers.normal(4, 3), "B": numbers.normal(5, 4), "C": numbers.normal(3, 1)}
    yield node_case("FusedGemm_transposed", "FusedGemm", inputs, ["Y"], activation="Relu", transA=1, transB=1, alpha=0.5, beta=2.0)
    for metric in ("sqeuclidean", "euclidean"):
        numbers = Numbers(f"CDist_{metric}")
        yield node_case(f"CDist_{metric}", "CDist", {"A": numbers.normal(3, 4), "B": numbers.normal(5, 4)}, ["C"], metric=metric)


def convolutions():
    for activation, parameters in ((None, None), ("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.7]),
                                   ("HardSigmoid", [0.3, 0.4]), ("HardSwish", None)):
        name = f"FusedConv_{activation}"
        numbers = Numbers("FusedConv")
        attributes = {"activation_params": parameters} if parameters else {}
        attributes |= {"activation": activation} if activation else {}
        yield node_case(name, "FusedConv", {"X": numbers.normal(1, 2, 5, 4), "W": numbers.normal(4, 2, 3, 3), "B": numbers.normal(4)}, ["Y"], **attributes)
    numbers = Numbers("FusedConv_sum")
    inputs = {"X": numbers.normal(1, 4, 5, 4), "W": numbers.normal(4, 2, 3, 3), "B": None, "Z": numbers.normal(1, 4, 3, 2)}
    yield node_case("FusedConv_sum", "FusedConv", inputs, ["Y"], ["W"], activation="Relu", group=2, strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    numbers = Numbers("NhwcConv")
    inputs = {"X": numbers.normal(1, 5, 4, 2), "W": numbers.normal(3, 3, 2, 2), "B": numbers.normal(3)}
    oracle = [node("Transpose", ["X"], ["x"], perm=[0, 3, 1, 2]), node("Transpose", ["W"], ["w"], perm=[0, 3, 1, 2]),
              node("Conv", ["x", "w", "B"], ["y"], pads=[1, 1, 0, 0]), node("Transpose", ["y"], ["Y"], perm=[0, 2, 3, 1])]
    yield node_case("NhwcConv", "NhwcConv", inputs, ["Y"], oracle=oracle, pads=[1, 1, 0, 0], kernel_shape=[3, 2])


def array_operators():
    for name, dtype in (("Inverse", np.float32), ("Inverse_f64", np.float64), ("Inverse_f16", HALF)):
        matrix = (Numbers(name).normal(2, 3, 3) + 3 * np.eye(3)).astype(dtype)
        yield node_case(name, "Inverse", {"X": matrix}, ["Y"])
    x = Numbers("Trilu").normal(2, 3, 4)
    yield node_case("Trilu", "Trilu", {"X": x}, ["Y"])
    yield node_case("Trilu_lower", "Trilu", {"X": x, "k": np.array(-1, np.int64)}, ["Y"], ["k"], upper=0)
    yield node_case("GatherND", "GatherND", {"data": x, "indices": np.array([[0, 2], [1, -1]], np.int64)}, ["Y"])
    yield node_case("ExpandDims", "ExpandDims", {"X": x, "axis": np.array(-2, np.int32)}, ["Y"], ["axis"])
    yield node_case("Pad", "Pad", {"X": x, "pads": np.array([0, 1, 0, 1, 0, 2], np.int64), "value": np.array([1.5], np.float32)}, ["Y"], ["pads"])
    yield node_case("Pad_edge", "Pad", {"X": x, "pads": np.array([[0, 1, 0, 1, 0, -1]], np.int64)}, ["Y"], ["pads"], mode="edge")
    yield node_case("Range", "Range", {"start": np.array(2, np.int32), "limit": np.array(7, np.int32)}, ["Y"], ["start", "limit"])
    yield node_case("Range_step", "Range", {"start": np.array(2, np.float32), "limit": np.array(-1, np.float32), "delta": np.array(-0.5, np.float32)},
                    ["Y"], ["start", "limit", "delta"])
    yield node_case("Unique", "Unique", {"x": np.array([2, 1, 1, 3, 4, 3], np.float32)}, ["y", "idx", "counts"])


def rotary_embeddings():
    for name, shape, positions, table, attributes, dtype in (
            ("RotaryEmbedding", (2, 3, 16), "one", 4, {}, np.float32), ("RotaryEmbedding_each", (2, 3, 16), "each", 4, {}, np.float32),
            ("RotaryEmbedding_interleaved", (2, 3, 16), "each", 4, {"interleaved": 1}, np.float32),
            ("RotaryEmbedding_part", (2, 3, 16), "each", 2, {"num_heads": 2, "rotary_embedding_dim": 4}, np.float32),
            ("RotaryEmbedding_part_interleaved", (2, 3, 16), "one", 2, {"num_heads": 2, "rotary_embedding_dim": 4, "interleaved": 1}, np.float32),
            ("RotaryEmbedding_heads", (2, 2, 3, 8), "each", 4, {}, np.float32), ("RotaryEmbedding_scale", (1, 3, 8), "one", 4, {"scale": 2.0}, np.float32),
            ("RotaryEmbedding_f16", (2, 3, 16), "each", 4, {}, HALF)):
        numbers = Numbers(name)
        angles = numbers.normal(8, table)
        ids = np.array([2], np.int64) if positions == "one" else numbers.integers(shape[0], 3, high=8, dtype=np.int64)
        inputs = {"X": numbers.normal(*shape, dtype=dtype), "positions": ids, "cos": np.cos(angles).astype(dtype), "sin": np.sin(angles).astype(dtype)}
        yield node_case(name, "RotaryEmbedding", inputs, ["Y"], ["cos", "sin"], **attributes)


# --- attention -----------------------------------------------------------------------------------------------------------------------------


def int32(*numbers):
    return np.array(numbers, np.int32)


def attentions():
    raw, of_queries = int32([1, 1, 0], [0, 1, 1]), int32([[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[1, 1, 1], [0, 0, 1], [1, 0, 1]])
    longer = int32([1, 0, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 1, 1])
    for name, given, attributes in (
            ("Attention", {}, {}), ("Attention_no_bias", {"bias": None}, {}), ("Attention_causal", {}, {"unidirectional": 1}),
            ("Attention_scale", {}, {"scale": 0.3}), ("Attention_scale_0", {}, {"scale": 0.0}), ("Attention_lengths", {"mask": int32(2, 3)}, {}),
            ("Attention_lengths_causal", {"mask": int32(1, 3)}, {"unidirectional": 1}),
            ("Attention_starts", {"mask": int32(3, 2, 1, 0)}, {}), ("Attention_raw_mask", {"mask": raw}, {}),
            ("Attention_raw_mask_causal", {"mask": raw}, {"unidirectional": 1}), ("Attention_mask_by_query", {"mask": of_queries}, {}),
            ("Attention_filter_value", {"mask": raw}, {"mask_filter_value": -2.5}), ("Attention_nothing_visible", {"mask": int32(0, 3)}, {}),
            ("Attention_past", {"past": 4}, {}), ("Attention_past_causal", {"past": 4}, {"unidirectional": 1}),
            ("Attention_past_mask", {"past": 4, "mask": longer}, {"unidirectional": 1}), ("Attention_past_lengths", {"past": 4, "mask": int32(5, 7)}, {}),
            ("Attention_added", {"added": (1, 2, 3, 3)}, {}), ("Attention_added_and_mask", {"added": (2, 1, 3, 3), "mask": int32(2, 3)}, {}),
            ("Attention_sizes", {"sizes": [4, 4, 12]}, {"qkv_hidden_sizes": [4, 4, 12]})):
        numbers = Numbers(name)
        sizes = given.get("sizes", [8, 8, 8])
        inputs = {"X": numbers.normal(2, 3, 8), "weights": numbers.normal(8, sum(sizes), scale=0.4), "bias": numbers.normal(sum(sizes)),
                  "mask": given.get("mask"), "past": numbers.normal(2, 2, 2, given["past"], 4) if "past" in given else None,
                  "added": numbers.normal(*given["added"]) if "added" in given else None}
        if "bias" in given:
            inputs["bias"] = None
        yield node_case(name, "Attention", inputs, ["Y", "present"] if "past" in given else ["Y"], ["weights"], num_heads=2, **attributes)


def multi_head_attentions():
    for name, given, attributes in (
            ("MultiHeadAttention", {}, {}), ("MultiHeadAttention_bias", {"bias": True}, {}), ("MultiHeadAttention_scale", {}, {"scale": 0.2}),
            ("MultiHeadAttention_causal", {"keys": 3}, {"unidirectional": 1}),
            ("MultiHeadAttention_lengths", {"mask": int32(2, 5)}, {}), ("MultiHeadAttention_mask", {"mask": int32([1, 0, 1, 1, 1], [1, 1, 0, 0, 0])}, {}),
            ("MultiHeadAttention_mask_by_query", {"mask": Numbers("mask").integers(2, 3, 5)}, {"mask_filter_value": -3.0}),
            ("MultiHeadAttention_added", {"added": (1, 2, 3, 5)}, {}), ("MultiHeadAttention_present", {"keys": 3, "present": True}, {}),
            ("MultiHeadAttention_past", {"keys": 3, "past": 4}, {}), ("MultiHeadAttention_past_causal", {"keys": 3, "past": 4}, {"unidirectional": 1}),
            ("MultiHeadAttention_past_mask", {"keys": 3, "past": 4, "bias": True, "mask": Numbers("past mask").integers(2, 7)}, {}),
            ("MultiHeadAttention_past_added", {"keys": 3, "past": 4, "added": (2, 2, 3, 7)}, {}),
            ("MultiHeadAttention_cross", {"cross": True}, {}), ("MultiHeadAttention_cross_bias", {"cross": True, "bias": True}, {})):
        numbers = Numbers(name)
        keys, width = given.get("keys", 5), 8 if "past" in given or "present" in given or "cross" in given else 12
        key = numbers.normal(2, 2, keys, 4) if "cross" in given else numbers.normal(2, keys, 8)
        value = numbers.normal(2, 2, keys, 4) if "cross" in given else numbers.normal(2, keys, width)
        past = given.get("past")
        inputs = {"query": numbers.normal(2, 3, 8), "key": key, "value": value, "bias": numbers.normal(16 + width) if "bias" in given else None,
                  "mask": given.get("mask"), "added": numbers.normal(*given["added"]) if "added" in given else None,
                  "past_key": numbers.normal(2, 2, past, 4) if past else None, "past_value": numbers.normal(2, 2, past, 4) if past else None}
        outputs = ["Y", "present_key", "present_value"] if past or "present" in given else ["Y"]
        yield node_case(name, "MultiHeadAttention", inputs, outputs, ["bias"], num_heads=2, **attributes)
    # ONNX Runtime's CPU has no kernel for packed operands: the expected values are those of the parts.
    for name, bias in (("MultiHeadAttention_packed", False), ("MultiHeadAttention_packed_bias", True)):
        numbers = Numbers(name)
        inputs = {"query": numbers.normal(2, 3, 2, 3, 4), "key": None, "value": None, "bias": numbers.normal(24) if bias else None}
        oracle = [node("Split", ["query"], ["q5", "k5", "v5"], axis=3), *_flat("q5", "q"), *_flat("k5", "k"), *_flat("v5", "v"),
                  node("MultiHeadAttention", ["q", "k", "v", *(["bias"] if bias else [])], ["Y"], "com.microsoft", num_heads=2)]
        yield node_case(name, "MultiHeadAttention", inputs, ["Y"], oracle=oracle, num_heads=2)
    numbers = Numbers("MultiHeadAttention_packed_keys")
    inputs = {"query": numbers.normal(2, 3, 8), "key": numbers.normal(2, 5, 2, 2, 4)}
    oracle = [node("Split", ["key"], ["k5", "v5"], axis=3), *_flat("k5", "k"), *_flat("v5", "v"),
              node("MultiHeadAttention", ["query", "k", "v"], ["Y"], "com.microsoft", num_heads=2)]
    yield node_case("MultiHeadAttention_packed_keys", "MultiHeadAttention", inputs, ["Y"], oracle=oracle, num_heads=2)
    numbers = Numbers("MultiHeadAttention_shared_cache")
    inputs = {"query": numbers.normal(2, 1, 8), "key": numbers.normal(2, 1, 8), "value": numbers.normal(2, 1, 8), "bias": None, "mask": None, "added": None,
              "past_key": numbers.normal(2, 2, 5, 4), "past_value": numbers.normal(2, 2, 5, 4), "past_length": int32(3)}
    yield node_case("MultiHeadAttention_shared_cache", "MultiHeadAttention", inputs, ["Y", "present_key", "present_value"],
                    oracle=_shared_cache(), num_heads=2)


def decoder_attentions():
    for name, given in (("DecoderMaskedMultiHeadAttention", "cache"), ("DecoderMaskedMultiHeadAttention_bias", "cache bias mask"),
                        ("DecoderMaskedMultiHeadAttention_cross", "mask"), ("DecoderMaskedMultiHeadAttention_cross_bias", "bias")):
        numbers, cache = Numbers(name), "cache" in given
        inputs = {"query": numbers.normal(2, 1, 8), "key": numbers.normal(2, 1, 8) if cache else numbers.normal(2, 2, 5, 4),
                  "value": numbers.normal(2, 1, 8) if cache else numbers.normal(2, 2, 5, 4), "mask": numbers.integers(2, 3 if cache else 5) if "mask" in given else None,
                  "added": None, "past_key": numbers.normal(2, 2, 4, 4) if cache else None, "past_value": numbers.normal(2, 2, 4, 4) if cache else None,
                  "past_length": int32(2) if cache else None, "beam_width": None, "beams": None, "bias": numbers.normal(24) if "bias" in given else None}
        case = node_case(name, "DecoderMaskedMultiHeadAttention", inputs, ["Y", "present_key", "present_value"] if cache else ["Y"], num_heads=2,
                         **({"past_present_share_buffer": 1} if cache else {}))
        yield _without_padding(case, inputs, (3, 3), 1, None, 4) if cache else case


def _flat(name, to):
    return [helper.make_node("Constant", [], [f"{to}_shape"], value_ints=[0, 0, -1]), node("Reshape", [name, f"{to}_shape"], [to])]


def _shared_cache():
    """A cache with room for five keys, of which three are valid, as one of three with the fourth, and the past's own last key behind it."""
    def between(of, start, end, to):
        return [helper.make_node("Constant", [], [f"{to}_{part}"], value_ints=[number]) for part, number in (("start", start), ("end", end), ("axis", 2))] + [
            node("Slice", [of, f"{to}_start", f"{to}_end", f"{to}_axis"], [to])]
    return [*between("past_key", 0, 3, "k"), *between("past_value", 0, 3, "v"), *between("past_key", 4, 5, "k_rest"), *between("past_value", 4, 5, "v_rest"),
            node("MultiHeadAttention", ["query", "key", "value", "", "", "", "k", "v"], ["Y", "k4", "v4"], "com.microsoft", num_heads=2),
            node("Concat", ["k4", "k_rest"], ["present_key"], axis=2), node("Concat", ["v4", "v_rest"], ["present_value"], axis=2)]


def group_query_attentions():
    """Lengths are what is in the cache after the run. Elements of the caches and rows of results behind these are not specified: such cases replace
    them by zeros."""
    for name, batch, queries, past, lengths, total, given, attributes in (
            ("GroupQueryAttention_prompt", 2, 3, 0, (3, 3), 3, "", {}), ("GroupQueryAttention_prompt_packed", 2, 3, 0, (3, 3), 3, "packed", {}),
            ("GroupQueryAttention_prompt_ragged", 2, 3, 0, (3, 2), 3, "clean", {}), ("GroupQueryAttention_prompt_window", 2, 3, 0, (3, 3), 3, "", {"local_window_size": 2}),
            ("GroupQueryAttention_prompt_into_cache", 1, 3, 6, (3,), 3, "clean constant", {}),
            ("GroupQueryAttention_grows", 1, 3, 4, (7,), 7, "constant", {}), ("GroupQueryAttention_grows_window", 1, 2, 4, (6,), 6, "constant", {"local_window_size": 3}),
            ("GroupQueryAttention_grows_batch", 2, 1, 5, (6, 4), 6, "constant clean", {}),
            ("GroupQueryAttention_cache", 2, 1, 6, (6, 4), 6, "clean", {}), ("GroupQueryAttention_cache_window", 2, 1, 6, (6, 3), 6, "clean", {"local_window_size": 2}),
            ("GroupQueryAttention_cache_last", 1, 1, 6, (6,), 6, "", {"scale": 0.3}),
            ("GroupQueryAttention_softcap", 2, 1, 6, (6, 6), 6, "", {"softcap": 0.5}), ("GroupQueryAttention_smooth", 2, 1, 6, (6, 6), 6, "", {"smooth_softmax": 1}),
            ("GroupQueryAttention_sink", 2, 3, 0, (3, 3), 3, "sink", {}), ("GroupQueryAttention_sink_cache", 2, 1, 6, (6, 5), 6, "sink clean", {"softcap": 2.0}),
            ("GroupQueryAttention_added", 2, 1, 6, (5, 4), 5, "added constant clean", {}), ("GroupQueryAttention_bidirectional", 2, 3, 0, (3, 3), 3, "", {"causal": 0}),
            ("GroupQueryAttention_rotary", 2, 3, 0, (3, 3), 3, "rotary", {}), ("GroupQueryAttention_rotary_packed", 2, 1, 6, (6, 4), 6, "rotary packed clean", {}),
            ("GroupQueryAttention_rotary_interleaved", 2, 1, 6, (6, 4), 6, "rotary clean", {"rotary_interleaved": 1}),
            ("GroupQueryAttention_rotary_positions", 2, 1, 6, (6, 6), 6, "rotary positions", {}),
            ("GroupQueryAttention_rotary_prompt_positions", 2, 3, 0, (3, 3), 3, "rotary positions", {}),
            ("GroupQueryAttention_valid_queries", 2, 3, 9, (6, 4), 9, "valid clean", {}),
            ("GroupQueryAttention_valid_queries_grows", 1, 3, 4, (6,), 7, "valid constant clean", {}),
            ("GroupQueryAttention_scores", 2, 3, 0, (3, 3), 3, "", {"qk_output": 1}), ("GroupQueryAttention_weights", 2, 1, 6, (4, 4), 4, "constant clean", {"qk_output": 2}),
            ("GroupQueryAttention_f16", 2, 1, 6, (6, 4), 6, "f16 clean", {})):
        numbers = Numbers(name)
        dtype, size, heads, shared = HALF if "f16" in given else np.float32, 16, 4, 2
        one = {"query": numbers.normal(batch, queries, heads * size, dtype=dtype), "key": numbers.normal(batch, queries, shared * size, dtype=dtype),
               "value": numbers.normal(batch, queries, shared * size, dtype=dtype)}
        if "packed" in given:
            one = {"query": np.concatenate(list(one.values()), axis=2), "key": None, "value": None}
        cache = {each: numbers.normal(batch, shared, past, size, dtype=dtype) if past else None for each in ("past_key", "past_value")}
        angles = numbers.normal(10, size // 2)
        inputs = {**one, **cache, "lengths": int32(*(each - 1 for each in lengths)), "total": np.array(total, np.int32),
                  "cos": np.cos(angles) if "rotary" in given else None, "sin": np.sin(angles) if "rotary" in given else None,
                  "positions": numbers.integers(batch, queries, high=10, dtype=np.int64) if "positions" in given else None,
                  "added": numbers.normal(1, heads, queries, total) if "added" in given else None, "sink": numbers.normal(heads) if "sink" in given else None,
                  "k_scale": None, "v_scale": None, "q_norm": None, "k_norm": None, "valid": int32(2, 1)[:batch] if "valid" in given else None}
        outputs = ["Y", "present_key", "present_value", *(["scores"] if "qk_output" in attributes else [])]
        case = node_case(name, "GroupQueryAttention", inputs, outputs, ["cos", "sin", *(["total"] if "constant" in given else [])], num_heads=heads,
                         kv_num_heads=shared, do_rotary=int("rotary" in given), **attributes)
        yield _without_padding(case, inputs, lengths, queries, inputs["valid"]) if "clean" in given else case


def normalized_group_query_attention():
    """ONNX Runtime's CPU has no normalization of queries and keys in the node: the expected values are those of nodes in front of it."""
    name = "GroupQueryAttention_normalized"
    numbers, size = Numbers(name), 16
    angles = numbers.normal(10, size // 2)
    inputs = {"query": numbers.normal(2, 3, 4 * size), "key": numbers.normal(2, 3, 2 * size), "value": numbers.normal(2, 3, 2 * size), "past_key": None, "past_value": None,
              "lengths": int32(2, 2), "total": np.array(3, np.int32), "cos": np.cos(angles), "sin": np.sin(angles), "positions": None, "added": None, "sink": None,
              "k_scale": None, "v_scale": None, "q_norm": numbers.normal(size), "k_norm": numbers.normal(size)}

    def normal(x, heads, weight, epsilon, to):
        return [helper.make_node("Constant", [], [f"{to}_apart"], value_ints=[2, 3, heads, size]), helper.make_node("Constant", [], [f"{to}_shape"], value_ints=[2, 3, heads * size]),
                node("Reshape", [x, f"{to}_apart"], [f"{to}4"]), node("SimplifiedLayerNormalization", [f"{to}4", weight], [f"{to}n"], epsilon=epsilon),
                node("Reshape", [f"{to}n", f"{to}_shape"], [to])]
    attributes = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    oracle = [*normal("query", 4, "q_norm", 0.01, "q"), *normal("key", 2, "k_norm", 0.1, "k"),
              node("GroupQueryAttention", ["q", "k", "value", "", "", "lengths", "total", "cos", "sin"], ["Y", "present_key", "present_value"], "com.microsoft", **attributes)]
    yield node_case(name, "GroupQueryAttention", inputs, ["Y", "present_key", "present_value"], ["cos", "sin", "q_norm", "k_norm"], oracle=oracle, qk_norm_epsilon=0.01,
                    k_norm_epsilon=0.1, **attributes)


def _without_padding(case, inputs, lengths, queries, valid, extent=None):
    """The case with zeros for all rows of results and caches that the operator leaves unspecified."""
    from onnx import numpy_helper
    graph = case.model.graph
    extent = extent or max(inputs["past_key"].shape[2] if inputs["past_key"] is not None else 0, int(inputs["total"]))
    valid = [min(queries, each) for each in lengths] if valid is None else valid
    dtype = inputs["query"].dtype
    kept = {"Y": np.arange(queries)[None, :, None] < np.reshape(valid, (-1, 1, 1)),
            "present_key": np.arange(extent)[None, None, :, None] < np.reshape(lengths, (-1, 1, 1, 1))}
    kept["present_value"] = kept["present_key"]
    graph.initializer.append(numpy_helper.from_array(np.zeros((), dtype), "zero"))
    for each, mask in kept.items():
        graph.node[0].output[list(graph.node[0].output).index(each)] = f"{each}_all"
        graph.initializer.append(numpy_helper.from_array(mask, f"{each}_kept"))
        graph.node.append(node("Where", [f"{each}_kept", f"{each}_all", "zero"], [each]))
    return case


# --- weights of few bits -------------------------------------------------------------------------------------------------------------------


def packed(elements, bits):
    """Elements of few bits as bytes along the last axis, low bits first."""
    step = 8 // bits
    padding = [(0, 0)] * (elements.ndim - 1) + [(0, -elements.shape[-1] % step)]
    whole = np.pad(elements, padding)
    return sum((whole[..., i::step] << (bits * i) for i in range(step)), start=np.zeros_like(whole[..., ::step]))


def block_weights():
    for name, bits, block, k, given, dtype in (
            ("MatMulNBits", 4, 16, 32, "", np.float32), ("MatMulNBits_rest", 4, 16, 40, "", np.float32), ("MatMulNBits_zeros", 4, 16, 40, "zeros", np.float32),
            ("MatMulNBits_float_zeros", 4, 16, 40, "floats", np.float32), ("MatMulNBits_groups", 4, 16, 48, "groups", np.float32),
            ("MatMulNBits_bias", 4, 32, 32, "bias zeros", np.float32), ("MatMulNBits_8", 8, 16, 40, "", np.float32),
            ("MatMulNBits_8_zeros", 8, 16, 40, "zeros bias", np.float32), ("MatMulNBits_2", 2, 16, 32, "zeros", np.float32),
            ("MatMulNBits_flat", 4, 16, 40, "zeros flat", np.float32), ("MatMulNBits_f16", 4, 16, 32, "zeros", HALF),
            ("MatMulNBits_vector", 4, 128, 128, "row", np.float32), ("MatMulNBits_data", 4, 16, 40, "zeros data", np.float32),
            ("MatMulNBits_8_data", 8, 16, 40, "zeros data", np.float32)):
        numbers, n = Numbers(name), 5
        blocks = -(-k // block)
        inputs = {"A": numbers.normal(*([1, 1, k] if "row" in given else [2, 3, k]), dtype=dtype),
                  "B": packed(numbers.integers(n, blocks, block, high=2 ** bits, dtype=np.uint8), bits), "scales": numbers.uniform(n, blocks, low=0.01, high=0.1, dtype=dtype),
                  "zeros": None, "groups": np.sort(numbers.integers(k, high=blocks)) if "groups" in given else None,
                  "bias": numbers.normal(n) if "bias" in given else None}
        if "zeros" in given:
            inputs["zeros"] = packed(numbers.integers(n, blocks, high=2 ** bits, dtype=np.uint8), bits)
        elif "floats" in given:
            inputs["zeros"] = numbers.uniform(n, blocks, high=15)
        if "flat" in given:
            inputs |= {"scales": inputs["scales"].ravel(), "zeros": inputs["zeros"].ravel()}
        yield node_case(name, "MatMulNBits", inputs, ["Y"], [] if "data" in given else ["B", "scales", "zeros", "groups", "bias"], K=k, N=n, bits=bits, block_size=block)
    for name, bits, zeros, shape, axis, dtype in (
            ("GatherBlockQuantized", 4, False, (6, 32), 1, np.float32), ("GatherBlockQuantized_zeros", 4, True, (6, 48), -1, np.float32),
            ("GatherBlockQuantized_8", 8, True, (6, 32), 1, np.float32), ("GatherBlockQuantized_2", 2, False, (6, 32), 1, np.float32),
            ("GatherBlockQuantized_3d", 4, True, (6, 2, 32), 2, np.float32),
            ("GatherBlockQuantized_f16", 4, False, (6, 32), 1, HALF)):
        numbers = Numbers(name)
        blocks = [*shape]
        blocks[axis] //= 16
        inputs = {"data": packed(numbers.integers(*shape, high=2 ** bits, dtype=np.uint8), bits), "indices": np.array([[1, 5, 0], [-2, 3, 3]], np.int64),
                  "scales": numbers.uniform(*blocks, low=0.01, high=0.1, dtype=dtype),
                  "zeros": packed(numbers.integers(*blocks, high=2 ** bits, dtype=np.uint8), bits) if zeros else None}
        yield node_case(name, "GatherBlockQuantized", inputs, ["Y"], ["data", "scales", "zeros"], bits=bits, block_size=16, quantize_axis=axis, gather_axis=0)


def gathered_narrow_elements():
    for name, dtype, zeros, gather, quantize in (
            ("GatherBlockQuantized_int4", ml_dtypes.int4, False, 0, 1), ("GatherBlockQuantized_int4_zeros", ml_dtypes.int4, True, 0, 1),
            ("GatherBlockQuantized_uint4", ml_dtypes.uint4, True, 0, 1), ("GatherBlockQuantized_uint4_first_axis", ml_dtypes.uint4, True, 1, 0)):
        numbers, low, shape = Numbers(name), -8 if dtype == ml_dtypes.int4 else 0, (6, 32) if quantize else (32, 6)
        blocks = [extent // 16 if axis == quantize else extent for axis, extent in enumerate(shape)]
        inputs = {"data": numbers.integers(*shape, low=low, high=low + 16).astype(dtype), "indices": np.array([[1, 5, 0], [-2, 3, 3]], np.int64),
                  "scales": numbers.uniform(*blocks, low=0.01, high=0.1),
                  "zeros": numbers.integers(*blocks, low=low, high=low + 16).astype(dtype) if zeros else None}
        yield node_case(name, "GatherBlockQuantized", inputs, ["Y"], ["data", "scales", "zeros"], opsets={"": 21, "com.microsoft": 1}, block_size=16,
                        quantize_axis=quantize, gather_axis=gather)


# --- experts -------------------------------------------------------------------------------------------------------------------------------


def experts():
    for name, tokens, count, k, activation, bias, attributes in (
            ("MoE", (6,), 4, 1, "relu", True, {}), ("MoE_2_of_4", (2, 3), 4, 2, "gelu", True, {}), ("MoE_normalized", (6,), 4, 2, "silu", False, {"normalize_routing_weights": 1}),
            ("MoE_few_tokens", (1,), 6, 2, "silu", True, {}), ("MoE_identity", (6,), 4, 2, "identity", True, {}),
            ("MoE_swiglu", (6,), 4, 2, "swiglu", True, {"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.5}),
            ("MoE_swiglu_few_tokens", (1, 1), 6, 2, "swiglu", False, {"swiglu_fusion": 1}),
            ("MoE_swiglu_halves", (6,), 4, 2, "swiglu", False, {"swiglu_fusion": 2, "activation_alpha": 1.7}),
            ("MoE_swiglu_apart", (6,), 4, 2, "swiglu", False, {"swiglu_fusion": 0})):
        numbers, size, width = Numbers(name), 8, 4
        fusion = attributes.get("swiglu_fusion", 1) if activation == "swiglu" else None
        rows = 2 * width if fusion in (1, 2) else width
        inputs = {"X": numbers.normal(*tokens, size), "router": numbers.normal(int(np.prod(tokens)), count), "fc1": numbers.normal(count, rows, size, scale=0.4),
                  "bias1": numbers.normal(count, rows) if bias else None, "fc2": numbers.normal(count, size, width, scale=0.4),
                  "bias2": numbers.normal(count, size) if bias else None, "fc3": numbers.normal(count, width, size) if fusion == 0 else None}
        # ONNX Runtime's CPU has gates and linear parts only as neighbors.
        oracle = None
        if fusion in (0, 2):
            shape = [helper.make_node("Constant", [], ["shape"], value_ints=[count, 2 * width, size])]
            if fusion == 0:
                shape += [helper.make_node("Constant", [], ["apart"], value_ints=[2]), node("Unsqueeze", ["fc1", "apart"], ["g"]), node("Unsqueeze", ["fc3", "apart"], ["l"]),
                          node("Concat", ["g", "l"], ["pairs"], axis=2)]
            else:
                shape += [helper.make_node("Constant", [], ["apart"], value_ints=[count, 2, width, size]), node("Reshape", ["fc1", "apart"], ["halves"]),
                          node("Transpose", ["halves"], ["pairs"], perm=[0, 2, 1, 3])]
            kept = {each: value for each, value in attributes.items() if each != "swiglu_fusion"}
            oracle = [*shape, node("Reshape", ["pairs", "shape"], ["both"]),
                      node("MoE", ["X", "router", "both", "", "fc2"], ["Y"], "com.microsoft", k=k, activation_type="swiglu", swiglu_fusion=1, **kept)]
        yield node_case(name, "MoE", inputs, ["Y"], ["fc1", "fc2", "fc3", "bias1", "bias2"], k=k, activation_type=activation, oracle=oracle, **attributes)
    for name, bits, block, given, attributes in (
            ("QMoE", 4, 16, "", {}), ("QMoE_zeros", 4, 16, "zeros bias", {}), ("QMoE_rows", 4, 0, "zeros", {}), ("QMoE_8_rows", 8, 0, "bias", {}), ("QMoE_2_rows", 2, 0, "", {}),
            ("QMoE_shares", 4, 16, "shares", {}), ("QMoE_normalized_shares", 4, 16, "shares", {"normalize_routing_weights": 1}),
            ("QMoE_swiglu", 4, 16, "", {"activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0}),
            ("QMoE_few_tokens", 4, 16, "few bias", {})):
        numbers, count, size, width, tokens = Numbers(name), 4, 32, 16, 1 if "few" in given else 3
        inputs = {"X": numbers.normal(tokens, size), "router": numbers.normal(tokens, count)}
        zeros = []
        for number, rows, columns in ((1, 2 * width if "swiglu_fusion" in attributes else width, size), (2, size, width)):
            blocks = columns // block if block else 1
            elements, scales = numbers.integers(count, rows, columns, high=2 ** bits, dtype=np.uint8), numbers.uniform(count, rows, blocks, low=0.02, high=0.08)
            points = numbers.integers(count, rows, blocks, high=2 ** bits, dtype=np.uint8)
            zeros.append(packed(points if block else points[..., 0], bits) if "zeros" in given else None)
            inputs |= {f"fc{number}": packed(elements, bits), f"scales{number}": scales if block else scales[..., 0],
                       f"bias{number}": numbers.normal(count, rows) if "bias" in given else None}
        inputs |= {"fc3": None, "scales3": None, "bias3": None, "zeros1": zeros[0], "zeros2": zeros[1], "zeros3": None,
                   "shares": numbers.uniform(tokens, count) if "shares" in given else None}
        constants = [each for each in inputs if each not in ("X", "router", "shares")]
        yield node_case(name, "QMoE", inputs, ["Y"], constants, k=2, expert_weight_bits=bits,
                        **{"activation_type": "silu", **({"block_size": block} if block else {}), **attributes})
