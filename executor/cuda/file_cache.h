// FileCache: what is expensive to find, kept on disk by its key. A file that is damaged or of another key counts as none and is replaced;
// whoever reads sees a whole file or none. Knows nothing of what it keeps. A disk that cannot be written costs time only.
#pragma once

#include <optional>
#include <string>

namespace cleave::runtime::cuda {

class FileCache {
 public:
  FileCache() = default;
  /// `folder`: empty: nothing is kept. `extension`: of the files, one for each kind of content.
  FileCache(std::string folder, std::string extension) : folder_(std::move(folder)), extension_(std::move(extension)) {}

  [[nodiscard]] bool on() const { return !folder_.empty(); }
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// What is kept from now on: `content`, or what another process kept first. Nothing: it cannot be kept.
  [[nodiscard]] std::optional<std::string> keep(const std::string& key, const std::string& content) const;

  [[nodiscard]] std::string path(const std::string& key) const;

 private:
  std::string folder_, extension_;
};

/// Where the CUDA room keeps what is worth keeping: $XDG_CACHE_HOME/cleave/cuda, else ~/.cache/cleave/cuda; empty if there is neither.
std::string default_cache_folder();

}  // namespace cleave::runtime::cuda
