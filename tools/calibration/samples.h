// Samples: calls of each operation, of any size and in each of its forms; and the list of those that calibration measures. Names the
// operations whose attributes or shapes are special. Knows no device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "partitioner/machine/op_costs.h"

namespace cleave::calibration {

/// A requirement on the contents of an operand, if not any numbers will do.
struct Contents {
  std::int64_t below = 0;  ///< integers from 0 to `below` - 1; of a negative one, from -1 down to `below`
  std::int64_t side = 0;   ///< symmetric positive definite matrices with `side` rows
  [[nodiscard]] bool anything() const { return below == 0 && side == 0; }
};

/// A call without its data.
struct Sample {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> inputs, results;
  Contents contents;
  std::size_t special = 0;  ///< the input that `contents` applies to
  [[nodiscard]] Contents contents_of(std::size_t input) const { return input == special ? contents : Contents{}; }
  planner::OpWork work;

  [[nodiscard]] std::int64_t bytes() const;
};

/// A call of the operation on `elements` elements of a type (for a product: multiplications), in its plain form or in the variant `form`
/// with an extent. Nothing if there is no such call.
std::optional<Sample> sample(const OpDef& op, DType type, const std::string& form, std::int64_t extent, std::int64_t elements);
/// A matrix product.
std::optional<Sample> sample_of_sides(const OpDef& op, DType type, std::int64_t rows, std::int64_t columns, std::int64_t depth);

/// A table to be measured.
struct Table {
  const OpDef* op = nullptr;
  DType type = DType::f32;
  std::string form;  ///< the variant, if any
  std::int64_t extent = 0;
  std::int64_t rows = 0, columns = 0;  ///< for products that are measured by both
  enum class How : std::uint8_t { plain, one_thread, fused } how = How::plain;
  std::vector<std::int64_t> elements;  ///< for each point, growing; for products by rows and columns: the depth
  [[nodiscard]] std::optional<Sample> sample(std::int64_t amount) const;  ///< the call for one of these
  [[nodiscard]] std::string key() const;
};

/// All tables, the most informative first: every operation with the first type that it accepts, the examples of each class with every type,
/// variants, and calls with one thread (others use `threads`) and fused. `small`: fewer, for a device whose kernels take long to compile.
std::vector<Table> tables(int threads, std::int64_t most_elements, bool small);

}  // namespace cleave::calibration
