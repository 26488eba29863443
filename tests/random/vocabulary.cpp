// Calls of every function of the vocabulary. The door is Vocabulary::call; it draws a sample, changes extents, element types and
// attributes, and asks the type rule, until one is accepted.
#include "tests/random/vocabulary.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/ops/convert.h"
#include "tests/random/call_changes.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

/// The size limits of a call: elements of its operands and of its results, and operations.
struct Bounds {
  std::int64_t elements;
  double work;
};
constexpr Bounds kSmall{3000, 300000}, kLarge{60000, 10000000};
constexpr int kTries = 8;

using Integers = std::vector<std::int64_t>;
using Names = std::set<std::string_view>;

bool is_one_of(const OpDef& op, const Names& names) {
  return names.contains(op.name);
}

/// Ops whose data must satisfy conditions that types do not express (a factorizable matrix): they are called with the samples' data alone.
bool needs_sample_data(const OpDef& op) {
  static const Names names = {"solve", "inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh", "svd", "svdvals", "tree_ensemble"};
  return is_one_of(op, names) || op.name == "matrix_norm";
}

// --- accepted inputs -------------------------------------------------------------------------------------------------------------------

bool few_elements(const std::vector<TensorType>& types, const Bounds& bounds) {
  std::int64_t sum = 0;
  for (const TensorType& type : types) {
    if (type.rank() > 8 || !checked_bytes(type) || type.elements() > bounds.elements) return false;
    sum += type.elements();
  }
  return sum <= bounds.elements;
}

bool accepted(DrawnCall& call, const Bounds& bounds) {
  if (!few_elements(call.operands, bounds)) return false;
  if (normalize_call(*call.op, call.operands.size(), call.attributes)) return false;
  const TypeResult types = call.op->type_rule(call.operands, call.attributes);
  const auto* results = std::get_if<std::vector<TensorType>>(&types);
  if (!results || !few_elements(*results, bounds) || results->size() > 8) return false;
  if (call.op->cost && !(call.op->cost(call.operands, *results, call.attributes).flops <= bounds.work)) return false;
  for (std::size_t k = 0; k < call.operands.size(); ++k)  // an empty axis has no valid index
    if (index_extent(call, k).value_or(1) < 1 && call.operands[k].elements() > 0) return false;
  return true;
}

}  // namespace

std::span<const LeftOut> left_out() {
  return {};
}

// `max` and `min` are not exact: for zeros of both signs the result depends on the order of the elements, which differs among kernels.
bool approximates(const OpDef& op, const Attributes& attributes) {
  static const Names exact = {"add",
                              "subtract",
                              "multiply",
                              "divide",
                              "floor_divide",
                              "remainder",
                              "negative",
                              "abs",
                              "sign",
                              "minimum",
                              "maximum",
                              "copysign",
                              "square",
                              "clip",
                              "sqrt",
                              "relu",
                              "floor",
                              "ceil",
                              "round",
                              "trunc",
                              "isnan",
                              "isfinite",
                              "isinf",
                              "signbit",
                              "equal",
                              "not_equal",
                              "less",
                              "less_equal",
                              "greater",
                              "greater_equal",
                              "logical_and",
                              "logical_or",
                              "logical_xor",
                              "logical_not",
                              "bitwise_and",
                              "bitwise_or",
                              "bitwise_xor",
                              "bitwise_invert",
                              "bitwise_left_shift",
                              "bitwise_right_shift",
                              "where",
                              "astype",
                              "max_pool",
                              "any",
                              "all",
                              "argmax",
                              "argmin",
                              "transpose",
                              "permute_dims",
                              "reshape",
                              "expand_dims",
                              "squeeze",
                              "broadcast_to",
                              "flip",
                              "bitcast",
                              "slice",
                              "take",
                              "one_hot",
                              "dynamic_slice",
                              "dynamic_update_slice",
                              "take_along_axis",
                              "gather_nd",
                              "concat",
                              "stack",
                              "pad",
                              "repeat",
                              "tile",
                              "zeros",
                              "ones",
                              "full",
                              "eye",
                              "random_uniform",
                              "random_integers",
                              "random_permutation",
                              "sort",
                              "argsort",
                              "top_k",
                              "unique",
                              "searchsorted",
                              "tree_ensemble",
                              "quantized_matmul",
                              "quantized_conv",
                              "nonzero",
                              "print",
                              "log_metric",
                              "write_npy",
                              "host_call",
                              "to_host",
                              "to_accelerator"};
  if (op.name == "scatter" || op.name == "scatter_nd") return attributes.get_or<std::string>("reduction", "none") != "none";
  return !is_one_of(op, exact);
}

Data operand_data(const OpDef& op) {
  static const Names bits_show = {"bitcast", "signbit", "copysign", "unique", "write_npy"};  // results that reveal the payload of a NaN
  if (is_one_of(op, bits_show)) return Data::clean;
  // Kernels of transforms assume that sin(0) * x is 0 for any x, NaN included, and those of convolutions and their gradients multiply
  // the padding's zeros with weights.
  static const Names zeros_show = {
      "fft", "ifft", "rfft", "irfft", "conv", "conv_input_gradient", "conv_weight_gradient", "attention", "attention_gradient"};
  if (is_one_of(op, zeros_show)) return Data::clean;
  if (op.elementwise() || (!op.composite() && !approximates(op, {}))) return Data::wild;
  return op.composite() || op.name == "roi_align" || op.name == "grid_sample" ? Data::clean : Data::moderate;
}

std::optional<std::int64_t> index_extent(const DrawnCall& call, std::size_t operand) {
  const std::string name(call.op->name);
  static const Names gathers = {"take", "take_along_axis", "gather_nd", "scatter", "scatter_add", "scatter_nd"};
  const Shape& x = call.operands.empty() ? Shape{} : call.operands[0].shape;
  if (is_one_of(*call.op, gathers) && operand == 1) {
    const auto axis = call.attributes.get_or<std::int64_t>("axis", name == "take_along_axis" ? -1 : 0);
    if (name != "gather_nd" && name != "scatter_nd" && !x.empty())
      return x[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis) % x.size()];
    return x.empty() ? 1 : *std::min_element(x.begin(), x.end());
  }
  if (name == "roi_align" && operand == 2) return x[0];
  if (name == "cross_entropy" && operand == 1 && is_integer(call.operands[1].dtype)) return x.empty() ? 1 : x.back();
  return std::nullopt;
}

std::optional<Array> required_data(Draw& draw, const DrawnCall& call, std::size_t operand) {
  const bool slices = call.op->name == "dynamic_slice";
  const std::size_t first = slices ? 1 : 2;
  if ((!slices && call.op->name != "dynamic_update_slice") || operand < first) return std::nullopt;
  const Shape& x = call.operands[0].shape;
  Shape window(x.size(), 1);
  if (slices)
    window = call.attributes.get<Integers>("sizes");
  else
    std::copy_backward(call.operands[1].shape.begin(), call.operands[1].shape.end(), window.end());
  const TensorType& type = call.operands[operand];
  const std::size_t from = type.scalar() ? operand - first : 0;
  Array starts(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < starts.size(); ++i) {
      const std::size_t axis = from + static_cast<std::size_t>(i);
      starts.mutable_data<T>()[i] = ops::convert<T>(draw.below(std::min<std::int64_t>(x[axis] - window[axis] + 1, 100)));
    }
  });
  return starts;
}

// --- Vocabulary ------------------------------------------------------------------------------------------------------------------------

Vocabulary::Vocabulary() {
  std::map<const OpDef*, std::vector<OpSample>> samples;
  for (auto* some : {&op_samples, &composite_samples}) {
    for (OpSample& sample : some()) {
      if (few_elements(types_of(sample.inputs), kSmall)) samples[sample.op].push_back(std::move(sample));
    }
  }
  samples_.assign(std::make_move_iterator(samples.begin()), std::make_move_iterator(samples.end()));
  for (const OpDef* op : all_functions()) {
    const auto is_left_out = [&](const LeftOut& each) { return each.function == op->name; };
    if (std::none_of(left_out().begin(), left_out().end(), is_left_out)) functions_.push_back(op);
  }
}

const std::vector<OpSample>& Vocabulary::samples_of(const OpDef& op) const {
  const auto found = std::find_if(samples_.begin(), samples_.end(), [&](const auto& each) { return each.first == &op; });
  CLEAVE_CHECK(found != samples_.end() && !found->second.empty(), "a function without a small sample");
  return found->second;
}

std::optional<DrawnCall> Vocabulary::call(Draw& draw, const OpDef& op, const TensorType* near, bool large) const {
  const std::vector<OpSample>& samples = samples_of(op);
  for (int i = 0; i <= kTries; ++i) {
    const OpSample& sample = draw.pick(samples);
    DrawnCall call{&op, types_of(sample.inputs), sample.attributes, &sample, needs_sample_data(op) || draw.chance(0.1)};
    if (!call.sample_data && i < kTries) change_call(draw, samples, near, large, call);
    if (accepted(call, large ? kLarge : kSmall)) return call;
  }
  return std::nullopt;
}

}  // namespace cleave::testing
