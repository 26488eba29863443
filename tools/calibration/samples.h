// Samples: calls of each operation, of any size and in each of its forms, to be measured; and which of them calibration measures. Names the
// operations whose attributes or shapes are special. Knows no device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "partitioner/machine/op_costs.h"

namespace cleave::calibration {

/// What an operand must hold where any numbers will not do.
struct Contents {
  std::int64_t below = 0;  ///< whole numbers from 0 to one less
  std::int64_t side = 0;   ///< symmetric positive definite matrices of so many rows
  [[nodiscard]] bool anything() const { return below == 0 && side == 0; }
};

/// A call without its data.
struct Sample {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> inputs, results;
  Contents contents;
  std::size_t special = 0;  ///< the input whose contents these are
  [[nodiscard]] Contents contents_of(std::size_t input) const { return input == special ? contents : Contents{}; }
  planner::OpWork work;

  [[nodiscard]] std::int64_t bytes() const;
};

/// The operation on so many elements (multiplications, of a product) of a type: as it is, or `variant`, a form with an extent. Nothing:
/// there is no such call.
std::optional<Sample> sample(const OpDef& op, DType type, const std::string& form, std::int64_t extent, std::int64_t elements);
/// A product.
std::optional<Sample> sample_of_sides(const OpDef& op, DType type, std::int64_t rows, std::int64_t columns, std::int64_t depth);

/// A table to be measured.
struct Table {
  const OpDef* op = nullptr;
  DType type = DType::f32;
  std::string form;  ///< of a variant that is one
  std::int64_t extent = 0;
  std::int64_t rows = 0, columns = 0;  ///< of products that are measured by both
  enum class How : std::uint8_t { plain, one_thread, fused } how = How::plain;
  std::vector<std::int64_t> elements;  ///< of each point, growing; of products by rows and columns: their depth
  [[nodiscard]] std::optional<Sample> sample(std::int64_t amount) const;  ///< with one of these
  [[nodiscard]] std::string key() const;
};

/// All of them, those first that tell most: every operation with the first type that it takes, each class's examples with every type, in
/// their forms, with one thread (where the others are with `threads`) and fused. `small`: on a device, whose kernels take long to make.
std::vector<Table> tables(int threads, std::int64_t most_elements, bool small);

}  // namespace cleave::calibration
