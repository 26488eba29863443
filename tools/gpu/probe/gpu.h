// Gpu: the state that the probe's measurements share: a context, the kernels, two streams, and waits that time out if the GPU hangs.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/resources.h"
#include "tools/calibration/points.h"
#include "tools/gpu/probe/probe.h"

namespace cleave::probe {

using namespace runtime::cuda;

/// Seconds of one call with its own wait (`alone`), and of one of many calls with a single wait after them (`in_a_row`).
struct Times {
  double alone = 0, in_a_row = 0;
};

class Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> open(const Api& api, const ProbeOptions& options);

  [[nodiscard]] const DriverApi& driver() const { return context_->api(); }
  [[nodiscard]] const Context& context() const { return *context_; }
  [[nodiscard]] CUstream stream(std::size_t index = 0) const { return streams_[index].get(); }
  [[nodiscard]] bool late() const { return calibration::now() > end_; }

  /// Waits until the stream's work is done. If that takes too long, the GPU counts as lost.
  Status wait(std::size_t stream = 0);
  Result<CUfunction> function(const std::string& name) const;
  Status launch(CUfunction function, unsigned blocks, unsigned threads, const std::vector<std::uint64_t>& values = {}) const;

  /// Times `calls(n)`, which must make n calls and then wait once.
  template <class Calls>
  Result<Times> time(Calls&& calls) const {
    constexpr double kLong = 5e-3;  // seconds of one group of calls; the wait then takes about a thousandth of it
    const auto repeated = [&](int many) {
      return calibration::seconds_of_call(slice_, [&](int n) -> Status {
        for (int i = 0; i < n; ++i)
          if (Status status = calls(many); !status) return status;
        return {};
      });
    };
    const Result<double> alone = repeated(1);
    if (!alone) return alone.error();
    const int many = static_cast<int>(std::clamp(kLong / *alone, 1.0, 1000.0));
    if (many == 1) return Times{*alone, *alone};
    const Result<double> all = repeated(many);
    if (!all) return all.error();
    return Times{*alone, *all / many};
  }

 private:
  explicit Gpu(const ProbeOptions& options)
      : patience_(options.patience), slice_(options.seconds / 2000), end_(calibration::now() + options.seconds) {}

  const double patience_, slice_, end_;
  std::shared_ptr<Context> context_;
  ModuleHandle kernels_;
  std::array<StreamHandle, 2> streams_;
  std::array<EventHandle, 2> events_;
};

/// Adds rows to one part of the document while there is time.
class Rows {
 public:
  Rows(const Gpu& gpu, const ProbeOptions& options, nlohmann::ordered_json& document, const std::string& part);
  void add(nlohmann::ordered_json row);
  /// True if there is time for another row; otherwise the row is counted as left out.
  bool another();

 private:
  const Gpu& gpu_;
  const ProbeOptions& options_;
  nlohmann::ordered_json& document_;
  const std::string part_;
};

Status measure_launches(Gpu& gpu, Rows& rows);
Status measure_graphs(Gpu& gpu, Rows& rows);
Status measure_ping_pong(Gpu& gpu, const ProbeOptions& options, Rows& rows);
Status measure_link(Gpu& gpu, const ProbeOptions& options, bool pageable, Rows& rows);
Status measure_memory(Gpu& gpu, const ProbeOptions& options, Rows& rows);
Status measure_products(Gpu& gpu, const BlasApi& blas, const ProbeOptions& options, Rows& rows);

}  // namespace cleave::probe
