// Linear code needs no interference graph: the value with the furthest next use is evicted (Belady). Values that can be reloaded from their
// source are not spilled.
#include "executor/host/code/placement.h"

#include <algorithm>

namespace cleave::runtime::host {
namespace {

constexpr int kNever = 1 << 30;
constexpr int kMostOperands = 3;

class Placing {
 public:
  Placing(const Body& body, const RegisterCounts& registers);
  Placement place();

 private:
  struct File {
    std::vector<int> holds;  ///< by register: the value, or -1
  };
  File& file_of(ValueIndex value) { return files_[body_.values[value].kind == Kind::mask && !files_[1].holds.empty()]; }
  [[nodiscard]] bool invariant(ValueIndex value) const {
    const auto source = body_.values[value].source;
    return source == BodyValue::Source::scalar || source == BodyValue::Source::literal;
  }
  void find_uses();
  void hoist();
  [[nodiscard]] int most_alive(const File& file);
  [[nodiscard]] int next_use(ValueIndex value, int after) const;
  int take(File& file, int now);
  void bring(ValueIndex value, int now);
  void release(ValueIndex value);
  int place_of(ValueIndex value) {
    int& place = result_.place[value];
    return place < 0 ? place = result_.places++ : place;
  }

  const Body& body_;
  std::array<File, 2> files_;           ///< vectors, masks
  std::vector<std::vector<int>> uses_;  ///< by value: the instructions that read it, then the stores
  std::vector<int> made_at_;
  std::vector<int> register_;  ///< by value, or -1
  std::vector<bool> hoisted_, kept_;
  std::vector<ValueIndex> locked_;  ///< operands of the current instruction
  Placement result_;
};

Placing::Placing(const Body& body, const RegisterCounts& registers)
    : body_(body),
      uses_(body.values.size()),
      made_at_(body.values.size(), -1),
      register_(body.values.size(), -1),
      hoisted_(body.values.size()),
      kept_(body.values.size()) {
  files_[0].holds.assign(static_cast<std::size_t>(registers.vectors), -1);
  files_[1].holds.assign(static_cast<std::size_t>(registers.masks), -1);
  result_.place.assign(body.values.size(), -1);
}

/// Records uses by live instructions; instructions whose results are not read have none, and are left out.
void Placing::find_uses() {
  const int end = static_cast<int>(body_.instructions.size());
  for (std::size_t k = 0; k < body_.stored.size(); ++k) uses_[body_.stored[k]].push_back(end + static_cast<int>(k));
  for (int i = end; i-- > 0;) {
    const Instruction& instruction = body_.instructions[static_cast<std::size_t>(i)];
    made_at_[instruction.result] = i;
    if (uses_[instruction.result].empty()) continue;
    for (int k = 0; k < instruction.count; ++k) uses_[instruction.operands[static_cast<std::size_t>(k)]].push_back(i);
  }
  for (auto& uses : uses_) std::sort(uses.begin(), uses.end());
}

/// The largest number of loop-variant values that are live at once.
int Placing::most_alive(const File& file) {
  std::vector<int> change(body_.instructions.size() + body_.stored.size() + 2);
  for (std::size_t v = 0; v < body_.values.size(); ++v) {
    const auto value = static_cast<ValueIndex>(v);
    if (uses_[v].empty() || invariant(value) || &file_of(value) != &file) continue;
    ++change[static_cast<std::size_t>(made_at_[v] >= 0 ? made_at_[v] : uses_[v].front())];
    --change[static_cast<std::size_t>(uses_[v].back()) + 1];
  }
  int alive = 0, most = 0;
  for (const int by : change) most = std::max(most, alive += by);
  return most;
}

/// Keeps the most used loop-invariant values in registers that no loop-variant value needs.
void Placing::hoist() {
  for (File& file : files_) {
    std::vector<ValueIndex> constants;
    for (std::size_t v = 0; v < body_.values.size(); ++v) {
      const auto value = static_cast<ValueIndex>(v);
      if (!uses_[v].empty() && invariant(value) && &file_of(value) == &file) constants.push_back(value);
    }
    std::stable_sort(constants.begin(), constants.end(), [&](ValueIndex a, ValueIndex b) { return uses_[a].size() > uses_[b].size(); });
    const auto wanted = static_cast<int>(constants.size());
    int room = static_cast<int>(file.holds.size()) - most_alive(file);
    if (room < wanted) room = std::max(0, room - kMostOperands);
    for (int k = 0; k < std::min(room, wanted); ++k) {
      const ValueIndex value = constants[static_cast<std::size_t>(k)];
      bring(value, 0);
      hoisted_[value] = true;
    }
  }
  result_.before.swap(result_.turn);
}

int Placing::next_use(ValueIndex value, int after) const {
  const auto next = std::upper_bound(uses_[value].begin(), uses_[value].end(), after);
  return next == uses_[value].end() ? kNever : *next;
}

/// Returns a free register, or evicts the value with the furthest next use.
int Placing::take(File& file, int now) {
  int best = -1, furthest = -1;
  for (int r = 0; r < static_cast<int>(file.holds.size()); ++r) {
    const int held = file.holds[static_cast<std::size_t>(r)];
    if (held < 0) return r;
    const auto value = static_cast<ValueIndex>(held);
    if (hoisted_[value] || std::find(locked_.begin(), locked_.end(), value) != locked_.end()) continue;
    if (const int next = next_use(value, now); next > furthest) {
      furthest = next;
      best = r;
    }
  }
  const auto out = static_cast<ValueIndex>(file.holds[static_cast<std::size_t>(best)]);
  if (body_.values[out].source == BodyValue::Source::made && !kept_[out] && furthest != kNever) {
    place_of(out);
    kept_[out] = true;
    result_.turn.push_back({Move::What::keep, static_cast<std::uint8_t>(best), out});
  }
  release(out);
  return best;
}

void Placing::bring(ValueIndex value, int now) {
  if (register_[value] < 0) {
    File& file = file_of(value);
    const int to = take(file, now);
    if (body_.values[value].source == BodyValue::Source::scalar) place_of(value);
    file.holds[static_cast<std::size_t>(to)] = value;
    register_[value] = to;
    result_.turn.push_back({Move::What::load, static_cast<std::uint8_t>(to), value});
  }
  locked_.push_back(value);
}

void Placing::release(ValueIndex value) {
  file_of(value).holds[static_cast<std::size_t>(register_[value])] = -1;
  register_[value] = -1;
}

Placement Placing::place() {
  find_uses();
  hoist();
  for (std::size_t i = 0; i < body_.instructions.size(); ++i) {
    const Instruction& instruction = body_.instructions[i];
    if (uses_[instruction.result].empty()) continue;
    const int now = static_cast<int>(i);
    Move move{Move::What::compute, 0, instruction.result, i};
    locked_.clear();
    // An operand with its last use here must stay until all operands are loaded: `bring` may not give its register to another one.
    for (std::size_t k = 0; k < instruction.count; ++k) bring(instruction.operands[k], now - 1);
    for (std::size_t k = 0; k < instruction.count; ++k) move.operands[k] = static_cast<std::uint8_t>(register_[instruction.operands[k]]);
    for (std::size_t k = 0; k < instruction.count; ++k) {
      const ValueIndex operand = instruction.operands[k];
      if (register_[operand] >= 0 && !hoisted_[operand] && next_use(operand, now) == kNever) release(operand);
    }
    File& file = file_of(instruction.result);
    const int to = take(file, now);
    file.holds[static_cast<std::size_t>(to)] = instruction.result;
    register_[instruction.result] = to;
    move.to = static_cast<std::uint8_t>(to);
    result_.turn.push_back(move);
  }
  for (std::size_t k = 0; k < body_.stored.size(); ++k) {
    const ValueIndex value = body_.stored[k];
    const int now = static_cast<int>(body_.instructions.size() + k);
    locked_.clear();
    bring(value, now - 1);
    result_.turn.push_back({Move::What::store, static_cast<std::uint8_t>(register_[value]), value, k});
    if (!hoisted_[value] && next_use(value, now) == kNever) release(value);
  }
  return std::move(result_);
}

}  // namespace

Placement place(const Body& body, const RegisterCounts& registers) {
  return Placing(body, registers).place();
}

}  // namespace cleave::runtime::host
