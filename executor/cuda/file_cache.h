// FileCache: a cache on disk, with one file for each key. A damaged file, or one of another key, counts as missing and is replaced; readers
// see a whole file or none. It knows nothing about the contents. If the disk cannot be written, only time is lost.
#pragma once

#include <optional>
#include <string>

namespace cleave::runtime::cuda {

class FileCache {
 public:
  FileCache() = default;
  /// If `folder` is empty, nothing is cached. `extension` is that of the files; each kind of content has its own.
  FileCache(std::string folder, std::string extension) : folder_(std::move(folder)), extension_(std::move(extension)) {}

  [[nodiscard]] bool on() const { return !folder_.empty(); }
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// The content that is cached from now on: `content`, or that of another process that stored first. Nothing if it cannot be stored.
  [[nodiscard]] std::optional<std::string> keep(const std::string& key, const std::string& content) const;

  [[nodiscard]] std::string path(const std::string& key) const;

 private:
  std::string folder_, extension_;
};

/// The CUDA back end's cache folder: $XDG_CACHE_HOME/cleave/cuda, else ~/.cache/cleave/cuda; empty if neither variable is set.
std::string default_cache_folder();

}  // namespace cleave::runtime::cuda
