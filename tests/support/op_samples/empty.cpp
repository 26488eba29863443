// Calls of every op and composite function with zero-sized axes, derived from the samples: empty_samples() is the door.
#include <algorithm>
#include <optional>
#include <set>

#include "tests/support/empty_samples.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"
#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

struct Call {
  std::vector<TensorType> types;
  Attributes attributes;
};

void replace(std::vector<std::int64_t>& sizes, std::int64_t size) {
  std::replace(sizes.begin(), sizes.end(), size, std::int64_t{0});
}

/// Adds variants of the call with the size of one axis replaced by zero: there alone; wherever an input has that size; and also in list
/// attributes.
void add_axis_variants(const Call& call, std::size_t input, std::size_t axis, std::vector<Call>& variants) {
  const std::int64_t size = call.types[input].shape[axis];
  Call alone = call, shared = call;
  alone.types[input].shape[axis] = 0;
  for (TensorType& type : shared.types) replace(type.shape, size);
  Call with_attributes = shared;
  for (const auto& [name, value] : call.attributes) {
    if (const auto* list = std::get_if<Integers>(&value)) {
      Integers changed = *list;
      replace(changed, size);
      with_attributes.attributes.set(name, changed);
    }
  }
  for (Call* variant : {&alone, &shared, &with_attributes}) variants.push_back(std::move(*variant));
}

/// Adds variants of the call with one number of a list attribute replaced by zero: the result shape of `zeros` or `reshape`.
void add_attribute_variants(const Call& call, std::vector<Call>& variants) {
  for (const auto& [name, value] : call.attributes) {
    const auto* list = std::get_if<Integers>(&value);
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      Integers changed = *list;
      changed[i] = 0;
      variants.push_back(call);
      variants.back().attributes.set(name, changed);
    }
  }
}

bool is_empty(const TensorType& type) {
  return type.elements() == 0;
}

/// Whether the type rule accepts the call, and some operand or result is empty.
bool accepted(const OpDef& op, const Call& call) {
  const TypeResult results = infer(op, call.types, call.attributes);
  if (results.index() != 0) return false;
  const auto& types = std::get<0>(results);
  return std::any_of(call.types.begin(), call.types.end(), is_empty) || std::any_of(types.begin(), types.end(), is_empty);
}

/// The call with all other axes long: no kernel may iterate over them, since there is nothing to compute. A composite function may, since
/// its intermediate values can be large.
std::optional<Call> lengthened(const OpDef& op, Call call) {
  if (op.composite()) return std::nullopt;
  constexpr std::int64_t kLong = std::int64_t{1} << 20, kMostElements = 4096;
  for (TensorType& type : call.types)
    for (std::int64_t& size : type.shape) size = size > 1 && is_empty(type) ? kLong : size;
  if (!accepted(op, call)) return std::nullopt;
  const auto fits = [](const TensorType& type) { return checked_bytes(type) && type.elements() <= kMostElements; };
  const TypeResult results = infer(op, call.types, call.attributes);
  const auto& types = std::get<0>(results);
  if (!std::all_of(call.types.begin(), call.types.end(), fits) || !std::all_of(types.begin(), types.end(), fits)) return std::nullopt;
  return call;
}

void add_variants_of(const OpSample& sample, std::vector<OpSample>& all) {
  const Call call{types_of(sample.inputs), sample.attributes};
  std::vector<Call> variants;
  for (std::size_t input = 0; input < call.types.size(); ++input) {
    for (std::size_t axis = 0; axis < call.types[input].shape.size(); ++axis) add_axis_variants(call, input, axis, variants);
  }
  add_attribute_variants(call, variants);
  std::erase_if(variants, [&](const Call& variant) { return !accepted(*sample.op, variant); });
  for (std::size_t i = variants.size(); i-- > 0;)
    if (std::optional<Call> longer = lengthened(*sample.op, variants[i])) variants.push_back(*std::move(longer));
  for (const Call& variant : variants) {
    OpSample empty{sample.op, {}, variant.attributes, false};
    for (std::size_t i = 0; i < variant.types.size(); ++i)
      empty.inputs.push_back(variant.types[i] == call.types[i] ? sample.inputs[i] : Array(variant.types[i]));
    const auto same = [&](const OpSample& other) {
      return other.op == empty.op && types_of(other.inputs) == variant.types && other.attributes == empty.attributes;
    };
    const auto first_of_op = std::find_if(all.begin(), all.end(), [&](const OpSample& other) { return other.op == empty.op; });
    if (std::none_of(first_of_op, all.end(), same)) all.push_back(std::move(empty));
  }
}

}  // namespace

std::vector<OpSample> empty_samples() {
  std::vector<OpSample> all;
  for (const auto& samples : {op_samples(), composite_samples()}) {
    for (const OpSample& sample : samples) {
      if (!sample.special && !sample.attributes.find("function")) add_variants_of(sample, all);
    }
  }
  return all;
}

}  // namespace cleave::testing
