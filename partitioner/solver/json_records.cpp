// See json_records.h. A state machine with four states: outside, in the document, in a list, in an object of the list.
#include "partitioner/solver/json_records.h"

#include <algorithm>

#include "graph/base/spelling.h"

namespace cleave::planner {

struct JsonRecords::Events final : JsonEvents {
  explicit Events(JsonRecords& all) : records(all) {}

  bool scalar(JsonScalar&& scalar) override { return records.scalar(scalar); }
  bool start_object() override { return records.start_object(); }
  bool key(std::string&& name) override { return records.key(name); }
  bool end_object() override { return records.end_object(); }
  bool start_list() override { return records.start_array(); }
  bool end_list() override { return records.end_array(); }

  JsonRecords& records;
};

Status JsonRecords::read(std::istream& in) {
  Events events(*this);
  const Status read = read_json(in, events);
  if (error_) return *error_;
  if (read) return {};
  const std::string where = path();
  return Error{where.empty() ? read.error().message : where + ": " + read.error().message};
}

std::string JsonRecords::path() const {
  const JsonSchema& schema = schemas_[list_];
  std::string text = schema.list;
  if (index_ >= 0 && list_ > 0) text += "[" + std::to_string(index_) + "]";
  if (!field_) return text;
  return text.empty() ? schema.fields[*field_] : text + "." + schema.fields[*field_];
}

bool JsonRecords::holds_list() const {
  return place_ == Nesting::record && (schemas_[list_].lists >> *field_ & 1) != 0;
}

bool JsonRecords::fail(const std::string& what) {
  const std::string where = path();
  if (!error_) error_ = Error{where.empty() ? what : where + " " + what};
  return false;
}

bool JsonRecords::scalar(const JsonScalar& scalar) {
  if (skipping_ > 0) return true;
  if (!unknown_.empty()) {
    unknown_.clear();
    return true;
  }
  if (place_ == Nesting::outside) return fail("the document must be an object");
  if (place_ == Nesting::list) {
    ++index_;
    return fail("must be an object");
  }
  if (!field_) return fail("must be a list of objects");
  if (holds_list() && !in_field_) return fail("must be a list");
  const std::string wrong = set(list_, *field_, scalar);
  if (!wrong.empty()) return fail(wrong);
  if (!in_field_) field_.reset();
  return true;
}

bool JsonRecords::start_object() {
  if (skipping_ > 0 || !unknown_.empty()) {
    ++skipping_;
    return true;
  }
  if (place_ == Nesting::outside) {
    place_ = Nesting::document;
    return true;
  }
  if (place_ != Nesting::list) return fail(field_ ? "must not be an object" : "must be a list of objects");
  place_ = Nesting::record;
  ++index_;
  present_ = 0;
  if ((index_ & 0x3fff) == 0) pause();
  begin_record(list_);
  return true;
}

bool JsonRecords::key(const std::string& name) {
  if (skipping_ > 0) return true;
  if (place_ == Nesting::document) {
    for (std::size_t list = 1; list < schemas_.size(); ++list) {
      if (schemas_[list].list != name) continue;
      list_ = list;
      index_ = -1;
      if (seen_lists_[list]++ > 0) return fail("is given twice");
      return true;
    }
    list_ = 0;
  }
  const JsonSchema& schema = schemas_[list_];
  const auto found = std::find(schema.fields.begin(), schema.fields.end(), name);
  if (found != schema.fields.end()) {
    field_ = static_cast<std::size_t>(found - schema.fields.begin());
    std::uint32_t& present = place_ == Nesting::document ? document_present_ : present_;
    if (present >> *field_ & 1) return fail("is given twice");
    present |= 1u << *field_;
    return true;
  }
  if (!strict_) {
    unknown_ = name.empty() ? std::string("?") : name;
    return true;
  }
  std::vector<std::string> known = schema.fields;
  if (place_ == Nesting::document) {
    for (std::size_t list = 1; list < schemas_.size(); ++list) known.push_back(schemas_[list].list);
  }
  const std::string where = path();
  return fail((where.empty() ? "the document" : "") + std::string(where.empty() ? " " : "") + "has an unknown key `" + name + "`" +
              did_you_mean(name, known));
}

bool JsonRecords::complete(const JsonSchema& schema) {
  const std::uint32_t missing = schema.required & ~(place_ == Nesting::document ? document_present_ : present_);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (missing >> i & 1) {
      field_ = i;
      return fail("is missing");
    }
  }
  return true;
}

bool JsonRecords::end_object() {
  if (skipping_ > 0) {
    if (--skipping_ == 0) unknown_.clear();
    return true;
  }
  const bool document = place_ == Nesting::document;
  if (document) list_ = 0;
  if (!complete(schemas_[list_])) return false;
  place_ = document ? Nesting::outside : Nesting::list;
  for (std::size_t list = 1; document && list < schemas_.size(); ++list) {
    list_ = list;
    index_ = -1;
    if (seen_lists_[list] == 0 && !schemas_[list].optional) return fail("is missing");
  }
  list_ = document ? 0 : list_;
  return true;
}

bool JsonRecords::start_array() {
  if (skipping_ > 0 || !unknown_.empty()) {
    ++skipping_;
    return true;
  }
  if (place_ == Nesting::outside) return fail("the document must be an object, not a list");
  if (place_ == Nesting::list) {
    ++index_;
    return fail("must be an object");
  }
  if (field_ && place_ == Nesting::record && holds_list() && !in_field_) return in_field_ = true;
  if (field_ || place_ == Nesting::record) return fail("must not be a list");
  place_ = Nesting::list;
  return true;
}

bool JsonRecords::end_array() {
  if (skipping_ > 0) {
    if (--skipping_ == 0) unknown_.clear();
    return true;
  }
  if (in_field_) {
    in_field_ = false;
    field_.reset();
    return true;
  }
  place_ = Nesting::document;
  index_ = -1;
  list_ = 0;
  return true;
}

}  // namespace cleave::planner
