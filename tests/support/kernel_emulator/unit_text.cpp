#include "tests/support/kernel_emulator/unit_text.h"

#include <regex>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

std::string folder() {
  return source_dir() + "/tests/support/kernel_emulator/";
}

/// Rewrites those CUDA keywords that a macro cannot hide from C++.
std::string rewritten(const std::string& text) {
  static const std::regex linkage("extern\\s+\"C\"");
  static const std::regex dynamic(
      "extern\\s+__shared__\\s+(__align__\\([0-9]+\\)\\s+)?([a-zA-Z_][a-zA-Z_0-9 ]*?)\\s+([a-zA-Z_0-9]+)\\s*\\[\\s*\\]");
  return std::regex_replace(std::regex_replace(text, linkage, ""), dynamic, "$2* const $3 = ($2*)cleave_emulator::dynamic_shared()");
}

std::vector<std::string> macros(const std::string& text) {
  static const std::regex define("(^|\n)\\s*#\\s*define\\s+([a-zA-Z_0-9]+)");
  std::vector<std::string> names;
  for (std::sregex_iterator i(text.begin(), text.end(), define), end; i != end; ++i) names.push_back((*i)[2]);
  return names;
}

}  // namespace

std::string unit_text(const std::vector<UnitPiece>& pieces) {
  std::string unit = "#include \"" + folder() + "shim.h\"\n";
  unit += "extern char __ehdr_start, _end;\nCLEAVE_VISIBLE char* const cleave_image[2] = {&__ehdr_start, &_end};\n";
  for (const UnitPiece& piece : pieces) {
    const std::string space = "text_" + piece.key, shared = "shared_" + piece.key;
    unit += "#undef CLEAVE_SHARED_SECTION\n#define CLEAVE_SHARED_SECTION \"" + shared + "\"\n";
    unit += "extern \"C\" __attribute__((weak, visibility(\"hidden\"))) char __start_" + shared + "[], __stop_" + shared + "[];\n";
    unit += "CLEAVE_VISIBLE char* const bounds_" + piece.key + "[2] = {__start_" + shared + ", __stop_" + shared + "};\n";
    unit += "namespace { namespace " + space + " {\n#line 1 \"" + space + "\"\n" + rewritten(*piece.text) + "\n}}\n";
    std::size_t i = 0;
    for (const std::string& entry : piece.entries)
      unit += "CLEAVE_VISIBLE CLEAVE_UNSEEN unsigned long entry_" + piece.key + "_" + std::to_string(i++) +
              "(const unsigned long long* p) { return cleave_emulator::call(" + space + "::" + entry + ", p); }\n";
    for (const std::string& macro : macros(*piece.text)) unit += "#undef " + macro + "\n";
  }
  return unit;
}

std::string unit_makers() {
  return read_file(folder() + "shim.h") + read_file(folder() + "unit_text.cpp");
}

}  // namespace cleave::testing
