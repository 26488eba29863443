// StepMark: which node of which graph this thread is working on, for whoever must say so when all else is lost (a trap in a signal
// handler).
#pragma once

#include "graph/graph.h"

namespace cleave {

/// While this lives, the thread works on `node`.
class StepMark {
 public:
  StepMark(const Graph& graph, NodeId node) : outer_(current()) { current() = {&graph, node}; }
  StepMark(const StepMark&) = delete;
  StepMark& operator=(const StepMark&) = delete;
  ~StepMark() { current() = outer_; }

  struct Place {
    const Graph* graph = nullptr;
    NodeId node;
  };
  static Place& current() {
    static thread_local Place place;
    return place;
  }

 private:
  Place outer_;
};

}  // namespace cleave
