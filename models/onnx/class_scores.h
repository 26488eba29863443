// Results of the classifiers and regressors of ai.onnx.ml, as ONNX Runtime computes them: labels, and transformed scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The operand as rows of `dtype`: a vector is one row. A mistake for other ranks, and then poison.
Part feature_rows(Call& c, DType dtype);

/// The attribute `post_transform`; reported if it is none of ONNX's.
std::optional<std::string> post_transform(Call& c);

/// A second score beside a single one, for classifiers of two classes.
enum class SecondScore : std::uint8_t {
  none,
  complement,  ///< 1 - s in front of s
  opposite,    ///< -s in front of s
};
/// Scores [rows, outputs] after a transformation. ONNX Runtime transforms a single score by PROBIT alone, and if it gets a second one by
/// LOGISTIC, too.
Part transformed_scores(Call& c, const Part& scores, const std::string& transform, SecondScore second = SecondScore::none);

/// The classes of a classifier: texts, or integers.
struct ClassLabels {
  std::vector<std::int64_t> integers;
  std::shared_ptr<const std::vector<std::string>> texts;
  [[nodiscard]] std::size_t size() const { return texts ? texts->size() : integers.size(); }
  /// The labels at `indices`, which are i64.
  [[nodiscard]] Value at(Call& c, const Part& indices) const;
  /// The second label where `positive`, else the first; without two labels 1 and 0, as ONNX Runtime has it.
  [[nodiscard]] Value second_where(Call& c, const Part& positive) const;
};
/// From `classlabels_strings` or the attribute `integers`. Reported if the node has neither.
std::optional<ClassLabels> class_labels(Call& c, std::string_view integers);
/// The index of the largest score of each row, i64; of equal ones the first.
Part best_class(Call& c, const Part& scores);

}  // namespace cleave::models::onnx
