#include "graph/base/json_reader.h"

#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace cleave {
namespace {

using Parser = nlohmann::json_sax<nlohmann::json>;

/// Forwards the parser's events to JsonEvents.
struct Translator final : Parser {
  explicit Translator(JsonEvents& to) : events(to) {}

  bool null() override { return events.scalar({}); }
  bool boolean(bool value) override { return events.scalar({JsonScalar::Type::boolean, value ? 1 : 0, 0, {}}); }
  bool number_integer(number_integer_t value) override {
    return events.scalar({JsonScalar::Type::integer, value, static_cast<double>(value), {}});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return number_float(static_cast<double>(value), {});
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return events.scalar({JsonScalar::Type::real, 0, value, {}}); }
  bool string(string_t& value) override { return events.scalar({JsonScalar::Type::text, 0, 0, std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return events.start_object(); }
  bool key(string_t& name) override { return events.key(std::move(name)); }
  bool end_object() override { return events.end_object(); }
  bool start_array(std::size_t) override { return events.start_list(); }
  bool end_array() override { return events.end_list(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& exception) override {
    what = exception.what();
    if (const std::size_t bracket = what.find("] "); what.starts_with('[') && bracket != std::string::npos) what.erase(0, bracket + 2);
    return false;
  }

  JsonEvents& events;
  std::string what;  ///< is wrong with the text
};

/// Counts lines while the parser reads. The parser may be one character ahead of the reported token, as it must be to find the end of a
/// number; that character is not counted yet.
struct LineCounter {
  int line = 1;
  bool after_break = false;

  void read(char c) {
    line += after_break ? 1 : 0;
    after_break = c == '\n';
  }
};

/// An iterator over a text that updates a LineCounter.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  LineCounter* lines;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    lines->read(*at++);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

class JsonTreeMaker final : public JsonEvents {
 public:
  JsonTreeMaker(JsonTree& tree, const LineCounter& lines) : tree_(tree), lines_(lines) {}

  bool scalar(JsonScalar&& scalar) override {
    add(JsonTree::Kind::scalar).scalar = std::move(scalar);
    return true;
  }
  bool start_object() override { return open(JsonTree::Kind::object); }
  bool key(std::string&& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_list() override { return open(JsonTree::Kind::list); }
  bool end_list() override { return close(); }

 private:
  JsonTree::Item& add(JsonTree::Kind kind) {
    if (!open_.empty()) ++tree_.items[open_.back()].count;
    JsonTree::Item item;
    item.kind = kind;
    item.key = std::move(key_);
    item.end = tree_.items.size() + 1;
    item.line = lines_.line;
    key_.clear();
    return tree_.items.emplace_back(std::move(item));
  }
  bool open(JsonTree::Kind kind) {
    add(kind);
    open_.push_back(tree_.items.size() - 1);
    return true;
  }
  bool close() {
    tree_.items[open_.back()].end = tree_.items.size();
    open_.pop_back();
    return true;
  }

  JsonTree& tree_;
  const LineCounter& lines_;
  std::string key_;
  std::vector<std::size_t> open_;
};

}  // namespace

Status read_json(std::istream& in, JsonEvents& events) {
  Translator translator(events);
  nlohmann::json::sax_parse(in, static_cast<Parser*>(&translator));
  if (!translator.what.empty()) return Error{translator.what};
  return {};
}

std::optional<JsonTree> JsonTree::parse(std::string_view text) {
  Result<JsonTree> tree = read(text);
  return tree ? std::optional(*std::move(tree)) : std::nullopt;
}

Result<JsonTree> JsonTree::read(std::string_view text) {
  JsonTree tree;
  LineCounter lines;
  JsonTreeMaker maker(tree, lines);
  Translator translator(maker);
  const CountingIterator begin{text.data(), &lines}, end{text.data() + text.size(), &lines};
  if (!nlohmann::json::sax_parse(begin, end, static_cast<Parser*>(&translator))) return Error{translator.what};
  return tree;
}

std::vector<std::size_t> JsonTree::children(std::size_t parent) const {
  std::vector<std::size_t> all;
  if (items[parent].kind == Kind::scalar) return all;
  all.reserve(items[parent].count);
  for (std::size_t child = parent + 1; child < items[parent].end; child = items[child].end) all.push_back(child);
  return all;
}

std::optional<std::size_t> JsonTree::find(std::size_t object, std::string_view key) const {
  std::optional<std::size_t> found;
  for (const std::size_t child : children(object))
    if (items[object].kind == Kind::object && items[child].key == key) found = child;
  return found;
}

}  // namespace cleave
