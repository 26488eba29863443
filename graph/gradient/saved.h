// SavedValues: gives backward operations the values of the forward part that they read. A value of an enclosing region is read as it is.
// One that a loop computes anew in each trip is either computed again, if that is cheap and needs no other such value, or saved: the
// forward loop carries an array with a row for each trip. One of an arm leaves it by a merge. The user's pin `recompute` takes precedence.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/gradient/gradient_location.h"
#include "graph/trace/composer.h"

namespace cleave::gradients {

class SavedValues {
 public:
  SavedValues(Tracer& tracer, GradientLocations& locations, const SourceLocation& call)
      : tracer_(tracer), locations_(locations), composer_(tracer, locations.of(call)) {}

  /// A forward loop whose backward loop is being recorded.
  struct OpenLoop {
    NodeId forward;
    Part trip;  ///< the number of the forward trip that the current backward trip belongs to
  };
  void open(OpenLoop loop) { open_.push_back(std::move(loop)); }
  void close() { open_.pop_back(); }

  /// The forward `value`, readable where operations are recorded now.
  Part read(ValueId value);
  /// The number of trips that a loop made, as a value of the region that holds it. Its type is i32; a literal if it is known.
  Part trips_made(NodeId loop);
  /// The largest number of trips; nothing if there is no bound.
  [[nodiscard]] std::optional<std::int64_t> most_trips(NodeId loop) const;

 private:
  struct Key {
    ValueId value;
    RegionId region;
    auto operator<=>(const Key&) const = default;
  };
  Part find(ValueId value);
  Part from_trip(ValueId value, const OpenLoop& loop);
  Part from_arm(ValueId value);
  Part stack_of(ValueId value, NodeId loop);
  Part forward_counter(NodeId loop);
  bool cheap(ValueId value, int depth) const;
  [[nodiscard]] bool pinned(ValueId value) const;
  [[nodiscard]] std::vector<NodeId> pinned_chain(NodeId node) const;
  Parts compute_again(NodeId node);
  Part zeros(const TensorType& type);
  [[nodiscard]] const OpenLoop* open_loop(NodeId loop) const;

  Tracer& tracer_;
  GradientLocations& locations_;
  Composer composer_;
  std::vector<OpenLoop> open_;
  std::map<Key, Part> known_;                 ///< what `read` gave in each region
  std::map<ValueId, ValueId> stacks_;         ///< by the value whose rows they hold
  std::map<ValueId, ValueId> merged_;         ///< by the value that they carry out of its arm
  std::map<NodeId, ValueId> trips_;           ///< counted by the loop itself
  std::map<NodeId, ValueId> while_counters_;  ///< the same counter as the loop's body sees it
};

}  // namespace cleave::gradients
