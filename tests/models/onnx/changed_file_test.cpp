// A model file that changes while a program uses it: data already read stays the same, and a change during reading is one Error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "executor/api/executable.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/mapped_file.h"
#include "models/model.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using ::testing::HasSubstr;

constexpr std::int64_t kElements = 1 << 20;  ///< 4 MiB: files of more than 1 MiB are mapped

std::string weights(float value) {
  const std::vector<float> values(kElements, value);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string file_with(const Message& initializer) {
  return model(graph_of({.nodes = {node("Mul", {"x", "w"}, {"y"})},
                         .inputs = {value_info("x", kFloat, {kElements})},
                         .outputs = {untyped("y")},
                         .initializers = {initializer}}));
}

std::string model_of(float weight) {
  return file_with(floats("w", {kElements}, std::vector<float>(kElements, weight)));
}

/// Overwrites the file's bytes in place, without creating a new file.
void overwrite(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "r+");
  ASSERT_TRUE(file);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
}

class ChangedFile : public ::testing::TestWithParam<std::string> {
 protected:
  /// The result of `w` times one.
  static double run(const Executable& program) {
    const Result<RunResult> result = program.run({{"x", Array::of<float>({kElements}, std::vector<float>(kElements, 1))}});
    return result ? result->output("y")->at(kElements - 1) : -1;
  }
  static Executable read_and_compile(const std::string& path) {
    Result<Executable> program = compile(read_model(path), {.device = GetParam()});
    if (!program) ADD_FAILURE() << to_text(program.error());
    return *program;
  }
  test::TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Devices, ChangedFile, ::testing::Values("none", "simulated"));

TEST_P(ChangedFile, AProgramKeepsTheWeightsThatItWasReadWith) {
  const std::string path = folder_.write("m.onnx", model_of(2));
  const Executable program = read_and_compile(path);
  EXPECT_EQ(run(program), 2);
  overwrite(path, model_of(3));
  EXPECT_EQ(run(program), 2);
  EXPECT_EQ(run(read_and_compile(path)), 3);
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  EXPECT_EQ(run(program), 2);
}

TEST_P(ChangedFile, SoItDoesThoseOfExternalData) {
  const auto entry = [](std::string_view key, std::string_view value) { return Message().text(1, key).text(2, value); };
  const std::string data = folder_.write("w.data", weights(2));
  const Message external =
      Message().varint(1, kElements).varint(2, kFloat).text(8, "w").message(13, entry("location", "w.data")).varint(14, 1);
  const Executable program = read_and_compile(folder_.write("m.onnx", file_with(external)));
  EXPECT_EQ(run(program), 2);
  overwrite(data, weights(3));
  EXPECT_EQ(run(program), 2);
  ASSERT_EQ(truncate(data.c_str(), 0), 0);
  EXPECT_EQ(run(program), 2);
}

TEST(MappedFile, SaysThatItWasChanged) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("w.data", weights(2));
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->unchanged().ok());
  overwrite(path, weights(3).substr(0, 8));
  const Status changed = (*file)->unchanged();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::file);
  EXPECT_THAT(changed.error().message, HasSubstr("w.data` was changed while it was read"));
}

TEST(MappedFile, CutShortItHoldsZerosAndSaysSo) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("w.data", weights(2));
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(path.c_str(), 1 << 20), 0);
  const std::string_view bytes = (*file)->bytes();
  EXPECT_EQ(bytes.substr(bytes.size() - 4), std::string_view("\0\0\0\0", 4));
  EXPECT_EQ(bytes.substr(0, 4), std::string_view(weights(2)).substr(0, 4));
  EXPECT_FALSE((*file)->unchanged().ok());
}

TEST(MappedFile, ANewFileOfTheSameNameDoesNoHarm) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("w.data", weights(2));
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(std::rename(folder.write("other.data", weights(5)).c_str(), path.c_str()), 0);
  EXPECT_EQ((*file)->bytes(), weights(2));
  EXPECT_TRUE((*file)->unchanged().ok());
}

}  // namespace
}  // namespace cleave
