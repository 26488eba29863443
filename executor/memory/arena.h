// Arena: best-fit offsets for blocks of memory whose order of allocation and release is known in advance.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace cleave::runtime {

class Arena {
 public:
  static constexpr std::int64_t kAlignment = 256;  ///< the alignment of CUDA's allocations

  /// The offset of a block of `bytes`: the smallest gap that holds it, else the end.
  std::int64_t take(std::int64_t bytes);
  void give_back(std::int64_t offset, std::int64_t bytes);
  /// The highest end of all blocks so far.
  [[nodiscard]] std::int64_t peak() const { return end_; }

  static std::int64_t rounded(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  void add_gap(std::int64_t offset, std::int64_t bytes);
  void remove_gap(std::map<std::int64_t, std::int64_t>::iterator gap);

  std::map<std::int64_t, std::int64_t> gaps_;                     ///< offset -> bytes; adjacent gaps are merged
  std::set<std::pair<std::int64_t, std::int64_t>> gaps_by_size_;  ///< bytes, offset
  std::int64_t end_ = 0;
};

}  // namespace cleave::runtime
