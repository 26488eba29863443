// Reads cleave's own problem format. Regions may be in any order in a file; cycles among them are found here.
#include "partitioner/solver/problem_json.h"

#include <cmath>
#include <istream>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/units.h"
#include "partitioner/solver/device_placement.h"
#include "partitioner/solver/json_records.h"

namespace cleave::planner {
namespace {

using Problem = PlacementProblem;
using Type = JsonScalar::Type;

class ProblemReader : public JsonRecords {
 public:
  explicit ProblemReader(std::function<void()> pause)
      : JsonRecords({{"", {"accelerator_memory_bytes"}, 0},
                     {"regions", {"parent", "frequency", "driver"}, 0b11},
                     {"nodes",
                      {"name", "region", "host_seconds", "accelerator_seconds", "pin", "replicable", "group", "accelerator_bytes",
                       "keep_accelerator_copy", "each_accelerator_seconds"},
                      0b1110,
                      1 << 9},
                     {"values",
                      {"node", "region", "host_to_accelerator_seconds", "accelerator_to_host_seconds", "host_to_each_accelerator_seconds",
                       "each_accelerator_to_host_seconds"},
                      0b1111,
                      0b110000},
                     {"uses", {"value", "node", "region"}, 0b111},
                     {"savings", {"node", "with", "alone", "host_seconds", "accelerator_seconds"}, 0b11, 0b10, true},
                     {"accelerators", {"memory_bytes"}, 0, 0, true},
                     {"peers", {"between", "seconds"}, 0b11, 0b11, true}},
                    true),
        pause_(std::move(pause)) {}

  Problem problem;
  AcceleratorFields accelerators;

 private:
  void pause() override {
    if (pause_) pause_();
  }

  void begin_record(std::size_t list) override {
    switch (list) {
      case 1: problem.regions.emplace_back(); break;
      case 2: problem.nodes.emplace_back(); break;
      case 3: problem.values.emplace_back(); break;
      case 4: problem.uses.emplace_back(); break;
      case 5: problem.savings.emplace_back(); break;
      case 6: accelerators.memory_bytes.push_back(0); break;
      default: accelerators.peers.emplace_back(); break;
    }
  }

  std::string set(std::size_t list, std::size_t field, const JsonScalar& scalar) override {
    switch (list) {
      case 0: return scalar.type == Type::null ? "" : amount(scalar, problem.accelerator_memory_bytes);
      case 1: return set_region(problem.regions.back(), field, scalar);
      case 2: return set_node(problem.nodes.back(), field, scalar);
      case 3: return set_value(problem.values.back(), field, scalar);
      case 4: return set_use(problem.uses.back(), field, scalar);
      case 5: return set_saving(problem.savings.back(), field, scalar);
      case 6: return scalar.type == Type::null ? "" : amount(scalar, accelerators.memory_bytes.back());
      default:
        return field == 0 ? index(scalar, accelerators.peers.back().between.emplace_back())
                          : amount(scalar, accelerators.peers.back().seconds.emplace_back());
    }
  }

  static std::string amount(const JsonScalar& scalar, double& out) {
    if (!scalar.is_number() || !std::isfinite(scalar.number) || scalar.number < 0) return "must be a finite number that is not negative";
    out = scalar.number;
    return {};
  }
  static std::string index(const JsonScalar& scalar, std::int32_t& out) {
    if (scalar.type != Type::integer || scalar.integer < 0 || scalar.integer > std::numeric_limits<std::int32_t>::max()) {
      return "must be an index (a whole number from 0)";
    }
    out = static_cast<std::int32_t>(scalar.integer);
    return {};
  }
  static std::string flag(const JsonScalar& scalar, bool& out) {
    if (scalar.type != Type::boolean) return "must be true or false";
    out = scalar.integer != 0;
    return {};
  }

  static std::string set_region(Problem::Region& region, std::size_t field, const JsonScalar& scalar) {
    if (field == 1) return amount(scalar, region.frequency);
    if (scalar.type == Type::null) return {};
    return index(scalar, field == 0 ? region.parent : region.driver);
  }

  std::string set_node(Problem::Node& node, std::size_t field, const JsonScalar& scalar) {
    switch (field) {
      case 0: return set_name(scalar);
      case 1: return index(scalar, node.region);
      case 2: return amount(scalar, node.host_seconds);
      case 3: return amount(scalar, node.accelerator_seconds);
      case 4: return pin(scalar, node.pin);
      case 5: return flag(scalar, node.replicable);
      case 6: return group(scalar, node.group);
      case 7: return scalar.type == Type::null ? "" : amount(scalar, node.accelerator_bytes);
      case 8: return flag(scalar, node.keep_accelerator_copy);
      default:
        double& seconds = next_of_each(accelerators.node_seconds, problem.nodes.size());
        if (scalar.type != Type::null) return amount(scalar, seconds);
        seconds = std::numeric_limits<double>::infinity();  // it has no kernel there
        return {};
    }
  }

  std::string set_name(const JsonScalar& scalar) {
    if (scalar.type == Type::null) return {};
    if (scalar.type != Type::text) return "must be a text";
    problem.names.resize(problem.nodes.size());
    problem.names.back() = scalar.text;
    return {};
  }

  static std::string pin(const JsonScalar& scalar, Problem::Pin& pin) {
    if (scalar.type == Type::null) return {};
    if (scalar.type == Type::text && scalar.text == "host") {
      pin = Problem::Pin::host;
    } else if (scalar.type == Type::text && scalar.text == "accelerator") {
      pin = Problem::Pin::accelerator;
    } else {
      return "must be null, \"host\" or \"accelerator\"";
    }
    return {};
  }

  /// A group is named by any number or text.
  std::string group(const JsonScalar& scalar, std::int32_t& group) {
    if (scalar.type == Type::null) return {};
    if (scalar.type == Type::text) {
      group = groups_.try_emplace("'" + scalar.text, static_cast<std::int32_t>(groups_.size())).first->second;
    } else if (scalar.type == Type::integer && scalar.integer >= 0) {
      group = groups_.try_emplace(std::to_string(scalar.integer), static_cast<std::int32_t>(groups_.size())).first->second;
    } else {
      return "must be null, a text, or a whole number that is not negative";
    }
    return {};
  }

  /// A new number of the list of the last item.
  static double& next_of_each(std::vector<AcceleratorFields::Each>& lists, std::size_t items) {
    const auto item = static_cast<std::int32_t>(items) - 1;
    if (lists.empty() || lists.back().item != item) lists.push_back({item, {}});
    return lists.back().seconds.emplace_back();
  }

  std::string set_value(Problem::Value& value, std::size_t field, const JsonScalar& scalar) {
    switch (field) {
      case 0: return index(scalar, value.node);
      case 1: return index(scalar, value.region);
      case 2: return amount(scalar, value.host_to_accelerator_seconds);
      case 3: return amount(scalar, value.accelerator_to_host_seconds);
      case 4: return amount(scalar, next_of_each(accelerators.from_host_seconds, problem.values.size()));
      default: return amount(scalar, next_of_each(accelerators.to_host_seconds, problem.values.size()));
    }
  }

  static std::string set_use(Problem::Use& use, std::size_t field, const JsonScalar& scalar) {
    switch (field) {
      case 0: return index(scalar, use.value);
      case 1: return index(scalar, use.node);
      default: return index(scalar, use.region);
    }
  }

  static std::string set_saving(Problem::Saving& saving, std::size_t field, const JsonScalar& scalar) {
    switch (field) {
      case 0: return index(scalar, saving.node);
      case 1: return index(scalar, saving.with.emplace_back());
      case 2: return flag(scalar, saving.alone);
      case 3: return amount(scalar, saving.host_seconds);
      default: return amount(scalar, saving.accelerator_seconds);
    }
  }

  std::function<void()> pause_;
  std::unordered_map<std::string, std::int32_t> groups_;
};

Error in_region(std::size_t region, const std::string& what) {
  return {"regions[" + std::to_string(region) + "].parent " + what};
}

/// The regions in an order in which parents precede their children, lowest index first among equals. An Error if they are no tree.
Result<std::vector<std::int32_t>> tree_order(const std::vector<Problem::Region>& regions) {
  if (regions.empty()) return Error{"regions must hold at least the root"};
  const auto count = static_cast<std::int32_t>(regions.size());
  std::vector<std::int32_t> start(regions.size() + 1);
  for (std::int32_t r = 0; r < count; ++r) {
    const std::int32_t parent = regions[r].parent;
    if (r == 0 && parent != Problem::kNoParent) return in_region(0, "must be null: region 0 is the root");
    if (r > 0 && parent == Problem::kNoParent) return in_region(r, "must not be null: only region 0 is the root");
    if (parent >= count) return in_region(r, "is " + std::to_string(parent) + ", but there are " + std::to_string(count) + " regions");
    if (r > 0) ++start[parent + 1];
  }
  for (std::int32_t r = 0; r < count; ++r) start[r + 1] += start[r];
  std::vector<std::int32_t> children(regions.size()), next(start.begin(), start.end() - 1);
  for (std::int32_t r = 1; r < count; ++r) children[next[regions[r].parent]++] = r;
  std::vector<std::int32_t> order{0};
  std::vector<bool> reached(regions.size());
  reached[0] = true;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::int32_t c = start[order[i]]; c < start[order[i] + 1]; ++c) {
      order.push_back(children[c]);
      reached[children[c]] = true;
    }
  }
  if (order.size() == regions.size()) return order;
  std::int32_t lost = 0;
  while (reached[lost]) ++lost;
  std::string chain = std::to_string(lost);
  const std::int32_t first = lost;
  for (int shown = 0; shown < 8 && (shown == 0 || lost != first); ++shown) chain += " -> " + std::to_string(lost = regions[lost].parent);
  return in_region(first, "leads round a cycle and never to the root (" + chain + ")");
}

/// Puts parents first where the file does not.
Result<LoadedProblem> in_tree_order(Problem problem) {
  const Result<std::vector<std::int32_t>> order = tree_order(problem.regions);
  if (!order) return order.error();
  LoadedProblem loaded{std::move(problem), {}, {}};
  std::vector<Problem::Region>& regions = loaded.problem.regions;
  bool parents_first = true;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    loaded.region_in_file.push_back(static_cast<std::int32_t>(r));
    parents_first &= regions[r].parent < static_cast<std::int32_t>(r);
  }
  if (parents_first) return loaded;
  loaded.region_in_file = *order;
  std::vector<std::int32_t> now(regions.size());
  for (std::size_t r = 0; r < regions.size(); ++r) now[(*order)[r]] = static_cast<std::int32_t>(r);
  const std::vector<Problem::Region> before = regions;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    regions[r] = before[(*order)[r]];
    if (r > 0) regions[r].parent = now[regions[r].parent];
  }
  auto renumber = [&](std::int32_t& region) {  // an index out of range is kept for the error message
    if (static_cast<std::size_t>(region) < now.size()) region = now[region];
  };
  for (auto& node : loaded.problem.nodes) renumber(node.region);
  for (auto& value : loaded.problem.values) renumber(value.region);
  for (auto& use : loaded.problem.uses) renumber(use.region);
  return loaded;
}

/// The bytes of an InputFile, block by block. After a read failure the stream ends.
class FileBuffer : public std::streambuf {
 public:
  explicit FileBuffer(InputFile& file) : file_(file), block_(1 << 16) {}
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  int_type underflow() override {
    if (failure_) return traits_type::eof();
    const Result<std::size_t> got = file_.read(block_.data(), block_.size());
    if (!got) failure_ = got.error();
    if (!got || *got == 0) return traits_type::eof();
    setg(block_.data(), block_.data(), block_.data() + *got);
    return traits_type::to_int_type(block_.front());
  }

  InputFile& file_;
  std::vector<char> block_;
  std::optional<Error> failure_;
};

Result<LoadedProblem> read(std::istream& in, ProblemFormat format, const std::function<void()>& pause) {
  Problem problem;
  AcceleratorFields accelerators;
  if (format == ProblemFormat::device_placement) {
    Result<Problem> workload = read_device_placement(in, pause);
    if (!workload) return workload.error();
    problem = std::move(*workload);
  } else {
    ProblemReader reader(pause);
    if (Status status = reader.read(in); !status) return status.error();
    problem = std::move(reader.problem);
    accelerators = std::move(reader.accelerators);
    if (!problem.names.empty()) problem.names.resize(problem.nodes.size());
  }
  Result<LoadedProblem> loaded = in_tree_order(std::move(problem));
  if (!loaded) return loaded;
  if (Status status = verify(loaded->problem); !status) return status.error();
  loaded->accelerators = std::move(accelerators);
  return loaded;
}

}  // namespace

Result<LoadedProblem> parse_problem(std::string_view text, ProblemFormat format) {
  return detail::guard_memory([&]() -> Result<LoadedProblem> {
    std::istringstream in{std::string(text)};
    return read(in, format, nullptr);
  });
}

Result<LoadedProblem> load_problem(const std::string& path, ProblemFormat format, const ReadProgress& progress) {
  return detail::guard_memory([&]() -> Result<LoadedProblem> {
    Result<InputFile> file = InputFile::open(path, file_limit::kProblem);
    if (!file) return file.error();
    FileBuffer buffer(*file);
    std::istream in(&buffer);
    in.peek();
    if (buffer.failure()) return *buffer.failure();
    if (!in) return Error{"`" + path + "` is empty", {}, ErrorKind::file};
    std::function<void()> pause;
    if (progress && file->size()) pause = [&] { progress(static_cast<double>(file->position()) / static_cast<double>(*file->size())); };
    Result<LoadedProblem> loaded = read(in, format, pause);
    if (buffer.failure()) return *buffer.failure();  // instead of the parse error that the missing rest causes
    if (!loaded) return Error{path + ": " + loaded.error().message};
    return loaded;
  });
}

Status set_accelerator_memory(PlacementProblem& problem, std::string_view capacity) {
  const bool percent = capacity.ends_with('%');
  const std::string_view digits = percent ? capacity.substr(0, capacity.size() - 1) : capacity;
  const auto split = split_unit(digits);
  const auto unit = split && !(percent && !split->unit.empty()) ? byte_unit(split->unit) : std::nullopt;
  const double number = unit ? split->number * *unit : 0;
  if (!std::isfinite(number) || number <= 0) {
    return Error{"`" + std::string(capacity) + "` is no capacity: a positive number of bytes as in `16GiB`, or of percent as in `20%`" +
                     (split && !percent && !byte_unit(split->unit) ? suggest_byte_unit(split->unit) : ""),
                 {},
                 ErrorKind::usage};
  }
  double total = 0;
  for (const auto& node : problem.nodes) total += node.accelerator_bytes;
  problem.accelerator_memory_bytes = percent ? total * number / 100 : number;
  return {};
}

}  // namespace cleave::planner
