// SharedConstants: arrays that several programs have in common, by content. A model that is compiled for several sizes has the same weights
// in each of its programs: they are stored once, and so is what kernels derive from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// May be used from any thread. Arrays that no graph in use has are released at the next call of `share`.
class SharedConstants {
 public:
  SharedConstants();
  ~SharedConstants();
  SharedConstants(const SharedConstants&) = delete;
  SharedConstants& operator=(const SharedConstants&) = delete;

  /// Replaces large constants of the graph, and values with which its parameters begin, by equal arrays of graphs that are in use. Memory
  /// that a caller lent stays as it is, since its owner may change it.
  void share(Graph& graph);
  /// The graph is in use as long as it exists, and so are its arrays. Returns the memory of replaced arrays to the system.
  void use(const std::shared_ptr<const Graph>& graph);

  /// What `make` derives from the constant at an address: made by the first caller, and kept as long as a caller keeps it. The constant
  /// must live as long. `form` names the kind of data, `bytes` is their size.
  std::shared_ptr<void> derived(const void* constant, const std::string& form, std::int64_t bytes,
                                const std::function<std::shared_ptr<void>()>& make);
  /// Data that were derived from the constant at an address before, perhaps by another process: the next call of `derived` with this form
  /// and number of bytes returns them. They are only read.
  void offer(const void* constant, const std::string& form, std::int64_t bytes, std::shared_ptr<const void> data);
  struct Derived {
    const void* constant = nullptr;
    std::string form;
    std::int64_t bytes = 0;
    std::shared_ptr<const void> data;
  };
  /// All derived data that are in use, sorted by form.
  [[nodiscard]] std::vector<Derived> all_derived();
  /// Bytes of all derived data that are in use.
  [[nodiscard]] std::int64_t derived_bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Bytes of the different arrays that are constants of the graphs, or values with which their parameters begin: each array counts once.
std::int64_t constant_bytes(const std::vector<const Graph*>& graphs);

}  // namespace cleave
