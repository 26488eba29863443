// Saves and loads profiles as JSON files, and applies them to a graph.
#include <cmath>
#include <memory>
#include <set>
#include <type_traits>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/utf8.h"
#include "partitioner/machine/profile.h"
#include "partitioner/machine/profile_keys.h"
#include "partitioner/machine/profile_text.h"

namespace cleave {
namespace {

/// Keys were positions in version 1 and are statement paths in version 2. Samples are stored beside the times, so that earlier readers
/// still find the times.
constexpr int kProfileVersion = 2;

/// Reads the objects of a file; mistakes become Errors with their line.
class ProfileFile {
 public:
  ProfileFile(const JsonTree& document, const std::string& path) : document_(document), path_(std::make_shared<const std::string>(path)) {}

  [[nodiscard]] Error error(std::size_t item, std::string message) const {
    return {std::move(message), {path_, document_.items[item].line, 0, nullptr}, ErrorKind::file};
  }

  /// Reads the numbers in the object `key`, if it exists.
  Status read(const char* key, std::map<std::string, double>& numbers) const {
    return each(key, [&](std::size_t child, const std::string& name) -> Status {
      const JsonScalar& scalar = document_.items[child].scalar;
      if (!number(scalar)) return error(child, place(key, name) + " must be a number that is not negative");
      numbers[name] = scalar.number;
      return {};
    });
  }

  /// Reads the samples in the object `key`, if it exists; each must have a time in `seconds`.
  Status read(const char* key, const char* of, const std::map<std::string, double>& seconds,
              std::map<std::string, SampleSummary>& samples) const {
    return each(key, [&](std::size_t child, const std::string& name) -> Status {
      if (!seconds.contains(name)) return error(child, place(key, name) + " has no time in `" + of + "`");
      if (document_.items[child].kind != JsonTree::Kind::object) return error(child, place(key, name) + " must be an object");
      SampleSummary& summary = samples[name];
      if (Status status = read_field(child, key, "count", summary.count); !status) return status;
      if (Status status = read_field(child, key, "preempted", summary.preempted); !status) return status;
      if (Status status = read_field(child, key, "minimum", summary.minimum); !status) return status;
      if (Status status = read_field(child, key, "spread", summary.spread); !status) return status;
      if (summary.count + summary.preempted == 0) return error(child, place(key, name) + " has a time of no samples");
      return {};
    });
  }

 private:
  static bool number(const JsonScalar& scalar) { return scalar.is_number() && std::isfinite(scalar.number) && scalar.number >= 0; }
  static std::string place(const char* key, const std::string& name) { return std::string("`") + key + "[\"" + name + "\"]`"; }

  template <class T>
  Status read_field(std::size_t item, const char* key, const char* field, T& value) const {
    const std::string where = place(key, document_.items[item].key);
    const std::optional<std::size_t> found = document_.find(item, field);
    if (!found) return error(item, where + " has no `" + field + "`");
    const JsonScalar& scalar = document_.items[*found].scalar;
    constexpr bool kInteger = std::is_integral_v<T>;
    constexpr std::int64_t kMost = 1'000'000'000'000'000;  // so that sums of counts do not overflow
    if (!number(scalar) || (kInteger && (scalar.type != JsonScalar::Type::integer || scalar.integer > kMost)))
      return error(*found,
                   where + ": `" + field + "` must be " + (kInteger ? "an integer of at most 1e15" : "a number") + " that is not negative");
    value = kInteger ? static_cast<T>(scalar.integer) : static_cast<T>(scalar.number);
    return {};
  }

  template <class F>
  Status each(const char* key, F&& read_item) const {
    const std::optional<std::size_t> found = document_.find(0, key);
    if (!found) return {};
    if (document_.items[*found].kind != JsonTree::Kind::object) return error(*found, std::string("`") + key + "` must be an object");
    for (const std::size_t child : document_.children(*found))
      if (Status status = read_item(child, document_.items[child].key); !status) return status;
    return {};
  }

  const JsonTree& document_;
  std::shared_ptr<const std::string> path_;
};

void write_samples(JsonWriter& json, const char* key, const std::map<std::string, SampleSummary>& samples) {
  json.object(key, [&] {
    for (const auto& [name, summary] : samples) {
      json.object(name, [&, &summary = summary] { write_json(json, summary); });
    }
  });
}

/// Whether a key ends like "file:12:5".
bool is_position(std::string_view key) {
  const std::size_t digits = key.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < key.size() && key[digits] == ':' && key.find('.') != std::string_view::npos;
}

}  // namespace

std::string ProfileKeys::position_key(const SourceLocation& place) {
  return replace_ill_formed(to_string(place));
}

std::string ProfileKeys::of(const SourceLocation& place) const {
  std::string path = paths_.of(place);
  return path.empty() ? position_key(place) : path;
}

ProfileFit profile_fit(const Graph& graph, const Profile& profile) {
  const ProfileKeys keys(graph);
  std::set<std::string> control, operations;
  for (const Node& node : graph.nodes) {
    std::set<std::string>& known = is_control(node.kind) ? control : operations;
    if (!node.location.known() || (!is_control(node.kind) && node.kind != NodeKind::operation)) continue;
    known.insert(keys.of(node.location));
    known.insert(ProfileKeys::position_key(node.location));
  }
  ProfileFit fit{profile.expected.size(), profile.host_seconds.size()};
  const auto look = [&](const std::map<std::string, double>& entries, const std::set<std::string>& known, std::size_t& there) {
    for (const auto& [key, number] : entries) {
      there += known.contains(key) ? 1 : 0;
      fit.by_position = fit.by_position || is_position(key);
    }
  };
  look(profile.expected, control, fit.expected_there);
  look(profile.host_seconds, operations, fit.host_seconds_there);
  for (const auto& [key, seconds] : profile.host_seconds) {
    const auto samples = profile.host_samples.find(key);
    fit.without_samples += samples == profile.host_samples.end() ? 1 : 0;
    fit.preempted += samples != profile.host_samples.end() && samples->second.count == 0 ? 1 : 0;
  }
  return fit;
}

void write_json(JsonWriter& json, const SampleSummary& summary) {
  json.field("count", summary.count);
  json.field("minimum", summary.minimum);
  json.field("spread", summary.spread);
  json.field("preempted", summary.preempted);
}

std::string profile_text(const Profile& profile) {
  std::string text;
  JsonWriter json(text, 2);
  json.object([&] {
    json.field("cleave_profile", kProfileVersion);
    json.field("expected", profile.expected);
    json.field("host_seconds", profile.host_seconds);
    json.field("transfer_seconds", profile.transfer_seconds);
    write_samples(json, "host_samples", profile.host_samples);
    write_samples(json, "transfer_samples", profile.transfer_samples);
  });
  return text + "\n";
}

Status Profile::save(const std::string& path) const {
  return detail::guard_memory([&] { return write_file(path, {profile_text(*this)}); });
}

Result<Profile> Profile::load(const std::string& path) {
  return detail::guard_memory([&]() -> Result<Profile> {
    Result<std::string> text = read_file(path);
    return text ? parse_profile(*text, path) : Result<Profile>(text.error());
  });
}

Result<Profile> parse_profile(const std::string& text, const std::string& path) {
  return detail::guard_memory([&]() -> Result<Profile> {
    const Result<JsonTree> document = JsonTree::read(text);
    if (!document || document->items[0].kind != JsonTree::Kind::object)
      return Error{path + ": not a JSON object" + (document ? "" : " (" + document.error().message + ")"), {}, ErrorKind::file};
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
    const ProfileFile file(*document, path);
    Status read = file.read("expected", profile.expected);
    if (read) read = file.read("host_seconds", profile.host_seconds);
    if (read) read = file.read("transfer_seconds", profile.transfer_seconds);
    if (read) read = file.read("host_samples", "host_seconds", profile.host_seconds, profile.host_samples);
    if (read) read = file.read("transfer_samples", "transfer_seconds", profile.transfer_seconds, profile.transfer_samples);
    if (!read) return read.error();
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
