// dynamic_slice and dynamic_update_slice: strided copies with one offset known only at run time. An update changes its operand in place if
// the memory plan gives both the same storage, and otherwise copies it first.
#include <array>

#include "executor/host/kernels.h"
#include "executor/host/movement.h"
#include "graph/base/map_guard.h"
#include "graph/ops/positions.h"
#include "graph/ops/wrapping.h"

namespace cleave::runtime::host {
namespace {

/// The offset of the window's first element in the array, or an Error if the window is out of range.
Result<std::int64_t> find_window(std::string_view op, const Shape& shape, const Shape& window, std::span<const TensorView> starts) {
  std::array<std::int64_t, ops::kMaxRank> indices{};
  std::size_t count = 0;
  for (const TensorView& start : starts) {
    dispatch(start.type->dtype, [&](auto zero) {
      using Index = decltype(zero);
      if constexpr (std::is_integral_v<Index>) {
        const std::int64_t elements = start.type->elements();
        for (std::int64_t i = 0; i < elements; ++i) indices[count++] = ops::to_position(start.as<Index>()[i]);
      }
    });
  }
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t place = ops::place_of(indices[axis], shape[axis], window[axis]);
    if (place < 0) return Error{ops::no_such_window(op, std::to_string(indices[axis]), shape, window)};
    offset = offset * shape[axis] + place;
  }
  return offset;
}

/// The copy between a window inside an array of `shape` and an array of the window's shape; `inwards`: into the window.
Movement window_plan(const Shape& shape, const Shape& window, bool inwards) {
  const auto around = row_major_strides(shape), own = row_major_strides(window);
  Movement movement;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    movement.copy.add(window[axis], inwards ? own[axis] : around[axis], inwards ? around[axis] : own[axis]);
  return movement;
}

class SliceKernel final : public HostKernel {
 public:
  SliceKernel(const TensorType& x, const TensorType& result) : window_(result.shape), movement_(window_plan(x.shape, window_, false)) {}
  Status run(const KernelCall& call) override {
    const Result<std::int64_t> begin = find_window("dynamic_slice", call.inputs[0].type->shape, window_, call.inputs.subspan(1));
    if (!begin) return begin.error();
    movement_.from = *begin;
    if (call.results[0].type->elements() > 0) movement_.run(call.inputs[0], call.results[0], call.workers);
    count_reads(call.inputs[0].data, static_cast<std::size_t>(call.results[0].type->bytes()), 1);  // a mapped file stays out of memory
    return {};
  }

 private:
  const Shape window_;
  Movement movement_;
};

class UpdateKernel final : public HostKernel {
 public:
  UpdateKernel(const TensorType& x, const TensorType& update)
      : window_(ops::window_shape(x.shape, update.shape)), movement_(window_plan(x.shape, window_, true)) {
    whole_.copy.add(x.elements(), 1, 1);
  }
  Status run(const KernelCall& call) override {
    const TensorView &x = call.inputs[0], &update = call.inputs[1], &result = call.results[0];
    const Result<std::int64_t> begin = find_window("dynamic_update_slice", x.type->shape, window_, call.inputs.subspan(2));
    if (!begin) return begin.error();
    if (x.type->elements() == 0) return {};
    if (x.data != result.data) whole_.run(x, result, call.workers);
    movement_.to = *begin;
    if (update.type->elements() > 0) movement_.run(update, result, call.workers);
    return {};
  }

 private:
  const Shape window_;
  Movement movement_, whole_;
};

Status slice_kernel(const KernelCall& call) {
  return SliceKernel(*call.inputs[0].type, *call.results[0].type).run(call);
}
std::unique_ptr<HostKernel> prepare_slice(const KernelRequest& request) {
  return std::make_unique<SliceKernel>(request.input_types[0], request.result_types[0]);
}
Status update_kernel(const KernelCall& call) {
  return UpdateKernel(*call.inputs[0].type, *call.inputs[1].type).run(call);
}
std::unique_ptr<HostKernel> prepare_update(const KernelRequest& request) {
  return std::make_unique<UpdateKernel>(request.input_types[0], request.input_types[1]);
}

}  // namespace

constexpr KernelRow rows::dynamic_slice{slice_kernel, prepare_slice};
constexpr KernelRow rows::dynamic_update_slice{update_kernel, prepare_update};

}  // namespace cleave::runtime::host
