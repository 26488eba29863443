// UnitCache: compiled units of the kernel emulator in a folder that all builds and processes share, found by their texts. It knows files
// and names, not the content of a unit.
//
// A unit is a file NAME.so with one link for each of its texts beside it: the link is named by the text's key and points to the unit. So a
// text is found whatever other texts it was compiled with. Files are created by renaming: a reader sees a complete file or none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::testing {

/// A 128-bit FNV-1a hash of the added content.
class ContentKey {
 public:
  void add(std::string_view content);
  /// The hash as 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  unsigned __int128 state_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
};

class UnitCache {
 public:
  /// $XDG_CACHE_HOME/cleave/emulator or ~/.cache/cleave/emulator; empty if neither variable is set.
  static std::string shared_folder();
  /// Units in `folder`, or in `instead` if `folder` is not writable. After `prune`, at most about `most_bytes` remain.
  UnitCache(const std::string& folder, std::string instead, std::uintmax_t most_bytes = std::uintmax_t{128} << 20);

  /// The path of the unit that contains the text of `key`, which now counts as used; empty if there is none.
  [[nodiscard]] std::string find(const std::string& key) const;
  /// A path at which a compiler may write a unit; no other process uses it.
  [[nodiscard]] std::string place() const;
  /// Adds the file at `place` as the unit of `keys`. Returns its new path; empty if there is no such file.
  std::string put(const std::string& place, const std::vector<std::string>& keys) const;
  /// If the units exceed the limit, removes the least recently used ones until three quarters of the limit remain.
  void prune() const;

 private:
  std::string folder_;
  std::uintmax_t most_bytes_;
};

}  // namespace cleave::testing
