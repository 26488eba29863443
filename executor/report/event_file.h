// EventFile: the numbers that a program logs as an event file of TensorBoard: records of a length (u64), its masked CRC-32C, a protobuf
// message `Event`, and the message's masked CRC-32C (RecordWriter and Event of TensorFlow).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "executor/report/metrics.h"
#include "graph/base/appended_file.h"
#include "graph/base/result.h"

namespace cleave {

class EventFile {
 public:
  /// Creates a new file in the folder, which is created, too. `from`: the step with which a run that continues begins: readers then drop
  /// what earlier files of the folder have from that step on.
  static Result<EventFile> create(const std::string& folder, std::optional<std::int64_t> from = {});
  Status add(const LoggedStep& step);

 private:
  explicit EventFile(AppendedFile file) : file_(std::move(file)) {}
  Status write(std::string_view event);
  AppendedFile file_;
};

/// CRC-32C (Castagnoli) of the bytes, as iSCSI defines it (RFC 3720, B.4).
std::uint32_t crc32c(std::string_view bytes);

}  // namespace cleave
