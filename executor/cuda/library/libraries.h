// Libraries: the optional CUDA libraries, each opened at its first use. If one is missing, its operations run on the host; planning
// therefore asks here too. Knows tables of calls, no operation.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "executor/cuda/library/dnn_api.h"
#include "executor/cuda/library/fft_api.h"
#include "executor/cuda/library/solver_api.h"

namespace cleave::runtime::cuda {

/// A table of calls that the first `get` fills.
template <class Api>
class OptionalLibrary {
 public:
  using Load = std::function<Result<Api>()>;
  explicit OptionalLibrary(Load load) : load_(std::move(load)) {}

  /// The table, or the reason why there is none. From any thread.
  const Result<Api>& get() const {
    std::call_once(once_, [this] { api_ = load_(); });
    return *api_;
  }

 private:
  const Load load_;
  mutable std::once_flag once_;
  mutable std::optional<Result<Api>> api_;
};

struct Libraries {
  OptionalLibrary<FftApi> fft{FftApi::load};
  OptionalLibrary<SolverApi> solver{SolverApi::load};
  OptionalLibrary<DnnApi> dnn{DnnApi::load};
};

}  // namespace cleave::runtime::cuda
