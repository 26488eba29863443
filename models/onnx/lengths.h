// Values whose sizes depend on data, while a file is read: a value has the largest possible size, and along some axes a length, which the
// Tracer knows (Tracer::lengths). Operations follow their own length rules (graph/ops/length_rules.h); these helpers are for lowerings that
// treat such values themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// While it lives, operations take values with all of their elements, and their results have no lengths.
class WholeValues {
 public:
  explicit WholeValues(Call& c) : tracer_(c.tracer()) { tracer_.begin_whole(); }
  ~WholeValues() { tracer_.end_whole(); }
  WholeValues(const WholeValues&) = delete;
  WholeValues& operator=(const WholeValues&) = delete;

 private:
  Tracer& tracer_;
};

[[nodiscard]] bool bounded(Call& c, const Part& x);  ///< along any axis
/// The length along `axis`, an i64 scalar; nothing if all elements count.
[[nodiscard]] std::optional<Part> length_of(Call& c, const Part& x, int axis);
/// The same; a constant if all elements count.
[[nodiscard]] Part extent_of(Call& c, const Part& x, int axis);
/// A value of which only the first `count` elements along `axis` count; other lengths of `x` stay. If `count` is known, exactly these
/// elements.
[[nodiscard]] Part with_length(Call& c, const Part& x, const Part& count, int axis);
/// A value with all its elements, of which those behind the lengths are neutral.
[[nodiscard]] Part masked(Call& c, const Part& x, Neutral neutral);

/// `count`, an i32 scalar. The run fails with an Error if it exceeds `bound`, which the user gave with --bound. `at_least`: the true number
/// may be larger than `count`.
[[nodiscard]] Part within_bound(Call& c, const Part& count, std::int64_t bound, bool at_least = false);
/// `count`; the run fails with an Error if `other` differs. Counts that are known to be equal are not compared.
[[nodiscard]] Part equal_counts(Call& c, const Part& count, const Part& other);

/// `count`; the run fails with an Error if it exceeds `other`, the number of elements that there are.
[[nodiscard]] Part at_most(Call& c, const Part& count, const Part& other);
/// `x` with neutral elements behind its length along `axis`, which is no longer a length; the others stay. `given`: a value of the program
/// that must be computed before.
[[nodiscard]] Part without_length(Call& c, const Part& x, int axis, Neutral neutral, const Part& given);
/// The elements of an axis that has a length, by index: negative ones count from the length's end, and one outside of it ends the run with
/// an Error.
[[nodiscard]] Part take_within(Call& c, const Part& x, int axis, const Part& indices, const Part& length);
/// The operands one behind the other along `axis`: the valid elements of each follow those of the one before.
[[nodiscard]] Part joined(Call& c, const Parts& parts, int axis);

/// One of the integers that an operand holds, as an extent: `count`, an i64 scalar of at most `most`; without it, exactly `most`.
struct Extent {
  std::int64_t most = 0;
  std::optional<Part> count;
};
/// The integers of an operand, each known or with a known largest value. Reports the operand if that is not so (Call::known_integers).
[[nodiscard]] std::optional<std::vector<Extent>> extents(Call& c, std::size_t i, std::string_view what);
/// Element `at` of an array of integers; the only element if it has one.
[[nodiscard]] std::int64_t integer_at(const Array& array, std::int64_t at);
/// The largest value of element `at` of an array of integers; nothing if it is not known.
[[nodiscard]] std::optional<std::int64_t> largest(Call& c, const Part& integers, std::int64_t at);

}  // namespace cleave::models::onnx
