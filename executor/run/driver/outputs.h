// Outputs: collects the outputs of one run as they become available, for callers who want one before the run ends. The first thread that
// has a value hands it in (the host, or EarlyOutputs, which watches its channel); the value is copied and reported once.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "executor/arguments/run_options.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/graph.h"
#include "graph/states.h"

namespace cleave::runtime {

class Outputs {
 public:
  explicit Outputs(const Graph& graph) : graph_(graph), state_(state_outputs(graph)), item_of_(graph.values.size(), kNone) {
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const ValueId value = graph.outputs[i].value;
      if (state_[i] || has(value)) continue;
      item_of_[value] = static_cast<std::int32_t>(items_.size());
      items_.emplace_back();
    }
  }

  /// Must be called before each run. Without `tell` there is no listener, and values that are handed in are not copied.
  void begin(std::function<void(std::string_view, const Array&)> tell) {
    tell_ = std::move(tell);
    for (Item& item : items_) item = {};
  }
  [[nodiscard]] bool listening() const { return static_cast<bool>(tell_); }
  [[nodiscard]] bool has(ValueId value) const { return item_of_[value] != kNone; }

  /// `copy()` returns the Array of `value`. May be called from any thread. An Error if the listener throws.
  template <class Copy>
  Status hand_in(ValueId value, Copy&& copy) {
    if (!listening() || !has(value) || !claim(item(value))) return {};
    const Array& array = item(value).array.emplace(copy());
    return detail::guard_user("`on_output`", [&]() -> Status {
      for (std::size_t i = 0; i < state_.size(); ++i)
        if (graph_.outputs[i].value == value && !state_[i]) call_foreign("`on_output`", {}, [&] { tell_(graph_.outputs[i].name, array); });
      return {};
    });
  }
  /// The array that was handed in, if any. Valid once all threads that hand in values are done.
  [[nodiscard]] const std::optional<Array>& array(ValueId value) const { return items_[static_cast<std::size_t>(item_of_[value])].array; }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Item {
    bool claimed = false;  ///< guarded by the mutex
    std::optional<Array> array;
  };
  Item& item(ValueId value) { return items_[static_cast<std::size_t>(item_of_[value])]; }
  bool claim(Item& item) {
    const std::lock_guard lock(mutex_);
    return !std::exchange(item.claimed, true);
  }

  const Graph& graph_;
  const std::vector<bool> state_;            ///< one flag an output: its value is a state, which stays until the next run
  IdVector<ValueId, std::int32_t> item_of_;  ///< kNone: no output
  std::vector<Item> items_;
  std::function<void(std::string_view, const Array&)> tell_;
  std::mutex mutex_;
};

}  // namespace cleave::runtime
