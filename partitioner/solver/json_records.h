// A reader of JSON documents of one shape: an object with scalars and with lists of objects, which hold
// scalars and lists of scalars. It streams: nothing is kept but what the
// derived class stores. Internal to the readers of placement problems.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/json_reader.h"

namespace cleave::planner {

/// What a list's objects may hold. Unknown keys are errors where a schema is strict.
struct JsonSchema {
  std::string list;
  std::vector<std::string> fields;
  std::uint32_t required = 0;  ///< bit i: fields[i]
  std::uint32_t lists = 0;     ///< likewise: holds a list of scalars
  bool optional = false;       ///< the list itself may be missing
};

class JsonRecords {
 public:
  /// `schemas[0]` describes the document's own scalars and bears no list name. Not strict: unknown keys and what they hold are skipped.
  JsonRecords(std::vector<JsonSchema> schemas, bool strict) : schemas_(std::move(schemas)), strict_(strict), seen_lists_(schemas_.size()) {}

  virtual ~JsonRecords() = default;

  Status read(std::istream& in);

 protected:
  /// A new object of list `list` (a schema's index) begins.
  virtual void begin_record(std::size_t list) = 0;
  /// Stores a field of the object at hand, of a list one element after the other; what is wrong with it, or an empty text.
  virtual std::string set(std::size_t list, std::size_t field, const JsonScalar& scalar) = 0;
  /// Now and then, between two objects.
  virtual void pause() {}

 private:
  struct Events;  ///< what the reader calls
  bool start_object();
  bool key(const std::string& name);
  bool end_object();
  bool start_array();
  bool end_array();

  enum class Place : std::uint8_t { outside, document, list, record };
  bool scalar(const JsonScalar& scalar);
  bool fail(const std::string& what);
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool holds_list() const;
  bool complete(const JsonSchema& schema);

  std::vector<JsonSchema> schemas_;
  bool strict_;
  std::vector<std::size_t> seen_lists_;
  Place place_ = Place::outside;
  std::size_t list_ = 0;              ///< the schema in force
  std::optional<std::size_t> field_;  ///< in it, behind a key
  bool in_field_ = false;             ///< inside the list that it holds
  std::string unknown_;               ///< a key to be skipped
  int skipping_ = 0;                  ///< depth inside what is skipped
  std::int64_t index_ = -1;           ///< of the object at hand
  std::uint32_t present_ = 0, document_present_ = 0;
  std::optional<Error> error_;
};

}  // namespace cleave::planner
