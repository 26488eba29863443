// Files that are named inside other files: which are opened, which are refused, and that opening one never blocks.
#include "graph/base/named_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "graph/base/source_lines.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

std::string error_of(const Result<RegularFile>& file) {
  return file ? "" : file.error().message;
}
std::string content_of(const Result<RegularFile>& file) {
  return file ? *file->read(1 << 20) : file.error().message;
}

TEST(RegularFile, IsAFileOnDiskAndNothingElse) {
  const TemporaryFolder folder;
  EXPECT_EQ(content_of(RegularFile::open(folder.write("a", "text"))), "text");
  EXPECT_EQ(content_of(RegularFile::open(folder.write("b", ""))), "");
  EXPECT_EQ(RegularFile::open(folder.path("a"))->size(), 4);
  fs::create_symlink("a", folder.path("link"));
  EXPECT_EQ(content_of(RegularFile::open(folder.path("link"))), "text");
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const auto refused = [](const std::string& path, const std::string& why) {
    EXPECT_EQ(error_of(RegularFile::open(path)), "cannot read `" + path + "`: " + why);
  };
  refused(folder.path("none"), "No such file or directory");
  refused(folder.path(""), "Is a directory");
  refused(folder.path("pipe"), "it is no regular file");  // the pipe has no writer: reading it would block
  refused("/dev/null", "it is no regular file");
  refused("/dev/zero", "it is no regular file");
  refused("/proc/self/environ", "it is no file on disk");
  if (fs::exists("/proc/kmsg")) refused("/proc/kmsg", "it is no file on disk");
  if (fs::exists("/sys/kernel/uevent_seqnum")) refused("/sys/kernel/uevent_seqnum", "it is no file on disk");
  fs::create_symlink("/proc/self/environ", folder.path("environ"));
  refused(folder.path("environ"), "it is no file on disk");
  EXPECT_FALSE(RegularFile::open(std::string("a\0b", 3)));
}

TEST(RegularFile, IsReadUpToALimit) {
  const TemporaryFolder folder;
  const Result<RegularFile> file = RegularFile::open(folder.write("a", std::string(1000, 'x')));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->read(1000)->size(), 1000U);
  EXPECT_EQ(file->read(999).error().message, "cannot read `" + folder.path("a") + "`: the file is larger than 999 B");
}

class FileRootsTest : public ::testing::Test {
 protected:
  FileRootsTest() {
    for (const char* each : {"model", "model/sub", "model/.git", "other"}) fs::create_directory(folder_.path(each));
    folder_.write("model/m.onnx", "model");
    folder_.write("model/in.py", "in");
    folder_.write("model/sub/deep.py", "deep");
    folder_.write("model/.env", "hidden");
    folder_.write("model/.git/config", "hidden");
    folder_.write("other/out.py", "out");
    fs::create_symlink("in.py", folder_.path("model/here.py"));
    fs::create_symlink("../other/out.py", folder_.path("model/there.py"));
    fs::create_symlink(".env", folder_.path("model/open.py"));
    fs::create_symlink("../other", folder_.path("model/there"));
  }
  std::string read(const std::string& name, const std::vector<std::string>& further = {}) {
    return content_of(FileRoots(folder_.path("model/m.onnx"), further).open(name));
  }
  static std::string outside(const std::string& name) { return "`" + name + "` lies outside of the model's folder"; }
  TemporaryFolder folder_;
};

TEST_F(FileRootsTest, AreTheFolderOfTheModel) {
  EXPECT_EQ(read("in.py"), "in");
  EXPECT_EQ(read("./in.py"), "in");
  EXPECT_EQ(read("sub/deep.py"), "deep");
  EXPECT_EQ(read("sub/../in.py"), "in");
  EXPECT_EQ(read(folder_.path("model/in.py")), "in");
  EXPECT_EQ(read("here.py"), "in") << "a link that stays in the folder";
  EXPECT_EQ(read("none.py"), "cannot read `" + folder_.path("model/none.py") + "`: No such file or directory");
}

TEST_F(FileRootsTest, MayBeNamedFromTheWorkingDirectory) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path(""));
  EXPECT_EQ(content_of(FileRoots("model/m.onnx").open("model/in.py")), "in");
  EXPECT_FALSE(FileRoots("model/m.onnx").open("other/out.py"));
  fs::current_path(before);
}

TEST_F(FileRootsTest, HaveNoWayOut) {
  for (const std::string name : {"../other/out.py", "sub/../../other/out.py", "..", "there.py", "there/out.py", "there/../m.onnx/..", "",
                                 "/", "/etc/passwd", "/proc/self/environ", "/proc/self/cwd/in.py"})
    EXPECT_FALSE(FileRoots(folder_.path("model/m.onnx")).open(name)) << name;
  for (const std::string name : {"../other/out.py", "there.py", "/etc/passwd"}) EXPECT_EQ(read(name), outside(name));
  EXPECT_EQ(read(folder_.path("other/out.py")), outside(folder_.path("other/out.py")));
  EXPECT_EQ(read(folder_.path("model") + "/../other/out.py"), outside(folder_.path("model") + "/../other/out.py"));
  EXPECT_EQ(read(folder_.path("model") + "-not/x"), outside(folder_.path("model") + "-not/x")) << "a name that begins alike";
}

TEST_F(FileRootsTest, HoldNothingThatIsHidden) {
  for (const std::string name : {".env", ".git/config", "open.py"}) EXPECT_EQ(read(name), outside(name));
}

TEST_F(FileRootsTest, AreAlsoFoldersThatTheUserStates) {
  const std::vector<std::string> further = {folder_.path("other")};
  EXPECT_EQ(read("out.py", further), "out");
  EXPECT_EQ(read(folder_.path("other/out.py"), further), "out");
  EXPECT_EQ(read("there.py", further), "out");
  EXPECT_EQ(read("out.py", {folder_.path("other/")}), "out");
  EXPECT_EQ(read("in.py", {folder_.path("none")}), "in");
}

TEST_F(FileRootsTest, OfAModelInTheRootAreNotTheWholeMachine) {
  EXPECT_FALSE(FileRoots("/m.onnx").open("etc/passwd"));
  EXPECT_FALSE(FileRoots("/m.onnx").open("/etc/passwd"));
  EXPECT_TRUE(FileRoots("/m.onnx", {"/"}).open("/etc/passwd")) << "the user asks for it";
}

/// A model as the Hugging Face cache stores it.
TEST(FileRoots, FollowLinksWithinTheCacheOfAModel) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path("hub/models--x/snapshots/5f1"));
  fs::create_directories(folder.path("hub/models--x/blobs"));
  folder.write("hub/models--x/blobs/aa", "model");
  folder.write("hub/models--x/blobs/bb", "data");
  folder.write("hub/secret", "secret");
  fs::create_symlink("../../blobs/aa", folder.path("hub/models--x/snapshots/5f1/model.onnx"));
  fs::create_symlink("../../blobs/bb", folder.path("hub/models--x/snapshots/5f1/model.onnx_data"));
  fs::create_symlink("../../../secret", folder.path("hub/models--x/snapshots/5f1/leak"));
  const FileRoots roots(folder.path("hub/models--x/snapshots/5f1/model.onnx"));
  EXPECT_EQ(content_of(roots.open("model.onnx_data")), "data");
  EXPECT_EQ(content_of(roots.open("bb")), "data") << "beside the file itself";
  EXPECT_FALSE(roots.open("leak"));
}

/// A model that was written into the cache, beside links that the cache made.
TEST(FileRoots, FollowLinksOfSnapshotsToTheirBlobs) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path("hub/models--x/snapshots/5f1/onnx"));
  fs::create_directories(folder.path("hub/models--x/blobs/more"));
  folder.write("hub/models--x/snapshots/5f1/onnx/model.onnx", "model");
  folder.write("hub/models--x/blobs/bb", "data");
  folder.write("hub/models--x/blobs/.token", "secret");
  folder.write("hub/models--x/blobs/more/deep", "secret");
  folder.write("hub/secret", "secret");
  const auto link = [&](const std::string& to, const std::string& name) {
    fs::create_symlink(to, folder.path("hub/models--x/snapshots/5f1/onnx/" + name));
  };
  link("../../../blobs/bb", "data");
  link("../../../blobs/.token", "hidden");
  link("../../../blobs/more/deep", "deep");
  link("../../../../secret", "leak");
  const FileRoots roots(folder.path("hub/models--x/snapshots/5f1/onnx/model.onnx"));
  EXPECT_EQ(content_of(roots.open("data")), "data");
  for (const std::string name : {"hidden", "deep", "leak", "bb", "../../../blobs/bb"}) EXPECT_FALSE(roots.open(name)) << name;
  EXPECT_FALSE(roots.open(folder.path("hub/models--x/blobs/bb"))) << "without a link";
}

TEST(FileRoots, FollowNoLinksToBlobsThatAreElsewhere) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path("x/snapshots"));
  fs::create_directories(folder.path("other"));
  folder.write("other/bb", "secret");
  folder.write("x/snapshots/model.onnx", "model");
  fs::create_symlink("../other", folder.path("x/blobs"));
  fs::create_symlink("../blobs/bb", folder.path("x/snapshots/data"));
  EXPECT_FALSE(FileRoots(folder.path("x/snapshots/model.onnx")).open("data")) << "`blobs` is a link itself";
}

TEST(SourceLines, OfNamesThatAFileStatesStayInItsRoots) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("model"));
  folder.write("model/in.py", "in\n");
  const std::string out = folder.write("out.py", "secret\n");
  const auto roots = std::make_shared<const FileRoots>(folder.path("model/m.onnx"));
  const auto stated = [&](const std::string& name) { return SourceLocation{stated_file(name, roots), 1, 1, nullptr}; };
  SourceLines lines;
  ASSERT_NE(lines.line(stated("in.py")), nullptr);
  EXPECT_EQ(*lines.line(stated("in.py")), "in");
  EXPECT_EQ(lines.line(stated(out)), nullptr);
  EXPECT_EQ(lines.line(stated("/proc/self/environ")), nullptr);
  // The source locations of a traced program may be in any file, also in one that a model must not name.
  const SourceLocation own{std::make_shared<const std::string>(out), 1, 1, nullptr};
  ASSERT_NE(lines.line(own), nullptr);
  EXPECT_EQ(*lines.line(own), "secret");
  EXPECT_EQ(lines.line(stated(out)), nullptr) << "though it has been read";
  EXPECT_EQ(lines.line(SourceLocation{std::make_shared<const std::string>("/proc/self/environ"), 1, 1, nullptr}), nullptr);
}

}  // namespace
}  // namespace cleave
