// EarlyOutputs: waits for outputs that an accelerator sends, on a thread of its own, and hands them in before the host, which may be busy,
// receives them. It reads the channel's slot without releasing it: an output is sent once a run, so its slot keeps it.
#pragma once

#include <vector>

#include "executor/run/driver/outputs.h"
#include "executor/run/prepare/open_transports.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class EarlyOutputs {
 public:
  EarlyOutputs(const Prepared& prepared, const Transports& transports, Outputs& outputs);

  /// Whether any output comes from an accelerator.
  [[nodiscard]] bool needed() const { return !errands_.empty(); }
  /// Returns when all such outputs are handed in, or when no more can arrive.
  void work(RunState& run);

 private:
  void carry(RunState& run);

  struct Errand {
    std::int64_t sent = 0;  ///< order of the send in the program
    const Step* receive = nullptr;
  };
  const Prepared& prepared_;
  const Transports& transports_;
  Outputs& outputs_;
  std::vector<Errand> errands_;  ///< in the order of sending
};

}  // namespace cleave::runtime
