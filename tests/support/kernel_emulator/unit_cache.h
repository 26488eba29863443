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

/// 128 bits of FNV-1a over what is added.
class ContentKey {
 public:
  void add(std::string_view content);
  /// 32 digits of base 16.
  [[nodiscard]] std::string text() const;

 private:
  unsigned __int128 state_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
};

class UnitCache {
 public:
  /// $XDG_CACHE_HOME/cleave/emulator or ~/.cache/cleave/emulator; empty where neither variable is set.
  static std::string shared_folder();
  /// Units in `folder`, or in `instead` where `folder` cannot be written. At most about `most_bytes` stay after `prune`.
  UnitCache(const std::string& folder, std::string instead, std::uintmax_t most_bytes = std::uintmax_t{128} << 20);

  /// The unit in which the text of `key` is; empty: none. The unit counts as used now.
  [[nodiscard]] std::string find(const std::string& key) const;
  /// Where a compiler may write a unit; nobody else looks there.
  [[nodiscard]] std::string place() const;
  /// Takes the file at `place` in as the unit of `keys`. Its path; empty: there is no such file.
  std::string put(const std::string& place, const std::vector<std::string>& keys) const;
  /// Removes the units that were used longest ago until three quarters of the bytes are left, where more than all were there.
  void prune() const;

 private:
  std::string folder_;
  std::uintmax_t most_bytes_;
};

}  // namespace cleave::testing
