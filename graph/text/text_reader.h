// Reads the tokens, numbers, types and attributes of the text form, with line and column. Internal to parse.cpp. Every method that can fail
// returns false after `fail` has recorded the first error; allocations are bounded by the size of the text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "graph/attributes.h"
#include "graph/base/result.h"
#include "graph/text/text.h"

namespace cleave {

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& file, const StoredArrays& stored)
      : text_(text), file_(std::make_shared<const std::string>(file)), stored_(stored) {}

  /// Records an error at the cursor (or where `mark` was taken). Always false.
  bool fail(std::string message) { return fail_at(position_, std::move(message)); }
  bool fail_at(std::size_t position, std::string message);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] SourceLocation location(std::size_t position) const;
  [[nodiscard]] std::size_t mark() const { return position_; }

  [[nodiscard]] bool at_end() const { return position_ >= text_.size(); }
  void skip_spaces();       ///< and comments, within the line
  void skip_empty_lines();  ///< to the next statement
  [[nodiscard]] bool at_end_of_line();
  bool end_of_line();
  /// The next character, after spaces; 0 at the end of the line.
  [[nodiscard]] char peek();
  bool accept(char c);
  bool expect(char c);
  /// Letters, digits, `_`, and `-` inside; empty if there is none.
  std::string_view word();
  bool accept_word(std::string_view wanted);
  bool expect_word(std::string_view wanted);

  bool quoted(std::string& out);
  bool unsigned_number(std::uint32_t& out);
  bool integer(std::int64_t& out);
  bool floating(double& out);
  bool tensor_type(TensorType& out);
  bool tensor_types(std::vector<TensorType>& out);  ///< in parentheses
  bool attributes(Attributes& out);                 ///< behind `{`, up to and with `}`

 private:
  [[nodiscard]] std::string_view token();
  template <class T>
  bool element(T& out);
  bool attribute(AttributeValue& out);
  bool number(AttributeValue& out);
  bool list(AttributeValue& out, bool numbers);
  bool array(AttributeValue& out);
  bool stored_array(const TensorType& type, AttributeValue& out);
  bool base64(Array& out);
  bool function(AttributeValue& out);

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  const StoredArrays& stored_;
  std::size_t position_ = 0;
  std::optional<Error> error_;
};

}  // namespace cleave
