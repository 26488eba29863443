#include "executor/arguments/random_parameter.h"

#include <algorithm>
#include <cmath>

#include "executor/device/kernel.h"
#include "graph/vocabulary.h"

namespace cleave::runtime {
namespace {

/// Runs the host's kernel of `op`.
Result<std::vector<Array>> evaluate(const OpDef& op, std::vector<Array> inputs, const Attributes& attributes,
                                    std::vector<TensorType> types) {
  kernels::KernelRequest request;
  request.op = &op;
  request.attributes = &attributes;
  for (const Array& input : inputs) request.input_types.push_back(input.type());
  request.result_types = std::move(types);
  std::vector<Array> results;
  for (const TensorType& type : request.result_types) {
    Result<Array> result = Array::allocate(type);
    if (!result) return result.error();
    results.push_back(*std::move(result));
  }
  const auto views = [](std::vector<Array>& arrays) {
    std::vector<TensorView> found;
    for (Array& array : arrays) found.push_back({&array.type(), array.mutable_bytes()});
    return found;
  };
  const std::vector<TensorView> given = views(inputs), wanted = views(results);
  const OpContext context{[](std::string_view) {}};
  const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request);
  const Status status = run_guarded(*kernel, {op, attributes, given, wanted, context});
  return status ? Result<std::vector<Array>>(std::move(results)) : Result<std::vector<Array>>(status.error());
}

Result<Array> only(Result<std::vector<Array>> results) {
  return results ? Result<Array>(std::move(results->front())) : Result<Array>(results.error());
}

Result<Array> draw(const OpDef& op, const TensorType& type, const Attributes& range, std::uint64_t seed, std::int32_t step = 0) {
  Attributes attributes = range;
  attributes.set("shape", type.shape);
  attributes.set("seed", static_cast<std::int64_t>(seed));
  attributes.set("dtype", type.dtype);
  std::vector<Array> inputs;
  if (step != 0) inputs.push_back(Array::scalar(step));
  return only(evaluate(op, std::move(inputs), attributes, {type}));
}

Result<Array> draw_normal(const TensorType& type, double mean, double deviation, std::uint64_t seed, std::int32_t step = 0) {
  return draw(op::random_normal, type, {{"mean", mean}, {"std", deviation}}, seed, step);
}

template <class T>
Result<Array> draw_truncated(const TensorType& type, double mean, double deviation, std::uint64_t seed) {
  constexpr std::int32_t kMostDraws = 64;  // each leaves one number in 22
  Result<Array> numbers = draw_normal(type, 0, 1, seed);
  if (!numbers) return numbers;
  T* const z = numbers->mutable_data<T>();
  const auto wrong = [](T number) { return !(std::fabs(number) <= T(2)); };
  for (std::int32_t step = 1; step < kMostDraws && std::any_of(z, z + numbers->size(), wrong); ++step) {
    const Result<Array> others = draw_normal(type, 0, 1, seed, step);
    if (!others) return others;
    for (std::int64_t i = 0; i < numbers->size(); ++i)
      if (wrong(z[i])) z[i] = others->data<T>()[i];
  }
  for (std::int64_t i = 0; i < numbers->size(); ++i) z[i] = static_cast<T>(mean + deviation * std::clamp<double>(z[i], -2, 2));
  return numbers;
}

/// A matrix of f64 with uniformly distributed orthonormal columns, since `qr` gives R no negative diagonal; `rows` >= `columns`.
Result<Array> draw_columns(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Result<Array> normal = draw_normal({DType::f64, {rows, columns}}, 0, 1, seed);
  if (!normal) return normal;
  Result<std::vector<Array>> parts = evaluate(op::qr, {*normal}, {}, {{DType::f64, {rows, columns}}, {DType::f64, {columns, columns}}});
  if (!parts) return parts.error();
  return parts->front();
}

Result<Array> draw_orthogonal(const TensorType& type, double gain, std::uint64_t seed) {
  Result<Array> result = Array::allocate({DType::f64, type.shape});
  if (!result || result->size() == 0) return result;
  const std::int64_t columns = type.rank() == 0 ? 1 : type.shape.back(), rows = result->size() / columns;
  const Result<Array> tall = draw_columns(std::max(rows, columns), std::min(rows, columns), seed);
  if (!tall) return tall;
  double* const out = result->mutable_data<double>();
  const double* const q = tall->data<double>();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) out[i * columns + j] = gain * (rows >= columns ? q[i * columns + j] : q[j * rows + i]);
  return result;
}

Result<Array> draw(RandomKind kind, const TensorType& type, double first, double second, std::uint64_t seed) {
  switch (kind) {
    case RandomKind::uniform: return draw(op::random_uniform, type, {{"low", first}, {"high", second}}, seed);
    case RandomKind::normal: return draw_normal(type, first, second, seed);
    case RandomKind::truncated_normal:
      return type.dtype == DType::f64 ? draw_truncated<double>(type, first, second, seed)
                                      : draw_truncated<float>(type, first, second, seed);
    case RandomKind::orthogonal: return draw_orthogonal(type, first, seed);
  }
  return Error{"no such distribution"};
}

}  // namespace

Result<Array> random_parameter(RandomKind kind, const TensorType& type, double first, double second, std::uint64_t seed) {
  // The ops draw f32 and f64; other types are drawn in f32 and converted.
  const DType dtype = type.dtype == DType::f64 ? DType::f64 : DType::f32;
  Result<Array> drawn = draw(kind, {dtype, type.shape}, first, second, seed);
  if (!drawn || type.dtype == drawn->dtype()) return drawn;
  return only(evaluate(op::astype, {*drawn}, {{"dtype", type.dtype}}, {type}));
}

}  // namespace cleave::runtime
