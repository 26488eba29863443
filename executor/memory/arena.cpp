#include "executor/memory/arena.h"

#include <iterator>

namespace cleave::runtime {

void Arena::add_gap(std::int64_t offset, std::int64_t bytes) {
  gaps_.emplace(offset, bytes);
  gaps_by_size_.emplace(bytes, offset);
}

void Arena::remove_gap(std::map<std::int64_t, std::int64_t>::iterator gap) {
  gaps_by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

std::int64_t Arena::take(std::int64_t bytes) {
  bytes = rounded(bytes);
  if (bytes == 0) return 0;
  auto fit = gaps_by_size_.lower_bound({bytes, 0});
  if (fit != gaps_by_size_.end()) {
    auto [size, offset] = *fit;
    remove_gap(gaps_.find(offset));
    if (size > bytes) add_gap(offset + bytes, size - bytes);
    return offset;
  }
  std::int64_t offset = end_;
  if (!gaps_.empty()) {  // a gap at the end grows
    auto last = std::prev(gaps_.end());
    if (last->first + last->second == end_) {
      offset = last->first;
      remove_gap(last);
    }
  }
  end_ = offset + bytes;
  return offset;
}

void Arena::give_back(std::int64_t offset, std::int64_t bytes) {
  bytes = rounded(bytes);
  if (bytes == 0) return;
  auto after = gaps_.lower_bound(offset);
  if (after != gaps_.end() && after->first == offset + bytes) {
    bytes += after->second;
    remove_gap(after);
  }
  auto before = gaps_.lower_bound(offset);
  if (before != gaps_.begin()) {
    --before;
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove_gap(before);
    }
  }
  add_gap(offset, bytes);
}

}  // namespace cleave::runtime
