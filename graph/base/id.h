// Id: strongly typed indices, so that a NodeId cannot be used as a ValueId. A default-constructed id is invalid (`!id.valid()`).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace cleave {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t i) : index(static_cast<std::uint32_t>(i)) {}
  [[nodiscard]] constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using RegionId = Id<struct RegionTag>;
using DeviceId = Id<struct DeviceTag>;
using ChannelId = Id<struct ChannelTag>;

/// Device 0 is always the host; accelerators follow from 1.
inline constexpr DeviceId kHost{std::size_t{0}};
inline constexpr DeviceId kAccelerator{std::size_t{1}};

/// A vector indexed by one kind of id only.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t n, const T& fill = T()) : items_(n, fill) {}

  decltype(auto) operator[](IdType id) { return items_[id.index]; }
  decltype(auto) operator[](IdType id) const { return items_[id.index]; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  void resize(std::size_t n, const T& fill = T()) { items_.resize(n, fill); }
  void reserve(std::size_t n) { items_.reserve(n); }
  [[nodiscard]] bool contains(IdType id) const { return id.index < items_.size(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace cleave

template <class Tag>
struct std::hash<cleave::Id<Tag>> {
  std::size_t operator()(cleave::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>()(id.index); }
};
