// The fake cuBLASLt itself: products described to it as to the real library must come out right before the fake may be used to test others.
#include <gmock/gmock.h>

#include <vector>

#include "executor/cuda/resources.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

TEST(FakeBlas, MultipliesRowMajorMatricesByChangingTheirPlaces) {
  FakeDriver driver;
  const cuda::Api api = FakeDriver::api();
  const cuda::BlasApi& blas = api.blas;
  {
    const auto context = *cuda::Context::open(api.driver, 0);
    ASSERT_TRUE(context->enter().ok());
    const auto stream = *cuda::make_stream(*context);
    const auto event = *cuda::make_event(*context);
    const auto memory = *cuda::make_device_memory(*context, 1024);
    const auto staging = *cuda::make_host_memory(*context, 1024);
    // c (2 x 2) = relu(a (2 x 3) b (3 x 2) + bias); in columns: c' = b' a', with the bias along c's columns.
    auto* numbers = static_cast<float*>(staging.get());
    const std::vector<float> all = {1, 2, 3, 4, 5, 6, /**/ 1, 0, 0, 1, 1, -1, /**/ 10, -30};
    std::copy(all.begin(), all.end(), numbers);
    ASSERT_EQ(api.driver.cuMemcpyHtoDAsync(memory.get(), numbers, all.size() * sizeof(float), stream.get()), CUDA_SUCCESS);
    const auto at = [&](std::size_t index) { return reinterpret_cast<void*>(memory.get() + index * sizeof(float)); };

    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    ASSERT_EQ(blas.cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(blas.cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    const CUdeviceptr bias = memory.get() + 12 * sizeof(float);
    blas.cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    blas.cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    blas.cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, 3, 2, 3);
    blas.cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, 2, 3, 2);
    blas.cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 2, 2, 2);
    cublasLtMatmulPreference_t preference = nullptr;
    ASSERT_EQ(blas.cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    const std::uint32_t alignment = sizeof(float);
    for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      blas.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof alignment);
    cublasLtMatmulHeuristicResult_t found[9];
    int count = 0;
    ASSERT_EQ(blas.cublasLtMatmulAlgoGetHeuristic(handle, product, b, a, c, c, preference, 9, found, &count), CUBLAS_STATUS_SUCCESS);
    ASSERT_GE(count, 1);
    const float one = 1, zero = 0;
    ASSERT_EQ(blas.cublasLtMatmul(handle, product, &one, at(6), b, at(0), a, &zero, at(16), c, at(16), c, &found[0].algo, nullptr, 0,
                                  reinterpret_cast<cudaStream_t>(stream.get())),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(api.driver.cuMemcpyDtoHAsync(numbers + 16, memory.get() + 16 * sizeof(float), 4 * sizeof(float), stream.get()), CUDA_SUCCESS);
    ASSERT_EQ(api.driver.cuEventRecord(event.get(), stream.get()), CUDA_SUCCESS);
    while (api.driver.cuEventQuery(event.get()) == CUDA_ERROR_NOT_READY) {
    }
    // a b = {{4, -1}, {10, -1}}; its columns get 10 and -30.
    EXPECT_THAT(std::vector<float>(numbers + 16, numbers + 20), ::testing::ElementsAre(14, 0, 20, 0));
    EXPECT_EQ(
        driver.leaks(),
        "1 context, 1 stream, 1 event, 1 product, 3 matrix, 1 preference, 1 handle of cuBLASLt, 1 device memory, 1 page-locked memory");
    for (const auto layout : {a, b, c}) blas.cublasLtMatrixLayoutDestroy(layout);
    blas.cublasLtMatmulDescDestroy(product);
    blas.cublasLtMatmulPreferenceDestroy(preference);
    blas.cublasLtDestroy(handle);
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace cleave::testing
