#include "graph/passes/equal_nodes.h"

#include <algorithm>
#include <bit>

namespace cleave {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) { state_ = (std::rotl(state_, 23) ^ word) * 0x9e3779b97f4a7c15U; }
  void add(std::string_view text) { add(std::hash<std::string_view>()(text)); }
  void add(const TensorType& type) {
    add(static_cast<std::uint64_t>(type.dtype));
    for (std::int64_t extent : type.shape) add(static_cast<std::uint64_t>(extent));
  }
  void add(const AttributeValue& value) {
    std::visit([this](const auto& held) { add_held(held); }, value);
  }
  [[nodiscard]] std::size_t get() const { return static_cast<std::size_t>(state_ ^ state_ >> 32); }

 private:
  void add_held(bool value) { add(std::uint64_t{value}); }
  void add_held(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add_held(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add_held(const std::string& value) { add(std::string_view(value)); }
  void add_held(DType value) { add(static_cast<std::uint64_t>(value)); }
  void add_held(const std::shared_ptr<const HostFunction>& value) { add(std::string_view(value->name)); }
  /// Hashes only the ends of a large array, since weights may be mapped from a file that is not read yet.
  void add_held(const Array& value) {
    constexpr std::size_t kEnd = 256;
    add(value.type());
    const std::string_view bytes(reinterpret_cast<const char*>(value.bytes()), static_cast<std::size_t>(value.type().bytes()));
    if (bytes.size() <= 2 * kEnd) return add(bytes);
    add(bytes.substr(0, kEnd));
    add(bytes.substr(bytes.size() - kEnd));
  }
  template <class T>
  void add_held(const std::vector<T>& values) {
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, TensorType>)
        add(value);
      else
        add_held(value);
    }
  }

  std::uint64_t state_ = 0;
};

std::size_t hash(const Node& node) {
  Hash hash;
  hash.add(static_cast<std::uint64_t>(node.kind));
  hash.add(node.op ? std::string_view(node.op->name) : std::string_view());
  for (ValueId input : node.inputs) hash.add(std::uint64_t{input.index});
  for (const auto& [name, value] : node.attributes) hash.add(value);
  return hash.get();
}

/// Whether both nodes call the same callable. Attributes compare host functions by declaration, but two C++ callables with equal
/// declarations may differ.
bool same_functions(const Node& a, const Node& b) {
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(), [](const auto& x, const auto& y) {
    const auto* f = std::get_if<std::shared_ptr<const HostFunction>>(&x.second);
    const auto* g = std::get_if<std::shared_ptr<const HostFunction>>(&y.second);
    return !f || !g || *f == *g || !(*f)->library.empty();
  });
}

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.op == b.op && a.inputs == b.inputs && a.results.size() == b.results.size() && a.pin == b.pin &&
         a.recompute == b.recompute && a.attributes == b.attributes && a.allowed == b.allowed && same_functions(a, b);
}

}  // namespace

NodeId EqualNodes::find_or_add(NodeId id) {
  const Node& node = graph_.nodes[id];
  const std::size_t key = hash(node);
  const auto [first, last] = known_.equal_range(key);
  for (auto entry = first; entry != last; ++entry)
    if (same(graph_.nodes[entry->second], node)) return entry->second;
  added_.emplace_back(node.region, known_.emplace(key, id));
  return id;
}

void EqualNodes::close(RegionId region) {
  for (; !added_.empty() && added_.back().first == region; added_.pop_back()) known_.erase(added_.back().second);
}

}  // namespace cleave
