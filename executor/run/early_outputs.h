// EarlyOutputs: waits for the outputs that an accelerator sends, on a thread of its own, and hands them in before the host, busy or not,
// comes to receive them. It looks at the channel's slot and takes nothing: such a value is sent once a run, so the slot keeps it.
#pragma once

#include <vector>

#include "executor/run/outputs.h"
#include "executor/run/prepared.h"

namespace cleave::runtime {

class EarlyOutputs {
 public:
  EarlyOutputs(Prepared& prepared, Outputs& outputs);

  /// Whether an output comes from an accelerator at all.
  [[nodiscard]] bool needed() const { return !errands_.empty(); }
  /// Returns when all of them are handed in, or none will come any more.
  void work(RunState& run);

 private:
  void carry(RunState& run);

  struct Errand {
    std::int64_t sent = 0;  ///< when, in the program's order
    const Step* receive = nullptr;
  };
  Prepared& prepared_;
  Outputs& outputs_;
  std::vector<Errand> errands_;  ///< in the order of sending
};

}  // namespace cleave::runtime
