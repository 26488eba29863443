// Each class stands for its two vertices of the network, x (on the host) and y (not on the accelerator). Each vertex has four sums: the
// certain flow from the source, the certain flow to the sink, and bounds on all flow in and out. If the certain inflow can fill every arc
// out, the class belongs to the source; if the certain outflow exceeds every arc in, to the sink. A decision makes flows of neighbors
// certain or impossible, until no further decision follows. The sums of x and y are compared as the one-way arc from y to x allows.
#include "partitioner/solver/reduce.h"

#include <algorithm>
#include <utility>

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;

class Reducer {
 public:
  Reducer(const PlacementProblem& problem, const UsesByValue& uses, const CapacityScale& scale, const Reductions& which,
          Contraction& contraction)
      : problem_(problem),
        uses_(uses),
        scale_(scale),
        which_(which),
        contraction_(contraction),
        sums_(contraction.classes.size()),
        values_(problem.values.size()) {}

  void run() {
    index_by_class();
    add_executions();
    add_transfers();
    add_savings();
    drop_useless_replicas();
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(sums_.size()); ++c) {
      if (contraction_.classes[c].pin != Pin::none) pending_.push_back(c);
    }
    cascade();
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(sums_.size()); ++c) consider(c);
    cascade();
  }

 private:
  struct Flow {
    std::int64_t source = 0, sink = 0;  ///< certain
    __int128 in = 0, out = 0;           ///< bounds, certain flow included; repeated uses may count several times
  };
  struct Sums {
    Flow x, y;
  };
  /// The transfers of a value in one direction.
  struct Moves {
    std::int64_t most = 0;     ///< bound on their cost
    std::int64_t certain = 0;  ///< cost that is certain if the producer is not on that side
    std::int32_t open = 0;     ///< undecided uses that may need the value there
  };
  struct ValueState {
    Moves to_accelerator, to_host;
    bool single = false;  ///< whether the value has only one use
  };

  /// A saving on one side.
  struct SavedThere {
    std::int64_t saved = 0;  ///< 0: it certainly does not apply
    std::int32_t open = 0;   ///< members that are undecided classes
  };
  struct SavingState {
    SavedThere host, accelerator;
    bool alone = false;
  };

  void index_by_class();
  void add_executions();
  void add_transfers();
  void add_savings();
  void index_savings();
  void drop_useless_replicas();
  void consider(std::int32_t c);
  void cascade();
  void producer_decided(std::int32_t v, bool on_host);
  void consumer_decided(const PlacementProblem::Use& use, bool on_host);
  void member_decided(std::int32_t saving, std::int32_t member, bool on_host);

  [[nodiscard]] std::int32_t class_of(std::int32_t node) const { return contraction_.class_of[node]; }
  /// Bound on the cost of a transfer for one use: its cost in the cheapest region on the path.
  [[nodiscard]] std::int64_t capacity(const PlacementProblem::Use& use, bool to_accelerator) const {
    const auto& value = problem_.values[use.value];
    double frequency = problem_.regions[value.region].frequency;
    for (std::int32_t r = use.region; r != value.region; r = problem_.regions[r].parent) {
      frequency = std::min(frequency, problem_.regions[r].frequency);
    }
    return scale_.units(frequency * (to_accelerator ? value.host_to_accelerator_seconds : value.accelerator_to_host_seconds));
  }

  const PlacementProblem& problem_;
  const UsesByValue& uses_;
  const CapacityScale& scale_;
  const Reductions& which_;
  Contraction& contraction_;
  std::vector<Sums> sums_;
  std::vector<ValueState> values_;
  std::vector<std::int32_t> first_value_, value_order_, first_use_, use_order_;  ///< of each class
  std::vector<SavingState> savings_;
  std::vector<std::int32_t> first_member_, members_;       ///< classes of each saving, each once
  std::vector<std::int32_t> first_saving_, saving_order_;  ///< of each class
  std::vector<std::uint8_t> decided_;                      ///< classes whose decision the savings have been told
  std::vector<std::int32_t> pending_;
};

void Reducer::index_by_class() {
  const std::size_t count = sums_.size();
  first_value_.assign(count + 1, 0);
  first_use_.assign(count + 1, 0);
  for (const auto& value : problem_.values) ++first_value_[class_of(value.node) + 1];
  for (const auto& use : problem_.uses) ++first_use_[class_of(use.node) + 1];
  for (std::size_t c = 0; c < count; ++c) {
    first_value_[c + 1] += first_value_[c];
    first_use_[c + 1] += first_use_[c];
  }
  value_order_.resize(problem_.values.size());
  use_order_.resize(problem_.uses.size());
  for (std::size_t v = problem_.values.size(); v-- > 0;)
    value_order_[--first_value_[class_of(problem_.values[v].node) + 1]] = static_cast<std::int32_t>(v);
  for (std::size_t u = problem_.uses.size(); u-- > 0;)
    use_order_[--first_use_[class_of(problem_.uses[u].node) + 1]] = static_cast<std::int32_t>(u);
  // Filling moved each class's end to its beginning: entry c + 1 now holds where class c begins.
  first_value_.erase(first_value_.begin());
  first_value_.push_back(static_cast<std::int32_t>(problem_.values.size()));
  first_use_.erase(first_use_.begin());
  first_use_.push_back(static_cast<std::int32_t>(problem_.uses.size()));
}

void Reducer::add_executions() {
  for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
    const auto& node = problem_.nodes[i];
    Sums& sums = sums_[contraction_.class_of[i]];
    const double frequency = problem_.regions[node.region].frequency;
    const std::int64_t host = scale_.units(frequency * node.host_seconds), accelerator = scale_.units(frequency * node.accelerator_seconds);
    sums.x.sink += host;
    sums.x.out += host;
    sums.y.source += accelerator;
    sums.y.in += accelerator;
  }
}

/// Adds bounds as if every transfer were possible; later decisions subtract those that are not.
void Reducer::add_transfers() {
  for (std::size_t v = 0; v < problem_.values.size(); ++v) {
    const std::int32_t producer = class_of(problem_.values[v].node);
    const auto& value = problem_.values[v];
    const double top = problem_.regions[value.region].frequency;
    const std::int64_t once_there = scale_.units(top * value.host_to_accelerator_seconds);
    const std::int64_t once_back = scale_.units(top * value.accelerator_to_host_seconds);
    ValueState& state = values_[v];
    for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) {
      const auto& use = problem_.uses[uses_.order[i]];
      if (class_of(use.node) == producer) continue;
      const std::int64_t there = capacity(use, true), back = capacity(use, false);
      state.to_accelerator.most = std::min(state.to_accelerator.most + there, once_there);
      state.to_host.most = std::min(state.to_host.most + back, once_back);
      ++state.to_accelerator.open;
      ++state.to_host.open;
      Sums& consumer = sums_[class_of(use.node)];
      consumer.y.in += there;
      consumer.x.out += back;
    }
    state.single = state.to_host.open == 1;
    sums_[producer].y.out += state.to_accelerator.most;
    sums_[producer].x.in += state.to_host.most;
  }
}

/// Adds bounds as if every saving were possible. A member's side is expressed by x for a saving on the host and by y for one on the
/// accelerator. If a member must also have no copy on the other side, the other variable expresses both conditions.
void Reducer::add_savings() {
  if (problem_.savings.empty()) return;
  decided_.assign(sums_.size(), 0);
  first_member_.push_back(0);
  for (const auto& saving : problem_.savings) {
    const double frequency = problem_.regions[problem_.nodes[saving.node].region].frequency;
    const auto first = members_.insert(members_.end(), class_of(saving.node));
    const std::ptrdiff_t begin = first - members_.begin();
    for (const std::int32_t node : saving.with) members_.push_back(class_of(node));
    std::sort(members_.begin() + begin, members_.end());
    members_.erase(std::unique(members_.begin() + begin, members_.end()), members_.end());
    first_member_.push_back(static_cast<std::int32_t>(members_.size()));
    const auto open = static_cast<std::int32_t>(members_.size()) - static_cast<std::int32_t>(begin);
    SavingState state{
        {scale_.units(frequency * saving.host_seconds), open}, {scale_.units(frequency * saving.accelerator_seconds), open}, saving.alone};
    for (auto member = members_.begin() + begin; member != members_.end(); ++member) {
      Sums& sums = sums_[*member];
      Flow &on_host = saving.alone ? sums.y : sums.x, &on_accelerator = saving.alone ? sums.x : sums.y;
      on_host.in += state.host.saved;
      on_accelerator.out += state.accelerator.saved;
      if (open > 1) continue;
      on_host.source += state.host.saved;
      on_accelerator.sink += state.accelerator.saved;
    }
    savings_.push_back(state);
  }
  index_savings();
}

void Reducer::index_savings() {
  first_saving_.assign(sums_.size() + 1, 0);
  for (const std::int32_t member : members_) ++first_saving_[member + 1];
  for (std::size_t c = 0; c < sums_.size(); ++c) first_saving_[c + 1] += first_saving_[c];
  saving_order_.resize(members_.size());
  std::vector<std::int32_t> next(first_saving_.begin(), first_saving_.end() - 1);
  for (std::size_t s = 0; s < savings_.size(); ++s) {
    for (std::int32_t i = first_member_[s]; i < first_member_[s + 1]; ++i)
      saving_order_[next[members_[i]]++] = static_cast<std::int32_t>(s);
  }
}

/// A second copy saves at most the transfers of the class's own values in one direction.
void Reducer::drop_useless_replicas() {
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    Contraction::Class& group = contraction_.classes[c];
    if (!group.replicable || group.keep_accelerator_copy) continue;
    // At equal cost the canonical cut has no accelerator copy, but it has the host copy (until that is dropped as unread).
    if (sums_[c].y.source >= sums_[c].y.out || sums_[c].x.sink > sums_[c].x.in) group.replicable = false;
  }
}

void Reducer::consider(std::int32_t c) {
  Contraction::Class& group = contraction_.classes[c];
  if (group.pin != Pin::none || group.keep_accelerator_copy) return;
  const Flow &x = sums_[c].x, &y = sums_[c].y;
  const bool host = x.source + y.source >= x.out + y.out && (!group.replicable || y.source >= y.out);
  const bool accelerator = x.sink + y.sink > x.in + y.in && (!group.replicable || x.sink > x.in);
  if (host && which_.to_host) {
    group.pin = Pin::host;
  } else if (accelerator && which_.to_accelerator) {
    group.pin = Pin::accelerator;
  } else {
    return;
  }
  pending_.push_back(c);
}

void Reducer::cascade() {
  while (!pending_.empty()) {
    const std::int32_t c = pending_.back();
    pending_.pop_back();
    const bool on_host = contraction_.classes[c].pin == Pin::host;
    for (std::int32_t i = first_value_[c]; i < first_value_[c + 1]; ++i) producer_decided(value_order_[i], on_host);
    for (std::int32_t i = first_use_[c]; i < first_use_[c + 1]; ++i) {
      const auto& use = problem_.uses[use_order_[i]];
      if (class_of(problem_.values[use.value].node) != c) consumer_decided(use, on_host);
    }
    if (savings_.empty()) continue;
    decided_[c] = 1;
    for (std::int32_t i = first_saving_[c]; i < first_saving_[c + 1]; ++i) member_decided(saving_order_[i], c, on_host);
  }
}

/// Consumers on the producer's side need no transfer. Those on the other side certainly need one, if no other use shares its cost.
void Reducer::producer_decided(std::int32_t v, bool on_host) {
  const std::int32_t producer = class_of(problem_.values[v].node);
  for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) {
    const auto& use = problem_.uses[uses_.order[i]];
    const std::int32_t consumer = class_of(use.node);
    if (consumer == producer) continue;
    Sums& sums = sums_[consumer];
    if (on_host) {
      sums.x.out -= capacity(use, false);
      if (values_[v].single) sums.y.source += values_[v].to_accelerator.most;
    } else {
      sums.y.in -= capacity(use, true);
      if (values_[v].single) sums.x.sink += values_[v].to_host.most;
    }
    consider(consumer);
  }
}

/// If the producer is not on the consumer's side it must send the value there. On the other side one use less may need it.
void Reducer::consumer_decided(const PlacementProblem::Use& use, bool on_host) {
  const std::int32_t producer = class_of(problem_.values[use.value].node);
  ValueState& state = values_[use.value];
  Sums& sums = sums_[producer];
  Moves& needed = on_host ? state.to_host : state.to_accelerator;
  Moves& spared = on_host ? state.to_accelerator : state.to_host;
  const std::int64_t certain = std::min(std::max(needed.certain, capacity(use, !on_host)), needed.most);
  (on_host ? sums.x.source : sums.y.sink) += certain - needed.certain;
  needed.certain = certain;
  if (--spared.open == 0) (on_host ? sums.y.out : sums.x.in) -= spared.most;
  consider(producer);
}

/// The saving is lost on the other side. On this side its loss is certain if the last undecided member goes to the other side.
void Reducer::member_decided(std::int32_t saving, std::int32_t member, bool on_host) {
  SavingState& state = savings_[saving];
  SavedThere& lost = on_host ? state.accelerator : state.host;
  SavedThere& kept = on_host ? state.host : state.accelerator;
  const bool last = --kept.open == 1 && kept.saved > 0;
  const std::int64_t gone = std::exchange(lost.saved, 0);
  if (!last && gone == 0) return;
  for (std::int32_t i = first_member_[saving]; i < first_member_[saving + 1]; ++i) {
    const std::int32_t other = members_[i];
    if (other == member || decided_[other]) continue;
    Sums& sums = sums_[other];
    Flow &saves_on_host = state.alone ? sums.y : sums.x, &saves_on_accelerator = state.alone ? sums.x : sums.y;
    (on_host ? saves_on_accelerator.out : saves_on_host.in) -= gone;
    if (last) (on_host ? saves_on_host.source : saves_on_accelerator.sink) += kept.saved;
    consider(other);
  }
}

}  // namespace

void reduce(const PlacementProblem& problem, const UsesByValue& uses, const CapacityScale& scale, const Reductions& which,
            Contraction& contraction) {
  Reducer(problem, uses, scale, which, contraction).run();
}

}  // namespace cleave::planner
