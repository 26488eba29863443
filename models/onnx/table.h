// The table of supported operators: each row has the operator set version from which its lowering is valid. One list for each family, one
// function for each operator.
#pragma once

#include <span>
#include <string_view>

#include "graph/vocabulary.h"
#include "models/onnx/value.h"

namespace cleave::models::onnx {

/// The supported versions of operator sets.
inline constexpr int kOldestVersion = 1, kNewestVersion = 28;

class Call;

/// What an operator does with tensors of texts (texts.h).
enum class Texts : std::uint8_t {
  refuse,  ///< it has no result, unless nothing depends on it
  keep,    ///< its results are texts of its first operand
  read,    ///< its lowering looks at Value::texts
};

struct Lowering {
  std::string_view op;  ///< prefixed with its domain if that is not ai.onnx: "ai.onnx.preview.training.Adam"
  int since;            ///< of several rows of an operator, the newest that is not newer than the node is valid
  Values (*lower)(Call& call);
  const OpDef* function = nullptr;  ///< function of the vocabulary, for lowerings that serve several operators: Call::function()
  bool takes_bounded = false;       ///< accepts operands whose size depends on data
  bool takes_sequences = false;     ///< accepts sequences and optional values
  Texts texts = Texts::refuse;
};

/// The row for an operator, null if there is none.
const Lowering* find_lowering(std::string_view op, int version);

// The families; each is in the file of this folder with its name.
std::span<const Lowering> activation_lowerings();               ///< Celu … ThresholdedRelu
std::span<const Lowering> attention_lowerings();                ///< Attention, FlexAttention
std::span<const Lowering> contrib_activation_lowerings();       ///< ONNX Runtime's BiasAdd … QuickGelu
std::span<const Lowering> contrib_attention_lowerings();        ///< ONNX Runtime's Attention, MultiHeadAttention, RotaryEmbedding
std::span<const Lowering> contrib_block_weight_lowerings();     ///< ONNX Runtime's GatherBlockQuantized, MatMulNBits
std::span<const Lowering> contrib_expert_lowerings();           ///< ONNX Runtime's MoE, QMoE
std::span<const Lowering> contrib_group_attention_lowerings();  ///< ONNX Runtime's GroupQueryAttention
std::span<const Lowering> contrib_normalization_lowerings();  ///< ONNX Runtime's EmbedLayerNormalization … SkipSimplifiedLayerNormalization
std::span<const Lowering> contrib_product_lowerings();        ///< ONNX Runtime's FusedConv … TransposeMatMul
std::span<const Lowering> control_flow_lowerings();           ///< If, Loop, Scan
std::span<const Lowering> conversion_lowerings();             ///< Cast, CastLike
std::span<const Lowering> convolution_lowerings();            ///< Conv … Col2Im
std::span<const Lowering> creation_lowerings();               ///< Constant … RandomUniformLike
std::span<const Lowering> elementwise_lowerings();            ///< Add … Xor
std::span<const Lowering> feature_lowerings();                ///< ai.onnx.ml's ArrayFeatureExtractor … Scaler
std::span<const Lowering> indexing_lowerings();               ///< Gather … Trilu
std::span<const Lowering> joining_lowerings();                ///< Concat … Tile
std::span<const Lowering> label_lowerings();                  ///< ai.onnx.ml's CategoryMapper … ZipMap
std::span<const Lowering> language_lowerings();               ///< CausalConvWithState … TensorScatter
std::span<const Lowering> legacy_lowerings();                 ///< operators from before version 9: Affine … SpatialBN
std::span<const Lowering> linear_model_lowerings();           ///< ai.onnx.ml's LinearClassifier … SVMRegressor
std::span<const Lowering> loss_lowerings();                   ///< NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
std::span<const Lowering> normalization_lowerings();          ///< BatchNormalization … RMSNormalization
std::span<const Lowering> pooling_lowerings();                ///< AveragePool … RoiAlign
std::span<const Lowering> product_lowerings();                ///< Einsum, Gemm, MatMul
std::span<const Lowering> quantization_lowerings();           ///< DequantizeLinear … QuantizeLinear
std::span<const Lowering> quantized_attention_lowerings();    ///< ONNX Runtime's QAttention
std::span<const Lowering> quantized_elementwise_lowerings();  ///< ONNX Runtime's QLinearAdd … QLinearWhere
std::span<const Lowering> quantized_pooling_lowerings();      ///< ONNX Runtime's NhwcMaxPool … QLinearReduceMean
std::span<const Lowering> quantized_product_lowerings();      ///< ConvInteger … QLinearMatMul
std::span<const Lowering> quantized_recurrent_lowerings();    ///< ONNX Runtime's DynamicQuantizeLSTM
std::span<const Lowering> random_lowerings();                 ///< Bernoulli … RandomUniformLike
std::span<const Lowering> recurrent_lowerings();              ///< LSTM, GRU, RNN
std::span<const Lowering> reduction_lowerings();              ///< ArgMax … ReduceSumSquare
std::span<const Lowering> resampling_lowerings();             ///< Resize, Upsample
std::span<const Lowering> sampling_lowerings();               ///< AffineGrid, GridSample
std::span<const Lowering> scan_lowerings();                   ///< Scan
std::span<const Lowering> sequence_lowerings();               ///< ConcatFromSequence … SplitToSequence
std::span<const Lowering> shape_lowerings();                  ///< Reshape … Tile
std::span<const Lowering> signal_lowerings();                 ///< DFT … MelWeightMatrix, Det
std::span<const Lowering> slicing_lowerings();                ///< Slice
std::span<const Lowering> sorting_lowerings();                ///< Compress … Unique
std::span<const Lowering> text_lowerings();                   ///< TfIdfVectorizer
std::span<const Lowering> training_lowerings();               ///< Adagrad, Adam, Momentum
std::span<const Lowering> tree_ensemble_lowerings();          ///< ai.onnx.ml's TreeEnsemble …

}  // namespace cleave::models::onnx
