#include "executor/cuda/file_cache.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "graph/base/file.h"
#include "graph/base/output_file.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kHashDigits = 16;
constexpr std::int64_t kLargest = 256 << 20;  ///< bytes of a file; no kernel's image is larger

std::string hash(const std::string& text) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  char digits[kHashDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  return digits;
}

bool keep_if_first(const std::string& path, const std::string& text) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file || !file->write(text)) return false;
  const Result<bool> first = file->commit_if_first();
  return first && *first;
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

/// A file holds its key, which tells apart two keys with one hash, then its content, then the hash of both.
std::optional<std::string> FileCache::find(const std::string& key) const {
  if (!on()) return std::nullopt;
  const Result<std::string> file = read_file(path(key), kLargest);
  if (!file) return std::nullopt;
  const std::string& text = *file;
  if (text.size() < key.size() + kHashDigits || text.compare(0, key.size(), key) != 0) return std::nullopt;
  const std::string known = text.substr(0, text.size() - kHashDigits);
  if (hash(known) != text.substr(known.size())) return std::nullopt;
  return known.substr(key.size());
}

std::optional<std::string> FileCache::keep(const std::string& key, const std::string& content) const {
  if (!on()) return std::nullopt;
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  const std::string text = key + content + hash(key + content);
  if (keep_if_first(path(key), text)) return content;
  // The content that was stored first stays, so that all processes use the same one. An unreadable file is replaced.
  if (std::optional<std::string> kept = find(key)) return kept;
  return write_file(path(key), {text}) ? std::optional(content) : std::nullopt;
}

}  // namespace cleave::runtime::cuda
