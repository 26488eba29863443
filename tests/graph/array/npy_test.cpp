// npy files: a round trip of every type, files that NumPy writes, and every possible error in a file.
#include "graph/array/npy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <thread>

#include "graph/array/safetensors.h"
#include "graph/base/file.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using test::TemporaryFolder;

/// A file of `version` with this header and data.
std::string npy(std::string header, std::string_view data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + std::string(data);
}

std::string dict(const std::string& descriptor, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descriptor + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

void expect_npy_error(const TemporaryFolder& folder, const std::string& content, const std::string& message) {
  const std::string path = folder.write("bad.npy", content);
  const Result<Array> array = read_npy(path);
  ASSERT_FALSE(array) << message;
  EXPECT_EQ(array.error().message, "cannot read `" + path + "`: " + message);
  EXPECT_EQ(array.error().kind, ErrorKind::file);
}

TEST(Npy, EveryTypeAndShapeComesBack) {
  const TemporaryFolder folder;
  for (int i = 0; i < kDTypeCount; ++i) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3}, Shape{2, 0, 4}, Shape(70, 1)}) {
      const auto type = static_cast<DType>(i);
      Array array(TensorType{type, shape});
      for (std::int64_t k = 0; k < array.type().bytes(); ++k) {
        array.mutable_bytes()[k] = static_cast<std::byte>(type == DType::boolean ? k % 2 : 3 * k + 1);
      }
      ASSERT_TRUE(write_npy(folder.path("a.npy"), array));
      const Result<Array> back = read_npy(folder.path("a.npy"));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, array);
      EXPECT_EQ(folder.files(), 1u);
    }
  }
}

TEST(Npy, BytesAreThoseOfNumPy) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_npy(folder.path("a.npy"), Array::of<float>({2, 1}, {1, 2})));
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  expected += std::string(127 - expected.size(), ' ') + "\n" + raw<float>({1, 2});
  EXPECT_EQ(folder.read("a.npy"), expected);
  ASSERT_TRUE(write_npy(folder.path("a.npy"), Array::of<bool>({1}, {true})));
  EXPECT_NE(folder.read("a.npy").find("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }"), std::string::npos);
  ASSERT_TRUE(write_npy(folder.path("a.npy"), Array::scalar(1.0)));
  EXPECT_NE(folder.read("a.npy").find("'shape': (), }"), std::string::npos);
  ASSERT_TRUE(write_npy(folder.path("a.npy"), Array::of<BFloat16>({1}, {BFloat16(1)})));
  EXPECT_NE(folder.read("a.npy").find("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }"), std::string::npos);
}

/// As NumPy writes an array of the type `bfloat16` of ml_dtypes, and as other programs call it.
TEST(Npy, TwoBytesWithoutAMeaningAreBf16) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& descriptor, const std::string& order, const std::string& data) {
    std::string header = "{'descr': '" + descriptor + "', 'fortran_order': " + order + ", 'shape': (2, 2), }";
    header += std::string(127 - 10 - header.size(), ' ') + "\n";
    return folder.write("a.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data);
  };
  const std::string bits = raw<std::uint16_t>({0x3f80, 0x4000, 0xc040, 0x3e80});
  for (const char* descriptor : {"<V2", "|V2", "bfloat16"}) {
    const Result<Array> array = read_npy(file(descriptor, "False", bits));
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->dtype(), DType::bf16);
    EXPECT_EQ(to_string(*array), "[[1.0, 2.0], [-3.0, 0.25]]");
  }
  EXPECT_EQ(to_string(*read_npy(file("<V2", "True", bits))), "[[1.0, -3.0], [2.0, 0.25]]");
  for (const char* descriptor : {">V2", "<V4", "|V1"}) EXPECT_FALSE(read_npy(file(descriptor, "False", bits))) << descriptor;
}

TEST(Npy, LongHeadersUseVersion2) {
  const TemporaryFolder folder;
  const Array array(TensorType{DType::u8, Shape(30000, 1)});
  ASSERT_TRUE(write_npy(folder.path("a.npy"), array));
  EXPECT_EQ(folder.read("a.npy")[6], 2);
  const Result<Array> back = read_npy(folder.path("a.npy"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, array);
}

TEST(Npy, ReadsAllVersionsAndSpellings) {
  const TemporaryFolder folder;
  const Array expected = Array::of<std::int32_t>({2}, {7, -8});
  const std::string data = raw<std::int32_t>({7, -8});
  for (int version : {1, 2, 3}) {
    for (const std::string& header : {dict("<i4", "False", "(2,)"), dict("=i4", "True", "(2,)"), dict("<i4", "False", "(2L,)"),
                                      std::string("{\"shape\": (2), \"descr\":'<i4','fortran_order':False}")}) {
      const Result<Array> array = read_npy(folder.write("a.npy", npy(header, data, version)));
      ASSERT_TRUE(array) << header << array.error().message;
      EXPECT_EQ(*array, expected);
    }
  }
}

TEST(Npy, FortranOrderIsReordered) {
  const TemporaryFolder folder;
  const Result<Array> matrix = read_npy(folder.write("a.npy", npy(dict("<f4", "True", "(2, 3)"), raw<float>({1, 4, 2, 5, 3, 6}))));
  ASSERT_TRUE(matrix);
  EXPECT_EQ(*matrix, Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Result<Array> cube =
      read_npy(folder.write("a.npy", npy(dict("|u1", "True", "(2, 3, 2)"), raw<std::uint8_t>({0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}))));
  ASSERT_TRUE(cube);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(cube->at(i), i);
  EXPECT_TRUE(read_npy(folder.write("a.npy", npy(dict("<f4", "True", "(0, 3)"), ""))));
}

TEST(Npy, BoolBytesBecomeBools) {
  const TemporaryFolder folder;
  const Result<Array> array = read_npy(folder.write("a.npy", npy(dict("|b1", "False", "(3,)"), raw<std::uint8_t>({0, 1, 255}))));
  ASSERT_TRUE(array);
  EXPECT_EQ(*array, Array::of<bool>({3}, {false, true, true}));
}

TEST(Npy, EveryTruncationIsAnError) {
  const TemporaryFolder folder;
  for (int version : {1, 2}) {
    const std::string whole = npy(dict("<i8", "False", "(2, 2)"), raw<std::int64_t>({1, 2, 3, 4}), version);
    ASSERT_TRUE(read_npy(folder.write("a.npy", whole)));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Result<Array> array = read_npy(folder.write("a.npy", whole.substr(0, size)));
      ASSERT_FALSE(array) << size;
      EXPECT_NE(array.error().message.find(folder.path("a.npy")), std::string::npos);
    }
    expect_npy_error(folder, whole + "x", "`i64[2, 2]` needs 32 bytes of data, but the file has 33");
  }
}

TEST(Npy, EveryChangedHeaderByteIsSurvived) {
  const TemporaryFolder folder;
  const std::string whole = npy(dict("<i4", "False", "(2, 2)"), raw<std::int32_t>({1, 2, 3, 4}));
  int accepted = 0;
  for (std::size_t at = 0; at + 16 < whole.size(); ++at) {
    for (int change : {1, 4, 0x20, 0x80}) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ change);
      if (const Result<Array> array = read_npy(folder.write("a.npy", broken))) {
        ++accepted;
        EXPECT_EQ(array->type().bytes(), 16);
      }
    }
  }
  EXPECT_LT(accepted, 20);  // blanks for newlines, and other types of this size
}

TEST(Npy, AbsurdShapesAreRefusedBeforeAnythingIsAllocated) {
  const TemporaryFolder folder;
  expect_npy_error(folder, npy(dict("<f8", "False", "(4611686018427387904, 4)"), "12345678"), "`f64[4611686018427387904, 4]` is too large");
  expect_npy_error(folder, npy(dict("<f4", "False", "(4294967296, 4294967296)"), "1234"), "`f32[4294967296, 4294967296]` is too large");
  expect_npy_error(folder, npy(dict("<f4", "False", "(0, 9223372036854775807, 9223372036854775807)"), ""),
                   "`f32[0, 9223372036854775807, 9223372036854775807]` is too large");
  expect_npy_error(folder, npy(dict("|u1", "False", "(4611686018427387904,)"), "1"),
                   "`u8[4611686018427387904]` needs 4611686018427387904 bytes of data, but the file has 1");
  expect_npy_error(folder, npy(dict("<f4", "False", "(99999999999999999999,)"), "1234"), "malformed npy header");
  expect_npy_error(folder, npy(dict("<f4", "False", "(-1,)"), ""), "malformed npy header");
}

TEST(Npy, MalformedFilesSayWhatIsWrong) {
  const TemporaryFolder folder;
  expect_npy_error(folder, "", "not an npy file");
  expect_npy_error(folder, "PK\x03\x04 this is a zip", "not an npy file");
  expect_npy_error(folder, npy(dict("<f4", "False", "()"), "1234", 4), "npy version 4.0 is not supported");
  expect_npy_error(folder, npy("", ""), "malformed npy header");
  expect_npy_error(folder, npy(dict("<f4", "maybe", "()"), "1234"), "malformed npy header");
  expect_npy_error(folder, npy("{'descr': '<f4', 'shape': (), }", "1234"), "malformed npy header");
  expect_npy_error(folder, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", "1234"), "malformed npy header");
  expect_npy_error(folder, npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "1234"), "malformed npy header");
  expect_npy_error(folder, npy("{'descr': '<f4", ""), "malformed npy header");
  expect_npy_error(folder, npy("{'descr': [[[", ""), "malformed npy header");
  expect_npy_error(folder, npy(dict("<f4", "False", "(1, 1"), "1234"), "malformed npy header");
  for (const char* type : {">f4", "<c8", "<U4", ">u4", "|i16", "|O", "<f16", "", "f4", "|i2"}) {
    expect_npy_error(folder, npy(dict(type, "False", "()"), "1234"),
                     "element type `" + std::string(type) +
                         "` is not supported (only little-endian f2, f4, f8, i1 to i8, u1 to u8, b1, and V2 for bf16)");
  }
  expect_npy_error(folder, npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "1234"),
                   "element type `structured` is not supported (only little-endian f2, f4, f8, i1 to i8, u1 to u8, b1, and V2 for bf16)");
}

TEST(Npy, MissingFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_npy(folder.path("none.npy")).error().message, "cannot read `" + folder.path("none.npy") + "`: No such file or directory");
  EXPECT_FALSE(read_npy(folder.path("")));
}

TEST(Npy, AFailedWriteLeavesNothing) {
  const TemporaryFolder folder;
  const Array array = Array::of<float>({2}, {1, 2});
  const Status missing = write_npy(folder.path("none/a.npy"), array);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "cannot write `" + folder.path("none/a.npy") + "`: No such file or directory");
  std::filesystem::create_directory(folder.path("taken.npy"));
  EXPECT_FALSE(write_npy(folder.path("taken.npy"), array));
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Npy, WritesThroughLinksAndToDevices) {
  const TemporaryFolder folder;
  folder.write("target.npy", "old");
  std::filesystem::create_symlink("target.npy", folder.path("link.npy"));
  const Array array = Array::of<float>({2}, {1, 2});
  ASSERT_TRUE(write_npy(folder.path("link.npy"), array));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link.npy")));
  EXPECT_EQ(*read_npy(folder.path("target.npy")), array);
  EXPECT_TRUE(write_npy("/dev/null", array));
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

// --- data of a declared type -----------------------------------------------------------------------------------------

Result<Array> as(const Array& array, const TensorType& type) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_npy(folder.path("a.npy"), array));
  Result<Array> result = read_array(folder.path("a.npy"), type);
  if (!result) {
    EXPECT_TRUE(result.error().message.starts_with("`" + folder.path("a.npy") + "` holds "));
  }
  return result;
}

TEST(ReadArray, ConvertsWhereTheValuesSurvive) {
  EXPECT_EQ(*as(Array::of<double>({2}, {0.1, -3}), {DType::f32, {2}}), Array::of<float>({2}, {0.1F, -3}));
  EXPECT_EQ(*as(Array::of<double>({2}, {3, -4}), {DType::i32, {2}}), Array::of<std::int32_t>({2}, {3, -4}));
  EXPECT_EQ(*as(Array::of<std::int64_t>({2}, {0, 255}), {DType::u8, {2}}), Array::of<std::uint8_t>({2}, {0, 255}));
  EXPECT_EQ(*as(Array::of<std::int64_t>({2}, {0, 1}), {DType::boolean, {2}}), Array::of<bool>({2}, {false, true}));
  EXPECT_EQ(*as(Array::of<bool>({2}, {false, true}), {DType::f16, {2}}), Array::of<Half>({2}, {Half(0), Half(1)}));
  EXPECT_EQ(*as(Array::scalar<std::int64_t>(std::int64_t{1} << 40), {DType::f32, {}}), Array::scalar(0x1p40F));
  EXPECT_EQ(*as(Array::scalar(std::numeric_limits<std::int64_t>::min()), {DType::f64, {}}), Array::scalar(-0x1p63));
  EXPECT_TRUE(std::isnan(as(Array::scalar(NAN), {DType::bf16, {}})->at(0)));
  EXPECT_EQ(as(Array::scalar(std::numeric_limits<double>::infinity()), {DType::f16, {}})->at(0), std::numeric_limits<double>::infinity());
}

TEST(ReadArray, ConvertsIntegersOfEverySize) {
  constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(*as(Array::of<std::int64_t>({2}, {-128, 127}), {DType::i8, {2}}), Array::of<std::int8_t>({2}, {-128, 127}));
  EXPECT_EQ(*as(Array::of<double>({2}, {0, 65535}), {DType::u16, {2}}), Array::of<std::uint16_t>({2}, {0, 65535}));
  EXPECT_EQ(*as(Array::of<std::uint64_t>({1}, {7}), {DType::i16, {1}}), Array::of<std::int16_t>({1}, {7}));
  EXPECT_EQ(*as(Array::of<std::uint64_t>({1}, {highest}), {DType::u64, {1}}), Array::of<std::uint64_t>({1}, {highest}));
  EXPECT_EQ(*as(Array::of<std::uint32_t>({1}, {4294967295}), {DType::u64, {1}}), Array::of<std::uint64_t>({1}, {4294967295}));
  EXPECT_FALSE(as(Array::scalar(highest), {DType::i64, {}}));
  EXPECT_FALSE(as(Array::scalar(highest), {DType::f64, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int64_t>(-1), {DType::u64, {}}));
  EXPECT_FALSE(as(Array::scalar(0x1p64), {DType::u64, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int32_t>(128), {DType::i8, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int32_t>(65536), {DType::u16, {}}));
}

TEST(ReadArray, RefusesWhereTheyDoNot) {
  EXPECT_FALSE(as(Array::scalar(0.5), {DType::i32, {}}));
  EXPECT_FALSE(as(Array::scalar(2147483648.0), {DType::i32, {}}));
  EXPECT_FALSE(as(Array::scalar(0x1p63), {DType::i64, {}}));
  EXPECT_FALSE(as(Array::scalar<float>(NAN), {DType::i64, {}}));
  EXPECT_FALSE(as(Array::scalar(-1.0), {DType::u8, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int32_t>(2), {DType::boolean, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int32_t>(-1), {DType::u8, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int32_t>(16777217), {DType::f32, {}}));
  EXPECT_FALSE(as(Array::scalar(std::numeric_limits<std::int64_t>::max()), {DType::f64, {}}));
  EXPECT_FALSE(as(Array::scalar<std::int32_t>(70000), {DType::f16, {}}));
  EXPECT_FALSE(as(Array::scalar(1e300), {DType::f32, {}}));
  EXPECT_FALSE(as(Array::scalar(70000.0F), {DType::f16, {}}));
}

TEST(ReadArray, ErrorsShowBothTypes) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_npy(folder.path("a.npy"), Array::of<float>({2}, {1, 2})));
  EXPECT_EQ(read_array(folder.path("a.npy"), {DType::f32, {2, 1}}).error().message,
            "`" + folder.path("a.npy") + "` holds f32[2], but f32[2, 1] is wanted");
  ASSERT_TRUE(write_npy(folder.path("a.npy"), Array::of<float>({1}, {0.5})));
  EXPECT_EQ(read_array(folder.path("a.npy"), {DType::i32, {1}}).error().message,
            "`" + folder.path("a.npy") + "` holds f32[1], but i32[1] is wanted, and not all values fit");
  EXPECT_EQ(read_array("data.bin", {DType::i32, {1}}).error().message,
            "cannot read `data.bin`: the name must end in .npy, .csv, .txt or .safetensors");
}

TEST(ReadArray, TextIsBytesRowByRow) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", std::string("ab\n\0\xff!", 6));
  const Array bytes = Array::of<std::uint8_t>({2, 3}, {'a', 'b', '\n', 0, 255, '!'});
  EXPECT_EQ(*read_array(path, {DType::u8, {2, 3}}), bytes);
  EXPECT_EQ(read_array(path, {DType::u8, {7}}).error().message, "`" + path + "` holds 6 bytes, but u8[7] is wanted");
  EXPECT_EQ(read_array(path, {DType::i8, {6}}).error().message, "`" + path + "` holds bytes (u8), but i8[6] is wanted");
  EXPECT_FALSE(read_array(folder.path("missing.txt"), {DType::u8, {6}}));
  ASSERT_TRUE(write_text(folder.path("b.txt"), bytes));
  EXPECT_EQ(*read_array(folder.path("b.txt"), {DType::u8, {2, 3}}), bytes);
  EXPECT_EQ(write_text(folder.path("c.txt"), Array::of<float>({1}, {1})).error().message,
            "`" + folder.path("c.txt") + "`: text is bytes (u8), and this array is f32[1]");
}

TEST(ReadArray, LongTextIsMapped) {
  const TemporaryFolder folder;
  std::string content(64 << 20, 'x');
  content.back() = 'y';
  const std::string path = folder.write("long.txt", content);
  const TensorType type{DType::u8, {64 << 20}};
  const std::optional<Array> mapped = detail::map_text(path, type, FileKind::any);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->data<std::uint8_t>()[type.shape[0] - 1], 'y');
  EXPECT_EQ(detail::map_array(path, type, "", FileKind::any)->data<std::uint8_t>()[0], 'x');
  EXPECT_FALSE(detail::map_text(folder.write("short.txt", "xy"), {DType::u8, {2}}, FileKind::any));
}

TEST(ReadArray, OfSafetensorsIsTheArrayOfTheName) {
  const TemporaryFolder folder;
  const std::string path = folder.path("net.safetensors");
  ASSERT_TRUE(write_safetensors(path, {{{"net.w", Array::of<float>({2}, {1, 2})}, {"net.b", Array::of<double>({1}, {0.5})}}, {}}));
  EXPECT_EQ(*read_array(path, {DType::f32, {2}}, "net.w"), Array::of<float>({2}, {1, 2}));
  EXPECT_EQ(*read_array(path, {DType::f32, {1}}, "net.b"), Array::of<float>({1}, {0.5F}));
  EXPECT_EQ(read_array(path, {DType::f32, {1}}, "net.c").error().message, path + ": it has no array `net.c`");
  EXPECT_EQ(read_array(path, {DType::f32, {1, 2}}, "net.w").error().message, "`" + path + "` holds f32[2], but f32[1, 2] is wanted");
  EXPECT_FALSE(read_array(folder.write("no.safetensors", "text"), {DType::f32, {1}}, "net.w"));
}

/// The result of `read` while another thread writes `content` to the pipe, or as much of it as is read.
template <class F>
auto through_pipe(const std::string& path, const std::string& content, F&& read) {
  std::thread writer([&] {
    const int file = ::open(path.c_str(), O_WRONLY);
    for (std::size_t at = 0; at < content.size();) {
      const ssize_t n = ::write(file, content.data() + at, content.size() - at);
      if (n < 0) break;  // the reader has closed the pipe
      at += static_cast<std::size_t>(n);
    }
    ::close(file);
  });
  auto result = read();
  writer.join();
  return result;
}

TEST(Npy, AreReadFromPipesByTheirTypes) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const TemporaryFolder folder;
  const std::string path = folder.path("pipe.npy");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string numbers = npy(dict("<i4", "False", "(2,)"), std::string("\1\0\0\0\2\0\0\0", 8));
  const TensorType type{DType::i32, {2}};
  const auto read = [&] { return read_array(path, type); };
  EXPECT_EQ(*through_pipe(path, numbers, read), Array::of<std::int32_t>({2}, {1, 2}));
  const std::string start = "cannot read `" + path + "`: ";
  EXPECT_EQ(through_pipe(path, numbers + "x", read).error().message, start + "`i32[2]` needs 8 bytes of data, but the file has more");
  EXPECT_EQ(through_pipe(path, numbers.substr(0, numbers.size() - 3), read).error().message,
            start + "`i32[2]` needs 8 bytes of data, but the file has 5");
  EXPECT_EQ(through_pipe(path, numbers.substr(0, 40), read).error().message, start + "truncated npy header");
  // Unwanted data is not read, whatever size the header claims.
  EXPECT_EQ(through_pipe(path, npy(dict("<i4", "False", "(1152921504606846976,)"), "1234"), read).error().message,
            "`" + path + "` holds i32[1152921504606846976], but i32[2] is wanted");
  EXPECT_EQ(through_pipe(path, "\x93NUMPY" + std::string("\2\0\xff\xff\xff\xff", 6) + std::string(1 << 21, ' '), read).error().message,
            start + "npy header too long");
  std::signal(SIGPIPE, before);
}

TEST(Npy, ADeviceThatNeverEndsIsNotReadForEver) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/zero", folder.path("endless.npy"));
  EXPECT_EQ(read_npy(folder.path("endless.npy")).error().message, "cannot read `" + folder.path("endless.npy") + "`: not an npy file");
}

}  // namespace
}  // namespace cleave
