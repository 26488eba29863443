// Lowerings of the operators of ai.onnx.ml that prepare features.
#include <algorithm>
#include <cmath>

#include "models/onnx/class_scores.h"
#include "models/onnx/lookups.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

Values array_feature_extractor(Call& c) {
  const Part& given = c[0];
  const Part x = given.rank() == 1 ? c.reshape(given, {1, given.shape()[0]}) : given;
  const Part indices = reshaped(c, c[1], {c[1].type().elements()});
  Value result(c(op::take, {x, indices}, {{"axis", std::int64_t{-1}}}));
  result.texts = c.value(0).texts;
  return {result};
}

Values binarizer(Call& c) {
  return {c.as(c[0].dtype(), c(op::greater, {c[0], c.number_as(c[0].dtype(), c.number("threshold", 0))}))};
}

/// A number for each feature of the last axis, or one for all; nothing, and reported, for other lengths.
std::optional<Part> by_feature(Call& c, const Numbers& numbers, DType dtype, std::string_view attribute) {
  const Shape shape = c[0].shape();
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (count == 1) return c.number_as(dtype, numbers.front());
  if (!shape.empty() && shape.back() == count) return c.numbers_constant(numbers, dtype, {count});
  c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: `" + std::string(attribute) + "` has " + std::to_string(count) +
                                       " numbers for the features of " + to_string(c[0].type()));
  return std::nullopt;
}

Values scaler(Call& c) {
  const Numbers offsets = c.numbers("offset").value_or(Numbers{0}), scales = c.numbers("scale").value_or(Numbers{1});
  const Part x = c.as(DType::f32, c[0]);
  const auto offset = by_feature(c, offsets, DType::f32, "offset");
  const auto scale = by_feature(c, scales, DType::f32, "scale");
  if (!offset || !scale) return c.poison();
  return {c.multiply(c.subtract(x, *offset), *scale)};
}

/// By the largest number, not the largest magnitude, as ONNX Runtime does; rows of zeros stay.
Values normalizer(Call& c) {
  const std::string norm = c.text("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return c.mistake(DiagnosticKind::value, "`Normalizer`: `norm` is MAX, L1 or L2, not `" + norm + "`");
  if (c[0].rank() < 1) return c.mistake(DiagnosticKind::shape, "`Normalizer` takes rows of features");
  const Part x = c.as(DType::f32, c[0]);
  if (norm != "MAX") return {c(op::lp_norm, {x}, {{"axis", std::int64_t{-1}}, {"p", std::int64_t{norm == "L1" ? 1 : 2}}})};
  const Part most = c(op::max, {x}, {{"axis", Integers{-1}}, {"keepdims", true}});
  return {c(op::where, {c(op::equal, {most, 0}), x, c.divide(x, most)})};
}

Values imputer(Call& c) {
  const bool integers = !is_floating(c[0].dtype());
  if (c[0].dtype() == DType::boolean) return c.unsupported("of bool");
  Numbers imputed;
  if (const auto numbers = c.integers("imputed_value_int64s"); numbers && integers) imputed.assign(numbers->begin(), numbers->end());
  if (const auto numbers = c.numbers("imputed_value_floats"); numbers && !integers) imputed = *numbers;
  const double replaced_number = c.number("replaced_value_float", 0);
  const std::int64_t replaced_integer = c.integer("replaced_value_int64", 0);
  const double replaced = integers ? static_cast<double>(replaced_integer) : replaced_number;
  if (imputed.empty())
    return c.mistake(DiagnosticKind::value, "`Imputer` has no values for " + std::string(to_string(c[0].dtype())) + " elements");
  const auto values = by_feature(c, imputed, c[0].dtype(), integers ? "imputed_value_int64s" : "imputed_value_floats");
  if (!values) return c.poison();
  const Part missing = std::isnan(replaced) ? c(op::isnan, {c[0]}) : c(op::equal, {c[0], c.number_as(c[0].dtype(), replaced)});
  return {c(op::where, {missing, *values, c[0]})};
}

/// The columns of all operands side by side, as f32; operands have the widths that the node says.
Values feature_vectorizer(Call& c) {
  const Integers widths = c.integers("inputdimensions").value_or(Integers{});
  Parts columns;
  for (std::size_t i = 0; i < c.operands(); ++i) {
    const Shape shape = c[i].shape();
    if (shape.empty()) return c.mistake(DiagnosticKind::shape, "`FeatureVectorizer` takes rows of features, not a scalar");
    const std::int64_t rows = shape.size() == 1 ? 1 : shape[0], width = extent_product(shape, shape.size() == 1 ? 0 : 1, shape.size());
    const std::int64_t wanted = i < widths.size() ? widths[i] : width;
    const Part x = c.as(DType::f32, c.reshape(c[i], {rows, width}));
    if (wanted <= width) {
      columns.push_back(piece(c, x, 1, 0, std::max<std::int64_t>(wanted, 0)));
    } else {  // filled up with zeros
      columns.push_back(c(op::pad, {x}, {{"widths", Integers{0, 0, 0, wanted - width}}}));
    }
  }
  if (columns.empty()) return c.mistake(DiagnosticKind::type, "`FeatureVectorizer` has no operands");
  return {columns.size() == 1 ? columns.front() : c(op::concat, columns, {{"axis", std::int64_t{1}}})};
}

/// A last axis with a 1 for the category. With `zeros` = 0 an unknown category is an Error of the run.
Values one_hot_encoder(Call& c) {
  const auto integers = c.integers("cats_int64s");
  const auto texts = c.texts("cats_strings");
  const bool zeros = c.flag("zeros", true);
  const Value& x = c.value(0);
  const std::size_t count = texts && !texts->empty() ? texts->size() : integers ? integers->size() : 0;
  if (count == 0) return c.mistake(DiagnosticKind::value, "`OneHotEncoder` has no categories");
  const bool texted = texts && !texts->empty();
  if (texted != (x.texts != nullptr))
    return c.mistake(DiagnosticKind::type, texted ? "`OneHotEncoder` has texts as categories, and is given numbers"
                                                  : "`OneHotEncoder` has integers as categories, and is given texts");
  const auto depth = static_cast<std::int64_t>(count);
  Part place;  // of the category; `depth` for an unknown one
  if (texted) {
    Integers places;
    for (const std::string& text : *x.texts) places.push_back(std::find(texts->begin(), texts->end(), text) - texts->begin());
    place = c(op::take, {c.integers_constant(places), x.part}, {{"axis", std::int64_t{0}}});
  } else {
    Integers places(count);
    for (std::size_t i = 0; i < count; ++i) places[i] = static_cast<std::int64_t>(i);
    const Part categories = c.as(DType::i64, x.part);
    const Array keys = Array::of<std::int64_t>({depth}, std::span<const std::int64_t>(*integers));
    place = look_up(c, categories, keys, c.integers_constant(places), c.scalar(depth));
  }
  if (zeros) return {c(op::one_hot, {place}, {{"depth", depth}, {"dtype", DType::f32}})};
  const Part rows = c(op::eye, std::initializer_list<Part>{}, {{"rows", depth}});
  return {c.as(DType::f32, c(op::take, {rows, place}, {{"axis", std::int64_t{0}}}))};
}

}  // namespace

std::span<const Lowering> feature_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ai.onnx.ml.ArrayFeatureExtractor", 1, array_feature_extractor, {}, false, false, Texts::read},
      {"ai.onnx.ml.Binarizer", 1, binarizer},
      {"ai.onnx.ml.FeatureVectorizer", 1, feature_vectorizer},
      {"ai.onnx.ml.Imputer", 1, imputer},
      {"ai.onnx.ml.Normalizer", 1, normalizer},
      {"ai.onnx.ml.OneHotEncoder", 1, one_hot_encoder, {}, false, false, Texts::read},
      {"ai.onnx.ml.Scaler", 1, scaler},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
