#include "tools/calibration/points.h"

#include <chrono>

#include "graph/base/number_text.h"
#include "graph/op.h"

namespace cleave::calibration {
namespace {

/// Four digits: more would only be noise.
double rounded(double value) {
  return read_double(general_text(value, 4)).value_or(value);
}

void round_all(PointTable& points) {
  for (auto& [size, seconds] : points) seconds = rounded(seconds);
}

void round_all(LinkDirection& link) {
  link.latency_seconds = rounded(link.latency_seconds);
  link.bytes_per_second = rounded(link.bytes_per_second);
  round_all(link.points);
  round_all(link.pageable_points);
}

double product_flops(std::int64_t rows) {
  const double n = static_cast<double>(rows);
  return 2 * n * n * n;
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status product_points(std::int64_t largest, DeviceRates& rates, DType type,
                      const std::function<Result<double>(std::int64_t rows)>& seconds_of) {
  PointTable points;
  for (std::int64_t rows = 64; rows <= largest; rows *= 2) {
    Result<double> seconds = seconds_of(rows);
    if (!seconds) return seconds.error();
    points.emplace_back(product_flops(rows), *seconds);
    rates.flops[static_cast<std::size_t>(type)] = product_flops(rows) / *seconds;
    if (*seconds > 0.12) break;
  }
  if (!points.empty()) rates.points["matmul/" + std::string(to_string(type))] = std::move(points);
  return {};
}

std::vector<TensorType> vectors(DType type, std::int64_t memory_bytes) {
  std::vector<TensorType> types;
  const std::int64_t element = size_of(type);
  for (std::int64_t bytes = 4096; bytes < memory_bytes / 3; bytes *= 8) types.push_back({type, {bytes / element}});
  types.push_back({type, {memory_bytes / 3 / element}});
  return types;
}

Status memory_points(std::int64_t memory_bytes, DeviceRates& rates, DType type,
                     const std::function<Result<double>(const TensorType& vector)>& seconds_of) {
  PointTable points;
  for (const TensorType& vector : vectors(type, memory_bytes)) {
    Result<double> seconds = seconds_of(vector);
    if (!seconds) return seconds.error();
    const std::array<TensorType, 2> operands = {vector, vector};
    points.emplace_back(find_op("add")->cost(operands, std::span(&vector, 1), {}).flops, *seconds);
    if (type == DType::f32) rates.bytes_per_second = static_cast<double>(3 * vector.bytes()) / *seconds;
  }
  rates.points["add/" + std::string(to_string(type))] = std::move(points);
  return {};
}

void tidy(DeviceRates& rates) {
  const auto rate = [&](DType type) -> double& { return rates.flops[static_cast<std::size_t>(type)]; };
  for (const DType type : {DType::f16, DType::bf16}) rate(type) = rate(DType::f32);
  for (const DType type : {DType::u8, DType::boolean}) rate(type) = rate(DType::i32);
  for (double& each : rates.flops) each = rounded(each);
  rates.bytes_per_second = rounded(rates.bytes_per_second);
  rates.overhead_seconds = rounded(rates.overhead_seconds);
  for (auto& [key, points] : rates.points) round_all(points);
  round_all(rates.host_to_accelerator);
  round_all(rates.accelerator_to_host);
}

}  // namespace cleave::calibration
