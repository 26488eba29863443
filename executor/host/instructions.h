// Instructions: the instruction sets for which this room's code is compiled in addition to the architecture's baseline. The processor is
// asked only here, once, at run time, so a portable binary stays portable.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::runtime::host {

/// In ascending order: each set includes those before it.
enum class Instructions : std::uint8_t {
  portable,  ///< the baseline of every processor of the architecture
  avx2,      ///< with FMA, BMI, BMI2 and PCLMUL (Intel Haswell 2013, AMD Zen 2017)
  avx512,    ///< F, DQ, VL and BW (Intel Skylake-X 2017, AMD Zen 4)
};

std::string_view to_string(Instructions set);
/// The best set that this processor has.
Instructions instructions();
/// Whether the processor, beside AVX-512, adds products of 16-bit integers in one instruction (AVX-512 VNNI: Intel Ice Lake 2019, AMD Zen
/// 4).
bool has_vnni();

}  // namespace cleave::runtime::host
