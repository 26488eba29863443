// cumulative_sum and cumulative_prod along any axis: a team of threads goes along its line round by round. Lines too few to fill the
// machine are cut into parts, a block each, which tell each other their sums (device/lookback.cuh): elements are read once; of products
// likewise. They are taken in f64 or in 64-bit integers that wrap, always in the same order.
#include <algorithm>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/lines.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kElementsAThread = 4;  ///< in a round
constexpr std::int64_t kSideBySide = 32;      ///< that many lines side by side are read together, a thread each
constexpr std::int64_t kShortLine = 64;
constexpr std::int64_t kRounds = 4;  ///< of a part: that many reads are in flight in a thread
constexpr std::int64_t kPart = kLineBlock * kElementsAThread * kRounds;
constexpr std::int64_t kGroup = 32;        ///< parts, as device/lookback.cuh has it
constexpr std::int64_t kBlocksWanted = 4;  ///< on a multiprocessor

class Writer {
 public:
  Writer(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        total_(is_floating(request.input_types[0].dtype) ? "f64" : "u64"),
        lines_(lines_along(request.input_types[0],
                           *ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), request.input_types[0].rank()))),
        op_(request.op->name == "cumulative_prod" ? "Product" : "Sum"),
        merges_(request.op->name == "cumulative_prod" ? " * " : " + "),
        start_(request.op->name == "cumulative_prod" ? "1" : "0"),
        exclusive_(request.attributes->get_or("exclusive", false)),
        reverse_(request.attributes->get_or("reverse", false)),
        wide_(needs_wide_indices(request, architecture)) {
    const std::int64_t machine = architecture.multiprocessors * kBlocksWanted;
    serial_ = lines_.behind >= kSideBySide && (lines_.count() >= machine * kSideBySide || lines_.length <= kShortLine);
    if (serial_) return;
    while (team_.along < kLineBlock && team_.along * kElementsAThread < lines_.length) team_.along *= 2;
    team_.across = kLineBlock / team_.along;
    if (lines_.count() < machine && lines_.length > 2 * kPart) parts_ = (lines_.length + kPart - 1) / kPart;
  }

  KernelSource write() {
    if (lines_.count() * lines_.length == 0) return {};
    if (serial_) return assemble(request_, write_serial(), device_text("lines"));
    if (parts_ == 1) return assemble(request_, write_rounds(), device_text("lines"));
    const std::vector<KernelText> kernels = {write_clear(), write_parts()};
    return assemble(request_, std::string(device_text("lines")) + std::string(device_text("lookback")), kernels,
                    sums_at() + lines_.count() * (parts_ + 2 * groups()) * 8);
  }

 private:
  [[nodiscard]] std::string store(const std::string& sum) const {
    return "store<" + name_of(request_.result_types[0].dtype) + ">(Wide<" + name_of(request_.input_types[0].dtype) + ">(" + sum + "))";
  }
  /// Where the element `i` of the line is, from `base` on.
  [[nodiscard]] std::string place(KernelText& kernel, const std::string& i) const {
    return reverse_ ? "(" + kernel.index(lines_.length - 1) + " - (" + i + "))" + step(kernel) : "(" + i + ")" + step(kernel);
  }
  [[nodiscard]] std::string step(KernelText& kernel) const { return lines_.behind > 1 ? " * " + kernel.index(lines_.behind) : ""; }

  /// A thread a line.
  KernelText write_serial() {
    KernelText kernel("scan", wide_);
    declare_team(kernel, lines_, {});
    const std::string at = "base + " + place(kernel, "i"), write = "      y0[" + at + "] = " + store("sum") + ";\n";
    kernel << "  " << total_ << " sum = " << start_ << ";\n  if (there)\n    for (Index i = 0; i < " << kernel.index(lines_.length)
           << "; ++i) {\n"
           << (exclusive_ ? "      const " + total_ + " here = (" + total_ + ")plain(widen(x0[" + at + "]));\n" + write : "")
           << "      sum = sum" << merges_ << (exclusive_ ? "here" : "(" + total_ + ")plain(widen(x0[" + at + "]))") << ";\n"
           << (exclusive_ ? "" : write) << "    }\n";
    return kernel;
  }

  /// A team a line.
  KernelText write_rounds() {
    KernelText kernel("scan", wide_);
    const std::string along = std::to_string(team_.along), each = std::to_string(kElementsAThread),
                      round = std::to_string(team_.along * kElementsAThread);
    declare_team(kernel, lines_, team_);
    const std::string length = kernel.index(lines_.length), at = "base + " + place(kernel, "i + k");
    kernel << "  typedef " << total_ << " Total;\n  Total carry = " << start_ << ";\n  for (Index from = 0; from < " << length
           << "; from += " << round << ") {\n    const Index i = from + place * " << each << ";\n    Total sums[" << each
           << "], sum = " << start_ << ";\n#pragma unroll\n    for (int k = 0; k < " << each << "; ++k) {\n"
           << (exclusive_ ? "      sums[k] = sum;\n" : "") << "      if (there && i + k < " << length << ") sum = sum" << merges_
           << "(Total)plain(widen(x0[" << at << "]));\n"
           << (exclusive_ ? "" : "      sums[k] = sum;\n") << "    }\n    Total total;\n    const Total front = carry" << merges_
           << "merge_in_front<" << op_ << ", " << along << ">(sum, place, room, total);\n    carry = carry" << merges_
           << "total;\n#pragma unroll\n    for (int k = 0; k < " << each << "; ++k)\n      if (there && i + k < " << length << ") y0[" << at
           << "] = " << store("front" + merges_ + "sums[k]") << ";\n  }\n";
    return kernel;
  }

  // --- parts: in the scratch memory lie the number of blocks that have begun, the flags of parts and of groups, and their sums ---------

  [[nodiscard]] std::int64_t groups() const { return (parts_ + kGroup - 1) / kGroup; }
  [[nodiscard]] std::int64_t flags() const { return 1 + lines_.count() * (parts_ + groups()); }
  [[nodiscard]] std::int64_t sums_at() const { return (flags() * 4 + 7) / 8 * 8; }

  KernelText write_clear() {
    KernelText kernel("clear", wide_);
    kernel.begin_loop(flags(), {});
    kernel << "    ((u32*)scratch)[i] = 0;\n";
    kernel.end_loop();
    return kernel;
  }

  /// A block a part. Parts are handed out in their order to blocks as they begin: those in front of a part never wait for it.
  KernelText write_parts() {
    KernelText kernel("scan", wide_);
    const std::string rounds = std::to_string(kRounds), each = std::to_string(kElementsAThread),
                      round = std::to_string(kLineBlock * kElementsAThread), lines = kernel.index(lines_.count());
    kernel << "  typedef " << total_ << " Total;\n  typedef " << name_of(request_.input_types[0].dtype)
           << " Element;\n  __shared__ u64 room[256];\n  __shared__ u32 given;\n  u32* const flags = (u32*)scratch;\n"
           << "  if (threadIdx.x == 0) given = atomicAdd(flags, 1u);\n  __syncthreads();\n  const Index parts = " << kernel.index(parts_)
           << ", groups = " << kernel.index(groups()) << ", length = " << kernel.index(lines_.length)
           << ", line = " << kernel.quotient("(Index)given", parts_) << ", part = (Index)given - line * parts;\n"
           << "  u64* const sums = (u64*)(scratch + " << kernel.index(sums_at())
           << ");\n  const Posts<Total> posts = {flags + 1 + line * parts, "
           << "sums + line * parts, flags + 1 + " << lines << " * parts + line * groups, sums + " << lines
           << " * parts + 2 * line * groups};\n  const Index front_lines = " << kernel.quotient("line", lines_.behind)
           << ", base = front_lines * " << kernel.index(lines_.length * lines_.behind)
           << (lines_.behind > 1 ? " + line - front_lines * " + kernel.index(lines_.behind) : "") << ";\n"
           << "  const Index begin = part * " << std::to_string(kPart) << " + (Index)threadIdx.x * " << each << ";\n  Element kept["
           << rounds << "][" << each << "];\n#pragma unroll\n  for (int r = 0; r < " << rounds
           << "; ++r) {\n    const Index i = begin + r * " << round << ";\n";
    write_reads(kernel);
    kernel << "  }\n  Total fronts[" << rounds << "], own = " << start_ << ";\n#pragma unroll\n  for (int r = 0; r < " << rounds
           << "; ++r) {\n    const Index i = begin + r * " << round << ";\n    Total sum = " << start_
           << ", total;\n#pragma unroll\n    for (int k = 0; k < " << each << "; ++k)\n      if (i + k < length) sum = sum" << merges_
           << "(Total)plain(widen(kept[r][k]));\n    fronts[r] = own" << merges_ << "merge_in_front<" << op_
           << ", 256>(sum, (int)threadIdx.x, room, total);\n    own = own" << merges_
           << "total;\n  }\n  Total* const told = (Total*)room;\n  if (threadIdx.x < 32) {\n    const Total found = front_of_part<" << op_
           << ">(posts, own, (int)part, (int)threadIdx.x);\n    if (threadIdx.x == 0) told[0] = found;\n  }\n  __syncthreads();\n"
           << "  const Total front = told[0];\n#pragma unroll\n  for (int r = 0; r < " << rounds
           << "; ++r) {\n    const Index i = begin + r * " << round << ";\n    Total sum = front" << merges_ << "fronts[r];\n";
    write_results(kernel);
    kernel << "  }\n";
    kernel.launch.block = {static_cast<unsigned>(kLineBlock), 1, 1};
    kernel.launch.grid[0] = static_cast<unsigned>(lines_.count() * parts_);
    return kernel;
  }

  /// Whether a thread's elements of a round lie in one piece.
  [[nodiscard]] bool packed() const { return lines_.behind == 1 && lines_.length % kElementsAThread == 0; }
  [[nodiscard]] std::string pack_at() const {
    return reverse_ ? "base + length - " + std::to_string(kElementsAThread) + " - i" : std::string("base + i");
  }
  [[nodiscard]] std::string lane() const { return reverse_ ? std::to_string(kElementsAThread - 1) + " - k" : std::string("k"); }

  void write_reads(KernelText& kernel) const {
    const std::string each = std::to_string(kElementsAThread), loop = "#pragma unroll\n    for (int k = 0; k < " + each + "; ++k) ";
    if (packed()) {
      kernel << "    Pack<Element, " << each << "> pack = {};\n    if (i < length) pack = read_pack<" << each << ">(x0 + " << pack_at()
             << ");\n"
             << loop << "kept[r][k] = pack.lane[" << lane() << "];\n";
    } else {
      kernel << loop << "kept[r][k] = i + k < length ? x0[base + " << place(kernel, "i + k") << "] : Element();\n";
    }
  }
  void write_results(KernelText& kernel) const {
    const std::string each = std::to_string(kElementsAThread), result = name_of(request_.result_types[0].dtype);
    const std::string add = "      if (i + k < length) sum = sum" + merges_ + "(Total)plain(widen(kept[r][k]));\n";
    if (packed()) kernel << "    Pack<" << result << ", " << each << "> pack;\n";
    kernel << "#pragma unroll\n    for (int k = 0; k < " << each << "; ++k) {\n" << (exclusive_ ? "" : add);
    if (packed()) {
      kernel << "      pack.lane[" << lane() << "] = " << store("sum") << ";\n";
    } else {
      kernel << "      if (i + k < length) y0[base + " << place(kernel, "i + k") << "] = " << store("sum") << ";\n";
    }
    kernel << (exclusive_ ? add : "") << "    }\n";
    if (packed()) kernel << "    if (i < length) write_pack(y0 + " << pack_at() << ", pack);\n";
  }

  const KernelRequest& request_;
  const std::string total_;  ///< the type of sums
  const Lines lines_;
  const std::string op_, merges_, start_;  ///< as device/lines.cuh has it, an operator, what it leaves as it is
  const bool exclusive_, reverse_, wide_;
  bool serial_ = false;
  LineTeam team_;
  std::int64_t parts_ = 1;  ///< of a line
};

KernelSource build_scan(const KernelRequest& request, const Architecture& architecture) {
  return Writer(request, architecture).write();
}

}  // namespace

std::span<const KernelRow> scan_kernels() {
  static constexpr KernelRow rows[] = {{"cumulative_prod", build_scan}, {"cumulative_sum", build_scan}};
  return rows;
}

}  // namespace cleave::runtime::cuda
