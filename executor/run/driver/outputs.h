// Outputs: collects the outputs of one run as they become available, for callers who want one before the run ends. The first thread that
// has a value hands it in (the host, or EarlyOutputs, which watches its channel); the value is copied and reported once.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/arguments/run_options.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/graph.h"
#include "graph/lengths.h"
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
    Array array = copy();
    for (const std::size_t output : complete(value, std::move(array)))
      if (Status told = tell(graph_.outputs[output]); !told) return told;
    return {};
  }
  /// The array that was handed in, if any. Valid once all threads that hand in values are done.
  [[nodiscard]] const std::optional<Array>& array(ValueId value) const { return items_[static_cast<std::size_t>(item_of_[value])].array; }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Item {
    bool claimed = false;        ///< guarded by the mutex
    std::optional<Array> array;  ///< likewise, until all threads that hand in values are done
  };
  Item& item(ValueId value) { return items_[static_cast<std::size_t>(item_of_[value])]; }
  bool claim(Item& item) {
    const std::lock_guard lock(mutex_);
    return !std::exchange(item.claimed, true);
  }

  /// Whether the values of the counts of an output are there. Called under the lock.
  bool has_counts(const Output& output) {
    return std::all_of(output.lengths.begin(), output.lengths.end(),
                       [&](const Output::Length& length) { return item(output_named(graph_, length.count)->value).array.has_value(); });
  }
  /// Stores the array of `value`. Returns the outputs that have all their values with this one.
  std::vector<std::size_t> complete(ValueId value, Array array) {
    const std::lock_guard lock(mutex_);
    item(value).array.emplace(std::move(array));
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const Output& output = graph_.outputs[i];
      const bool needs = output.value == value || std::any_of(output.lengths.begin(), output.lengths.end(), [&](const auto& length) {
                           return output_named(graph_, length.count)->value == value;
                         });
      if (needs && !state_[i] && item(output.value).array && has_counts(output)) ready.push_back(i);
    }
    return ready;
  }
  Status tell(const Output& output) {
    const Result<Array> array =
        cut_to_lengths(graph_, output, *item(output.value).array, [&](ValueId count) { return *item(count).array; });
    if (!array) return array.error();
    return detail::guard_user("`on_output`", [&]() -> Status {
      call_foreign("`on_output`", {}, [&] { tell_(output.name, *array); });
      return {};
    });
  }

  const Graph& graph_;
  const std::vector<bool> state_;            ///< one flag an output: its value is a state, which stays until the next run
  IdVector<ValueId, std::int32_t> item_of_;  ///< kNone: no output
  std::vector<Item> items_;
  std::function<void(std::string_view, const Array&)> tell_;
  std::mutex mutex_;
};

}  // namespace cleave::runtime
