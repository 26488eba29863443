// The one way in which cleave reads JSON: as events, for what is large and of one shape, or as a tree. Which library parses is known to the
// source alone.
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
  std::int64_t integer = 0;  ///< also a boolean as 0 or 1
  double number = 0;         ///< of integers and reals; an integer beyond 64 bits is a real
  std::string text;

  [[nodiscard]] bool is_number() const { return type == Type::integer || type == Type::real; }
};

/// What a document consists of, in order. A call that gives false ends the reading.
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

/// Tells a document to `events`. An Error where it is no JSON ("parse error at line 1, column 3: ..."); none where an event ended it.
Status read_json(std::istream& in, JsonEvents& events);

/// A whole document: its values one after the other, each in front of what it holds. However deep, nothing recurses.
class JsonTree {
 public:
  enum class Kind : std::uint8_t { scalar, object, list };
  struct Item {
    Kind kind = Kind::scalar;
    std::string key;        ///< in an object
    JsonScalar scalar;      ///< scalars only
    std::size_t count = 0;  ///< of what it holds directly
    std::size_t end = 0;    ///< behind the last one that it holds, at whatever depth
    int line = 0;           ///< of the text, from 1; of an object or a list, where it begins
  };
  std::vector<Item> items;  ///< at least one: the document's value

  /// Nothing: the text is no JSON.
  static std::optional<JsonTree> parse(std::string_view text);
  /// The same, with an Error that names line and column of what is no JSON.
  static Result<JsonTree> read(std::string_view text);
  /// The items directly in `parent`, in order: the first is parent + 1, after each comes `items[it].end`.
  [[nodiscard]] std::vector<std::size_t> children(std::size_t parent) const;
  /// In an object: the last one of this key, or nothing.
  [[nodiscard]] std::optional<std::size_t> find(std::size_t object, std::string_view key) const;
};

}  // namespace cleave
