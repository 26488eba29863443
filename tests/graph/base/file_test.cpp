// Reading files: their content, and that nothing is read beyond a limit, also not from a device or a pipe.
#include "graph/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using test::TemporaryFolder;

std::string larger(const std::string& path, const std::string& limit) {
  return "cannot read `" + path + "`: the file is larger than " + limit;
}

TEST(ReadFile, GivesWhatTheFileHas) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 4095, 4096, 65535, 65536, 65537, 200000}) {
    std::string content(size, 'x');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 7 % 251);
    const Result<std::string> read = read_file(folder.write("a", content));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, content);
  }
  EXPECT_FALSE(read_file("/proc/self/status")->empty());  // a file that does not know its size
}

TEST(ReadFile, AFileOfTheLimitIsReadAndALargerOneIsNot) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", std::string(1024, 'x'));
  EXPECT_EQ(read_file(path, 1024)->size(), 1024U);
  const Result<std::string> larger_one = read_file(path, 1023);
  ASSERT_FALSE(larger_one);
  EXPECT_EQ(larger_one.error().message, larger(path, "1023 B"));
  EXPECT_EQ(larger_one.error().kind, ErrorKind::file);
}

TEST(ReadFile, WhatNeverEndsIsReadUpToTheLimit) {
  EXPECT_EQ(read_file("/dev/zero").error().message, larger("/dev/zero", "64 MiB"));
  EXPECT_EQ(read_file("/dev/zero", 1 << 10).error().message, larger("/dev/zero", "1.0 KiB"));
}

TEST(ReadFile, APipeIsReadToItsEndOrToTheLimit) {
  const TemporaryFolder folder;
  const std::string path = folder.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  for (const std::int64_t limit : {300000, 299999}) {
    std::thread writer([&] { std::ofstream(path) << std::string(300000, 'p'); });
    const Result<std::string> read = read_file(path, limit);
    writer.join();
    EXPECT_EQ(read.ok(), limit == 300000);
    if (!read) {
      EXPECT_EQ(read.error().message, larger(path, "293 KiB"));
    }
  }
}

TEST(ReadFile, MissingFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_file(folder.path("no")).error().message, "cannot read `" + folder.path("no") + "`: No such file or directory");
  EXPECT_EQ(read_file(folder.path("")).error().message, "cannot read `" + folder.path("") + "`: Is a directory");
}

TEST(InputFile, KnowsSizeAndPosition) {
  const TemporaryFolder folder;
  Result<InputFile> file = InputFile::open(folder.write("a", "0123456789"), 100);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 10);
  std::array<char, 8> into{};
  EXPECT_EQ(*file->read(into.data(), 4), 4U);
  EXPECT_EQ(file->position(), 4);
  EXPECT_EQ(*file->read(into.data(), 8), 6U);
  EXPECT_EQ(into[0], '4');
  EXPECT_EQ(*file->read(into.data(), 8), 0U);
  EXPECT_EQ(InputFile::open("/dev/zero", 8)->size(), std::nullopt);
}

}  // namespace
}  // namespace cleave
