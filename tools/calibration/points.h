// The tables that calibration fills, the same for host and accelerator: which sizes are measured, and how often. Knows no device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/machine/machine.h"

namespace cleave::calibration {

/// The element types that have a matrix product.
inline constexpr std::array kTypes = {DType::f32, DType::f64, DType::i32, DType::i64};

double now();  ///< seconds

/// The median of the seconds of single calls, after one that warms up; for at least `budget` seconds and three calls. `call` gives a
/// Status.
template <class F>
Result<double> median_seconds(double budget, F&& call) {
  std::vector<double> times;
  if (Status status = call(); !status) return status.error();
  for (const double start = now(); times.size() < 3 || (now() - start < budget && times.size() < 10000);) {
    const double before = now();
    if (Status status = call(); !status) return status.error();
    times.push_back(now() - before);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return std::max(times[times.size() / 2], 1e-9);
}

/// Doubles the rows (from 64) up to `largest`, or as long as a product of the next size is expected to take less than a second.
Status product_points(std::int64_t largest, DeviceRates& rates, DType type,
                      const std::function<Result<double>(std::int64_t rows)>& seconds_of);

/// Vectors of 4 KiB to a third of `memory_bytes`, eight times as large each.
std::vector<TensorType> vectors(DType type, std::int64_t memory_bytes);
/// Sums of two vectors by size. The rate of memory is that of the largest of f32.
Status memory_points(std::int64_t memory_bytes, DeviceRates& rates, DType type,
                     const std::function<Result<double>(const TensorType& vector)>& seconds_of);

/// Rounds what was measured, and gives the types that were not the rate of the type that they are computed in.
void tidy(DeviceRates& rates);

}  // namespace cleave::calibration
