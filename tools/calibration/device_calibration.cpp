#include "tools/calibration/device_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "executor/device/device.h"
#include "executor/device/run_state.h"
#include "executor/device/segments.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {

using namespace runtime;
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr int kLaunchesInARow = 200;
constexpr std::size_t kStepsOfAGraph = 100, kStepsOfAPoint = 20;
constexpr double kGraphBytes = 64 << 20,
                 kGraphFlops = 1e10;    ///< smaller calls are measured in graphs, since a host launches them too slowly
constexpr double kLongLaunch = 1e-3;    ///< seconds; longer calls are measured one launch at a time
constexpr double kGroupSeconds = 1e-3;  ///< of calls between two waits: one wait is then a hundredth of them

/// A graph with this one call, for functions that tell whether a kernel exists.
Graph graph_of(const Sample& call, NodeId& operation) {
  Graph graph;
  const auto add = [&](NodeKind kind, const std::vector<TensorType>& results) {
    Node node;
    node.kind = kind;
    node.region = Graph::kRoot;
    const NodeId id = graph.nodes.push_back(std::move(node));
    graph.regions[Graph::kRoot].nodes.push_back(id);
    for (const TensorType& type : results) {
      Value value;
      value.type = type;
      value.producer = id;
      value.region = Graph::kRoot;
      graph.nodes[id].results.push_back(graph.values.push_back(std::move(value)));
    }
    return id;
  };
  std::vector<ValueId> inputs;
  for (const TensorType& type : call.inputs) inputs.push_back(graph.nodes[add(NodeKind::input, {type})].results[0]);
  operation = add(NodeKind::operation, call.results);
  graph.nodes[operation].op = call.op;
  graph.nodes[operation].attributes = call.attributes;
  graph.nodes[operation].inputs = std::move(inputs);
  return graph;
}

/// Measures an accelerator: enqueues commands on its streams and waits for them.
class DeviceCalibration {
 public:
  DeviceCalibration(const CalibrationOptions& options, Device& device, Calibration& result)
      : options_(options),
        device_(device),
        result_(result),
        rates_(result.machine.accelerators.front()),
        course_(options, (1 - kShareOfHost) * options.most_seconds) {}

  Status measure() {
    if (Status status = make_ready(); !status) return status;
    if (Status status = device_.begin_run(run_); !status) return status;
    Status status = measure_all();
    device_.end_run();
    if (status && run_.error()) return *run_.error();
    return status;
  }

 private:
  /// A call with its operands in place and its kernel compiled.
  struct Prepared {
    Sample call;
    std::vector<Range> inputs;
    KernelId kernel;
    SegmentId steps;  ///< a segment of many launches; invalid: each call is launched by itself
  };

  static std::int64_t rounded(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  /// Allocates memory and staging, and compiles the kernels, before any measurement.
  Status make_ready() {
    arena_ = std::max(rounded(options_.memory_bytes) + 5 * kAlignment, rounded(options_.largest_copy));
    if (Status status = device_.allocate(arena_, {}); !status) return status;
    Result<std::byte*> staging = device_.allocate_staging(options_.largest_copy);
    if (!staging) return staging.error();
    staging_ = *staging;
    std::memset(staging_, 0, static_cast<std::size_t>(options_.largest_copy));
    Result<Array> pageable = Array::allocate({DType::u8, {options_.largest_copy}});
    if (!pageable) return pageable.error();
    pageable_ = *std::move(pageable);
    std::memset(pageable_.mutable_bytes(), 0, static_cast<std::size_t>(options_.largest_copy));
    // `add` must have a kernel; other operations without one are skipped. Preparation stops when its share of the time is spent.
    std::optional<Prepared> tiny = prepare(*sample(*find_op("add"), DType::f32, "", 0, 1));
    if (failed_) return *failed_;
    if (!tiny) return Error{"the accelerator has no kernel for `add`", {}, ErrorKind::machine};
    tiny_ = tiny->kernel;
    tables_ = tables(1, options_.memory_bytes / 16, true);
    const double for_measuring = 0.5 * (1 - kShareOfHost) * options_.most_seconds;
    for (std::size_t i = 0; i < tables_.size() && !failed_; ++i) {
      if (course_.late(for_measuring)) {
        result_.left_out += static_cast<int>(tables_.size() - i);
        tables_.resize(i);
        break;
      }
      say("kernels", static_cast<double>(i) / static_cast<double>(3 * tables_.size()));
      for (const std::int64_t elements : tables_[i].elements) {
        const Table& table = tables_[i];
        std::optional<Sample> call = sample(*table.op, table.type, table.form, table.extent, elements);
        if (!call || call->bytes() > options_.memory_bytes || course_.late(for_measuring)) continue;
        if (std::optional<Prepared> ready = prepare(*std::move(call))) prepared_[table.key()].push_back(*std::move(ready));
      }
    }
    if (failed_) return *failed_;
    graph_ = in_a_row(tiny_, kStepsOfAGraph);
    for (auto& [table, calls] : prepared_)
      for (Prepared& each : calls)
        if (each.call.work.cost.bytes < kGraphBytes && each.call.work.cost.flops < kGraphFlops)
          each.steps = in_a_row(each.kernel, kStepsOfAPoint);
    return {};
  }

  /// Places the operands one after the other and compiles the kernel. Nothing if there is no kernel, or on failure, which sets `failed_`.
  std::optional<Prepared> prepare(Sample call) {
    NodeId node;
    const Graph graph = graph_of(call, node);
    if (options_.supports && !options_.supports(graph, node)) return std::nullopt;
    KernelRequest request{NodeId(), call.op, &attributes_.emplace_back(call.attributes), call.inputs, call.results, {}, {}, {}, {}};
    std::int64_t end = 0;
    const auto place = [&](const TensorType& type) {
      const Range range{end, type.bytes()};
      end += rounded(type.bytes());
      return range;
    };
    for (const TensorType& type : call.inputs) request.inputs.push_back(place(type));
    for (const TensorType& type : call.results) request.results.push_back(place(type));
    if (end > arena_) return std::nullopt;
    std::vector<Range> inputs = request.inputs;
    Result<KernelId> made = device_.prepare(std::move(request));
    if (!made) {
      failed_ = made.error();
      return std::nullopt;
    }
    return Prepared{std::move(call), std::move(inputs), *made, {}};
  }

  /// A segment that launches the kernel `count` times, if the device can join launches.
  SegmentId in_a_row(KernelId kernel, std::size_t count) {
    Segments* const segments = device_.segments();
    if (!segments || !segments->joins(kernel)) return {};
    DeviceStep step;
    step.kernel = kernel;
    return segments->prepare(std::vector<DeviceStep>(count, step));
  }

  /// Uploads the operands of the call.
  Status upload(const Prepared& prepared) {
    for (std::size_t i = 0; i < prepared.inputs.size(); ++i) {
      const Range& range = prepared.inputs[i];
      const DType type = prepared.call.inputs[i].dtype;
      const Contents contents = prepared.call.contents_of(i);
      const std::int64_t piece = std::min(options_.largest_copy, range.bytes);
      if (piece > 0) fill(staging_, type, piece, contents);
      for (std::int64_t done = 0; done < range.bytes; done += piece) {
        const Range part{range.offset + done, std::min(piece, range.bytes - done)};
        if (contents.side > 0 && done > 0) {  // every piece of a matrix is different
          if (Status status = wait(Stream::to_device); !status) return status;
          fill(staging_, type, part.bytes, contents, done);
        }
        if (Status status = device_.copy_to_device(part, staging_, {}); !status) return status;
      }
      if (Status status = wait(Stream::to_device); !status) return status;
    }
    return {};
  }

  Status measure_all() {
    // All memory is written before any of it is read.
    for (std::int64_t done = 0; done < arena_; done += options_.largest_copy) {
      const Range piece{done, std::min(options_.largest_copy, arena_ - done)};
      if (Status status = device_.copy_to_device(piece, staging_, {}); !status) return status;
      if (Status status = device_.streams().synchronize(device_.streams().record(Stream::to_device)); !status) return status;
    }
    say("launches", 0.35);
    const Range tiny{0, 4 * kAlignment};  // operands and result of the tiny kernel, so that it reads only written memory
    if (Status status = device_.copy_to_device(tiny, staging_, {}); !status) return status;
    if (Status status = wait(Stream::to_device); !status) return status;
    if (Status status = measure_launches(); !status) return status;
    if (Status status = measure_tables(); !status) return status;
    say("copies", 0.9);
    return measure_copies();
  }

  Status measure_launches() {
    double enqueued = 0;
    const Result<double> many = seconds([&]() -> Status {
      const double before = now();
      for (int i = 0; i < kLaunchesInARow; ++i) {
        if (Status status = device_.launch(tiny_, {}); !status) return status;
      }
      enqueued = (now() - before) / kLaunchesInARow;
      return wait(Stream::compute);
    });
    if (!many) return many.error();
    rates_.overhead_seconds = *many / kLaunchesInARow;
    const Result<double> one = seconds([&] { return launch(tiny_); });
    if (!one) return one.error();
    const Result<double> hop = seconds([&]() -> Status {
      if (Status status = device_.launch(tiny_, {}); !status) return status;
      if (Status status = device_.streams().wait(Stream::to_host, device_.streams().record(Stream::compute)); !status) return status;
      return wait(Stream::to_host);
    });
    if (!hop) return hop.error();
    const Result<double> trip = seconds([&]() -> Status {
      if (Status status = device_.launch(tiny_, {}); !status) return status;
      if (Status status = device_.streams().wait(Stream::to_host, device_.streams().record(Stream::compute)); !status) return status;
      if (Status status = device_.copy_to_host(staging_, {2 * kAlignment, 8}, {}); !status) return status;
      if (Status status = wait(Stream::to_host); !status) return status;
      if (Status status = device_.copy_to_device({0, 8}, staging_, {}); !status) return status;
      if (Status status = device_.streams().wait(Stream::compute, device_.streams().record(Stream::to_device)); !status) return status;
      return launch(tiny_);
    });
    if (!trip) return trip.error();
    result_.latencies = {
        {"launch_enqueued", enqueued}, {"launch_and_wait", *one}, {"launch_and_wait_on_other_stream", *hop}, {"round_trip", *trip}};
    return graph_.valid() ? measure_graph() : Status();
  }

  Status measure_graph() {
    const Result<double> graph = seconds([&]() -> Status {
      if (Status status = device_.segments()->launch(graph_, {}); !status) return status;
      return wait(Stream::compute);
    });
    if (!graph) return graph.error();
    result_.latencies.emplace_back("graph_of_100_launches_and_wait", *graph);
    return {};
  }

  Status measure_tables() {
    const SecondsOf seconds_of = [&](const Sample& call, const Table& table) -> Result<std::optional<double>> {
      const auto& ready = prepared_[table.key()];
      const auto found = std::find_if(ready.begin(), ready.end(),
                                      [&](const Prepared& each) { return each.call.work.cost.size() == call.work.cost.size(); });
      if (found == ready.end() || course_.late()) return std::optional<double>();
      if (Status status = upload(*found); !status) return status.error();
      const Result<bool> graph = measured_in_graph(*found);
      if (!graph) return graph.error();
      const bool in_graph = *graph;
      const auto calls = [&](int count) -> Status {
        for (int i = 0; i < count; ++i) {
          const Status status = in_graph ? device_.segments()->launch(found->steps, {}) : device_.launch(found->kernel, {});
          if (!status) return status;
        }
        return wait(Stream::compute);
      };
      const Result<double> seconds = seconds_of_call(options_.seconds_a_point, calls, now, kGroupSeconds);
      if (!seconds) return seconds.error();
      return std::optional(in_graph ? *seconds / static_cast<double>(kStepsOfAPoint) : *seconds);
    };
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (course_.late()) {
        result_.left_out += static_cast<int>(tables_.size() - i);
        return {};
      }
      say(std::string(tables_[i].op->name), 0.35 + 0.55 * static_cast<double>(i) / static_cast<double>(tables_.size()));
      if (Status status = measure_table(tables_[i], seconds_of, 0, rates_); !status) return status;
      note_rate(tables_[i]);
    }
    return {};
  }

  /// Whether the call is measured in a graph of kStepsOfAPoint launches. A call that takes kLongLaunch is not: so many of it take too long.
  Result<bool> measured_in_graph(const Prepared& prepared) {
    if (!prepared.steps.valid()) return false;
    if (Status status = launch(prepared.kernel); !status) return status.error();  // the first one may load code
    const double before = now();
    if (Status status = launch(prepared.kernel); !status) return status.error();
    return now() - before < kLongLaunch;
  }

  /// Records the rate of the largest call that was measured for `table`.
  void note_rate(const Table& table) {
    const std::string key = table.key();
    const auto measured = rates_.points.find(key);
    if (measured == rates_.points.end() || measured->second.empty()) return;
    const auto& [size, seconds] = measured->second.back();
    for (const std::int64_t elements : table.elements) {
      const std::optional<Sample> call = table.sample(elements);
      if (!call || std::round(call->work.cost.size()) != size) continue;
      std::erase_if(result_.kernels, [&](const KernelRate& rate) { return rate.table == key; });
      result_.kernels.push_back({key, table.op->cost_class, call->work.cost.bytes, call->work.cost.flops, seconds});
      return;
    }
  }

  Status measure_copies() {
    for (const bool to_accelerator : {true, false}) {
      LinkDirection& link = to_accelerator ? rates_.host_to_accelerator : rates_.accelerator_to_host;
      link.points.clear();
      link.pageable_points.clear();
      for (std::int64_t bytes = 4096; bytes <= options_.largest_copy; bytes *= 4) {
        const Result<double> pinned = seconds([&] { return copy(to_accelerator, bytes, false); });
        if (!pinned) return pinned.error();
        const Result<double> pageable = seconds([&] { return copy(to_accelerator, bytes, true); });
        if (!pageable) return pageable.error();
        link.points.emplace_back(static_cast<double>(bytes), *pinned);
        link.pageable_points.emplace_back(static_cast<double>(bytes), *pageable);
      }
      link.latency_seconds = link.points.front().second;
      link.bytes_per_second = link.points.back().first / link.points.back().second;
    }
    return {};
  }

  /// Makes one copy and waits for it. Pageable memory is staged through page-locked memory, as in the executor.
  Status copy(bool to_accelerator, std::int64_t bytes, bool pageable) {
    const auto size = static_cast<std::size_t>(bytes);
    if (to_accelerator) {
      if (pageable) std::memcpy(staging_, pageable_.bytes(), size);
      if (Status status = device_.copy_to_device({0, bytes}, staging_, {}); !status) return status;
      return wait(Stream::to_device);
    }
    if (Status status = device_.copy_to_host(staging_, {0, bytes}, {}); !status) return status;
    if (Status status = wait(Stream::to_host); !status) return status;
    if (pageable) std::memcpy(pageable_.mutable_bytes(), staging_, size);
    return {};
  }

  Status launch(KernelId kernel) {
    if (Status status = device_.launch(kernel, {}); !status) return status;
    return wait(Stream::compute);
  }
  Status wait(Stream stream) { return device_.streams().synchronize(device_.streams().record(stream)); }
  template <class F>
  Result<double> seconds(F&& call) {
    return seconds_of_call(options_.seconds_a_point, [&](int calls) -> Status {
      for (int i = 0; i < calls; ++i)
        if (Status status = call(); !status) return status;
      return {};
    });
  }
  void say(const std::string& what, double part) const {
    course_.say(what + " on the accelerator", kShareOfHost + (1 - kShareOfHost) * part);
  }

  const CalibrationOptions& options_;
  Device& device_;
  Calibration& result_;
  DeviceRates& rates_;
  RunState run_;
  Course course_;
  std::deque<Attributes> attributes_;  ///< attributes of the kernels, which keep pointers to them
  std::vector<Table> tables_;
  std::map<std::string, std::vector<Prepared>> prepared_;  ///< by table
  std::optional<Error> failed_;
  std::byte* staging_ = nullptr;
  Array pageable_;
  std::int64_t arena_ = 0;
  KernelId tiny_;
  SegmentId graph_;
};

}  // namespace

Status measure_device(const CalibrationOptions& options, Device& device, Calibration& result) {
  return DeviceCalibration(options, device, result).measure();
}

}  // namespace cleave::calibration
