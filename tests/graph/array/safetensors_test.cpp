// The safetensors format: round trips, and every rule of the format.
#include "graph/array/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

/// A file with that header and as many bytes of data.
std::string file(const std::string& header, std::size_t bytes) {
  const std::uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + header + std::string(bytes, '\1');
}

std::string refusal(const std::string& bytes) {
  const auto read = detail::parse_safetensors(bytes);
  return read ? "" : read.error().message;
}

TEST(SafeTensors, AreReadAsTheyWereWritten) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("x.safetensors");
  SafeTensors tensors;
  tensors.metadata = {{"format", "cleave"}, {"note", "a \"quoted\" one"}};
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16, DType::i8, DType::u64,
                            DType::u32, DType::u16, DType::u8, DType::boolean}) {
    for (const Shape& shape : {Shape{}, Shape{2, 3}, Shape{0, 4}}) {
      Array array({dtype, shape});
      for (std::int64_t i = 0; i < array.type().bytes(); ++i) array.mutable_bytes()[i] = static_cast<std::byte>(i % 2);
      tensors.arrays.emplace_back(to_string(array.type()), array);
    }
  }
  ASSERT_TRUE(write_safetensors(path, tensors));
  const auto read = read_safetensors(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->metadata, tensors.metadata);
  ASSERT_EQ(read->arrays.size(), tensors.arrays.size());
  std::map<std::string, Array> by_name(read->arrays.begin(), read->arrays.end());
  for (const auto& [name, array] : tensors.arrays) {
    SCOPED_TRACE(name);
    ASSERT_EQ(by_name.at(name).type(), array.type());
    EXPECT_EQ(std::memcmp(by_name.at(name).bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes())), 0);
  }
}

TEST(SafeTensors, KeepEveryRuleOfTheFormat) {
  const std::string good = R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(refusal(file(good, 8)), "");
  const std::pair<std::string, std::string> wrong[] = {
      {"", "no header"},
      {std::string(8, '\xff') + "{}", "cut off or too long"},
      {file("[]", 0), "does not begin with `{`"},
      {file("{\"a\":", 0), "its header: "},
      {file(R"({"a":1})", 0), "is no object"},
      {file(R"({"a":{"dtype":"I32","shape":[2]}})", 8), "must have"},
      {file(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", 8), "element type `C64`"},
      {file(R"({"a":{"dtype":"I32","shape":[-2],"data_offsets":[0,8]}})", 8), "no list of extents"},
      {file(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0]}})", 8), "no pair of offsets"},
      {file(R"({"a":{"dtype":"I32","shape":[3],"data_offsets":[0,8]}})", 8), "does not fill its place"},
      {file(R"({"a":{"dtype":"I32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8), "does not fill its place"},
      {file(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[4,12]}})", 12), "a hole or an overlap"},
      {file(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I32","shape":[1],"data_offsets":[4,8]}})", 8),
       "overlap"},
      {file(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"I32","shape":[2],"data_offsets":[8,16]}})", 16),
       "given twice"},
      {file(good, 9), "its data have 9 bytes"},
      {file(good, 4), "its data have 4 bytes"},
      {file(R"({"__metadata__":{"a":1}})", 0), "more than texts"},
  };
  for (const auto& [bytes, reason] : wrong) EXPECT_NE(refusal(bytes).find(reason), std::string::npos) << reason << ": " << refusal(bytes);
  std::string with_bool = file(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1);
  with_bool.back() = '\2';
  EXPECT_NE(refusal(with_bool).find("neither 0 nor 1"), std::string::npos);
}

}  // namespace
}  // namespace cleave::testing
