// The named constants of a node (`axis=0`), ordered by name so that equal nodes compare and print equal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/array/array.h"
#include "graph/array/tensor_type.h"
#include "graph/host_function.h"

namespace cleave {

using AttributeValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, DType, Array,
                                    std::vector<TensorType>, std::shared_ptr<const HostFunction>>;

/// `Attributes a{{"axis", std::int64_t{0}}}; a.get<std::int64_t>("axis")`
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> items);

  void set(std::string name, AttributeValue value);  ///< replaces an earlier value of this name
  void erase(std::string_view name);
  [[nodiscard]] const AttributeValue* find(std::string_view name) const;  ///< null if there is none
  /// The attribute, which must exist and hold a T.
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const AttributeValue* value = find(name);
    CLEAVE_CHECK(value && std::holds_alternative<T>(*value), "missing attribute or wrong kind");
    return *std::get_if<T>(value);
  }
  /// The attribute, or null if there is none or it holds something else.
  template <class T>
  [[nodiscard]] const T* get_if(std::string_view name) const {
    const AttributeValue* value = find(name);
    return value ? std::get_if<T>(value) : nullptr;
  }
  template <class T>
  [[nodiscard]] T get_or(std::string_view name, T fallback) const {
    const T* value = get_if<T>(name);
    return value ? *value : fallback;
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  friend bool operator==(const Attributes&, const Attributes&);

 private:
  std::vector<std::pair<std::string, AttributeValue>> items_;
};

bool operator==(const Attributes& a, const Attributes& b);

}  // namespace cleave
