#include "models/onnx/windows.h"

#include <algorithm>
#include <cctype>

namespace cleave::models::onnx {

Attributes window_attributes(Call& c) {
  Attributes window;
  for (const char* name : {"strides", "pads", "dilations"})
    if (auto numbers = c.integers(name); numbers && !numbers->empty()) window.set(name, *std::move(numbers));
  std::string automatic = c.text("auto_pad", "NOTSET");
  std::transform(automatic.begin(), automatic.end(), automatic.begin(), [](unsigned char letter) { return std::tolower(letter); });
  if (automatic != "notset" && !automatic.empty()) window.set("auto_pad", automatic);
  return window;
}

std::optional<Attributes> pool_attributes(Call& c) {
  Attributes attributes = window_attributes(c);
  auto kernel = c.integers("kernel_shape");
  if (!kernel) {
    c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` needs `kernel_shape`");
    return std::nullopt;
  }
  attributes.set("kernel_shape", *std::move(kernel));
  attributes.set("ceil_mode", c.flag("ceil_mode"));
  return attributes;
}

Part channels_first(Call& c, const Part& x, bool last) {
  return last && x.rank() > 2
             ? c(op::moveaxis, {x}, {{"source", std::vector<std::int64_t>{-1}}, {"destination", std::vector<std::int64_t>{1}}})
             : x;
}

Part channels_back(Call& c, const Part& x, bool last) {
  return last && x.rank() > 2
             ? c(op::moveaxis, {x}, {{"source", std::vector<std::int64_t>{1}}, {"destination", std::vector<std::int64_t>{-1}}})
             : x;
}

}  // namespace cleave::models::onnx
