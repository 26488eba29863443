// Writing files: a file is written whole or not at all, at its path and with its mode, and an unfinished one leaves nothing behind.
#include "graph/base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

#include "graph/base/file.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using test::TemporaryFolder;
using Unfinished = OutputFile::Unfinished;
namespace fs = std::filesystem;

class OutputFileTest : public ::testing::TestWithParam<Unfinished> {
 protected:
  Status write(const std::string& path, std::string_view text) {
    Result<OutputFile> file = OutputFile::create(path, GetParam());
    if (!file) return file.error();
    if (Status written = file->write(text); !written) return written;
    return file->commit();
  }
  /// Checks that the file is refused before anything is written, and that nothing changes.
  void expect_refused(const std::string& path, const std::string& why) {
    const std::size_t files = folder_.files();
    for (const Status& status : {write(path, "new"), check_writable(path)}) {
      ASSERT_FALSE(status) << path;
      EXPECT_EQ(status.error().message, "cannot write `" + path + "`: " + why);
      EXPECT_EQ(status.error().kind, ErrorKind::file);
    }
    EXPECT_EQ(folder_.files(), files);
  }
  static mode_t mode(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  TemporaryFolder folder_;
};

TEST_P(OutputFileTest, IsSeenWhenItIsWhole) {
  const std::string path = folder_.path("a");
  Result<OutputFile> file = OutputFile::create(path, GetParam());
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("one "));
  ASSERT_TRUE(file->write("two"));
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(folder_.read("a"), "one two");
  EXPECT_EQ(folder_.files(), 1U);
}

TEST_P(OutputFileTest, WhatIsNotCommittedWasNeverThere) {
  folder_.write("a", "old");
  for (const char* name : {"a", "b"}) {
    Result<OutputFile> file = OutputFile::create(folder_.path(name), GetParam());
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
  }
  EXPECT_EQ(folder_.read("a"), "old");
  EXPECT_EQ(folder_.files(), 1U);
}

TEST_P(OutputFileTest, TheFirstOfSeveralStaysWhereThatIsWanted) {
  const std::string path = folder_.path("a");
  std::vector<OutputFile> files;
  for (const char* text : {"first", "second"}) {
    Result<OutputFile> file = OutputFile::create(path, GetParam());
    ASSERT_TRUE(file && file->write(text));
    files.push_back(*std::move(file));
  }
  for (const bool first : {true, false}) {
    const Result<bool> committed = files[first ? 0 : 1].commit_if_first();
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(*committed, first);
    EXPECT_EQ(folder_.read("a"), "first");
  }
  files.clear();
  EXPECT_EQ(folder_.files(), 1U);
  EXPECT_EQ(mode(path) & 0600, 0600U);
}

TEST_P(OutputFileTest, KeepsTheModeOfWhatItReplaces) {
  const std::string path = folder_.write("a", "old");
  for (const mode_t wanted : {0600, 0755, 0644, 0200}) {
    ASSERT_EQ(::chmod(path.c_str(), wanted), 0);
    ASSERT_TRUE(write(path, "new"));
    EXPECT_EQ(mode(path), wanted);
  }
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(write(folder_.path("fresh"), "new"));
  ::umask(mask);
  EXPECT_EQ(mode(folder_.path("fresh")), 0640U);
}

TEST_P(OutputFileTest, ReadOnlyFilesStay) {
  const std::string path = folder_.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  expect_refused(path, "Permission denied");
  fs::create_symlink("a", folder_.path("link"));
  expect_refused(folder_.path("link"), "Permission denied");
  EXPECT_EQ(folder_.read("a"), "old");
}

TEST_P(OutputFileTest, LinksAreFollowed) {
  folder_.write("a", "old");
  fs::create_directory(folder_.path("inner"));
  fs::create_symlink("a", folder_.path("one"));
  fs::create_symlink(folder_.path("one"), folder_.path("inner/two"));
  fs::create_symlink("inner/three", folder_.path("dangling"));
  fs::create_symlink("../made", folder_.path("inner/three"));
  ASSERT_TRUE(write(folder_.path("inner/two"), "new"));
  EXPECT_EQ(folder_.read("a"), "new");
  ASSERT_TRUE(write(folder_.path("dangling"), "made"));
  EXPECT_EQ(folder_.read("made"), "made");
  for (const char* link : {"one", "inner/two", "dangling", "inner/three"}) EXPECT_TRUE(fs::is_symlink(folder_.path(link))) << link;
  fs::create_symlink("round", folder_.path("round"));
  expect_refused(folder_.path("round"), "Too many levels of symbolic links");
  fs::create_symlink("none/a", folder_.path("nowhere"));
  expect_refused(folder_.path("nowhere"), "No such file or directory");
}

TEST_P(OutputFileTest, NamesMayBeAsLongAsTheFileSystemTakes) {
  const std::string longest(255, 'n');
  for (const char* text : {"old", "new"}) {
    ASSERT_TRUE(write(folder_.path(longest), text));
    EXPECT_EQ(folder_.read(longest), text);
  }
  expect_refused(folder_.path(std::string(256, 'n')), "File name too long");
}

TEST_P(OutputFileTest, WhatIsNoPlaceForAFileIsRefused) {
  folder_.write("a", "old");
  expect_refused(folder_.path("none/a"), "No such file or directory");
  expect_refused(folder_.path("a/b"), "Not a directory");
  expect_refused(folder_.path(""), "Is a directory");
  expect_refused(folder_.path("."), "Is a directory");
  expect_refused("", "No such file or directory");
  expect_refused("/proc/version", "Permission denied");
  expect_refused("/dev/fd/12345", "Bad file descriptor");
}

TEST_P(OutputFileTest, DevicesAndPipesAreWrittenDirectly) {
  ASSERT_TRUE(write("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_TRUE(check_writable("/dev/null"));
  EXPECT_EQ(write("/dev/full", "x").error().message, "cannot write `/dev/full`: No space left on device");
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(check_writable(pipe));
  std::string got;
  std::thread reader([&] { got = *cleave::read_file(pipe); });
  EXPECT_TRUE(write(pipe, "through"));
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_P(OutputFileTest, AStreamThatIsOpenGoesOnWhereItIs) {
  const int file = ::open(folder_.path("log").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    ASSERT_TRUE(check_writable(folder + std::to_string(file)));
    ASSERT_TRUE(write(folder + std::to_string(file), "inside "));
  }
  ASSERT_EQ(::write(file, "after", 5), 5);
  ::close(file);
  EXPECT_EQ(folder_.read("log"), "before inside inside after");
}

TEST_P(OutputFileTest, AFullDiskIsAnErrorAndLeavesNothing) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write(folder_.path("a"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cannot write `" + folder_.path("a") + "`: File too large");
  EXPECT_EQ(folder_.files(), 0U);
}

TEST_P(OutputFileTest, ManyAtOnceAreEachWhole) {
  const std::string path = folder_.path("a");
  std::vector<std::thread> writers;
  for (int i = 0; i < 20; ++i)
    writers.emplace_back([&, i] {
      for (int n = 0; n < 10; ++n) EXPECT_TRUE(write(path, std::string(3000, static_cast<char>('a' + i))));
    });
  for (std::thread& writer : writers) writer.join();
  const std::string text = folder_.read("a");
  EXPECT_EQ(text, std::string(3000, text.front()));
  EXPECT_EQ(folder_.files(), 1U);
}

/// Ends a process with an unfinished file by `signal`; returns the signal that ended it.
int end_while_writing(const std::string& path, Unfinished unfinished, int signal) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(signal, [](int number) {
      remove_unfinished_files();
      std::signal(number, SIG_DFL);
      (void)::raise(number);
    });
    Result<OutputFile> file = OutputFile::create(path, unfinished);
    const bool written = file && file->write("half");
    (void)!::write(ready[1], written ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  EXPECT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_P(OutputFileTest, ASignalLeavesNothing) {
  const std::string path = folder_.write("a", "old");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) EXPECT_EQ(end_while_writing(path, GetParam(), signal), signal);
  EXPECT_EQ(folder_.files(), 1U);
  EXPECT_EQ(folder_.read("a"), "old");
}

INSTANTIATE_TEST_SUITE_P(Both, OutputFileTest, ::testing::Values(Unfinished::nameless, Unfinished::named),
                         [](const auto& kind) { return kind.param == Unfinished::nameless ? "Nameless" : "Named"; });

TEST(OutputFile, WithoutANameNotEvenAKillLeavesAnything) {
  const TemporaryFolder folder;
  const int probe = ::open(folder.path("").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0) GTEST_SKIP() << "this file system has no files without a name";
  ::close(probe);
  EXPECT_EQ(end_while_writing(folder.path("a"), Unfinished::nameless, SIGKILL), SIGKILL);
  EXPECT_EQ(folder.files(), 0U);
}

}  // namespace
}  // namespace cleave
