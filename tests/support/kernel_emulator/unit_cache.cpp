#include "tests/support/kernel_emulator/unit_cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;

/// A name that no other process and no other call uses.
std::string fresh_name() {
  static std::atomic<int> calls = 0;
  return "new-" + std::to_string(getpid()) + "-" + std::to_string(calls++);
}

}  // namespace

void ContentKey::add(std::string_view content) {
  constexpr unsigned __int128 kPrime = (static_cast<unsigned __int128>(1) << 88) | 0x13b;
  for (const char c : content) state_ = (state_ ^ static_cast<unsigned char>(c)) * kPrime;
  state_ = (state_ ^ content.size()) * kPrime;  // separates one content from the next
}

std::string ContentKey::text() const {
  std::string digits;
  for (int shift = 124; shift >= 0; shift -= 4) digits += "0123456789abcdef"[static_cast<unsigned>(state_ >> shift) & 15];
  return digits;
}

std::string UnitCache::shared_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::string(cache) + "/cleave/emulator";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.cache/cleave/emulator" : "";
}

UnitCache::UnitCache(const std::string& folder, std::string instead, std::uintmax_t most_bytes)
    : folder_(std::move(instead)), most_bytes_(most_bytes) {
  std::error_code ignored;
  if (folder.empty()) return;
  fs::create_directories(folder, ignored);
  if (access(folder.c_str(), R_OK | W_OK | X_OK) == 0) folder_ = folder;
}

std::string UnitCache::find(const std::string& key) const {
  std::error_code error;
  const fs::path unit = fs::read_symlink(fs::path(folder_) / key, error);
  if (error) return {};
  const fs::path path = fs::path(folder_) / unit;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return error ? std::string() : path.string();
}

std::string UnitCache::place() const {
  return (fs::path(folder_) / fresh_name()).string();
}

std::string UnitCache::put(const std::string& place, const std::vector<std::string>& keys) const {
  ContentKey all;
  for (const std::string& key : keys) all.add(key);
  const std::string unit = all.text() + ".so", path = (fs::path(folder_) / unit).string();
  std::error_code error;
  fs::rename(place, path, error);
  if (error) return {};
  for (const std::string& key : keys) {
    const fs::path link = fs::path(folder_) / fresh_name();
    fs::create_symlink(unit, link, error);
    if (!error) fs::rename(link, fs::path(folder_) / key, error);
  }
  return path;
}

void UnitCache::prune() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> units;
  std::vector<fs::path> links;
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator i(folder_, error), end; !error && i != end; i.increment(error)) {
    std::error_code gone;  // another process prunes, too
    if (i->is_symlink(gone)) {
      links.push_back(i->path());
    } else if (const fs::file_time_type used = i->last_write_time(gone); !gone) {
      bytes += i->file_size(gone);
      units.emplace_back(used, i->path());
    }
  }
  if (bytes <= most_bytes_) return;
  std::sort(units.begin(), units.end());
  for (const auto& [used, path] : units) {
    if (bytes <= most_bytes_ / 4 * 3) break;
    bytes -= std::min(bytes, fs::file_size(path, error));
    fs::remove(path, error);
  }
  for (const fs::path& link : links) {
    if (!fs::exists(link, error)) fs::remove(link, error);
  }
}

}  // namespace cleave::testing
