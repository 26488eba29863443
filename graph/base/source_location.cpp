#include "graph/base/source_location.h"

#include <cstring>
#include <tuple>
#include <unordered_map>

namespace cleave {

SourceLocation SourceLocation::from(const Here& here) {
  // Keyed by the literal's address: one entry a translation unit and thread, so recording a location costs a look-up, no allocation.
  static thread_local std::unordered_map<const char*, std::shared_ptr<const std::string>> files;
  auto& file = files[here.file];
  if (!file || std::strcmp(file->c_str(), here.file) != 0) file = std::make_shared<const std::string>(here.file);
  return {file, here.line, here.column, nullptr};
}

namespace {
constexpr std::string_view kGradient = "gradient", kGradientOf = "gradient of ";
}  // namespace

std::string gradient_label(std::string_view loss) {
  return loss.empty() ? std::string(kGradient) : std::string(kGradientOf) + std::string(loss);
}

bool is_gradient_label(std::string_view label) {
  return label == kGradient || label.starts_with(kGradientOf);
}

std::string scope_phrase(const SourceFrame& frame) {
  if (frame.label.starts_with(kGradientOf)) return "in the gradient of `" + frame.label.substr(kGradientOf.size()) + "`";
  return "in `" + frame.label + "`";
}

std::string to_string(const SourceLocation& location) {
  if (!location.file) return "<unknown>";
  std::string text = *location.file;
  if (location.line > 0) text += ":" + std::to_string(location.line);
  if (location.line > 0 && location.column > 0) text += ":" + std::to_string(location.column);
  return text;
}

bool operator==(const SourceLocation& a, const SourceLocation& b) {
  return std::tuple(a.file_name(), a.line, a.column) == std::tuple(b.file_name(), b.line, b.column);
}

bool before(const SourceLocation& a, const SourceLocation& b) {
  return std::tuple(a.file_name(), a.line, a.column) < std::tuple(b.file_name(), b.line, b.column);
}

}  // namespace cleave
