// Instructions: the sets for which this room's code is compiled beside what every machine of the architecture runs. Which of them a
// processor has is asked here, once, when the program runs, so a portable binary stays portable.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::runtime::host {

/// In order: each has what those before it have.
enum class Instructions : std::uint8_t {
  portable,  ///< of every processor of the architecture
  avx2,      ///< with FMA, BMI, BMI2 and PCLMUL (Intel Haswell 2013, AMD Zen 2017)
  avx512,    ///< F, DQ, VL and BW (Intel Skylake-X 2017, AMD Zen 4)
};

std::string_view to_string(Instructions set);
/// The best of this processor.
Instructions instructions();

}  // namespace cleave::runtime::host
