// Files of logged numbers: CSV rows, and event files, read back here by a reader of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "executor/report/event_file.h"
#include "executor/report/log_csv.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

LoggedStep step(std::int64_t number, std::vector<std::pair<std::string_view, Array>> values) {
  return {number, 0.5 * static_cast<double>(number), std::move(values)};
}

TEST(LogCsv, HasAColumnForEachLabelAndARowForEachStep) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("log.csv");
  Result<LogCsv> csv = LogCsv::create(path, {"loss", "a, \"b\""});
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_EQ(folder.read("log.csv"), "step,seconds,loss,\"a, \"\"b\"\"\"\n");
  ASSERT_TRUE(csv->add(step(0, {{"loss", Array::scalar(0.1F)}})));
  ASSERT_TRUE(csv->add(step(1, {{"a, \"b\"", Array::scalar(std::int64_t{9007199254740993})}, {"loss", Array::scalar(std::nan(""))}})));
  EXPECT_EQ(folder.read("log.csv"),
            "step,seconds,loss,\"a, \"\"b\"\"\"\n0,0.000000,0.1,\n1,0.500000,nan,9007199254740993\n");  // complete while the file is open
}

TEST(LogCsv, KeepsTheRowsBeforeTheStepWithWhichARunGoesOn) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("log.csv");
  const std::string header = "step,seconds,loss\n";
  folder.write("log.csv", header + "0,0.1,5\n1,0.2,4\n2,0.3,3\n3,0.4");  // the last row was cut off
  {
    Result<LogCsv> csv = LogCsv::create(path, {"loss"}, 2);
    ASSERT_TRUE(csv) << csv.error().message;
    ASSERT_TRUE(csv->add(step(2, {{"loss", Array::scalar(7.0F)}})));
  }
  EXPECT_EQ(folder.read("log.csv"), header + "0,0.1,5\n1,0.2,4\n2,1.000000,7.0\n");
  const Result<LogCsv> other = LogCsv::create(path, {"accuracy"}, 2);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("its columns are `step,seconds,loss`"), std::string::npos) << other.error().message;
  ASSERT_TRUE(LogCsv::create(path, {"loss"}));  // a new run begins anew
  EXPECT_EQ(folder.read("log.csv"), header);
  ASSERT_TRUE(LogCsv::create(folder.path("new.csv"), {"loss"}, 2));  // there was no file
  EXPECT_EQ(folder.read("new.csv"), header);
  EXPECT_FALSE(LogCsv::create(folder.path("no/such/folder.csv"), {"loss"}));
}

TEST(EventFile, ComputesCrc32C) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);  // the check value of the CRC catalogue, and the examples of RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

/// Reads the records of an event file, and checks lengths and sums bit by bit.
class EventReader {
 public:
  explicit EventReader(std::string bytes) : rest_(std::move(bytes)) {}
  std::vector<std::string> records() {
    std::vector<std::string> found;
    while (!rest_.empty()) {
      const std::string length = take(8);
      check(length);
      std::uint64_t size = 0;
      std::memcpy(&size, length.data(), 8);
      found.push_back(take(size));
      check(found.back());
    }
    return found;
  }

 private:
  std::string take(std::size_t count) {
    EXPECT_GE(rest_.size(), count);
    std::string bytes = rest_.substr(0, count);
    rest_.erase(0, count);
    return bytes;
  }
  void check(const std::string& bytes) {
    std::uint32_t crc = ~0U, stored = 0;
    for (const char c : bytes) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0x82f63b78U : crc >> 1;
    }
    crc = ~crc;
    const std::string sum = take(4);
    std::memcpy(&stored, sum.data(), 4);
    EXPECT_EQ(stored, ((crc >> 15) | (crc << 17)) + 0xa282ead8U);
  }
  std::string rest_;
};

TEST(EventFile, WritesRecordsThatAReaderFinds) {
  const test::TemporaryFolder folder;
  {
    Result<EventFile> events = EventFile::create(folder.path("logs/run"), 300);
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_TRUE(events->add(step(300, {{"loss", Array::scalar(0.25F)}, {"count", Array::scalar(std::int32_t{-3})}})));
  }
  const std::filesystem::directory_iterator file(folder.path("logs/run"));
  EXPECT_TRUE(file->path().filename().string().starts_with("events.out.tfevents."));
  const std::vector<std::string> records = EventReader(folder.read("logs/run/" + file->path().filename().string())).records();
  ASSERT_EQ(records.size(), 3U);
  const auto behind_time = [&](std::size_t i) {
    EXPECT_EQ(records[i].substr(0, 1), "\x09");  // field 1, a double: wall_time
    double time = 0;
    std::memcpy(&time, records[i].data() + 1, 8);
    EXPECT_GT(time, 1.6e9);
    return records[i].substr(9);
  };
  EXPECT_EQ(behind_time(0),
            "\x1a\x0d"
            "brain.Event:2");                                                       // field 3: file_version
  EXPECT_EQ(behind_time(1), std::string("\x10\xac\x02\x3a\x02\x08\x01"));           // step 300, session_log {status: START}
  EXPECT_EQ(behind_time(2), std::string("\x10\xac\x02\x2a\x1b"                      // step 300, a summary of 27 bytes
                                        "\x0a\x0b\x0a\x04loss\x15\x00\x00\x80\x3e"  // tag "loss", 0.25
                                        "\x0a\x0c\x0a\x05"
                                        "count\x15\x00\x00\x40\xc0",  // tag "count", -3
                                        5 + 13 + 14));
}

}  // namespace
}  // namespace cleave::testing
