#include "executor/cuda/kernels/rounding.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::cuda {
namespace {

KernelRequest request_of(NodeId node, const Attributes& attributes, const Range& from, DType narrow) {
  const std::int64_t elements = from.bytes / size_of(DType::f32);
  KernelRequest request;
  request.node = node;
  request.op = &op::astype;
  request.attributes = &attributes;
  request.input_types = {{DType::f32, {elements}}};
  request.result_types = {{narrow, {elements}}};
  request.inputs = {from};
  request.results = {{0, elements * size_of(narrow)}};
  return request;
}

}  // namespace

RoundingRequest::RoundingRequest(NodeId node, const Range& from, DType narrow)
    : attributes{{"dtype", narrow}}, request(request_of(node, attributes, from, narrow)) {}

}  // namespace cleave::runtime::cuda
