#include "graph/base/unfinished_files.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "graph/base/output_file.h"

namespace cleave {
namespace {

enum class Use : std::uint8_t { none, changing, named };

struct Slot {
  std::atomic<Use> use = Use::none;
  std::array<char, PATH_MAX> path;
};

/// A signal handler gets no argument, so the table must be static.
std::array<Slot, 16> unfinished;

std::ptrdiff_t take_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    Use expected = Use::none;
    if (!unfinished[i].use.compare_exchange_strong(expected, Use::changing)) continue;
    std::memcpy(unfinished[i].path.data(), path.c_str(), path.size() + 1);
    unfinished[i].use = Use::named;
    return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)), slot_(take_slot(path_)) {}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), slot_(std::exchange(other.slot_, -1)) {}

UnfinishedFile& UnfinishedFile::operator=(UnfinishedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(slot_, other.slot_);
  return *this;
}

UnfinishedFile::~UnfinishedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  forget();
}

void UnfinishedFile::forget() noexcept {
  if (slot_ >= 0) unfinished[static_cast<std::size_t>(slot_)].use = Use::none;
  slot_ = -1;
  path_.clear();
}

void remove_unfinished_files() noexcept {
  for (Slot& slot : unfinished)
    if (slot.use == Use::named) ::unlink(slot.path.data());
}

}  // namespace cleave
