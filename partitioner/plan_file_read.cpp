// read_plan_file(): nothing in a file is believed. The header's sizes are compared with the file's, the document's places with the sizes,
// the graph is verified by its parser, and the decisions are checked by restore().
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "graph/base/content_hash.h"
#include "graph/base/exceptions.h"
#include "graph/base/json_reader.h"
#include "graph/base/mapped_file.h"
#include "graph/base/version.h"
#include "graph/text/text.h"
#include "partitioner/machine/profile_text.h"
#include "partitioner/plan_file.h"
#include "partitioner/plan_file_layout.h"

namespace cleave::planner {
namespace {

using namespace plan_layout;

constexpr std::string_view kAgain = "; `cleave compile` writes it again";

/// Reads fields of the document. After the first one that is missing or wrong, `wrong` names it and everything else is empty.
class Fields {
 public:
  explicit Fields(const JsonTree& document) : document_(document) {}

  std::string wrong;

  [[nodiscard]] std::size_t object(std::size_t in, const char* name) { return child(in, name, JsonTree::Kind::object); }
  [[nodiscard]] std::vector<std::size_t> list(std::size_t in, const char* name) {
    const std::size_t found = child(in, name, JsonTree::Kind::list);
    return wrong.empty() ? document_.children(found) : std::vector<std::size_t>();
  }
  [[nodiscard]] std::vector<std::size_t> items(std::size_t list) {
    if (document_.items[list].kind == JsonTree::Kind::list) return document_.children(list);
    fail("a list");
    return {};
  }
  [[nodiscard]] std::string text(std::size_t in, const char* name) {
    const JsonScalar& scalar = scalar_of(in, name);
    if (scalar.type != JsonScalar::Type::text) fail(name);
    return scalar.text;
  }
  [[nodiscard]] bool flag(std::size_t in, const char* name) {
    const JsonScalar& scalar = scalar_of(in, name);
    if (scalar.type != JsonScalar::Type::boolean) fail(name);
    return scalar.integer != 0;
  }
  /// A number that is not NaN; null is NaN where `may_lack`.
  [[nodiscard]] double number(std::size_t in, const char* name, bool may_lack = false) {
    const JsonScalar& scalar = scalar_of(in, name);
    if (may_lack && scalar.type == JsonScalar::Type::null) return Plan::kUnknown;
    if (!scalar.is_number() || !std::isfinite(scalar.number)) fail(name);
    return scalar.number;
  }
  [[nodiscard]] std::int64_t integer(std::size_t in, const char* name, std::int64_t most) {
    return integer(scalar_of(in, name), name, most);
  }
  [[nodiscard]] std::int64_t integer(std::size_t item, std::int64_t most) {
    return integer(document_.items[item].kind == JsonTree::Kind::scalar ? document_.items[item].scalar : nothing_, "a number", most);
  }
  void fail(const char* name) {
    if (wrong.empty()) wrong = name;
  }

 private:
  std::int64_t integer(const JsonScalar& scalar, const char* name, std::int64_t most) {
    const bool good = scalar.type == JsonScalar::Type::integer && scalar.integer >= 0 && scalar.integer <= most;
    if (!good) fail(name);
    return good ? scalar.integer : 0;
  }
  [[nodiscard]] std::size_t child(std::size_t in, const char* name, JsonTree::Kind kind) {
    const std::optional<std::size_t> found = document_.items[in].kind == JsonTree::Kind::object ? document_.find(in, name) : std::nullopt;
    if (!found || document_.items[*found].kind != kind) fail(name);
    return found.value_or(0);
  }
  [[nodiscard]] const JsonScalar& scalar_of(std::size_t in, const char* name) {
    const std::size_t found = child(in, name, JsonTree::Kind::scalar);
    return wrong.empty() ? document_.items[found].scalar : nothing_;
  }

  const JsonTree& document_;
  const JsonScalar nothing_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& path, const PlanReadOptions& options)
      : bytes_(bytes), owner_(std::move(owner)), path_(path), options_(options) {}

  Result<PlanFile> read() {
    if (Status good = read_header(); !good) return good.error();
    if (Status good = read_document(); !good) return good.error();
    Result<Graph> graph = parse_graph(graph_text_, path_, options_.source_roots,
                                      [this](std::size_t number) { return number < arrays_.size() ? &arrays_[number] : nullptr; });
    if (!graph) return Error{path_ + ": its program is damaged: " + graph.error().message, {}, ErrorKind::file};
    own_parameters(*graph);
    plan_.graph = std::make_shared<const Graph>(with_paths_found(*std::move(graph), path_));
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Error error(const std::string& message) const { return {path_ + ": " + message, {}, ErrorKind::file}; }
  [[nodiscard]] Error damaged(const std::string& what) const { return error("this plan file is damaged: " + what); }

  Status read_header() {
    if (bytes_.size() < kMagic.size() || std::memcmp(bytes_.data(), kMagic.data(), kMagic.size()) != 0)
      return error("not a plan file; `cleave compile MODEL -o FILE.plan` writes one");
    if (bytes_.size() < sizeof header_) return error("this plan file is cut off in its header");
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    if (header_.format != kFormat)
      return error("this plan file has format " + std::to_string(header_.format) + ", and this cleave reads format " +
                   std::to_string(kFormat) + std::string(kAgain));
    if (header_.file_bytes != bytes_.size())
      return error("this plan file is cut off or has more at its end: it has " + std::to_string(bytes_.size()) + " of " +
                   std::to_string(header_.file_bytes) + " bytes");
    const std::uint64_t left = bytes_.size() - sizeof header_;
    if (header_.document_bytes > left || header_.graph_bytes > left - header_.document_bytes ||
        header_.data_begin != aligned(sizeof header_ + header_.document_bytes + header_.graph_bytes) || header_.data_begin > bytes_.size())
      return damaged("its header names places outside of it");
    document_text_ = bytes_.substr(sizeof header_, header_.document_bytes);
    graph_text_ = bytes_.substr(sizeof header_ + header_.document_bytes, header_.graph_bytes);
    data_ = bytes_.substr(header_.data_begin);
    ContentHash hash;
    hash.add(document_text_);
    hash.add(graph_text_);
    if (options_.checks_head && std::string_view(header_.hash.data(), header_.hash.size()) != hash.text())
      return damaged("its document or program is not what was written");
    return {};
  }

  Status read_document() {
    const Result<JsonTree> document = JsonTree::read(document_text_);
    if (!document) return damaged(document.error().message);
    Fields fields(*document);
    if (const std::string version = fields.text(0, "cleave"); options_.checks_head && fields.wrong.empty() && version != kVersion)
      return error("this plan file is of cleave " + version + ", and this is cleave " + kVersion + std::string(kAgain));
    plan_.model = fields.text(0, "model");
    if (Status good = read_settings(fields, fields.object(0, "settings")); !good) return good;
    read_decisions(fields, fields.object(0, "decisions"));
    for (const std::size_t item : fields.list(0, "arrays"))
      if (Status good = read_array(fields, item); !good) return good;
    for (const std::size_t item : fields.list(0, "derived"))
      if (Status good = read_derived(fields, item); !good) return good;
    return fields.wrong.empty() ? Status() : Status(damaged("`" + fields.wrong + "` is missing or wrong"));
  }

  Status read_settings(Fields& fields, std::size_t item) {
    PlanSettings& settings = plan_.settings;
    settings.device = fields.text(item, "device");
    settings.machine = fields.text(item, "machine");
    settings.machine_given = fields.flag(item, "machine_given");
    const std::string policy = fields.text(item, "placement"), precision = fields.text(item, "precision");
    const auto known = std::find_if(policies().begin(), policies().end(), [&](Policy each) { return to_string(each) == policy; });
    if (known == policies().end())
      fields.fail("placement");
    else
      settings.policy = *known;
    bool found = false;
    for (const Precision each : {Precision::f32, Precision::tf32, Precision::bf16}) {
      if (to_string(each) != precision) continue;
      settings.precision = each;
      found = true;
    }
    if (!found) fields.fail("precision");
    constexpr std::int64_t kMost = 1 << 16;
    settings.workers = static_cast<int>(fields.integer(item, "workers", kMost));
    settings.host_threads = static_cast<int>(fields.integer(item, "host_threads", kMost));
    settings.channel_depth = static_cast<int>(fields.integer(item, "channel_depth", kMost));
    settings.accelerator_memory_bytes = fields.number(item, "accelerator_memory_bytes");
    settings.fuses = fields.flag(item, "fuses");
    const std::string profile = fields.text(item, "profile");
    if (!fields.wrong.empty()) return {};
    Result<Profile> parsed = parse_profile(profile, path_);
    if (!parsed) return damaged(parsed.error().message);
    settings.profile = *std::move(parsed);
    return {};
  }

  static std::vector<char> marks(const std::string& text) {
    std::vector<char> marks;
    for (const char c : text) marks.push_back(c == '1' ? 1 : 0);
    return marks;
  }

  void read_decisions(Fields& fields, std::size_t item) {
    constexpr std::int64_t kMostNodes = NodeId::kNone - 1;
    Decisions& decisions = plan_.decisions;
    for (const char side : fields.text(item, "sides")) {
      if (side != 'h' && side != 'a' && side != 'b') fields.fail("sides");
      decisions.on_host.push_back(side == 'a' ? 0 : 1);
      decisions.on_accelerator.push_back(side == 'h' ? 0 : 1);
    }
    for (const std::size_t side : fields.list(item, "kernels")) {
      std::vector<FusibleGroup>& groups = decisions.fusible[decisions.fusible.push_back({})];
      for (const std::size_t kernel : fields.items(side)) {
        FusibleGroup& group = groups.emplace_back();
        for (const std::size_t node : fields.list(kernel, "nodes"))
          group.nodes.emplace_back(static_cast<std::size_t>(fields.integer(node, kMostNodes)));
        group.pulled = static_cast<std::size_t>(fields.integer(kernel, "pulled", kMostNodes));
        group.must_hide = marks(fields.text(kernel, "must_hide"));
        group.waiting = marks(fields.text(kernel, "waiting"));
      }
    }
    for (const std::size_t depth : fields.list(item, "depths"))
      decisions.depths.push_back(static_cast<int>(fields.integer(depth, std::int64_t{1} << 20)));
    for (const std::size_t node : fields.list(item, "kept_off"))
      decisions.kept_off.emplace_back(static_cast<std::size_t>(fields.integer(node, kMostNodes)));
    decisions.capacity_bytes = fields.number(item, "capacity_bytes");
    decisions.bound_seconds = fields.number(item, "bound_seconds");
    decisions.all_host_seconds = fields.number(item, "all_host_seconds", true);
    decisions.all_accelerator_seconds = fields.number(item, "all_accelerator_seconds", true);
    decisions.all_host_predicted_seconds = fields.number(item, "all_host_predicted_seconds", true);
    decisions.all_accelerator_predicted_seconds = fields.number(item, "all_accelerator_predicted_seconds", true);
    decisions.all_accelerator_in_part = fields.flag(item, "all_accelerator_in_part");
    decisions.program = fields.text(item, "program");
  }

  /// The bytes that an item of `arrays` or `derived` names; an Error if they are not in the file or not those that were written.
  Result<std::string_view> read_place(Fields& fields, std::size_t item) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto begin = static_cast<std::uint64_t>(fields.integer(item, "begin", kMost));
    const auto bytes = static_cast<std::uint64_t>(fields.integer(item, "bytes", kMost));
    const std::string written = fields.text(item, "hash");
    if (!fields.wrong.empty()) return std::string_view();
    if (begin % kAlignment != 0 || begin > data_.size() || bytes > data_.size() - begin) return damaged("an array lies outside of it");
    const std::string_view place = data_.substr(begin, bytes);
    if (bytes > data_.size() - used_) return damaged("its arrays overlap");  // so that copies take no more memory than the file
    used_ += bytes;
    if (!options_.checks_data) return place;
    ContentHash hash;
    hash.add(place);
    return hash.text() == written ? Result<std::string_view>(place) : damaged("an array is not what was written");
  }

  /// Whether the bytes are used in place. Otherwise they are copied to memory of their own.
  [[nodiscard]] bool in_place(std::string_view place) const {
    return owner_ && reinterpret_cast<std::uintptr_t>(place.data()) % kAlignment == 0;
  }

  Status read_array(Fields& fields, std::size_t item) {
    const std::optional<DType> dtype = parse_dtype(fields.text(item, "dtype"));
    TensorType type{dtype.value_or(DType::f32), {}};
    for (const std::size_t extent : fields.list(item, "shape"))
      type.shape.push_back(fields.integer(extent, std::numeric_limits<std::int64_t>::max()));
    const Result<std::string_view> place = read_place(fields, item);
    if (!place) return place.error();
    if (!dtype) fields.fail("dtype");
    if (!fields.wrong.empty()) return {};
    const std::optional<std::int64_t> bytes = checked_bytes(type);
    if (!bytes || static_cast<std::uint64_t>(*bytes) != place->size()) return damaged("an array has another size than its type");
    if (type.dtype == DType::boolean && std::any_of(place->begin(), place->end(), [](char c) { return c != 0 && c != 1; }))
      return damaged("a bool is neither 0 nor 1");
    if (in_place(*place)) {
      arrays_.push_back(Array::borrow(type, place->data(), [owner = owner_] {}));
      return {};
    }
    Array copy(type);
    if (!place->empty()) std::memcpy(copy.mutable_bytes(), place->data(), place->size());
    arrays_.push_back(std::move(copy));
    return {};
  }

  Status read_derived(Fields& fields, std::size_t item) {
    const auto array = static_cast<std::size_t>(fields.integer(item, "array", std::numeric_limits<std::int32_t>::max()));
    PlanFile::Derived derived;
    derived.form = fields.text(item, "form");
    const Result<std::string_view> place = read_place(fields, item);
    if (!place) return place.error();
    if (!fields.wrong.empty()) return {};
    if (array >= arrays_.size()) return damaged("data are derived from an array that it lacks");
    derived.constant = arrays_[array].bytes();
    derived.bytes = static_cast<std::int64_t>(place->size());
    if (in_place(*place)) {
      derived.data = std::shared_ptr<const void>(owner_, place->data());
    } else {
      const auto copy = std::make_shared<Array>(TensorType{DType::u8, {derived.bytes}});
      if (!place->empty()) std::memcpy(copy->mutable_bytes(), place->data(), place->size());
      derived.data = std::shared_ptr<const void>(copy, copy->bytes());
    }
    plan_.derived.push_back(std::move(derived));
    return {};
  }

  /// Gives parameters memory of their own: kernels keep nothing that they derive from a parameter in borrowed memory.
  static void own_parameters(Graph& graph) {
    for (Node& node : graph.nodes) {
      const Array* value = node.kind == NodeKind::parameter ? node.attributes.get_if<Array>("value") : nullptr;
      if (!value || !value->borrowed()) continue;
      Array copy(value->type());
      std::memcpy(copy.mutable_bytes(), value->bytes(), static_cast<std::size_t>(value->type().bytes()));
      node.attributes.set("value", std::move(copy));
    }
  }

  const std::string_view bytes_;
  const std::shared_ptr<const void> owner_;
  const std::string& path_;
  const PlanReadOptions& options_;
  Header header_;
  std::string_view document_text_, graph_text_, data_;
  std::uint64_t used_ = 0;  ///< bytes of the arrays read so far
  std::vector<Array> arrays_;
  PlanFile plan_;
};

}  // namespace

Result<PlanFile> parse_plan_file(std::string_view bytes, const std::shared_ptr<const void>& owner, const std::string& path,
                                 const PlanReadOptions& options) {
  return detail::guard_memory([&] { return Reader(bytes, owner, path, options).read(); });
}

Result<PlanFile> read_plan_file(const std::string& path, const PlanReadOptions& options) {
  return detail::guard_memory([&]() -> Result<PlanFile> {
    const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
    if (!file) return file.error();
    Result<PlanFile> plan = parse_plan_file((*file)->bytes(), *file, path, options);
    if (Status unchanged = (*file)->unchanged(); !unchanged) return unchanged.error();
    return plan;
  });
}

}  // namespace cleave::planner
