// BlasBench: runs one matrix product at a time on the fake cuBLASLt, with its own memory and stream.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "executor/cuda/matmul/matmul.h"
#include "executor/cuda/stopwatch.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

class BlasBench {
 public:
  static constexpr std::int64_t kBytes = 1 << 20, kWorkspace = 8 << 20;

  static Result<std::unique_ptr<BlasBench>> open(FakeDriver&) {
    std::unique_ptr<BlasBench> bench(new BlasBench);
    if (Status status = bench->open_parts(); !status) return status.error();
    return bench;
  }
  ~BlasBench() {
    if (setting.handle) api_.blas.cublasLtDestroy(setting.handle);
  }

  cuda::MatmulSetting setting;

  /// Each operand gets its own device memory.
  Result<std::unique_ptr<cuda::Matmul>> prepare(const runtime::MatmulPlan& plan) {
    cuda::MatmulTrial trial;
    if (setting.kept.on()) {
      trial = {addresses(), workspace_.get(), [this](const auto& product) { return watch_->once(product); },
               [this](const auto& product) { return watch_->seconds(product); }};
    }
    Result<std::unique_ptr<cuda::Matmul>> matmul = cuda::Matmul::prepare(setting, plan, trial);
    if (matmul && !*matmul) return Error{"no algorithm", {}, ErrorKind::machine};
    return matmul;
  }

  /// Computes the product of the arrays in their given layout.
  Result<Array> run(const runtime::MatmulPlan& plan, const Array& a, const Array& b, const Array& bias, const TensorType& result) {
    Result<std::unique_ptr<cuda::Matmul>> matmul = prepare(plan);
    if (!matmul) return matmul.error();
    return run(**matmul, a, b, bias, result);
  }
  Result<Array> run(cuda::Matmul& matmul, const Array& a, const Array& b, const Array& bias, const TensorType& result) {
    Status status = put(addresses().a, a);
    if (status) status = put(addresses().b, b);
    if (status) status = put(addresses().bias, bias);
    if (status) status = matmul.launch(stream_.get(), addresses(), workspace_.get());
    if (status) return get(result);
    // A failure must leave no work in flight.
    (void)finish();
    return status.error();
  }

 private:
  BlasBench() = default;

  Status open_parts() {
    Result<std::shared_ptr<cuda::Context>> context = cuda::Context::open(api_.driver, 0);
    if (!context) return context.error();
    context_ = *std::move(context);
    if (Status status = context_->enter(); !status) return status;
    const auto keep = [](auto& owned, auto&& made) -> Status {
      if (!made) return made.error();
      owned = *std::move(made);
      return {};
    };
    Status status = keep(stream_, cuda::make_stream(*context_));
    if (status) status = keep(event_, cuda::make_event(*context_));
    if (status) status = keep(memory_, cuda::make_device_memory(*context_, 4 * kBytes));
    if (status) status = keep(workspace_, cuda::make_device_memory(*context_, kWorkspace));
    if (status) status = keep(staging_, cuda::make_host_memory(*context_, kBytes));
    if (status) status = keep(watch_, cuda::Stopwatch::make(*context_));
    if (!status) return status;
    setting.api = &api_.blas;
    setting.workspace_bytes = kWorkspace;
    setting.machine = context_->description();
    return check(api_.blas, "cublasLtCreate", api_.blas.cublasLtCreate(&setting.handle));
  }

  [[nodiscard]] cuda::MatmulAddresses addresses() const {
    const CUdeviceptr a = memory_.get();
    return {a, a + kBytes, a + 2 * kBytes, a + 3 * kBytes};
  }

  Status put(CUdeviceptr to, const Array& array) {
    if (array.type().bytes() == 0) return {};
    std::memcpy(staging_.get(), array.bytes(), bytes(array.type()));
    Status status =
        context_->check("cuMemcpyHtoDAsync", api_.driver.cuMemcpyHtoDAsync(to, staging_.get(), bytes(array.type()), stream_.get()));
    return status ? finish() : status;
  }
  Result<Array> get(const TensorType& type) {
    Array array(type);
    Status status =
        context_->check("cuMemcpyDtoHAsync", api_.driver.cuMemcpyDtoHAsync(staging_.get(), addresses().c, bytes(type), stream_.get()));
    if (Status finished = finish(); status) status = finished;
    if (!status) return status.error();
    std::memcpy(array.mutable_bytes(), staging_.get(), bytes(type));
    return array;
  }
  Status finish() {
    Status status = context_->check("cuEventRecord", api_.driver.cuEventRecord(event_.get(), stream_.get()));
    while (status) {
      const CUresult result = api_.driver.cuEventQuery(event_.get());
      if (result != CUDA_ERROR_NOT_READY) return context_->check("cuEventQuery", result);
    }
    return status;
  }
  static std::size_t bytes(const TensorType& type) { return static_cast<std::size_t>(type.bytes()); }

  cuda::Api api_ = FakeDriver::api();
  std::shared_ptr<cuda::Context> context_;
  cuda::StreamHandle stream_;
  cuda::EventHandle event_;
  cuda::DeviceMemory memory_, workspace_;
  cuda::HostMemory staging_;
  std::optional<cuda::Stopwatch> watch_;
};

}  // namespace cleave::testing
