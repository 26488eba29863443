// The only JSON parser of cleave: read_json gives events, for large documents of a fixed structure; JsonTree gives a tree. Only the .cpp
// file knows the underlying library.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"

namespace cleave {

struct JsonScalar {
  enum class Type : std::uint8_t { null, boolean, integer, real, text } type = Type::null;
  std::int64_t integer = 0;  ///< also holds a boolean as 0 or 1
  double number = 0;         ///< value of integers and reals; an integer beyond 64 bits is a real
  std::string text;

  [[nodiscard]] bool is_number() const { return type == Type::integer || type == Type::real; }
};

/// Receiver of the parts of a document, in order. A callback that returns false stops the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual bool scalar(JsonScalar&& scalar) = 0;
  virtual bool start_object() = 0;
  virtual bool key(std::string&& name) = 0;
  virtual bool end_object() = 0;
  virtual bool start_list() = 0;
  virtual bool end_list() = 0;
};

/// Parses a document into `events`. An Error if it is not JSON ("parse error at line 1, column 3: ..."); none if a callback stopped the
/// reading.
Status read_json(std::istream& in, JsonEvents& events);

/// A whole document: its values in preorder in one list. No function recurses, so nesting depth is not limited by the stack.
class JsonTree {
 public:
  enum class Kind : std::uint8_t { scalar, object, list };
  struct Item {
    Kind kind = Kind::scalar;
    std::string key;        ///< for members of an object
    JsonScalar scalar;      ///< scalars only
    std::size_t count = 0;  ///< number of direct children
    std::size_t end = 0;    ///< index behind its last descendant
    int line = 0;           ///< line of the text, from 1, on which the item begins
  };
  std::vector<Item> items;  ///< at least one: the document's value

  /// The tree, or nothing if the text is not JSON.
  static std::optional<JsonTree> parse(std::string_view text);
  /// The same; the Error names line and column of the syntax error.
  static Result<JsonTree> read(std::string_view text);
  /// The items directly in `parent`, in order: the first is parent + 1, after each comes `items[it].end`.
  [[nodiscard]] std::vector<std::size_t> children(std::size_t parent) const;
  /// The last member of an object with this key, or nothing.
  [[nodiscard]] std::optional<std::size_t> find(std::size_t object, std::string_view key) const;
};

}  // namespace cleave
