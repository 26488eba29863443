#include "executor/cuda/kernels/radix.h"

#include <algorithm>
#include <bit>

namespace cleave::runtime::cuda {
namespace {

constexpr int kDigitBits = 4;
constexpr std::int64_t kDigits = 16, kMostThreads = 256;
constexpr std::int64_t kLongestAlone = 4096;  ///< a longer line is sorted by several blocks
constexpr std::int64_t kKeysAThread = 8;      ///< keys of a thread in a line that several blocks sort

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace

RadixSort::RadixSort(std::int64_t lines, std::int64_t length, int bits, bool wide)
    : lines_(lines), length_(length), bits_(std::max(bits, 1)), passes_((bits_ + kDigitBits - 1) / kDigitBits), wide_(wide) {
  const bool alone = length <= kLongestAlone;
  threads_ = alone ? std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((length + 3) / 4))), 32,
                                              kMostThreads)
                   : kMostThreads;
  each_ = alone ? std::max<std::int64_t>(1, (length + threads_ - 1) / threads_) : kKeysAThread;
  blocks_ = std::max<std::int64_t>(1, (length + threads_ * each_ - 1) / (threads_ * each_));
  const std::int64_t elements = lines * length, key = bits_ > 32 ? 8 : 4;
  for (int buffer = 0; buffer < 2; ++buffer) {
    keys_[buffer] = end_;
    numbers_[buffer] = keys_[buffer] + aligned(elements * key);
    end_ = numbers_[buffer] + aligned(elements * 4);
  }
  counts_ = end_;
  if (blocks_ > 1) end_ += aligned(lines * kDigits * blocks_ * 4);
}

void RadixSort::declare(KernelText& kernel, int buffer) const {
  const std::string key(key_type());
  kernel << "  " << key << "* const keys = (" << key << "*)(scratch + " << kernel.constant(keys_[buffer]) << ");\n"
         << "  u32* const numbers = (u32*)(scratch + " << kernel.constant(numbers_[buffer]) << ");\n";
}

/// Declares `shift`, `keys`, `numbers`, `keys_to`, `numbers_to` of the line, and `begin`, `end` of the thread. The constants that change
/// from pass to pass come first.
void RadixSort::declare_part(KernelText& kernel) const {
  const std::string key(key_type()), threads = std::to_string(threads_);
  const std::string shift = kernel.constant(0), from = kernel.constant(keys_[0]), from_numbers = kernel.constant(numbers_[0]),
                    to = kernel.constant(keys_[1]), to_numbers = kernel.constant(numbers_[1]);
  const std::string length = kernel.index(length_), each = kernel.index(each_);
  kernel << "  typedef " << key << " Key;\n  __shared__ u32 counters[" << std::to_string(kDigits * threads_) << "];\n  __shared__ u64 room["
         << threads << "];\n  const int shift = (int)" << shift
         << ";\n  const Index block = (Index)blockIdx.x, line = " << kernel.quotient("block", blocks_) << ", part = block - line * "
         << kernel.index(blocks_) << ";\n  Key* const keys = (Key*)(scratch + " << from << ") + line * " << length
         << ";\n  u32* const numbers = (u32*)(scratch + " << from_numbers << ") + line * " << length
         << ";\n  Key* const keys_to = (Key*)(scratch + " << to << ") + line * " << length
         << ";\n  u32* const numbers_to = (u32*)(scratch + " << to_numbers << ") + line * " << length << ";\n  const Index first = (part * "
         << threads << " + (Index)threadIdx.x) * " << each << ", last = first + " << each << ";\n  const Index begin = first < " << length
         << " ? first : " << length << ", end = last < " << length << " ? last : " << length << ";\n";
  kernel.launch.block = {static_cast<unsigned>(threads_), 1, 1};
  kernel.launch.grid = {static_cast<unsigned>(lines_ * blocks_), 1, 1};
}

/// The kernel with all passes, for lines that one block sorts alone.
KernelText RadixSort::whole_lines() const {
  KernelText kernel("sort_lines", wide_);
  declare_part(kernel);
  const std::string threads = std::to_string(threads_);
  kernel << "  for (int pass = 0; pass < " << std::to_string(passes_) << "; ++pass) {\n    const bool odd = pass % 2 != 0;\n"
         << "    const Key* const from = odd ? keys_to : keys;\n    const u32* const from_numbers = odd ? numbers_to : numbers;\n"
         << "    rank_digits<" << threads << ">(from, begin, end, shift + pass * 4, counters, room);\n"
         << "    move_digits<" << threads
         << ">(from, from_numbers, begin, end, shift + pass * 4, counters, (const u32*)0, odd ? keys : keys_to, "
         << "odd ? numbers : numbers_to);\n    __syncthreads();\n  }\n";
  return kernel;
}

/// The kernel that counts the keys of each digit in each block: counts[line][digit][block].
KernelText RadixSort::count_digits() const {
  KernelText kernel("count_digits", wide_);
  declare_part(kernel);
  const std::string threads = std::to_string(threads_);
  kernel << "  rank_digits<" << threads << ">(keys, begin, end, shift, counters, room);\n  const int digit = (int)threadIdx.x;\n"
         << "  if (digit < 16) {\n    const Index from = part * " << kernel.index(threads_ * each_) << ", rest = " << kernel.index(length_)
         << " - from;\n    const u32 all = (u32)(rest < " << kernel.index(threads_ * each_)
         << " ? rest : " << kernel.index(threads_ * each_) << ");\n    u32* const counts = (u32*)(scratch + " << kernel.constant(counts_)
         << ");\n    counts[(line * 16 + digit) * " << kernel.index(blocks_) << " + part] = (digit < 15 ? counters[(digit + 1) * "
         << threads << "] : all) - counters[digit * " << threads << "];\n  }\n";
  return kernel;
}

KernelText RadixSort::place_digits() const {
  return sum_fronts("place_digits", lines_, kDigits * blocks_, counts_, wide_);
}

KernelText RadixSort::move_digits() const {
  KernelText kernel("move_digits_by", wide_);
  declare_part(kernel);
  const std::string threads = std::to_string(threads_);
  kernel << "  __shared__ u32 further[16];\n  rank_digits<" << threads << ">(keys, begin, end, shift, counters, room);\n"
         << "  const int digit = (int)threadIdx.x;\n  const u32* const counts = (const u32*)(scratch + " << kernel.constant(counts_)
         << ");\n  if (digit < 16) further[digit] = counts[(line * 16 + digit) * " << kernel.index(blocks_)
         << " + part] - counters[digit * " << threads << "];\n  __syncthreads();\n  move_digits<" << threads
         << ">(keys, numbers, begin, end, shift, counters, further, keys_to, numbers_to);\n";
  return kernel;
}

KernelSource RadixSort::assemble_around(const KernelRequest& request, std::vector<KernelText> before, std::vector<KernelText> behind,
                                        std::int64_t more_scratch, std::string fault, std::string_view more_code) const {
  std::vector<KernelText> kernels = std::move(before);
  const auto first = static_cast<std::ptrdiff_t>(kernels.size());
  if (blocks_ == 1) {
    kernels.push_back(whole_lines());
  } else {
    for (KernelText (RadixSort::*part)() const : {&RadixSort::count_digits, &RadixSort::place_digits, &RadixSort::move_digits})
      kernels.push_back((this->*part)());
  }
  kernels.insert(kernels.end(), std::make_move_iterator(behind.begin()), std::make_move_iterator(behind.end()));
  const std::string device_code = std::string(device_text("lines")) + std::string(device_text("radix")) + std::string(more_code);
  KernelSource source = assemble(request, device_code, kernels, end_ + more_scratch, std::move(fault));
  if (blocks_ == 1) return source;
  const std::vector<KernelLaunch> pass(source.launches.begin() + first, source.launches.begin() + first + 3);
  source.launches.erase(source.launches.begin() + first, source.launches.begin() + first + 3);
  for (int p = passes_; p-- > 0;) {
    std::vector<KernelLaunch> next = pass;
    for (const std::size_t k : {0, 2}) {
      const std::int64_t changing[] = {p * kDigitBits, keys_[p % 2], numbers_[p % 2], keys_[1 - p % 2], numbers_[1 - p % 2]};
      std::copy(std::begin(changing), std::end(changing), next[k].constants.begin());
    }
    source.launches.insert(source.launches.begin() + first, next.begin(), next.end());
  }
  return source;
}

KernelText sum_fronts(std::string entry, std::int64_t lines, std::int64_t count, std::int64_t offset, bool wide) {
  KernelText kernel(std::move(entry), wide);
  const std::string threads = std::to_string(kMostThreads), end = kernel.index(count);
  kernel << "  __shared__ u64 room[" << threads << "];\n  u32* const front = (u32*)(scratch + " << kernel.constant(offset)
         << ") + (Index)blockIdx.x * " << end << ";\n  u32 carry = 0;\n  for (Index from = 0; from < " << end << "; from += " << threads
         << ") {\n    const Index i = from + (Index)threadIdx.x;\n    u32 total;\n    const u32 here = i < " << end
         << " ? front[i] : 0, before = sum_in_front<" << threads << ">(here, (int)threadIdx.x, room, total);\n    if (i < " << end
         << ") front[i] = carry + before;\n    carry += total;\n  }\n";
  kernel.launch.block = {static_cast<unsigned>(kMostThreads), 1, 1};
  kernel.launch.grid = {static_cast<unsigned>(lines), 1, 1};
  return kernel;
}

}  // namespace cleave::runtime::cuda
