"""The programs that write operators which ONNX itself does not have, or no longer has, for docs/onnx.md. Every such operator that is read stands here."""

OPTIMIZER = "ONNX Runtime's optimizer"
TRANSFORMERS = "onnxruntime.transformers"
GENAI = "onnxruntime-genai"
QUANTIZER = "onnxruntime.quantization"
PYTORCH = "pytorch_export_contrib_ops"
SKLEARN = "skl2onnx"
WEIGHTS = "quantizers of weights"
OLD = "old files"
NEW = "files of ONNX Runtime 1.32"
ATEN = "PyTorch's fallback to ATen"
CAFFE2 = "Caffe2"
CNTK = "CNTK"
COREML = "coremltools and winmltools"

ABOUT = {
    OPTIMIZER: "models that ONNX Runtime saved after its own optimization (`optimized_model_filepath`)",
    TRANSFORMERS: "the optimizer of transformers in ONNX Runtime's package, also by way of Optimum and Olive",
    GENAI: "its model builder, for language models",
    QUANTIZER: "the quantizer in ONNX Runtime's package, also by way of Optimum and Olive",
    PYTORCH: "the extension in ONNX Runtime's package of PyTorch's former exporter",
    SKLEARN: "the converter of scikit-learn, asked for its option `optim`",
    WEIGHTS: "`matmul_nbits_quantizer` in ONNX Runtime's package, Olive, Optimum",
    NEW: "files with operators that this version added for language models",
    OLD: "files of converters that needed the operator before ONNX had it",
    ATEN: "models of PyTorch 0.3 to 1.13 that were exported with `ONNX_ATEN_FALLBACK`",
    CAFFE2: "its exporter to ONNX, before ONNX 1.5",
    CNTK: "its exporter to ONNX, before ONNX 1.5",
    COREML: "converters of Core ML models, before ONNX 1.5",
}

OPERATORS = {
    "ATen": [ATEN],
    "Affine": [CAFFE2, COREML],
    "ConstantFill": [CAFFE2],
    "Crop": [COREML],
    "DynamicSlice": [CAFFE2],
    "GivenTensorFill": [CAFFE2],
    "ImageScaler": [CNTK, COREML],
    "ParametricSoftplus": [COREML],
    "Scale": [CAFFE2],
    "ScaledTanh": [COREML],
    "SpatialBN": [CAFFE2],
    "SimplifiedLayerNormalization": [OPTIMIZER, TRANSFORMERS, GENAI],
    "com.microsoft.Attention": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.BiasAdd": [TRANSFORMERS],
    "com.microsoft.BiasGelu": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.BiasSoftmax": [OPTIMIZER],
    "com.microsoft.BiasSplitGelu": [TRANSFORMERS],
    "com.microsoft.CDist": [SKLEARN],
    "com.microsoft.DecoderMaskedMultiHeadAttention": [TRANSFORMERS],
    "com.microsoft.DequantizeLinear": [QUANTIZER],
    "com.microsoft.DynamicQuantizeLSTM": [QUANTIZER],
    "com.microsoft.DynamicQuantizeMatMul": [OPTIMIZER],
    "com.microsoft.EmbedLayerNormalization": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.ExpandDims": [OLD],
    "com.microsoft.FastGelu": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.FusedConv": [OPTIMIZER],
    "com.microsoft.FusedGemm": [OPTIMIZER],
    "com.microsoft.FusedMatMul": [OPTIMIZER],
    "com.microsoft.GatedAdd": [NEW],
    "com.microsoft.GatedRMSNorm": [NEW],
    "com.microsoft.GatherBlockQuantized": [GENAI, WEIGHTS],
    "com.microsoft.GatherND": [OLD],
    "com.microsoft.Gelu": [OPTIMIZER, TRANSFORMERS, PYTORCH],
    "com.microsoft.GroupNorm": [TRANSFORMERS],
    "com.microsoft.GroupQueryAttention": [TRANSFORMERS, GENAI],
    "com.microsoft.Inverse": [PYTORCH],
    "com.microsoft.MatMulInteger16": [QUANTIZER],
    "com.microsoft.MatMulIntegerToFloat": [OPTIMIZER],
    "com.microsoft.MatMulNBits": [GENAI, WEIGHTS],
    "com.microsoft.MoE": [TRANSFORMERS, GENAI],
    "com.microsoft.MultiHeadAttention": [OPTIMIZER, TRANSFORMERS, GENAI],
    "com.microsoft.NhwcConv": [TRANSFORMERS],
    "com.microsoft.NhwcMaxPool": [OPTIMIZER],
    "com.microsoft.Pad": [OLD],
    "com.microsoft.QAttention": [QUANTIZER],
    "com.microsoft.QGemm": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearAdd": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearAveragePool": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearConcat": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearConv": [OPTIMIZER],
    "com.microsoft.QLinearGlobalAveragePool": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearLeakyRelu": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearMul": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearReduceMean": [QUANTIZER],
    "com.microsoft.QLinearSigmoid": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearSoftmax": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QLinearWhere": [OPTIMIZER, QUANTIZER],
    "com.microsoft.QMoE": [GENAI],
    "com.microsoft.QuantizeLinear": [QUANTIZER],
    "com.microsoft.QuickGelu": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.Range": [OLD],
    "com.microsoft.RotaryEmbedding": [TRANSFORMERS, GENAI],
    "com.microsoft.ScaledSiLU": [NEW],
    "com.microsoft.SkipGroupNorm": [TRANSFORMERS],
    "com.microsoft.SkipLayerNormalization": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.SkipSimplifiedLayerNormalization": [OPTIMIZER, TRANSFORMERS, GENAI],
    "com.microsoft.TransposeMatMul": [OPTIMIZER],
    "com.microsoft.Trilu": [PYTORCH],
    "com.microsoft.Unique": [OLD],
    "org.pytorch.aten.ATen": [ATEN],
}
