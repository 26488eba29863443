// Arena: best-fit offsets for blocks of memory that are taken and given back in an order known in advance.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace cleave::runtime {

class Arena {
 public:
  static constexpr std::int64_t kAlignment = 256;  ///< what CUDA gives

  /// The offset of a block of `bytes`: the smallest gap that holds it, else the end.
  std::int64_t take(std::int64_t bytes);
  void give_back(std::int64_t offset, std::int64_t bytes);
  /// The end of what was ever taken.
  [[nodiscard]] std::int64_t peak() const { return end_; }

  static std::int64_t rounded(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  void add_gap(std::int64_t offset, std::int64_t bytes);
  void remove_gap(std::map<std::int64_t, std::int64_t>::iterator gap);

  std::map<std::int64_t, std::int64_t> gaps_;                     ///< offset -> bytes; never two that touch
  std::set<std::pair<std::int64_t, std::int64_t>> gaps_by_size_;  ///< bytes, offset
  std::int64_t end_ = 0;
};

}  // namespace cleave::runtime
