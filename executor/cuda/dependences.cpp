#include "executor/cuda/dependences.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

bool overlap(const std::vector<Range>& left, const std::vector<Range>& right) {
  return std::any_of(left.begin(), left.end(), [&](const Range& a) {
    return std::any_of(right.begin(), right.end(), [&](const Range& b) {
      return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    });
  });
}

bool conflict(const Touched& first, const Touched& second) {
  return overlap(first.writes, second.reads) || overlap(first.writes, second.writes) || overlap(first.reads, second.writes);
}

}  // namespace

std::vector<std::vector<std::size_t>> find_dependences(std::span<const Touched> steps) {
  std::vector<std::vector<std::size_t>> direct(steps.size());
  std::vector<std::vector<bool>> behind(steps.size());  // [step]: all earlier steps that it follows, directly or not
  for (std::size_t i = 0; i < steps.size(); ++i) {
    behind[i].resize(i);
    for (std::size_t j = i; j-- > 0;) {
      if (behind[i][j] || !conflict(steps[j], steps[i])) continue;
      direct[i].push_back(j);
      behind[i][j] = true;
      for (std::size_t k = 0; k < j; ++k) behind[i][k] = behind[i][k] || behind[j][k];
    }
  }
  return direct;
}

}  // namespace cleave::runtime::cuda
