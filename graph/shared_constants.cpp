#include "graph/shared_constants.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/array/array.h"
#include "graph/base/forks.h"

namespace cleave {
namespace {

constexpr std::int64_t kWorthSharing = 1024;  ///< bytes
constexpr std::size_t kSamples = 64;
constexpr std::int64_t kWorthReturning = 1 << 20;  ///< bytes

/// Returns freed memory to the system. The allocator keeps it, as the duplicates of one program are where those of the next will be.
void return_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/// Equal arrays have equal hashes. Others are told apart by their bytes.
std::uint64_t hash_of(const Array& array) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t word) { hash = (hash ^ word) * 1099511628211ULL; };
  mix(static_cast<std::uint64_t>(array.dtype()));
  for (const std::int64_t extent : array.shape()) mix(static_cast<std::uint64_t>(extent));
  const std::size_t words = static_cast<std::size_t>(array.type().bytes()) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < kSamples; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, array.bytes() + words * i / kSamples * sizeof word, sizeof word);
    mix(word);
  }
  return hash;
}

bool equal(const Array& a, const Array& b) {
  return a.type() == b.type() &&
         (a.bytes() == b.bytes() || std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.type().bytes())) == 0);
}

/// The array of a constant, or that with which a parameter begins; null: none, or not worth sharing.
const Array* value_of(const Node& node) {
  if (node.kind != NodeKind::constant && node.kind != NodeKind::parameter) return nullptr;
  const auto* array = node.attributes.get_if<Array>("value");
  return array && array->type().bytes() >= kWorthSharing ? array : nullptr;
}

}  // namespace

struct SharedConstants::State {
  struct Derived {
    std::int64_t bytes = 0;
    std::once_flag made;
    std::shared_ptr<void> data;
  };
  struct Offered {
    std::int64_t bytes = 0;
    std::shared_ptr<const void> data;
  };
  struct Store {
    std::mutex mutex;
    std::unordered_multimap<std::uint64_t, Array> arrays;  ///< by a hash of type and sampled content
    std::vector<std::weak_ptr<const Graph>> used_by;
    std::int64_t duplicates = 0;  ///< bytes of arrays that were replaced since memory was returned
    std::map<std::pair<const void*, std::string>, std::weak_ptr<Derived>> derived;
    std::map<std::pair<const void*, std::string>, Offered> offered;

    Array shared(const Array& array) {
      const std::uint64_t hash = hash_of(array);
      const auto [begin, end] = arrays.equal_range(hash);
      for (auto known = begin; known != end; ++known)
        if (equal(known->second, array)) return known->second;
      arrays.emplace(hash, array);
      return array;
    }
    void release_unused() {
      std::erase_if(used_by, [](const auto& graph) { return graph.expired(); });
      std::erase_if(derived, [](const auto& entry) { return entry.second.expired(); });
      std::set<const std::byte*> used;
      for (const std::weak_ptr<const Graph>& each : used_by)
        if (const std::shared_ptr<const Graph> graph = each.lock())
          for (const Node& node : graph->nodes)
            if (const Array* array = value_of(node)) used.insert(array->bytes());
      std::erase_if(arrays, [&](const auto& entry) { return !used.contains(entry.second.bytes()); });
    }
  };
  PerProcess<Store> store{take_over};

  /// The child of a fork shares what its parent did, unless a thread of the parent was changing it.
  static std::unique_ptr<Store> take_over(Store* of_parent) {
    auto made = std::make_unique<Store>();
    if (!of_parent) return made;
    const std::unique_lock lock(of_parent->mutex, std::try_to_lock);
    if (!lock.owns_lock()) return made;
    made->arrays = of_parent->arrays;
    made->used_by = of_parent->used_by;
    made->offered = of_parent->offered;
    return made;
  }
};

SharedConstants::SharedConstants() : state_(std::make_unique<State>()) {}
SharedConstants::~SharedConstants() = default;

void SharedConstants::use(const std::shared_ptr<const Graph>& graph) {
  State::Store& store = *state_->store;
  const std::lock_guard lock(store.mutex);
  store.used_by.emplace_back(graph);
  if (store.duplicates < kWorthReturning) return;
  store.duplicates = 0;
  return_memory();
}

void SharedConstants::share(Graph& graph) {
  State::Store& store = *state_->store;
  const std::lock_guard lock(store.mutex);
  store.release_unused();
  for (Node& node : graph.nodes)
    if (const Array* array = value_of(node); array && !array->borrowed()) {
      Array shared = store.shared(*array);
      if (shared.bytes() != array->bytes()) store.duplicates += shared.type().bytes();
      node.attributes.set("value", std::move(shared));
    }
}

std::shared_ptr<void> SharedConstants::derived(const void* constant, const std::string& form, std::int64_t bytes,
                                               const std::function<std::shared_ptr<void>()>& make) {
  std::shared_ptr<State::Derived> entry;
  std::shared_ptr<const void> offered;
  {
    State::Store& store = *state_->store;
    const std::lock_guard lock(store.mutex);
    std::weak_ptr<State::Derived>& known = store.derived[{constant, form}];
    entry = known.lock();
    if (!entry) known = entry = std::make_shared<State::Derived>();
    entry->bytes = bytes;
    const auto known_before = store.offered.find({constant, form});
    if (known_before != store.offered.end() && known_before->second.bytes == bytes) offered = known_before->second.data;
  }
  std::call_once(entry->made, [&] { entry->data = offered ? std::const_pointer_cast<void>(offered) : make(); });
  return {entry, entry->data.get()};
}

void SharedConstants::offer(const void* constant, const std::string& form, std::int64_t bytes, std::shared_ptr<const void> data) {
  State::Store& store = *state_->store;
  const std::lock_guard lock(store.mutex);
  store.offered[{constant, form}] = {bytes, std::move(data)};
}

std::vector<SharedConstants::Derived> SharedConstants::all_derived() {
  State::Store& store = *state_->store;
  const std::lock_guard lock(store.mutex);
  std::vector<Derived> all;
  for (const auto& [key, entry] : store.derived)
    if (const std::shared_ptr<State::Derived> used = entry.lock(); used && used->data)
      all.push_back({key.first, key.second, used->bytes, {used, used->data.get()}});
  std::stable_sort(all.begin(), all.end(), [](const Derived& a, const Derived& b) { return a.form < b.form; });
  return all;
}

std::int64_t SharedConstants::derived_bytes() {
  State::Store& store = *state_->store;
  const std::lock_guard lock(store.mutex);
  std::int64_t bytes = 0;
  for (const auto& [key, entry] : store.derived)
    if (const std::shared_ptr<State::Derived> used = entry.lock()) bytes += used->bytes;
  return bytes;
}

std::int64_t constant_bytes(const std::vector<const Graph*>& graphs) {
  std::set<const std::byte*> seen;
  std::int64_t bytes = 0;
  for (const Graph* graph : graphs)
    for (const Node& node : graph->nodes)
      if (const Array* array = value_of(node); array && seen.insert(array->bytes()).second) bytes += array->type().bytes();
  return bytes;
}

}  // namespace cleave
