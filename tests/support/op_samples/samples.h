// Samples: the table of samples that the files of this folder fill, each with one theme, and the random numbers that they use.
// op_samples.cpp joins them.
#pragma once

#include <limits>
#include <utility>

#include "graph/ops/convert.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {

using Integers = std::vector<std::int64_t>;
using enum DType;

inline constexpr DType kAllTypes[] = {f32, f64, f16, bf16, i32, i64, u8, boolean, i8, i16, u16, u32, u64};

struct Range {
  double low = -3, high = 3;
};

class Samples {
 public:
  std::vector<OpSample> all, composites;

  /// Uniform numbers; integers from -9 to 9, u8 from 0 to 18.
  Array numbers(DType dtype, Shape shape, Range range = {}) {
    Array array(TensorType{dtype, std::move(shape)});
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* out = array.mutable_data<T>();
      for (std::int64_t i = 0; i < array.size(); ++i) {
        const std::uint64_t bits = next();
        if constexpr (std::is_same_v<T, bool>) {
          out[i] = bits % 2 == 1;
        } else if constexpr (std::is_integral_v<T>) {
          out[i] = static_cast<T>(static_cast<std::int64_t>(bits % 19) - (std::is_signed_v<T> ? 9 : 0));
        } else {
          out[i] = ops::convert<T>(range.low + (range.high - range.low) * static_cast<double>(bits >> 11) * 0x1p-53);
        }
      }
    });
    return array;
  }
  /// Integers from 0 to extent - 1.
  Array indices(DType dtype, Shape shape, std::uint64_t extent) {
    Array array(TensorType{dtype, std::move(shape)});
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* out = array.mutable_data<T>();
      for (std::int64_t i = 0; i < array.size(); ++i) out[i] = ops::convert<T>(static_cast<std::int64_t>(next() % extent));
    });
    return array;
  }
  void add(std::string_view name, std::vector<Array> inputs, Attributes attributes = {}, bool special = false) {
    const OpDef* op = find_function(name);
    CLEAVE_CHECK(op, "a sample of an op that does not exist");
    CLEAVE_CHECK(!normalize_call(*op, inputs.size(), attributes), "a sample with wrong attributes");
    (op->composite() ? composites : all).push_back({op, std::move(inputs), std::move(attributes), special});
  }

 private:
  std::uint64_t state_ = 20;

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
};

/// Every combination of a type's special values over `operands` operands; returns those of operand `which`.
Array special_values(DType dtype, int which, int operands);

void add_attention(Samples& samples);
void add_cells(Samples& samples);
void add_elementwise(Samples& samples);
void add_products(Samples& samples);
void add_quantized_products(Samples& samples);
void add_convolutions(Samples& samples);
void add_pools(Samples& samples);
void add_window_gradients(Samples& samples);  ///< of the convolutions and pools that are there
void add_normalizations(Samples& samples);
void add_resampling(Samples& samples);
void add_reductions(Samples& samples);
void add_shapes(Samples& samples);
void add_indexing(Samples& samples);
void add_joining(Samples& samples);
void add_creation(Samples& samples);
void add_random(Samples& samples);
void add_sorting(Samples& samples);
void add_search(Samples& samples);
void add_trees(Samples& samples);
void add_vision(Samples& samples);
void add_windows(Samples& samples);
void add_scatters(Samples& samples);
void add_linear_algebra(Samples& samples);
void add_fourier(Samples& samples);
void add_effects(Samples& samples);

// Composite functions.
void add_array_functions(Samples& samples);
void add_einsum(Samples& samples);
void add_losses(Samples& samples);
void add_quantization(Samples& samples);
void add_recurrent(Samples& samples);
void add_statistics(Samples& samples);

}  // namespace cleave::testing
