#include "tools/calibration/host_calibration.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/lapack.h"
#include "graph/base/check.h"
#include "tools/calibration/points.h"
#include "tools/calibration/step_seconds.h"

namespace cleave::calibration {

using namespace runtime;
namespace {

constexpr int kStepsOfAGroup = 3;

class HostCalibration {
 public:
  HostCalibration(const CalibrationOptions& options, Calibration& result)
      : options_(options), result_(result), rates_(result.machine.host), course_(options, share() * options.most_seconds) {}
  HostCalibration(const HostCalibration&) = delete;
  HostCalibration& operator=(const HostCalibration&) = delete;
  ~HostCalibration() {
    std::error_code is_left;
    if (!scratch_.empty()) std::filesystem::remove_all(scratch_, is_left);
  }

  Status measure() {
    all_ = Workers::of(options_.threads);
    rates_.threads = all_->threads();
    if (rates_.threads == 1) clock_ = processor_time;
    if (Status status = measure_step(); !status) return status;
    const std::vector<Table> wanted = tables(all_->threads(), options_.memory_bytes / 16, false);
    const SecondsOf seconds_of = [&](const Sample& call, const Table& table) { return seconds(call, table.how); };
    // Measures twice, since other work may disturb a measurement for seconds; the second time only as far as the time budget allows.
    for (std::size_t turn = 0; turn < 2; ++turn) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (course_.late(turn == 0 ? 0 : 0.1 * share() * options_.most_seconds)) {  // the comparison needs time too
          if (turn == 0) result_.left_out += static_cast<int>(wanted.size() - i);
          break;
        }
        const double part = static_cast<double>(turn * wanted.size() + i) / static_cast<double>(2 * wanted.size());
        course_.say(std::string(wanted[i].op->name) + " on the host", share() * part);
        const double step = wanted[i].how == Table::How::fused ? 0 : step_;
        if (Status status = measure_table(wanted[i], seconds_of, step, rates_); !status) return status;
      }
    }
    tidy(rates_);
    return compare(wanted);
  }

 private:
  [[nodiscard]] double share() const { return options_.open ? kShareOfHost : 1; }

  /// Measures the overhead of a run, an iteration and a step beside their kernels, and the cost of the smallest step.
  Status measure_step() {
    const auto tiny = [&](const char* op) { return seconds(*sample(*find_op(op), DType::f32, "", 0, 1), Table::How::plain); };
    const Result<StepSeconds> run = measure_steps(10 * options_.seconds_a_point, options_.threads, clock_);
    if (!run) return run.error();
    rates_.run_seconds = run->run;
    rates_.trip_seconds = run->trip;
    const Result<std::optional<double>> kernel = tiny("cumulative_sum"), sum = tiny("add");
    if (!kernel || !sum) return (kernel ? sum : kernel).error();
    if (!*kernel || !*sum) return Error{"there is no memory to measure with", {}, ErrorKind::machine};
    step_ = std::max(0.0, run->step - **kernel);
    rates_.overhead_seconds = step_ + **sum;
    return {};
  }

  /// Makes a new folder for written files in the temporary folder; empty if that fails.
  static std::string make_scratch() {
    std::error_code none;
    std::string folder = (std::filesystem::temp_directory_path(none) / "cleave-calibrate-XXXXXX").string();
    return !none && mkdtemp(folder.data()) ? folder : "";
  }

  Result<std::optional<double>> seconds(const Sample& sample, Table::How how) {
    Sample call = sample;
    if (call.attributes.find("path")) {
      if (scratch_.empty()) return std::optional<double>();
      call.attributes.set("path", scratch_ + "/" + sample.attributes.get<std::string>("path"));
    }
    if (call.bytes() > options_.memory_bytes) return std::optional<double>();
    if (call.op->cost_class == CostClass::factorization && !runtime::host::lapack()) return std::optional<double>();
    Workers& workers = how == Table::How::one_thread ? Workers::none() : *all_;
    if (how != Table::How::fused) return run(call, request_of(call), workers);
    // Measures fused groups of two and of several operations: the difference is the cost of one more.
    const KernelRequest one = group_of(call, 1), several = group_of(call, 1 + kStepsOfAGroup);
    if (one.steps.empty() || !host_fuses(several) || !host_fuses(group_of(call, 2))) return std::optional<double>();
    const Result<std::optional<double>> first = run(call, group_of(call, 2), workers), last = run(call, several, workers);
    if (!first || !last || !*first || !*last) return first ? last : first;
    return std::optional(std::max((**last - **first) / (kStepsOfAGroup - 1), 1e-3 * **first));
  }

  static KernelRequest request_of(const Sample& call) { return {{}, call.op, &call.attributes, call.inputs, call.results, {}, {}, {}, {}}; }

  /// A fused group of `steps` operations, each on the result of the one before; without steps if the result's type cannot be an operand.
  static KernelRequest group_of(const Sample& call, int steps) {
    KernelRequest request = request_of(call);
    const auto first = static_cast<std::size_t>(call.op->promote_from);
    if (call.results[0] != call.inputs[first]) return request;
    for (int i = 0; i < steps; ++i) {
      FusedStep step{{}, call.op, &call.attributes, {}, call.results[0]};
      for (std::size_t k = 0; k < call.inputs.size(); ++k)
        step.operands.push_back(i > 0 && k == first ? call.inputs.size() + static_cast<std::size_t>(i) - 1 : k);
      request.steps.push_back(std::move(step));
    }
    request.written = {static_cast<std::size_t>(steps) - 1};
    return request;
  }

  /// Returns nothing if memory is short.
  Result<std::optional<double>> run(const Sample& call, const KernelRequest& request, Workers& workers) {
    CLEAVE_CHECK(call.inputs.size() <= operands_.size() && call.results.size() <= results_.size(), "a sample of many values");
    std::vector<TensorView> views;
    for (std::size_t i = 0; i < call.inputs.size() + call.results.size(); ++i) {
      const bool input = i < call.inputs.size();
      const TensorType& type = input ? call.inputs[i] : call.results[i - call.inputs.size()];
      std::byte* data = input ? operand(i, type, call.contents_of(i)) : memory(results_[i - call.inputs.size()], type.bytes());
      if (!data) return std::optional<double>();
      views.push_back({&type, data});
    }
    const bool effect = call.op->purity != Purity::pure;
    const OpContext context{[this](std::string_view line) { print(line); }};
    const std::span<const TensorView> all = views;
    const KernelCall kernel_call{*request.op, *request.attributes, all.first(call.inputs.size()), all.last(call.results.size()), context,
                                 workers};
    const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request);
    const auto calls = [&](int count) -> Status {
      for (int i = 0; i < count; ++i)
        if (Status status = run_guarded(*kernel, kernel_call); !status) return status;
      return {};
    };
    // The processor time of a single thread is exact however busy the machine is, but excludes the time it waits for a file.
    const Result<double> seconds = seconds_of_call(0.5 * options_.seconds_a_point, calls, effect ? now : clock_);
    if (!seconds && effect) return std::optional<double>();  // no file can be written
    if (!seconds) return seconds.error();
    return std::optional(*seconds);
  }

  /// Prints a line as a run does, but to /dev/null: one system call for each.
  void print(std::string_view line) const {
    if (!nowhere_) return;
    std::fwrite(line.data(), 1, line.size(), nowhere_.get());
    std::fputc('\n', nowhere_.get());
    std::fflush(nowhere_.get());
  }

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  struct Memory {
    std::int64_t offset = 0;  ///< from the start of the array
    Array array;
    std::int64_t bytes = 0;
    DType type = DType::f32;  ///< of the contents, `bytes` long
    std::int64_t filled = 0;
  };

  /// The memory, grown if it is too small; null if there is no more.
  static std::byte* memory(Memory& memory, std::int64_t bytes) {
    if (memory.bytes < bytes || memory.bytes == 0) {
      const std::int64_t wanted = std::max<std::int64_t>(bytes, 64);
      Result<Array> array = Array::allocate({DType::u8, {wanted + memory.offset}});
      if (!array) return nullptr;
      memory = {memory.offset, *std::move(array), wanted, DType::f32, 0};
      std::memset(memory.array.mutable_bytes(), 0, static_cast<std::size_t>(wanted + memory.offset));
    }
    return memory.array.mutable_bytes() + memory.offset;
  }

  std::byte* operand(std::size_t i, const TensorType& type, const Contents& contents) {
    Memory& at = operands_[i];
    std::byte* data = memory(at, type.bytes());
    if (!data || (contents.anything() && at.type == type.dtype && at.filled >= type.bytes())) return data;
    fill(data, type.dtype, type.bytes(), contents);
    at.type = type.dtype;
    at.filled = contents.anything() ? type.bytes() : 0;
    return data;
  }

  /// Compares each plain f32 table with calls of sizes between its points: the predicted and the measured seconds.
  Status compare(const std::vector<Table>& wanted) {
    const planner::OpCosts costs(rates_);
    std::vector<double> factors;
    for (const Table& table : wanted) {
      if (course_.late() || table.how != Table::How::plain || table.type != DType::f32 || table.rows > 0) continue;
      if (table.op->purity != Purity::pure) continue;  // the time to write a file varies
      const auto points = rates_.points.find(table.key());
      for (const std::int64_t elements : {3 << 10, 3 << 16}) {
        const std::optional<Sample> call = table.sample(elements);
        if (!call || points == rates_.points.end() || call->work.cost.size() > points->second.back().first) continue;
        const Result<std::optional<double>> taken = seconds(*call, table.how);
        if (!taken) return taken.error();
        if (!*taken) continue;
        const double ratio = costs.cost(call->work).seconds / (**taken + step_);
        factors.push_back(std::max(ratio, 1 / ratio));
        if (factors.back() > result_.fit.worst) result_.fit.worst_table = table.key();
        result_.fit.worst = std::max(result_.fit.worst, factors.back());
      }
    }
    result_.fit.calls = static_cast<int>(factors.size());
    if (factors.empty()) return {};
    std::nth_element(factors.begin(), factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2), factors.end());
    result_.fit.median = factors[factors.size() / 2];
    return {};
  }

  const CalibrationOptions& options_;
  Calibration& result_;
  DeviceRates& rates_;
  Course course_;
  std::shared_ptr<Workers> all_;
  Clock clock_ = now;
  std::unique_ptr<std::FILE, CloseFile> nowhere_{std::fopen("/dev/null", "w")};
  double step_ = 0;
  const std::string scratch_ = make_scratch();
  /// Each array has another offset within its page: addresses that differ by whole pages compete for the same cache sets.
  std::array<Memory, 6> operands_ = {Memory{0}, Memory{1088}, Memory{2176}, Memory{3264}, Memory{320}, Memory{1408}};
  std::array<Memory, 4> results_ = {Memory{640}, Memory{1728}, Memory{2816}, Memory{3904}};
};

}  // namespace

Status measure_host(const CalibrationOptions& options, Calibration& result) {
  return HostCalibration(options, result).measure();
}

}  // namespace cleave::calibration
