// Families of operations. The one list of all ops is op_table.cpp; callers look ops up with find_op and all_ops (graph/op.h).
#pragma once

#include <span>

#include "graph/op.h"

namespace cleave::ops {

/// A family of similar ops. Its name is also the name of its file here and of its kernels' files (executor/host, executor/cuda/kernels).
struct OpFamily {
  std::string_view name;
  std::string_view title;  ///< title in the documents; a large family has several parts
  std::span<const OpDef> (*ops)();
};
/// All families, in the order of the documents.
std::span<const OpFamily> op_families();
/// The composite functions, which are traced into ops: a family's name is that of its file here.
std::span<const OpFamily> composite_families();

std::span<const OpDef> arithmetic_ops();      ///< add … square, clip
std::span<const OpDef> math_ops();            ///< exp … isinf
std::span<const OpDef> comparison_ops();      ///< equal … greater_equal
std::span<const OpDef> logic_ops();           ///< logical_and … bitwise_invert
std::span<const OpDef> selection_ops();       ///< where, astype
std::span<const OpDef> matmul_ops();          ///< matmul
std::span<const OpDef> convolution_ops();     ///< conv
std::span<const OpDef> pooling_ops();         ///< avg_pool, max_pool
std::span<const OpDef> reduction_ops();       ///< sum … argmin
std::span<const OpDef> scan_ops();            ///< cumulative_sum
std::span<const OpDef> softmax_ops();         ///< softmax, log_softmax
std::span<const OpDef> attention_ops();       ///< attention
std::span<const OpDef> cell_ops();            ///< lstm_cell, gru_cell
std::span<const OpDef> shape_ops();           ///< transpose … flip
std::span<const OpDef> indexing_ops();        ///< slice, take, one_hot
std::span<const OpDef> window_ops();          ///< dynamic_slice, dynamic_update_slice
std::span<const OpDef> scatter_ops();         ///< take_along_axis … scatter_nd
std::span<const OpDef> joining_ops();         ///< concat, stack, pad, repeat, tile
std::span<const OpDef> creation_ops();        ///< zeros … eye
std::span<const OpDef> random_ops();          ///< random_uniform … random_integers
std::span<const OpDef> sorting_ops();         ///< sort … unique
std::span<const OpDef> search_ops();          ///< searchsorted
std::span<const OpDef> vision_ops();          ///< nonzero … grid_sample
std::span<const OpDef> linear_algebra_ops();  ///< solve … svdvals
std::span<const OpDef> fourier_ops();         ///< fft … irfft
std::span<const OpDef> effect_ops();          ///< print, write_npy, host_call
std::span<const OpDef> transfer_ops();        ///< to_host, to_accelerator

std::span<const OpDef> array_functions();                   ///< tril … linspace
std::span<const OpDef> array_sums();                        ///< diff … matrix_norm
std::span<const OpDef> einsum_functions();                  ///< einsum
std::span<const OpDef> normalization_functions();           ///< batch_norm … lp_norm
std::span<const OpDef> pooling_functions();                 ///< global_average_pool, global_max_pool
std::span<const OpDef> quantization_functions();            ///< quantize, dequantize
std::span<const OpDef> recurrent_functions();               ///< lstm, gru, rnn
std::span<const OpDef> resampling_functions();              ///< resize
std::span<const OpDef> statistics_functions();              ///< var, std
std::span<const OpDef> transposed_convolution_functions();  ///< conv_transpose

}  // namespace cleave::ops
