// Formats names, numbers, arrays and attributes in the text form. Internal to text_*.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/attributes.h"

namespace cleave {

/// Letters, digits and underscores, not beginning with a digit.
bool is_identifier(std::string_view text);
void put_quoted(std::string& out, std::string_view text);
void put_integer(std::string& out, std::int64_t value);
/// The shortest digits that read back as the same number, recognizable as a floating one.
void put_floating(std::string& out, double value);
/// `stored`: the numbers of arrays that are stored beside the text (PrintOptions).
void put_attribute(std::string& out, const AttributeValue& attribute,
                   const std::function<std::optional<std::size_t>(const Array&)>& stored = nullptr);

template <class Range, class Put>
void put_list(std::string& out, const Range& items, Put put) {
  const char* separator = "";
  for (const auto& item : items) {
    out += separator;
    put(item);
    separator = ", ";
  }
}

}  // namespace cleave
