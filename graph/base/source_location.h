// SourceLocation: a position in the user's program, plus the chain of scopes and function calls that led to it, innermost first. Everything
// in a Graph has one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <version>
#if defined(__cpp_lib_source_location)
#include <source_location>
#endif

namespace cleave {

struct SourceFrame;

/// The caller's position in the C++ program, captured by a default argument: `void f(Here here = Here::now())`. Points to a literal; free
/// to copy. (std::source_location where the compiler has it; clang 14 does not, but has the built-ins behind it.)
struct Here {
  const char* file = "";
  int line = 0;
  int column = 0;

#if defined(__cpp_lib_source_location)
  static constexpr Here now(const std::source_location& here = std::source_location::current()) {
    return {here.file_name(), static_cast<int>(here.line()), static_cast<int>(here.column())};
  }
#else
  static constexpr Here now(const char* file = __builtin_FILE(), int line = __builtin_LINE(), int column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#endif

  /// The place of a call of `function`, at its name: GCC gives the column of the parenthesis behind it, clang that of the name.
  [[nodiscard]] constexpr Here of([[maybe_unused]] std::string_view function) const {
#if defined(__GNUC__) && !defined(__clang__)
    const int length = static_cast<int>(function.size());
    if (column > length) return {file, line, column - length};
#endif
    return *this;
  }
};

struct SourceLocation {
  std::shared_ptr<const std::string> file;  ///< null: unknown. Shared by all locations of one file.
  int line = 0;                             ///< 1-based; 0: unknown
  int column = 0;                           ///< 1-based, in bytes; 0: unknown
  std::shared_ptr<const SourceFrame> via;   ///< the scope or call that led here; null: directly in the program

  [[nodiscard]] bool known() const { return file != nullptr && line > 0; }
  [[nodiscard]] std::string_view file_name() const { return file ? std::string_view(*file) : std::string_view(); }

  /// A location of the C++ program. Strings of one file name are shared within a thread.
  static SourceLocation from(const Here& here);
};

/// One link of the chain: the name of a scope or function, and the place that entered it.
struct SourceFrame {
  std::string label;
  SourceLocation location;
};

/// The label of the scope of operations that compute a gradient: "gradient of loss", or "gradient" for a loss without a name.
std::string gradient_label(std::string_view loss);
/// Whether a scope has such a label.
bool is_gradient_label(std::string_view label);
/// "in `layer3`", "in the gradient of `loss`"
std::string scope_phrase(const SourceFrame& frame);

/// `file:line:column` without its unknown parts; "<unknown>" without a file.
std::string to_string(const SourceLocation& location);

/// Compares positions only, not chains (source order: file, line, column).
bool operator==(const SourceLocation& a, const SourceLocation& b);
bool before(const SourceLocation& a, const SourceLocation& b);

}  // namespace cleave
