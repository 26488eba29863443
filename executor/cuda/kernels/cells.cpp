// Cells of recurrent networks: one thread for each element of the state. Neighboring threads read neighboring elements of each gate.
#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

/// A loop over the elements of the state. `step` may use `gate`k (input part of gate k), `again`k (its recurrent part) and `old`.
KernelSource build(const KernelRequest& request, const Architecture& architecture, int gates, const std::string& step) {
  const TensorType& state = request.input_types[2];
  if (state.elements() == 0) return {};
  const std::string type = name_of(state.dtype);
  KernelText kernel("cell", needs_wide_indices(request, architecture));
  kernel.begin_loop(state.elements(), architecture);
  kernel << "    typedef Compute<" << type << "> Number;\n    const Index n = " << kernel.index(state.shape.back())
         << ", row = " << kernel.quotient("i", state.shape.back()) << ", at = row * n * " << std::to_string(gates) << " + i - row * n;\n"
         << "    const Number old = load(x2[i]);\n";
  for (int gate = 0; gate < gates; ++gate) {
    const std::string k = std::to_string(gate), place = gate == 0 ? "at" : "at + n * " + k;
    kernel << "    const Number gate" << k << " = load(x0[" << place << "]), again" << k << " = load(x1[" << place << "]);\n";
  }
  kernel << step;
  for (std::size_t k = 0; k < request.result_types.size(); ++k)
    kernel << "    y" << std::to_string(k) << "[i] = store<" << type << ">(next" << std::to_string(k) << ");\n";
  kernel.end_loop();
  return assemble(request, kernel);
}

std::string sigmoid(const std::string& x) {
  return "(Number)1 / ((Number)1 + exp(-(" + x + ")))";
}

KernelSource build_lstm(const KernelRequest& request, const Architecture& architecture) {
  return build(request, architecture, 4,
               "    const Number in = " + sigmoid("gate0 + again0") + ", out = " + sigmoid("gate1 + again1") +
                   ";\n    const Number keep = " + sigmoid("gate2 + again2") + ", fresh = tanh(gate3 + again3);\n" +
                   "    const Number next1 = keep * old + in * fresh, next0 = out * tanh(next1);\n");
}

KernelSource build_gru(const KernelRequest& request, const Architecture& architecture) {
  return build(request, architecture, 3,
               "    const Number update = " + sigmoid("gate0 + again0") + ", reset = " + sigmoid("gate1 + again1") +
                   ";\n    const Number fresh = tanh(gate2 + reset * again2), next0 = fresh + update * (old - fresh);\n");
}

}  // namespace

constexpr KernelRow rows::lstm_cell{build_lstm};
constexpr KernelRow rows::gru_cell{build_gru};

}  // namespace cleave::runtime::cuda
