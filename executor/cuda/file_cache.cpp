#include "executor/cuda/file_cache.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/base/file.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kDigits = 16;
constexpr std::int64_t kLargest = 256 << 20;  ///< more than the compiler gives for any kernel

std::string hash(const std::string& text) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  return digits;
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file.good();
}

}  // namespace

std::string default_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return std::string(cache) + "/cleave/cuda";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/cleave/cuda" : std::string();
}

std::string FileCache::path(const std::string& key) const {
  return folder_ + "/" + hash(key) + extension_;
}

/// A file is its key, so that two keys of one hash are told apart, its content, and the hash of both.
std::optional<std::string> FileCache::find(const std::string& key) const {
  if (!on()) return std::nullopt;
  const Result<std::string> file = read_file(path(key), kLargest);
  if (!file) return std::nullopt;
  const std::string& text = *file;
  if (text.size() < key.size() + kDigits || text.compare(0, key.size(), key) != 0) return std::nullopt;
  const std::string known = text.substr(0, text.size() - kDigits);
  if (hash(known) != text.substr(known.size())) return std::nullopt;
  return known.substr(key.size());
}

std::optional<std::string> FileCache::keep(const std::string& key, const std::string& content) const {
  if (!on()) return std::nullopt;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  const std::string target = path(key);
  const std::size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  const std::string unfinished = target + "." + std::to_string(getpid()) + "." + std::to_string(thread);
  std::optional<std::string> kept;
  if (write(unfinished, key + content + hash(key + content))) {
    // The first to come stays, so that all processes go by one; what cannot be read gives way.
    if (link(unfinished.c_str(), target.c_str()) == 0) {
      kept = content;
    } else if (kept = find(key); !kept) {
      std::filesystem::rename(unfinished, target, failed);
      if (!failed) return content;
    }
  }
  std::filesystem::remove(unfinished, failed);
  return kept;
}

}  // namespace cleave::runtime::cuda
