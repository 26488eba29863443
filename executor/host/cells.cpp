// Steps of recurrent networks: for a piece of a row at a time, the machine's element-wise loops on memory that stays in the first-level
// cache. f16 and bf16 are converted to f32 for the piece, and rounded once.
#include <algorithm>
#include <array>

#include "executor/host/kernels.h"
#include "executor/host/rows.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kPiece = 256;  ///< elements of a state

using Buffer = std::array<double, kPiece>;  // storage for elements of any type

/// Loops over contiguous elements of one type.
class Loops {
 public:
  explicit Loops(DType stored) : stored_(stored), type_(stored == DType::f64 ? DType::f64 : DType::f32) {
    const auto find = [this](const char* op) { return row_loop(*find_op(op), type_); };
    add_ = find("add");
    subtract_ = find("subtract");
    multiply_ = find("multiply");
    sigmoid_ = find("sigmoid");
    tanh_ = find("tanh");
    if (stored_ == type_) return;
    widen_ = convert_loop(stored_, type_);
    narrow_ = convert_loop(type_, stored_);
  }

  void set_count(std::int64_t count) { count_ = count; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The elements in the type of computation.
  const std::byte* read(const std::byte* from, Buffer& room) const {
    if (widen_ == nullptr) return from;
    run(widen_, from, from, bytes(room));
    return bytes(room);
  }
  void write(const Buffer& from, std::byte* to) const {
    const auto* data = reinterpret_cast<const std::byte*>(from.data());
    if (narrow_ != nullptr) return run(narrow_, data, data, to);
    std::copy_n(data, count_ * size_of(type_), to);
  }
  void add(const std::byte* a, const std::byte* b, Buffer& to) const { run(add_, a, b, bytes(to)); }
  void add(Buffer& to, const Buffer& b) const { run(add_, bytes(to), bytes(b), bytes(to)); }
  void subtract(const std::byte* a, const Buffer& b, Buffer& to) const { run(subtract_, a, bytes(b), bytes(to)); }
  void multiply(Buffer& to, const std::byte* b) const { run(multiply_, bytes(to), b, bytes(to)); }
  void multiply(Buffer& to, const Buffer& b) const { multiply(to, bytes(b)); }
  void sigmoid(const Buffer& from, Buffer& to) const { run(sigmoid_, bytes(from), bytes(from), bytes(to)); }
  void tanh(const Buffer& from, Buffer& to) const { run(tanh_, bytes(from), bytes(from), bytes(to)); }

 private:
  static std::byte* bytes(Buffer& buffer) { return reinterpret_cast<std::byte*>(buffer.data()); }
  static const std::byte* bytes(const Buffer& buffer) { return reinterpret_cast<const std::byte*>(buffer.data()); }
  void run(RowLoop loop, const std::byte* a, const std::byte* b, std::byte* to) const {
    const std::byte* operands[3] = {a, b, a};
    const std::int64_t steps[3] = {1, 1, 1};
    loop(operands, steps, to, count_);
  }

  DType stored_, type_;
  RowLoop add_ = nullptr, subtract_ = nullptr, multiply_ = nullptr, sigmoid_ = nullptr, tanh_ = nullptr, widen_ = nullptr,
          narrow_ = nullptr;
  std::int64_t count_ = 0;
};

/// The addresses of one piece of a row: its gates, old state and results.
template <int gates>
struct Piece {
  std::array<const std::byte*, gates> inputs, recurrent;
  const std::byte* state;
  std::array<std::byte*, 2> results;
};

void lstm_piece(const Loops& loops, const Piece<4>& at) {
  Buffer gates[4], first, second;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::byte* input = loops.read(at.inputs[i], first);
    loops.add(input, loops.read(at.recurrent[i], second), gates[i]);
    i == 3 ? loops.tanh(gates[i], gates[i]) : loops.sigmoid(gates[i], gates[i]);
  }
  loops.multiply(gates[0], gates[3]);                     // the new part
  loops.multiply(gates[2], loops.read(at.state, first));  // the kept part
  loops.add(gates[2], gates[0]);
  loops.tanh(gates[2], second);
  loops.multiply(gates[1], second);
  loops.write(gates[1], at.results[0]);
  loops.write(gates[2], at.results[1]);
}

void gru_piece(const Loops& loops, const Piece<3>& at) {
  Buffer update, reset, fresh, first, second;
  loops.add(loops.read(at.inputs[0], first), loops.read(at.recurrent[0], second), update);
  loops.sigmoid(update, update);
  loops.add(loops.read(at.inputs[1], first), loops.read(at.recurrent[1], second), reset);
  loops.sigmoid(reset, reset);
  loops.multiply(reset, loops.read(at.recurrent[2], second));
  loops.add(loops.read(at.inputs[2], first), reinterpret_cast<const std::byte*>(reset.data()), fresh);
  loops.tanh(fresh, fresh);
  loops.subtract(loops.read(at.state, first), fresh, reset);
  loops.multiply(update, reset);
  loops.add(fresh, update);
  loops.write(fresh, at.results[0]);
}

template <int gates, void (*step)(const Loops&, const Piece<gates>&)>
Status cell_kernel(const KernelCall& call) {
  const TensorType& type = *call.inputs[2].type;
  if (type.elements() == 0) return {};
  const std::int64_t n = type.shape.back(), rows = type.elements() / n, across = (n + kPiece - 1) / kPiece, size = size_of(type.dtype);
  const Loops prepared(type.dtype);
  Workers& workers = type.bytes() * gates < Workers::kWorthwhileBytes ? Workers::none() : call.workers;
  constexpr std::int64_t kTogether = 4;
  workers.each_part(rows * across, kTogether, [&](std::int64_t begin, std::int64_t end) {
    Loops loops = prepared;
    for (; begin < end; ++begin) {
      const std::int64_t row = begin / across, column = begin % across * kPiece;
      loops.set_count(std::min(kPiece, n - column));
      Piece<gates> at;
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        const std::int64_t offset = ((row * gates + gate) * n + column) * size;
        at.inputs[static_cast<std::size_t>(gate)] = call.inputs[0].data + offset;
        at.recurrent[static_cast<std::size_t>(gate)] = call.inputs[1].data + offset;
      }
      at.state = call.inputs[2].data + (row * n + column) * size;
      at.results = {};
      for (std::size_t k = 0; k < call.results.size(); ++k) at.results[k] = call.results[k].data + (row * n + column) * size;
      step(loops, at);
    }
  });
  return {};
}

}  // namespace

constexpr KernelRow rows::lstm_cell{cell_kernel<4, lstm_piece>};
constexpr KernelRow rows::gru_cell{cell_kernel<3, gru_piece>};

}  // namespace cleave::runtime::host
