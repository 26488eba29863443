#include "tools/calibration/device_calibration.h"

#include <algorithm>
#include <cstring>

#include "executor/device/device.h"
#include "executor/device/run_state.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {

using namespace runtime;
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr int kLaunchesInARow = 200;
constexpr std::size_t kStepsOfAGraph = 100;

KernelRequest request_for(const char* op, const Attributes& attributes, const TensorType& type, Range a, Range b, Range c) {
  return {NodeId(), find_op(op), &attributes, {type, type}, {type}, {a, b}, {c}};
}

/// An accelerator, by waiting for what was put on its streams.
class DeviceCalibration {
 public:
  DeviceCalibration(const CalibrationOptions& options, Device& device, Calibration& result)
      : options_(options), device_(device), result_(result), rates_(result.machine.accelerators.front()) {}

  Status measure() {
    if (Status status = make_ready(); !status) return status;
    if (Status status = device_.begin_run(run_); !status) return status;
    Status status = measure_all();
    device_.end_run();
    if (status && run_.error()) return *run_.error();
    return status;
  }

 private:
  struct Product {
    DType type;
    std::int64_t rows;
    KernelId kernel;
  };

  static std::int64_t rounded(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  /// Memory, staging and kernels: all there is before the run.
  Status make_ready() {
    const std::int64_t matrix = rounded(options_.largest_matrix * options_.largest_matrix * 8);
    const std::int64_t operand = std::max(matrix, rounded(options_.memory_bytes / 3));
    const std::int64_t arena = std::max(3 * operand, rounded(options_.largest_copy));
    if (Status status = device_.allocate(arena); !status) return status;
    Result<std::byte*> staging = device_.allocate_staging(options_.largest_copy);
    if (!staging) return staging.error();
    staging_ = *staging;
    std::memset(staging_, 0, static_cast<std::size_t>(options_.largest_copy));
    Result<Array> pageable = Array::allocate({DType::u8, {options_.largest_copy}});
    if (!pageable) return pageable.error();
    pageable_ = *std::move(pageable);
    std::memset(pageable_.mutable_bytes(), 0, static_cast<std::size_t>(options_.largest_copy));
    arena_ = arena;
    operand_ = operand;
    const auto prepare = [&](const char* op, const TensorType& type, KernelId& kernel) -> Status {
      const std::int64_t bytes = type.bytes();
      Result<KernelId> made = device_.prepare(request_for(op, attributes_, type, {0, bytes}, {operand, bytes}, {2 * operand, bytes}));
      if (!made) return made.error();
      kernel = *made;
      return {};
    };
    if (Status status = prepare("add", {DType::f32, {}}, tiny_); !status) return status;
    for (const DType type : kTypes) {
      for (const TensorType& vector : vectors(type, options_.memory_bytes)) {
        KernelId kernel;
        if (Status status = prepare("add", vector, kernel); !status) return status;
        sums_.emplace_back(vector, kernel);
      }
      for (std::int64_t rows = 64; rows <= options_.largest_matrix; rows *= 2) {
        Product product{type, rows, {}};
        if (Status status = prepare("matmul", {type, {rows, rows}}, product.kernel); !status) return status;
        products_.push_back(product);
      }
    }
    if (device_.joins(tiny_)) {
      DeviceStep step;
      step.kernel = tiny_;
      graph_ = device_.prepare_segment(std::vector<DeviceStep>(kStepsOfAGraph, step));
    }
    return {};
  }

  Status measure_all() {
    // Nothing is read before it was written.
    for (std::int64_t done = 0; done < arena_; done += options_.largest_copy) {
      const Range piece{done, std::min(options_.largest_copy, arena_ - done)};
      if (Status status = device_.copy_to_device(piece, staging_, {}); !status) return status;
      if (Status status = device_.synchronize(device_.record(Stream::to_device)); !status) return status;
    }
    say("launches");
    if (Status status = measure_launches(); !status) return status;
    say("matrix products");
    if (Status status = measure_products(); !status) return status;
    say("memory");
    if (Status status = measure_memory(); !status) return status;
    say("copies");
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
      if (Status status = device_.wait(Stream::to_host, device_.record(Stream::compute)); !status) return status;
      return wait(Stream::to_host);
    });
    if (!hop) return hop.error();
    const Result<double> trip = seconds([&]() -> Status {
      if (Status status = device_.launch(tiny_, {}); !status) return status;
      if (Status status = device_.wait(Stream::to_host, device_.record(Stream::compute)); !status) return status;
      if (Status status = device_.copy_to_host(staging_, {2 * operand_, 8}, {}); !status) return status;
      if (Status status = wait(Stream::to_host); !status) return status;
      if (Status status = device_.copy_to_device({0, 8}, staging_, {}); !status) return status;
      if (Status status = device_.wait(Stream::compute, device_.record(Stream::to_device)); !status) return status;
      return launch(tiny_);
    });
    if (!trip) return trip.error();
    result_.latencies = {
        {"launch_enqueued", enqueued}, {"launch_and_wait", *one}, {"launch_and_wait_on_other_stream", *hop}, {"round_trip", *trip}};
    return graph_.valid() ? measure_graph() : Status();
  }

  Status measure_graph() {
    const Result<double> graph = seconds([&]() -> Status {
      if (Status status = device_.launch_segment(graph_, {}); !status) return status;
      return wait(Stream::compute);
    });
    if (!graph) return graph.error();
    result_.latencies.emplace_back("graph_of_100_launches_and_wait", *graph);
    return {};
  }

  Status measure_memory() {
    for (const DType type : kTypes) {
      auto seconds_of = [&](const TensorType& vector) {
        const auto sum = std::find_if(sums_.begin(), sums_.end(), [&](const auto& each) { return each.first == vector; });
        return seconds([&] { return launch(sum->second); });
      };
      if (Status status = memory_points(options_.memory_bytes, rates_, type, seconds_of); !status) return status;
    }
    return {};
  }

  Status measure_products() {
    for (const DType type : kTypes) {
      auto seconds_of = [&](std::int64_t rows) {
        const auto product =
            std::find_if(products_.begin(), products_.end(), [&](const Product& each) { return each.type == type && each.rows == rows; });
        return seconds([&] { return launch(product->kernel); });
      };
      if (Status status = product_points(options_.largest_matrix, rates_, type, seconds_of); !status) return status;
    }
    return {};
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

  /// One copy, waited for. Pageable memory goes through page-locked memory, as it does in the executor.
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
  Status wait(Stream stream) { return device_.synchronize(device_.record(stream)); }
  template <class F>
  Result<double> seconds(F&& call) {
    return median_seconds(options_.seconds_a_point, call);
  }
  void say(std::string_view what) const {
    if (options_.progress) options_.progress(what);
  }

  const CalibrationOptions& options_;
  Device& device_;
  Calibration& result_;
  DeviceRates& rates_;
  RunState run_;
  const Attributes attributes_;
  std::byte* staging_ = nullptr;
  Array pageable_;
  std::int64_t arena_ = 0, operand_ = 0;
  KernelId tiny_;
  SegmentId graph_;
  std::vector<std::pair<TensorType, KernelId>> sums_;
  std::vector<Product> products_;
};

}  // namespace

Status measure_device(const CalibrationOptions& options, Device& device, Calibration& result) {
  return DeviceCalibration(options, device, result).measure();
}

}  // namespace cleave::calibration
