// cumulative_sum and cumulative_prod along any axis. A team of threads reads up to eight rounds of its line before it adds anything, and
// synchronizes once. If lines are interleaved in memory, neighboring threads read neighboring elements: each thread has a line, or a piece
// of it. If there are too few lines to fill the GPU, they are cut into parts, one for each block, which pass their sums on by decoupled
// look-back (device/lookback.cuh), so that elements are read once. Products work in the same way. Both are computed in f64 or in wrapping
// 64-bit integers, always in the same order.
#include <algorithm>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/lines.h"
#include "graph/ops/rules.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kElementsAThread = 4;  ///< elements of a thread in a round
constexpr std::int64_t kSideBySide = 32;  ///< interleaved lines that neighboring threads read together; with fewer, other kernels are used
constexpr std::int64_t kInFlight = 8;     ///< elements that a thread with a line of its own has in flight
constexpr std::int64_t kShortLine = 64;
constexpr std::int64_t kOfAPiece = 16;     ///< elements that a thread takes at once from a line that several threads share
constexpr std::int64_t kMostRounds = 8;    ///< rounds of a team that holds its line in registers; also a thread's reads in flight
constexpr std::int64_t kFewRounds = 4;     ///< rounds of a part, or of one of several trips: fewer, so that more blocks run concurrently
constexpr std::int64_t kGroup = 32;        ///< parts in a group; must match device/lookback.cuh
constexpr std::int64_t kBlocksWanted = 4;  ///< desired number of blocks on a multiprocessor

std::int64_t rounded_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

class ScanKernelWriter {
 public:
  ScanKernelWriter(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        total_(is_floating(request.input_types[0].dtype) ? "f64" : "u64"),
        lines_(lines_along(request.input_types[0],
                           *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), request.input_types[0].rank()))),
        op_(request.op == &op::cumulative_prod ? "Product" : "Sum"),
        merges_(request.op == &op::cumulative_prod ? " * " : " + "),
        start_(request.op == &op::cumulative_prod ? "1" : "0"),
        exclusive_(request.attributes->get_or("exclusive", false)),
        reverse_(request.attributes->get_or("reverse", false)),
        wide_(needs_wide_indices(request, architecture)) {
    const std::int64_t machine = architecture.multiprocessors * kBlocksWanted;
    serial_ = lines_.behind >= kSideBySide && (lines_.count() >= machine * kSideBySide || lines_.length <= kShortLine);
    if (serial_) return;
    beside_ = lines_.behind >= kSideBySide && 2 * lines_.count() >= architecture.multiprocessors * kSideBySide;
    if (beside_) team_ = {kLineBlock / kSideBySide, kSideBySide, false};
    if (beside_) return;
    while (team_.along < kLineBlock && team_.along * kElementsAThread < lines_.length) team_.along *= 2;
    team_.across = kLineBlock / team_.along;
    const std::int64_t rounds = rounded_up(lines_.length, team_.along * kElementsAThread);
    rounds_ = rounds <= kMostRounds ? std::max<std::int64_t>(rounds, 1) : kFewRounds;
    if (lines_.count() < machine && rounds > kMostRounds) parts_ = rounded_up(lines_.length, of_a_trip());
  }

  KernelSource write() {
    if (lines_.count() * lines_.length == 0) return {};
    if (serial_) return assemble(request_, write_serial(), device_text("lines"));
    if (beside_) return assemble(request_, write_beside(), device_text("lines"));
    if (parts_ == 1) return assemble(request_, write_teams(), device_text("lines"));
    const std::vector<KernelText> kernels = {write_clear(), write_parts()};
    return assemble(request_, std::string(device_text("lines")) + std::string(device_text("lookback")), kernels,
                    sums_at() + lines_.count() * (parts_ + 2 * groups()) * 8);
  }

 private:
  [[nodiscard]] std::string store(const std::string& sum) const {
    return "store<" + name_of(request_.result_types[0].dtype) + ">(Wide<" + name_of(request_.input_types[0].dtype) + ">(" + sum + "))";
  }
  /// The expression for the offset of the line's element `i` from `base`.
  [[nodiscard]] std::string place(KernelText& kernel, const std::string& i) const {
    const std::string step = lines_.behind > 1 ? " * " + kernel.index(lines_.behind) : "";
    return reverse_ ? "(" + kernel.index(lines_.length - 1) + " - (" + i + "))" + step : "(" + i + ")" + step;
  }
  /// Declares the names that all kernels use.
  void declare_types(KernelText& kernel) const {
    kernel << "  typedef " << total_ << " Total;\n  typedef " << name_of(request_.input_types[0].dtype) << " Element;\n";
  }

  /// The kernel with one thread for each line.
  KernelText write_serial() const {
    KernelText kernel("scan", wide_);
    declare_team(kernel, lines_, {});
    declare_types(kernel);
    const std::string each = std::to_string(kInFlight), loop = "#pragma unroll\n    for (int k = 0; k < " + each + "; ++k) ";
    const std::string length = kernel.index(lines_.length), at = "base + " + place(kernel, "i + k");
    const std::string add = "      sum = sum" + merges_ + "(Total)plain(widen(kept[k]));\n",
                      write = "      if (i + k < " + length + ") y0[" + at + "] = " + store("sum") + ";\n";
    kernel << "  if (!there) return;\n  Total sum = " << start_ << ";\n  for (Index i = 0; i < " << length << "; i += " << each
           << ") {\n    Element kept[" << each << "];\n"
           << loop << "kept[k] = i + k < " << length << " ? x0[" << at << "] : Element();\n"
           << loop << "{\n"
           << (exclusive_ ? write + add : add + write) << "    }\n  }\n";
    return kernel;
  }

  /// The kernel for interleaved lines: neighboring threads have neighboring lines. The threads of one line each take a piece of it in a
  /// trip.
  KernelText write_beside() const {
    KernelText kernel("scan", wide_);
    declare_team(kernel, lines_, team_);
    declare_types(kernel);
    const std::string each = std::to_string(kOfAPiece), across = std::to_string(team_.across), along = std::to_string(team_.along);
    const std::string loop = "#pragma unroll\n    for (int k = 0; k < " + each + "; ++k) ", length = kernel.index(lines_.length);
    const std::string at = "base + " + place(kernel, "i + k");
    const std::string add = "if (i + k < end) sum = sum" + merges_ + "(Total)plain(widen(kept[k]));\n",
                      write = "      if (i + k < end) y0[" + at + "] = " + store("sum") + ";\n";
    kernel << "  const Index end = there ? " << length << " : 0;\n  Total* const sums = (Total*)room;\n  Total carry = " << start_
           << ";\n  for (Index from = 0; from < " << length << "; from += " << std::to_string(kOfAPiece * team_.along)
           << ") {\n    const Index i = from + (Index)place * " << each << ";\n    Element kept[" << each << "];\n"
           << loop << "kept[k] = i + k < end ? x0[" << at << "] : Element();\n    Total sum = " << start_ << ";\n"
           << loop << add
           << "    sums[threadIdx.x] = sum;\n    __syncthreads();\n    sum = carry;\n#pragma unroll\n    for (int p = 0; p < " << along
           << "; ++p) {\n      const Total other = sums[p * " << across << " + (int)threadIdx.x % " << across
           << "];\n      if (p < place) sum = sum" << merges_ << "other;\n      carry = carry" << merges_
           << "other;\n    }\n    __syncthreads();\n"
           << loop << "{\n"
           << (exclusive_ ? write + "      " + add : "      " + add + write) << "    }\n  }\n";
    return kernel;
  }

  // --- trips of a team; the code may use `begin`, a thread's first element, and `end`, the end of the line
  // --------------------------------

  /// The elements of a warp\'s round.
  [[nodiscard]] std::int64_t width() const { return std::min<std::int64_t>(team_.along, 32) * kElementsAThread; }
  [[nodiscard]] std::int64_t of_a_trip() const { return team_.along * kElementsAThread * rounds_; }
  /// The expression for the thread's first element, counted from the trip's first element.
  [[nodiscard]] std::string begin() const {
    const std::string lanes = std::to_string(std::min<std::int64_t>(team_.along, 32));
    return "(Index)(place / " + lanes + " * " + std::to_string(width() * rounds_) + " + place % " + lanes + " * " +
           std::to_string(kElementsAThread) + ")";
  }
  [[nodiscard]] std::string each_round() const {
    return "#pragma unroll\n  for (int r = 0; r < " + std::to_string(rounds_) + "; ++r) {\n    const Index i = begin + r * " +
           std::to_string(width()) + ";\n";
  }
  static std::string each_element() { return "#pragma unroll\n    for (int k = 0; k < " + std::to_string(kElementsAThread) + "; ++k) "; }
  [[nodiscard]] std::string add() const { return "if (i + k < end) sum = sum" + merges_ + "(Total)plain(widen(kept[r][k]));\n"; }
  /// True if a thread's elements of a round are contiguous and aligned.
  [[nodiscard]] bool packed() const { return lines_.behind == 1 && lines_.length % kElementsAThread == 0; }
  [[nodiscard]] std::string pack_at(KernelText& kernel) const {
    return reverse_ ? "base + " + kernel.index(lines_.length - kElementsAThread) + " - i" : std::string("base + i");
  }
  [[nodiscard]] std::string lane() const { return reverse_ ? std::to_string(kElementsAThread - 1) + " - k" : std::string("k"); }

  /// Reads all elements, and computes the prefix before each round (`fronts`) and the sum of all (`total`).
  void write_fronts(KernelText& kernel) const {
    const std::string each = std::to_string(kElementsAThread), rounds = std::to_string(rounds_);
    kernel << "  Element kept[" << rounds << "][" << each << "];\n" << each_round();
    if (packed()) {
      kernel << "    Pack<Element, " << each << "> pack = {};\n    if (i < end) pack = read_pack<" << each << ">(x0 + " << pack_at(kernel)
             << ");\n"
             << each_element() << "kept[r][k] = pack.lane[" << lane() << "];\n";
    } else {
      kernel << each_element() << "kept[r][k] = i + k < end ? x0[base + " << place(kernel, "i + k") << "] : Element();\n";
    }
    kernel << "  }\n  Total fronts[" << rounds << "], total;\n"
           << each_round() << "    Total sum = " << start_ << ";\n"
           << each_element() << add() << "    fronts[r] = sum;\n  }\n  merge_rounds_in_front<" << op_ << ", " << std::to_string(team_.along)
           << ", " << rounds << ">(fronts, place, room, total);\n";
  }
  /// Writes the results; `front` is the prefix before all rounds.
  void write_results(KernelText& kernel, const std::string& front) const {
    const std::string each = std::to_string(kElementsAThread), result = name_of(request_.result_types[0].dtype);
    kernel << each_round() << "    Total sum = " << front << merges_ << "fronts[r];\n";
    if (packed()) kernel << "    Pack<" << result << ", " << each << "> pack;\n";
    kernel << each_element() << "{\n" << (exclusive_ ? "" : "      " + add());
    if (packed()) {
      kernel << "      pack.lane[" << lane() << "] = " << store("sum") << ";\n";
    } else {
      kernel << "      if (i + k < end) y0[base + " << place(kernel, "i + k") << "] = " << store("sum") << ";\n";
    }
    kernel << (exclusive_ ? "      " + add() : "") << "    }\n";
    if (packed()) kernel << "    if (i < end) write_pack(y0 + " << pack_at(kernel) << ", pack);\n";
    kernel << "  }\n";
  }

  /// The kernel with one team for each line: in one trip, or in several if there are enough lines to fill the GPU.
  KernelText write_teams() const {
    KernelText kernel("scan", wide_);
    declare_team(kernel, lines_, team_);
    declare_types(kernel);
    if (rounds_ > kFewRounds) kernel.bound(kLineBlock, 2);
    const bool once = of_a_trip() >= lines_.length;
    const std::string length = kernel.index(lines_.length);
    kernel << "  const Index end = there ? " << length << " : 0;\n";
    if (!once)
      kernel << "  Total carry = " << start_ << ";\n  for (Index from = 0; from < " << length << "; from += " << std::to_string(of_a_trip())
             << ") {\n";
    kernel << "  const Index begin = " << (once ? "" : "from + ") << begin() << ";\n";
    write_fronts(kernel);
    write_results(kernel, once ? start_ : "carry");
    if (!once) kernel << "  carry = carry" << merges_ << "total;\n  __syncthreads();\n  }\n";
    return kernel;
  }

  // --- parts; scratch memory holds the number of blocks that have begun, the flags of parts and of groups, and their sums ---------------

  [[nodiscard]] std::int64_t groups() const { return rounded_up(parts_, kGroup); }
  [[nodiscard]] std::int64_t flags() const { return 1 + lines_.count() * (parts_ + groups()); }
  [[nodiscard]] std::int64_t sums_at() const { return rounded_up(flags() * 4, 8) * 8; }

  KernelText write_clear() const {
    KernelText kernel("clear", wide_);
    kernel.begin_loop(flags(), {});
    kernel << "    ((u32*)scratch)[i] = 0;\n";
    kernel.end_loop();
    return kernel;
  }

  /// The kernel with one block for each part. Blocks take parts in order as they begin, so that no part waits for one that has not begun.
  KernelText write_parts() const {
    KernelText kernel("scan", wide_);
    declare_types(kernel);
    const std::string lines = kernel.index(lines_.count());
    kernel << "  __shared__ u64 room[" << std::to_string(kLineBlock) << "];\n  __shared__ Total told;\n  __shared__ u32 given;\n"
           << "  u32* const flags = (u32*)scratch;\n  if (threadIdx.x == 0) given = atomicAdd(flags, 1u);\n  __syncthreads();\n"
           << "  const Index parts = " << kernel.index(parts_) << ", groups = " << kernel.index(groups())
           << ", end = " << kernel.index(lines_.length) << ", line = " << kernel.quotient("(Index)given", parts_)
           << ", part = (Index)given - line * parts;\n  u64* const sums = (u64*)(scratch + " << kernel.index(sums_at())
           << ");\n  const Posts<Total> posts = {flags + 1 + line * parts, "
           << "sums + line * parts, flags + 1 + " << lines << " * parts + line * groups, sums + " << lines
           << " * parts + 2 * line * groups};\n  const Index front_lines = " << kernel.quotient("line", lines_.behind)
           << ", base = front_lines * " << kernel.index(lines_.length * lines_.behind)
           << (lines_.behind > 1 ? " + line - front_lines * " + kernel.index(lines_.behind) : "") << ";\n"
           << "  const int place = (int)threadIdx.x;\n  const Index begin = part * " << std::to_string(of_a_trip()) << " + " << begin()
           << ";\n";
    write_fronts(kernel);
    kernel << "  if (place < 32) {\n    const Total found = front_of_part<" << op_
           << ">(posts, total, (int)part, place);\n    if (place == 0) told = found;\n  }\n  __syncthreads();\n"
           << "  const Total front = told;\n";
    write_results(kernel, "front");
    kernel.launch.block = {static_cast<unsigned>(kLineBlock), 1, 1};
    kernel.launch.grid[0] = static_cast<unsigned>(lines_.count() * parts_);
    return kernel;
  }

  const KernelRequest& request_;
  const std::string total_;  ///< the type of sums
  const Lines lines_;
  const std::string op_, merges_, start_;  ///< the operation's name in device/lines.cuh, its operator, its neutral element
  const bool exclusive_, reverse_, wide_;
  bool serial_ = false, beside_ = false;
  LineTeam team_;
  std::int64_t rounds_ = 1;  ///< rounds of a trip
  std::int64_t parts_ = 1;   ///< parts of a line
};

KernelSource build_scan(const KernelRequest& request, const Architecture& architecture) {
  return ScanKernelWriter(request, architecture).write();
}

}  // namespace

constexpr KernelRow rows::cumulative_prod{build_scan};
constexpr KernelRow rows::cumulative_sum{build_scan};

}  // namespace cleave::runtime::cuda
