// Observed trip counts, probabilities and times: to a JSON file, back, and into a graph.
#include <cmath>
#include <set>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/utf8.h"
#include "partitioner/machine/profile.h"
#include "partitioner/machine/profile_keys.h"

namespace cleave {
namespace {

constexpr int kProfileVersion = 2;  ///< 1 had positions for keys

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

std::string position_key(const SourceLocation& place) {
  return replace_ill_formed(to_string(place));
}

/// Ends as "file:12:5" does.
bool is_position(std::string_view key) {
  const std::size_t digits = key.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < key.size() && key[digits] == ':' && key.find('.') != std::string_view::npos;
}

}  // namespace

std::string ProfileKeys::of(const SourceLocation& place) const {
  std::string path = paths_.of(place);
  return path.empty() ? position_key(place) : path;
}

std::optional<double> ProfileKeys::find(const std::map<std::string, double>& observed, const SourceLocation& place) const {
  if (observed.empty() || !place.known()) return std::nullopt;
  auto found = observed.find(of(place));
  if (found == observed.end()) found = observed.find(position_key(place));
  return found == observed.end() ? std::nullopt : std::optional(found->second);
}

ProfileFit profile_fit(const Graph& graph, const Profile& profile) {
  const ProfileKeys keys(graph);
  std::set<std::string> control, operations;
  for (const Node& node : graph.nodes) {
    std::set<std::string>& known = is_control(node.kind) ? control : operations;
    if (!node.location.known() || (!is_control(node.kind) && node.kind != NodeKind::operation)) continue;
    known.insert(keys.of(node.location));
    known.insert(position_key(node.location));
  }
  ProfileFit fit{profile.expected.size(), profile.host_seconds.size(), 0, 0, false};
  const auto look = [&](const std::map<std::string, double>& entries, const std::set<std::string>& known, std::size_t& there) {
    for (const auto& [key, number] : entries) {
      there += known.contains(key) ? 1 : 0;
      fit.by_position = fit.by_position || is_position(key);
    }
  };
  look(profile.expected, control, fit.expected_there);
  look(profile.host_seconds, operations, fit.host_seconds_there);
  return fit;
}

Status Profile::save(const std::string& path) const {
  return detail::guard_memory([&]() -> Status {
    std::string text;
    JsonWriter json(text, 2);
    json.object([&] {
      json.field("cleave_profile", kProfileVersion);
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
    const JsonScalar* const number = version ? &document->items[*version].scalar : nullptr;
    if (!number || number->type != JsonScalar::Type::integer || number->integer < 1)
      return Error{path + ": not a profile (`cleave_profile` with a version is missing); `cleave run --profile FILE` writes one",
                   {},
                   ErrorKind::file};
    if (number->integer > kProfileVersion)
      return Error{path + ": a profile of version " + std::to_string(number->integer) + ", and this cleave knows " +
                       std::to_string(kProfileVersion) + "; observe the program anew with `cleave run --profile FILE`",
                   {},
                   ErrorKind::file};
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
  const ProfileKeys keys(graph);
  for (Node& node : result.nodes) {
    const std::optional<double> observed = is_control(node.kind) ? keys.find(profile.expected, node.location) : std::nullopt;
    if (!observed) continue;
    node.expected = node.kind == NodeKind::branch ? std::min(*observed, 1.0) : *observed;
    node.assumed = false;
  }
  return result;
}

}  // namespace cleave
