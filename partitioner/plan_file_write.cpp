// write_plan_file(): the header, the document, the graph and the data, in one pass: all sizes and hashes are known before.
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>

#include "graph/base/content_hash.h"
#include "graph/base/exceptions.h"
#include "graph/base/json_writer.h"
#include "graph/base/output_file.h"
#include "graph/base/version.h"
#include "graph/text/text.h"
#include "partitioner/machine/profile_text.h"
#include "partitioner/plan_file.h"
#include "partitioner/plan_file_layout.h"

namespace cleave::planner {
namespace {

using namespace plan_layout;

static_assert(std::endian::native == std::endian::little, "plan files are little endian");

constexpr std::int64_t kStoredFrom = 64;  ///< elements; smaller arrays stay in the text

std::string_view bytes_of(const Array& array) {
  return {reinterpret_cast<const char*>(array.bytes()), static_cast<std::size_t>(array.type().bytes())};
}

std::string hash_of(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.text();
}

/// Arrays by content, each once, in the order of their first use.
class Contents {
 public:
  std::optional<std::size_t> number(const Array& array) {
    if (array.size() <= kStoredFrom) return std::nullopt;
    const auto known = by_address_.find({array.bytes(), to_string(array.type())});
    if (known != by_address_.end()) return known->second;
    const std::string hash = hash_of(bytes_of(array));
    std::size_t number = arrays_.size();
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto same = first; same != last && number == arrays_.size(); ++same)
      if (arrays_[same->second] == array) number = same->second;
    if (number == arrays_.size()) {
      arrays_.push_back(array);
      hashes_.push_back(hash);
      by_hash_.emplace(hash, number);
    }
    by_address_[{array.bytes(), to_string(array.type())}] = number;
    numbers_[array.bytes()] = number;
    return number;
  }
  [[nodiscard]] const std::vector<Array>& arrays() const { return arrays_; }
  [[nodiscard]] const std::string& hash(std::size_t number) const { return hashes_[number]; }
  /// The number of the array at an address.
  [[nodiscard]] std::optional<std::size_t> find(const void* address) const {
    const auto found = numbers_.find(address);
    return found != numbers_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  std::vector<Array> arrays_;
  std::vector<std::string> hashes_;
  std::unordered_multimap<std::string, std::size_t> by_hash_;
  std::map<std::pair<const void*, std::string>, std::size_t> by_address_;
  std::unordered_map<const void*, std::size_t> numbers_;
};

/// Pieces of data in the order of the file, each at a multiple of kAlignment from the begin of the data.
class DataPlan {
 public:
  std::uint64_t add(std::string_view bytes) {
    const std::uint64_t begin = aligned(end_);
    pieces_.emplace_back(begin, bytes);
    end_ = begin + bytes.size();
    return begin;
  }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  Status write(OutputFile& file) const {
    std::uint64_t at = 0;
    for (const auto& [begin, bytes] : pieces_) {
      if (Status written = file.write(std::string(begin - at, '\0')); !written) return written;
      if (Status written = file.write(bytes); !written) return written;
      at = begin + bytes.size();
    }
    return {};
  }

 private:
  std::vector<std::pair<std::uint64_t, std::string_view>> pieces_;
  std::uint64_t end_ = 0;
};

std::string marks_of(const std::vector<char>& marks) {
  std::string text;
  for (const char mark : marks) text += mark != 0 ? '1' : '0';
  return text;
}

void write_settings(JsonWriter& json, const PlanSettings& settings) {
  json.field("device", settings.device);
  json.field("machine", settings.machine);
  json.field("machine_given", settings.machine_given);
  json.field("placement", to_string(settings.policy));
  json.field("precision", to_string(settings.precision));
  json.field("workers", settings.workers);
  json.field("host_threads", settings.host_threads);
  json.field("channel_depth", settings.channel_depth);
  json.field("accelerator_memory_bytes", settings.accelerator_memory_bytes);
  json.field("fuses", settings.fuses);
  json.field("profile", profile_text(settings.profile));
}

void write_decisions(JsonWriter& json, const Decisions& decisions) {
  std::string sides;  // by node: host, accelerator or both
  for (std::size_t i = 0; i < decisions.on_host.size(); ++i)
    sides += decisions.on_host[i] == 0 ? 'a' : decisions.on_accelerator[i] == 0 ? 'h' : 'b';
  json.field("sides", sides);
  json.list("kernels", [&] {
    for (const std::vector<FusibleGroup>& side : decisions.fusible)
      json.list([&] {
        for (const FusibleGroup& group : side)
          json.object([&] {
            json.list("nodes", [&] {
              for (const NodeId node : group.nodes) json.value(node.index);
            });
            json.field("pulled", group.pulled);
            json.field("must_hide", marks_of(group.must_hide));
            json.field("waiting", marks_of(group.waiting));
          });
      });
  });
  json.field("depths", decisions.depths);
  json.list("kept_off", [&] {
    for (const NodeId node : decisions.kept_off) json.value(node.index);
  });
  json.field("capacity_bytes", decisions.capacity_bytes);
  json.field("bound_seconds", decisions.bound_seconds);
  json.field("all_host_seconds", decisions.all_host_seconds);
  json.field("all_accelerator_seconds", decisions.all_accelerator_seconds);
  json.field("all_host_predicted_seconds", decisions.all_host_predicted_seconds);
  json.field("all_accelerator_predicted_seconds", decisions.all_accelerator_predicted_seconds);
  json.field("all_accelerator_in_part", decisions.all_accelerator_in_part);
  json.field("program", decisions.program);
}

void write_place(JsonWriter& json, DataPlan& data, std::string_view bytes, const std::string& hash) {
  json.field("begin", data.add(bytes));
  json.field("bytes", bytes.size());
  json.field("hash", hash);
}

std::string document_of(const PlanFile& plan, const Contents& contents, DataPlan& data) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    json.field("cleave", kVersion);
    json.field("model", plan.model);
    json.object("settings", [&] { write_settings(json, plan.settings); });
    json.object("decisions", [&] { write_decisions(json, plan.decisions); });
    json.list("arrays", [&] {
      for (std::size_t i = 0; i < contents.arrays().size(); ++i) {
        const Array& array = contents.arrays()[i];
        json.object([&] {
          json.field("dtype", to_string(array.dtype()));
          json.field("shape", array.shape());
          write_place(json, data, bytes_of(array), contents.hash(i));
        });
      }
    });
    json.list("derived", [&] {
      for (const PlanFile::Derived& derived : plan.derived) {
        const std::optional<std::size_t> array = contents.find(derived.constant);
        if (!array) continue;
        const std::string_view bytes(static_cast<const char*>(derived.data.get()), static_cast<std::size_t>(derived.bytes));
        json.object([&] {
          json.field("array", *array);
          json.field("form", derived.form);
          write_place(json, data, bytes, hash_of(bytes));
        });
      }
    });
  });
  return text;
}

Status write(const std::string& path, const PlanFile& plan) {
  Contents contents;
  DataPlan data;
  const auto number = [&](const Array& array) { return contents.number(array); };
  const std::string graph = print(with_paths_beside(*plan.graph, path), {.stored = number});
  const std::string document = document_of(plan, contents, data);
  Header header;
  header.document_bytes = document.size();
  header.graph_bytes = graph.size();
  header.data_begin = aligned(sizeof header + document.size() + graph.size());
  header.file_bytes = header.data_begin + data.end();
  ContentHash hash;
  hash.add(document);
  hash.add(graph);
  std::memcpy(header.hash.data(), hash.text().data(), header.hash.size());

  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  const std::string gap(header.data_begin - sizeof header - document.size() - graph.size(), '\0');
  for (const std::string_view part : {std::string_view(reinterpret_cast<const char*>(&header), sizeof header), std::string_view(document),
                                      std::string_view(graph), std::string_view(gap)})
    if (Status written = file->write(part); !written) return written;
  if (Status written = data.write(*file); !written) return written;
  return file->commit();
}

}  // namespace

std::string graph_hash(const Graph& graph) {
  ContentHash arrays;
  const auto add = [&](const Array& array) -> std::optional<std::size_t> {
    if (array.size() <= kStoredFrom) return std::nullopt;
    arrays.add(bytes_of(array));
    return 0;
  };
  ContentHash hash;
  hash.add(print(graph, {.locations = false, .stored = add}));
  hash.add(arrays.text());
  return hash.text();
}

Status write_plan_file(const std::string& path, const PlanFile& plan) {
  return detail::guard_memory([&] { return write(path, plan); });
}

}  // namespace cleave::planner
