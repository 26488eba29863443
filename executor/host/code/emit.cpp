#include "executor/host/code/emit.h"

#include <xbyak/xbyak.h>

#include <deque>

#include "executor/host/code/placement.h"

namespace cleave::runtime::host {
namespace {

using Source = BodyValue::Source;

constexpr std::size_t kMostBytes = 32 << 10;  ///< bytes of code
constexpr int kPlaceBytes = 64;               ///< bytes of a stack slot

class Emitter : private Xbyak::CodeGenerator {
 public:
  Emitter(const Body& body, Instructions set, std::vector<std::byte>& memory)
      : CodeGenerator(memory.size(), memory.data()),
        body_(body),
        wide_(set == Instructions::avx512),
        eights_(body.lane == 8),
        lanes_(lanes_of(body, set)),
        placement_(place(body, wide_ ? RegisterCounts{30, 7} : RegisterCounts{14, 0})),
        address_(body.values.size()),
        literals_(body.values.size()) {}
  std::size_t emit();

 private:
  using Xmm = Xbyak::Xmm;  // knows its width at run time, whatever its static type

  [[nodiscard]] Xbyak::Ymm vector(int index) const { return wide_ ? static_cast<Xbyak::Ymm>(Xbyak::Zmm(index)) : Xbyak::Ymm(index); }
  [[nodiscard]] static Xbyak::Opmask mask(int index) { return Xbyak::Opmask(index + 1); }  // k0 encodes "no mask"
  /// Two registers reserved as temporaries.
  [[nodiscard]] Xmm spare() const { return vector(wide_ ? 30 : 14); }
  [[nodiscard]] int spare_index(int which) const { return (wide_ ? 30 : 14) + which; }
  [[nodiscard]] bool in_mask(ValueIndex value) const { return wide_ && body_.values[value].kind == Kind::mask; }
  Xbyak::Address on_stack(ValueIndex value) { return ptr[rsp + placement_.place[value] * kPlaceBytes]; }
  Xbyak::Address in_stream(const Xbyak::Reg64& base, Kind kind) {
    return kind == Kind::mask ? ptr[base + index_] : ptr[base + index_ * body_.lane];
  }

  void enter();
  void take_scalar(ValueIndex value, int slot);
  void loop(bool past_cache);
  void leave(bool past_cache);
  void put_literals();

  void perform(const std::vector<Move>& moves, bool past_cache);
  void load(const Move& move);
  void load_mask_stream(const Move& move);
  void store(const Move& move, bool past_cache);
  void store_mask(const Move& move, const Xbyak::Address& to);
  void compute(const Move& move);
  void compute_floats(const Instruction& instruction, const Xmm& to, const Xmm& a, const Xmm& b);
  void compute_integers(const Instruction& instruction, const Xmm& to, const Xmm& a, const Xmm& b);
  void compute_bits(Act act, const Xmm& to, const Xmm& a, const Xmm& b);
  void compute_masks(const Move& move, Act act);
  void compare(const Move& move, const Instruction& instruction);
  void choose(const Move& move);

  const Body& body_;
  bool wide_, eights_;  ///< wide_: 64-byte registers; eights_: lanes of eight bytes
  std::int64_t lanes_;
  Placement placement_;
  std::vector<Xbyak::Reg64> address_;  ///< by value, for streams
  std::vector<Xbyak::Reg64> results_;
  std::deque<Xbyak::Label> literals_;  ///< by value
  const Xbyak::Reg64 table_ = rdi, count_ = rsi, past_cache_ = rdx, index_ = rax;
};

std::size_t Emitter::emit() {
  Xbyak::Label ordinary, past_cache;
  enter();
  perform(placement_.before, false);
  test(past_cache_, past_cache_);
  jnz(past_cache, T_NEAR);
  loop(false);
  leave(false);
  L(past_cache);
  loop(true);
  leave(true);
  put_literals();
  return getSize();
}

/// Loads addresses into registers, and scalars, extended to eight bytes, into their stack slots.
void Emitter::enter() {
  endbr64();
  for (const Xbyak::Reg64& saved : {rbx, rbp, r12, r13, r14, r15}) push(saved);
  mov(rbp, rsp);
  if (placement_.places > 0) sub(rsp, placement_.places * kPlaceBytes);
  and_(rsp, -kPlaceBytes);
  int slot = 0;
  std::size_t taken = 0;
  const Xbyak::Reg64 registers[kMostStreams] = {rcx, r8, r9, r10, r11, rbx, r12, r13, r14, r15, rdi};
  std::vector<std::pair<Xbyak::Reg64, int>> addresses;
  for (std::size_t v = 0; v < body_.values.size(); ++v) {
    if (body_.values[v].source == Source::stream) addresses.emplace_back(address_[v] = registers[taken++], slot++);
  }
  for (std::size_t v = 0; v < body_.values.size(); ++v) {
    if (body_.values[v].source == Source::scalar) take_scalar(static_cast<ValueIndex>(v), slot++);
  }
  for (std::size_t k = 0; k < body_.stored.size(); ++k) {
    results_.push_back(registers[taken++]);
    addresses.emplace_back(results_.back(), slot++);
  }
  for (const auto& [to, at] : addresses) mov(to, ptr[table_ + at * 8]);  // the register that holds the table is overwritten last
  xor_(index_.cvt32(), index_.cvt32());
}

void Emitter::take_scalar(ValueIndex value, int slot) {
  if (placement_.place[value] < 0) return;
  mov(rax, ptr[table_ + slot * 8]);
  if (body_.values[value].kind == Kind::mask) {
    movzx(eax, byte[rax]);
    neg(eax);
    sbb(rax, rax);  // all ones if it is not zero
  } else if (eights_) {
    mov(rax, ptr[rax]);
  } else {
    mov(eax, ptr[rax]);
  }
  mov(on_stack(value), rax);
}

void Emitter::loop(bool past_cache) {
  Xbyak::Label again;
  align(32);
  L(again);
  perform(placement_.turn, past_cache);
  add(index_, static_cast<std::uint32_t>(lanes_));
  cmp(index_, count_);
  jb(again, T_NEAR);
}

void Emitter::leave(bool past_cache) {
  if (past_cache) sfence();
  vzeroupper();
  mov(rsp, rbp);
  for (const Xbyak::Reg64& saved : {r15, r14, r13, r12, rbp, rbx}) pop(saved);
  ret();
}

void Emitter::put_literals() {
  align(8);
  for (std::size_t v = 0; v < body_.values.size(); ++v) {
    if (body_.values[v].source != Source::literal) continue;
    L(literals_[v]);
    dq(body_.values[v].bits);
  }
}

void Emitter::perform(const std::vector<Move>& moves, bool past_cache) {
  for (const Move& move : moves) {
    switch (move.what) {
      case Move::What::load: load(move); break;
      case Move::What::compute: compute(move); break;
      case Move::What::store: store(move, past_cache); break;
      case Move::What::keep:
        if (in_mask(move.value)) {
          kmovw(on_stack(move.value), mask(move.to));
        } else {
          vmovups(on_stack(move.value), vector(move.to));
        }
    }
  }
}

void Emitter::load(const Move& move) {
  const BodyValue& value = body_.values[move.value];
  const auto repeat = [&](const Xbyak::Address& from) {
    if (in_mask(move.value)) {
      kmovw(mask(move.to), from);
    } else if (eights_) {
      vbroadcastsd(vector(move.to), from);
    } else {
      vbroadcastss(vector(move.to), from);
    }
  };
  switch (value.source) {
    case Source::literal: return repeat(ptr[rip + literals_[move.value]]);
    case Source::scalar: return repeat(on_stack(move.value));
    case Source::stream:
      if (value.kind == Kind::mask) return load_mask_stream(move);
      return vmovups(vector(move.to), in_stream(address_[move.value], value.kind));
    case Source::made:
      if (in_mask(move.value)) return kmovw(mask(move.to), on_stack(move.value));
      return vmovups(vector(move.to), on_stack(move.value));
  }
}

/// Masks in memory are one byte for each element; any non-zero byte is true.
void Emitter::load_mask_stream(const Move& move) {
  const Xbyak::Address from = in_stream(address_[move.value], Kind::mask);
  if (wide_) {
    const Xmm bytes(spare_index(0));
    if (eights_) {
      vmovq(bytes, from);
    } else {
      vmovdqu8(bytes, from);
    }
    vptestmb(mask(move.to), bytes, bytes);
    return;
  }
  const Xmm to = vector(move.to), zero = spare();
  vxorps(zero, zero, zero);
  if (eights_) {
    vpmovzxbq(to, from);
    vpcmpgtq(to, to, zero);
  } else {
    vpmovzxbd(to, from);
    vpcmpgtd(to, to, zero);
  }
}

void Emitter::store(const Move& move, bool past_cache) {
  const Kind kind = body_.values[move.value].kind;
  const Xbyak::Address to = in_stream(results_[move.index], kind);
  if (kind == Kind::mask) {
    store_mask(move, to);
  } else if (past_cache) {
    vmovntps(to, vector(move.to));
  } else {
    vmovups(to, vector(move.to));
  }
}

void Emitter::store_mask(const Move& move, const Xbyak::Address& to) {
  const Xmm bytes(spare_index(0)), upper(spare_index(1));
  if (wide_) {
    vpmovm2b(bytes, mask(move.to));
    vpabsb(bytes, bytes);
    if (eights_) {
      vmovq(to, bytes);
    } else {
      vmovdqu8(to, bytes);
    }
    return;
  }
  const Xmm low(move.to);
  vextracti128(upper, Xbyak::Ymm(move.to), 1);
  vpackssdw(bytes, low, upper);
  vpacksswb(bytes, bytes, bytes);
  if (eights_) vpacksswb(bytes, bytes, bytes);
  vpabsb(bytes, bytes);
  if (eights_) {
    vmovd(to, bytes);
  } else {
    vmovq(to, bytes);
  }
}

void Emitter::compute(const Move& move) {
  const Instruction& instruction = body_.instructions[move.index];
  const Act act = instruction.act;
  if (act == Act::compare || act == Act::equal || act == Act::greater) return compare(move, instruction);
  if (act == Act::choose) return choose(move);
  if (instruction.kind == Kind::mask) return compute_masks(move, act);
  const Xmm to = vector(move.to), a = vector(move.operands[0]), b = vector(move.operands[1]);
  if (act >= Act::both && act <= Act::not_and) return compute_bits(act, to, a, b);
  if (is_float(instruction.kind)) return compute_floats(instruction, to, a, b);
  compute_integers(instruction, to, a, b);
}

void Emitter::compute_floats(const Instruction& instruction, const Xmm& to, const Xmm& a, const Xmm& b) {
  const auto pick = [&](auto single, auto both) { eights_ ? (this->*both)(to, a, b) : (this->*single)(to, a, b); };
  using Three = void (CodeGenerator::*)(const Xmm&, const Xbyak::Operand&, const Xbyak::Operand&);
  const auto of = [&](Three single, Three both) { pick(single, both); };
  switch (instruction.act) {
    case Act::add: return of(&CodeGenerator::vaddps, &CodeGenerator::vaddpd);
    case Act::subtract: return of(&CodeGenerator::vsubps, &CodeGenerator::vsubpd);
    case Act::multiply: return of(&CodeGenerator::vmulps, &CodeGenerator::vmulpd);
    case Act::divide: return of(&CodeGenerator::vdivps, &CodeGenerator::vdivpd);
    case Act::least: return of(&CodeGenerator::vminps, &CodeGenerator::vminpd);
    case Act::most: return of(&CodeGenerator::vmaxps, &CodeGenerator::vmaxpd);
    case Act::square_root: return eights_ ? vsqrtpd(to, a) : vsqrtps(to, a);
    case Act::to_integer: return eights_ ? vcvttpd2qq(to, a) : vcvttps2dq(to, a);
    case Act::round:
      if (wide_) return eights_ ? vrndscalepd(to, a, instruction.immediate) : vrndscaleps(to, a, instruction.immediate);
      return eights_ ? vroundpd(to, a, instruction.immediate) : vroundps(to, a, instruction.immediate);
    default: return;
  }
}

void Emitter::compute_integers(const Instruction& instruction, const Xmm& to, const Xmm& a, const Xmm& b) {
  switch (instruction.act) {
    case Act::add: return eights_ ? vpaddq(to, a, b) : vpaddd(to, a, b);
    case Act::subtract: return eights_ ? vpsubq(to, a, b) : vpsubd(to, a, b);
    case Act::multiply: return eights_ ? vpmullq(to, a, b) : vpmulld(to, a, b);
    case Act::to_float: return eights_ ? vcvtqq2pd(to, a) : vcvtdq2ps(to, a);
    default: return;
  }
}

void Emitter::compute_bits(Act act, const Xmm& to, const Xmm& a, const Xmm& b) {
  switch (act) {
    case Act::both: return vandps(to, a, b);
    case Act::either: return vorps(to, a, b);
    case Act::differ: return vxorps(to, a, b);
    case Act::not_and: return vandnps(to, a, b);
    default: return;
  }
}

void Emitter::compute_masks(const Move& move, Act act) {
  if (!wide_) {
    const Xmm to = vector(move.to), a = vector(move.operands[0]), ones = spare();
    if (act != Act::invert) return compute_bits(act, to, a, vector(move.operands[1]));
    vpcmpeqd(ones, ones, ones);
    return vxorps(to, a, ones);
  }
  const Xbyak::Opmask to = mask(move.to), a = mask(move.operands[0]), b = mask(move.operands[1]);
  switch (act) {
    case Act::both: return kandw(to, a, b);
    case Act::either: return korw(to, a, b);
    case Act::differ: return kxorw(to, a, b);
    case Act::not_and: return kandnw(to, a, b);
    case Act::invert: return knotw(to, a);
    default: return;
  }
}

void Emitter::compare(const Move& move, const Instruction& instruction) {
  const Xmm a = vector(move.operands[0]), b = vector(move.operands[1]);
  const auto act = instruction.act;
  const std::uint8_t predicate = instruction.immediate;
  if (wide_) {
    const Xbyak::Opmask to = mask(move.to);
    if (act == Act::equal) return eights_ ? vpcmpeqq(to, a, b) : vpcmpeqd(to, a, b);
    if (act == Act::greater) return eights_ ? vpcmpgtq(to, a, b) : vpcmpgtd(to, a, b);
    return eights_ ? vcmppd(to, a, b, predicate) : vcmpps(to, a, b, predicate);
  }
  const Xmm to = vector(move.to);
  if (act == Act::equal) return eights_ ? vpcmpeqq(to, a, b) : vpcmpeqd(to, a, b);
  if (act == Act::greater) return eights_ ? vpcmpgtq(to, a, b) : vpcmpgtd(to, a, b);
  return eights_ ? vcmppd(to, a, b, predicate) : vcmpps(to, a, b, predicate);
}

void Emitter::choose(const Move& move) {
  const Xmm to = vector(move.to), yes = vector(move.operands[1]), no = vector(move.operands[2]);
  if (wide_) {
    const Xbyak::Opmask condition = mask(move.operands[0]);
    return eights_ ? vblendmpd(to | condition, no, yes) : vblendmps(to | condition, no, yes);
  }
  const Xmm condition = vector(move.operands[0]);
  return eights_ ? vblendvpd(to, no, yes, condition) : vblendvps(to, no, yes, condition);
}

}  // namespace

std::vector<std::byte> emit_loop(const Body& body, Instructions set) {
  std::vector<std::byte> memory(kMostBytes);
  try {
    memory.resize(Emitter(body, set, memory).emit());
  } catch (const Xbyak::Error&) {  // the code is too long
    memory.clear();
  }
  return memory;
}

}  // namespace cleave::runtime::host
