#include "tools/c/arrays.h"

#include <algorithm>

#include "tools/c/guard.h"

namespace cleave::c {
namespace {

Result<TensorType> type_of(const cleave_array& array, const std::string& name) {
  const auto wrong = [&](const std::string& what) { return Error{"input `" + name + "`: " + what, {}, ErrorKind::usage}; };
  if (array.dtype < 0 || array.dtype >= kDTypeCount) return wrong("there is no element type " + std::to_string(array.dtype));
  if (array.rank < 0 || (array.rank > 0 && !array.shape)) return wrong("it has no shape");
  TensorType type{static_cast<DType>(array.dtype), Shape(array.shape, array.shape + array.rank)};
  if (std::any_of(type.shape.begin(), type.shape.end(), [](std::int64_t extent) { return extent < 0; }))
    return wrong("an extent is negative");
  const bool empty = std::find(type.shape.begin(), type.shape.end(), 0) != type.shape.end();
  if (!empty && !array.data) return wrong("it has no data");
  return type;
}

/// Bytes that are neither 0 nor 1 count as 1, which needs a copy.
Result<Array> of_bool(const TensorType& type, const cleave_array& array) {
  const auto* from = static_cast<const std::uint8_t*>(array.data);
  const auto count = static_cast<std::size_t>(type.elements());
  if (std::all_of(from, from + count, [](std::uint8_t byte) { return byte <= 1; })) return Array::borrow(type, from);
  Result<Array> made = Array::allocate(type);
  if (made)
    std::transform(from, from + count, reinterpret_cast<std::uint8_t*>(made->mutable_bytes()),
                   [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte != 0); });
  return made;
}

}  // namespace

cleave_array describe(const TensorType& type) {
  return {static_cast<int>(type.dtype), type.rank(), type.shape.data(), nullptr};
}

cleave_array describe(const Array& array) {
  cleave_array made = describe(array.type());
  made.data = const_cast<std::byte*>(array.bytes());
  return made;
}

Result<std::map<std::string, Array>> borrowed(const cleave_named_array* inputs, std::size_t count) {
  if (count > 0)
    if (Status there = need(inputs, "inputs"); !there) return there.error();
  std::map<std::string, Array> arrays;
  for (std::size_t i = 0; i < count; ++i) {
    if (Status there = need(inputs[i].name, "name"); !there) return there.error();
    const std::string name = inputs[i].name;
    const Result<TensorType> type = type_of(inputs[i].array, name);
    if (!type) return type.error();
    Result<Array> array = type->dtype == DType::boolean ? of_bool(*type, inputs[i].array) : Array::borrow(*type, inputs[i].array.data);
    if (!array) return array.error();
    if (!arrays.emplace(name, *std::move(array)).second) return Error{"input `" + name + "` is given twice", {}, ErrorKind::usage};
  }
  return arrays;
}

}  // namespace cleave::c

using cleave::Error;
using cleave::ErrorKind;
using cleave::Status;
using cleave::c::describe;
using cleave::c::guarded;
using cleave::c::need;

size_t cleave_result_count(const cleave_results* results) {
  return results ? results->arrays.size() : 0;
}

cleave_status cleave_result_at(const cleave_results* results, size_t index, cleave_named_array* result) {
  return guarded([&]() -> Status {
    if (Status there = need(results, "results"); !there) return there;
    if (Status there = need(result, "result"); !there) return there;
    if (index >= results->arrays.size()) return Error{"there is no result " + std::to_string(index), {}, ErrorKind::usage};
    const auto& [name, array] = results->arrays[index];
    *result = {name.c_str(), describe(array)};
    return {};
  });
}

cleave_status cleave_result(const cleave_results* results, const char* name, cleave_array* result) {
  return guarded([&]() -> Status {
    if (Status there = need(results, "results"); !there) return there;
    if (Status there = need(name, "name"); !there) return there;
    if (Status there = need(result, "result"); !there) return there;
    for (const auto& [known, array] : results->arrays)
      if (known == name) return *result = describe(array), Status();
    return Error{"there is no result `" + std::string(name) + "`", {}, ErrorKind::unknown};
  });
}

double cleave_result_seconds(const cleave_results* results) {
  return results ? results->seconds : 0;
}

void cleave_results_free(cleave_results* results) {
  delete results;
}
