#include "executor/report/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>

namespace cleave {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little endian");

template <class T>
std::string bytes_of(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// --- protobuf: a field is its number and wire type, then the value (protobuf.dev/programming-guides/encoding) ------------------------

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

std::string number_field(int field, std::int64_t number) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(number));
}
std::string double_field(int field, double number) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 1) + bytes_of(number);
}
std::string float_field(int field, float number) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 5) + bytes_of(number);
}
std::string text_field(int field, std::string_view text) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(text.size()) + std::string(text);
}

// Numbers of the fields that are written.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;  // Event
constexpr int kValue = 1;                                                                 // Summary
constexpr int kTag = 1, kSimpleValue = 2;                                                 // Summary.Value
constexpr int kStatus = 1, kStart = 1;                                                    // SessionLog

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
      made[byte] = crc;
    }
    return made;
  }();
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xffU];
  return crc ^ 0xffffffffU;
}

Result<EventFile> EventFile::create(const std::string& folder, std::optional<std::int64_t> from) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{folder + ": the folder cannot be created: " + failed.message(), {}, ErrorKind::file};
  // TensorBoard reads the files of a folder in the order of their names.
  const auto microseconds = static_cast<std::int64_t>(wall_time() * 1e6);
  const std::string name = "events.out.tfevents." + std::to_string(microseconds / 1'000'000) + "." +
                           std::to_string(1'000'000 + microseconds % 1'000'000).substr(1) + "." + std::to_string(::getpid()) + ".cleave";
  Result<AppendedFile> opened = AppendedFile::open((std::filesystem::path(folder) / name).string(), true);
  if (!opened) return opened.error();
  EventFile file(*std::move(opened));
  if (Status written = file.write(double_field(kWallTime, wall_time()) + text_field(kFileVersion, "brain.Event:2")); !written)
    return written.error();
  if (!from) return file;
  const std::string start = text_field(kSessionLog, number_field(kStatus, kStart));
  if (Status written = file.write(double_field(kWallTime, wall_time()) + number_field(kStep, *from) + start); !written)
    return written.error();
  return file;
}

Status EventFile::add(const LoggedStep& step) {
  std::string summary;
  for (const auto& [label, value] : step.values)
    summary += text_field(kValue, text_field(kTag, label) + float_field(kSimpleValue, static_cast<float>(value.at(0))));
  return write(double_field(kWallTime, wall_time()) + number_field(kStep, step.step) + text_field(kSummary, summary));
}

Status EventFile::write(std::string_view event) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(event.size()));
  return file_.write(length + bytes_of(masked_crc(length)) + std::string(event) + bytes_of(masked_crc(event)));
}

}  // namespace cleave
