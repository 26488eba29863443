// Observed trip counts, probabilities and times: to a JSON file, back, and into a graph.
#include <cmath>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/utf8.h"
#include "partitioner/machine/profile.h"
#include "partitioner/machine/profile_position.h"

namespace cleave {
namespace {

/// The numbers of one object of the file. An Error names the key.
Result<std::map<std::string, double>> read_numbers(const JsonTree& document, const char* key, const std::string& path) {
  std::map<std::string, double> numbers;
  const std::optional<std::size_t> found = document.find(0, key);
  if (!found) return numbers;
  if (document.items[*found].kind != JsonTree::Kind::object) return Error{path + ": `" + key + "` must be an object"};
  for (const std::size_t child : document.children(*found)) {
    const JsonTree::Item& item = document.items[child];
    const double number = item.scalar.is_number() ? item.scalar.number : -1;
    if (!std::isfinite(number) || number < 0)
      return Error{path + ": `" + key + "[\"" + item.key + "\"]` must be a number that is not negative"};
    numbers[item.key] = number;
  }
  return numbers;
}

}  // namespace

std::string profile_position(const SourceLocation& location) {
  return replace_ill_formed(to_string(location));
}

Status Profile::save(const std::string& path) const {
  return detail::guard_memory([&]() -> Status {
    std::string text;
    JsonWriter json(text, 2);
    json.object([&] {
      json.field("cleave_profile", 1);
      json.field("expected", expected);
      json.field("host_seconds", host_seconds);
      json.field("transfer_seconds", transfer_seconds);
    });
    return write_file(path, {text, "\n"});
  });
}

Result<Profile> Profile::load(const std::string& path) {
  return detail::guard_memory([&]() -> Result<Profile> {
    Result<std::string> text = read_file(path);
    if (!text) return text.error();
    const std::optional<JsonTree> document = JsonTree::parse(*text);
    if (!document || document->items[0].kind != JsonTree::Kind::object) return Error{path + ": not a JSON object", {}, ErrorKind::file};
    const std::optional<std::size_t> version = document->find(0, "cleave_profile");
    if (!version || !document->items[*version].scalar.is_number() || document->items[*version].scalar.number != 1)
      return Error{path + ": not a profile of this version (`cleave_profile: 1` is missing)", {}, ErrorKind::file};
    Profile profile;
    auto expectations = read_numbers(*document, "expected", path);
    if (!expectations) return expectations.error();
    profile.expected = *std::move(expectations);
    auto times = read_numbers(*document, "host_seconds", path);
    if (!times) return times.error();
    profile.host_seconds = *std::move(times);
    auto copies = read_numbers(*document, "transfer_seconds", path);
    if (!copies) return copies.error();
    profile.transfer_seconds = *std::move(copies);
    return profile;
  });
}

Graph apply_profile(const Graph& graph, const Profile& profile) {
  Graph result = graph;
  if (profile.expected.empty()) return result;
  for (Node& node : result.nodes) {
    if (!is_control(node.kind) || !node.location.known()) continue;
    const auto found = profile.expected.find(profile_position(node.location));
    if (found == profile.expected.end()) continue;
    node.expected = node.kind == NodeKind::branch ? std::min(found->second, 1.0) : found->second;
    node.assumed = false;
  }
  return result;
}

}  // namespace cleave
