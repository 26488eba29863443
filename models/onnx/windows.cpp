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

}  // namespace cleave::models::onnx
