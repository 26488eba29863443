// Where something stands in the user's program: a file position plus the chain of scopes and function calls
// through which it was reached, innermost first. Everything in a Graph carries one.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <string_view>

namespace cleave {

struct SourceFrame;

struct SourceLocation {
  std::shared_ptr<const std::string> file;  ///< null: unknown. Shared by all locations of one file.
  int line = 0;                             ///< 1-based; 0: unknown
  int column = 0;                           ///< 1-based, in bytes; 0: unknown
  std::shared_ptr<const SourceFrame> via;   ///< the scope or call that led here; null: directly in the program

  [[nodiscard]] bool known() const { return file != nullptr && line > 0; }
  [[nodiscard]] std::string_view file_name() const { return file ? std::string_view(*file) : std::string_view(); }

  /// A location of the C++ program. Strings of one file name are shared within a thread.
  static SourceLocation from(const std::source_location& here);
};

/// One link of the chain: the name of a scope or function, and the place that entered it.
struct SourceFrame {
  std::string label;
  SourceLocation location;
};

/// `file:line:column`, leaving out what is unknown; "<unknown>" without a file.
std::string to_string(const SourceLocation& location);

/// Compares positions only, not chains (source order: file, line, column).
bool operator==(const SourceLocation& a, const SourceLocation& b);
bool before(const SourceLocation& a, const SourceLocation& b);

}  // namespace cleave
