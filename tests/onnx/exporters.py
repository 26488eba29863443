"""The programs that write operators which ONNX itself does not have, for docs/onnx.md. Every such operator that is read stands here."""

OPTIMIZER = "ONNX Runtime's optimizer"
TRANSFORMERS = "onnxruntime.transformers"
GENAI = "onnxruntime-genai"
PYTORCH = "pytorch_export_contrib_ops"

ABOUT = {
    OPTIMIZER: "models that ONNX Runtime saved after its own optimization (`optimized_model_filepath`)",
    TRANSFORMERS: "the optimizer of transformers in ONNX Runtime's package, also by way of Optimum and Olive",
    GENAI: "its model builder, for language models",
    PYTORCH: "the extension in ONNX Runtime's package of PyTorch's former exporter",
}

OPERATORS = {
    "com.microsoft.BiasAdd": [TRANSFORMERS],
    "com.microsoft.BiasGelu": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.BiasSplitGelu": [TRANSFORMERS],
    "com.microsoft.FastGelu": [OPTIMIZER, TRANSFORMERS],
    "com.microsoft.Gelu": [OPTIMIZER, TRANSFORMERS, PYTORCH],
    "com.microsoft.QuickGelu": [OPTIMIZER, TRANSFORMERS],
}
