// JsonRecords: a streaming reader of JSON documents of one shape: an object with scalars and with lists of objects, which hold scalars and
// lists of scalars. Only the derived class stores anything. Internal to the readers of placement problems.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/json_reader.h"

namespace cleave::planner {

/// The fields that a list's objects may have.
struct JsonSchema {
  std::string list;
  std::vector<std::string> fields;
  std::uint32_t required = 0;  ///< bit i is set if fields[i] must be present
  std::uint32_t lists = 0;     ///< bit i is set if fields[i] holds a list of scalars
  bool optional = false;       ///< the list itself may be missing
};

class JsonRecords {
 public:
  /// `schemas[0]` describes the document's own scalars and has no list name. Unknown keys are errors if `strict`; otherwise they and their
  /// values are skipped.
  JsonRecords(std::vector<JsonSchema> schemas, bool strict) : schemas_(std::move(schemas)), strict_(strict), seen_lists_(schemas_.size()) {}

  virtual ~JsonRecords() = default;

  Status read(std::istream& in);

 protected:
  /// A new object of list `list` (a schema's index) begins.
  virtual void begin_record(std::size_t list) = 0;
  /// Stores a field of the current object; if the field holds a list, it is called once per element. Returns an empty text or an error
  /// message.
  virtual std::string set(std::size_t list, std::size_t field, const JsonScalar& scalar) = 0;
  /// Called from time to time, between two objects.
  virtual void pause() {}

 private:
  struct Events;  ///< callbacks of the JSON reader
  bool start_object();
  bool key(const std::string& name);
  bool end_object();
  bool start_array();
  bool end_array();

  enum class Nesting : std::uint8_t { outside, document, list, record };
  bool scalar(const JsonScalar& scalar);
  bool fail(const std::string& what);
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool holds_list() const;
  bool complete(const JsonSchema& schema);

  std::vector<JsonSchema> schemas_;
  bool strict_;
  std::vector<std::size_t> seen_lists_;
  Nesting place_ = Nesting::outside;
  std::size_t list_ = 0;              ///< index of the current schema
  std::optional<std::size_t> field_;  ///< the field of that schema whose key was just read
  bool in_field_ = false;             ///< whether the reader is inside that field's list
  std::string unknown_;               ///< an unknown key, whose value is skipped
  int skipping_ = 0;                  ///< nesting depth inside the skipped value
  std::int64_t index_ = -1;           ///< index of the current object
  std::uint32_t present_ = 0, document_present_ = 0;
  std::optional<Error> error_;
};

}  // namespace cleave::planner
