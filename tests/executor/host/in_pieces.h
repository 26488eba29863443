// Runs a host kernel piece by piece. Before each piece, only those input elements are available that the kernel claims to read by then;
// after it, those result elements must be final that the kernel claims.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "executor/device/kernel.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Runs the kernel in ranges of pieces drawn from the seed; returns their number. `on_top`: for each result, the input whose memory it
/// overwrites, or -1.
inline int expect_equal_in_pieces(HostKernel& kernel, const KernelRequest& request, const std::vector<Array>& inputs,
                                  const std::vector<Array>& expected, const std::vector<int>& on_top, Workers& workers, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Array> coming, made;
  std::vector<TensorView> in, out;
  for (const Array& input : inputs) coming.emplace_back(input.type());
  for (Array& array : coming) {
    in.push_back({&array.type(), array.mutable_bytes()});
    std::memset(in.back().data, 0xA5, static_cast<std::size_t>(array.type().bytes()));
  }
  for (const TensorType& type : request.result_types) made.emplace_back(type);
  for (std::size_t r = 0; r < made.size(); ++r) {
    out.push_back({&made[r].type(), on_top[r] < 0 ? made[r].mutable_bytes() : in[static_cast<std::size_t>(on_top[r])].data});
    if (on_top[r] < 0) std::memset(out[r].data, 0xA5, static_cast<std::size_t>(made[r].type().bytes()));
  }
  const OpContext context{[](std::string_view) {}};
  std::vector<std::int64_t> there(in.size(), 0);
  const std::int64_t pieces = kernel.pieces();
  int ranges = 0;
  for (std::int64_t begin = 0, end = 0; begin < pieces; begin = end, ++ranges) {
    end = std::min(pieces, begin + 1 + static_cast<std::int64_t>(random() % 3));
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t until = std::min(in[i].type->bytes(), kernel.read(i, end));
      if (until <= there[i]) continue;
      std::memcpy(in[i].data + there[i], inputs[i].bytes() + there[i], static_cast<std::size_t>(until - there[i]));
      there[i] = until;
    }
    EXPECT_TRUE(run_guarded(kernel, {*request.op, *request.attributes, in, out, context, workers}, begin, end).ok());
    for (std::size_t r = 0; r < out.size(); ++r) {
      const auto bytes = static_cast<std::size_t>(std::min(out[r].type->bytes(), kernel.written(r, end)));
      EXPECT_TRUE(bytes == 0 || std::memcmp(out[r].data, expected[r].bytes(), bytes) == 0)
          << "the first " << bytes << " bytes of result " << r << " after " << end << " of " << pieces << " pieces";
      EXPECT_TRUE(end < pieces || bytes == static_cast<std::size_t>(out[r].type->bytes()));
    }
  }
  return ranges;
}

}  // namespace cleave::testing
