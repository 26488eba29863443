// StepMark: records which node of which graph this thread is executing, for a signal handler that has to name it.
#pragma once

#include <atomic>

#include "graph/graph.h"

namespace cleave::runtime {

/// While this object lives, the thread is executing `node`.
class StepMark {
 public:
  StepMark(const Graph& graph, NodeId node) : outer_(current()) { set({&graph, node}); }
  StepMark(const StepMark&) = delete;
  StepMark& operator=(const StepMark&) = delete;
  ~StepMark() { set(outer_); }

  struct MarkedStep {
    const Graph* graph = nullptr;
    NodeId node;
  };
  static MarkedStep& current() {
    static thread_local MarkedStep place;
    return place;
  }

 private:
  /// The fences keep the compiler from moving the store: its only reader is a signal handler of this thread.
  static void set(const MarkedStep& place) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    current() = place;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  MarkedStep outer_;
};

}  // namespace cleave::runtime
