#include "tests/support/fake_fft.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct FakeFft {
  using D = FakeDriver;
  using Result = cuda::FftResult;
  using Type = cuda::FftType;
  static constexpr auto kInternalError = static_cast<Result>(5), kInvalidPlan = static_cast<Result>(1),
                        kInvalidValue = static_cast<Result>(4);
  static constexpr std::size_t kWork = 640;

  template <class Act>
  static Result call(const char* name, Act&& act) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    if (d.enter(name) != CUDA_SUCCESS) return kInternalError;
    return act(d);
  }
  template <class Act>
  static Result with_plan(const char* name, int handle, Act&& act) {
    return call(name, [&](D& d) {
      const auto found = d.fft_plans_.find(handle);
      if (found != d.fft_plans_.end()) return act(d, found->second);
      d.misuse(std::string(name) + " of a plan that is not there");
      return kInvalidPlan;
    });
  }
  static Result refuse(D& d, const char* why) {
    d.misuse(std::string("cuFFT is given ") + why);
    return kInvalidValue;
  }

  static bool wide(Type type) { return type == Type::z2z || type == Type::d2z || type == Type::z2d; }
  static bool real_in(Type type) { return type == Type::r2c || type == Type::d2z; }
  static bool real_out(Type type) { return type == Type::c2r || type == Type::z2d; }
  /// Bytes from the first to the end of the last number of one side.
  static std::size_t span(const FakeFftPlan& plan, bool out) {
    const auto type = static_cast<Type>(plan.type);
    const bool real = out ? real_out(type) : real_in(type);
    const std::int64_t extent = real_in(type) != real_out(type) && !real ? plan.length / 2 + 1 : plan.length;
    const std::int64_t last =
        (plan.lines - 1) * (out ? plan.out_distance : plan.in_distance) + (extent - 1) * (out ? plan.out_stride : plan.in_stride);
    return static_cast<std::size_t>(last + 1) * (wide(type) ? 8 : 4) * (real ? 1 : 2);
  }

  template <class T>
  static void transform(const FakeFftPlan& plan, std::byte* in, std::byte* out, int direction) {
    const auto type = static_cast<Type>(plan.type);
    const std::int64_t n = plan.length;
    const auto part = [](std::byte* memory, std::int64_t index) { return reinterpret_cast<T*>(memory) + index; };
    for (std::int64_t line = 0; line < plan.lines; ++line) {
      std::vector<std::complex<double>> x(static_cast<std::size_t>(n));
      for (std::int64_t j = 0; j < n; ++j) {
        const bool mirrored = real_out(type) && j > n / 2;
        const std::int64_t at = line * plan.in_distance + (mirrored ? n - j : j) * plan.in_stride;
        auto& value = x[static_cast<std::size_t>(j)];
        value = real_in(type) ? std::complex<double>(*part(in, at), 0) : std::complex<double>(*part(in, 2 * at), *part(in, 2 * at + 1));
        if (mirrored) value = std::conj(value);
      }
      const std::int64_t results = real_in(type) ? n / 2 + 1 : n;
      for (std::int64_t k = 0; k < results; ++k) {
        std::complex<double> sum = 0;
        for (std::int64_t j = 0; j < n; ++j)
          sum += x[static_cast<std::size_t>(j)] *
                 std::polar(1.0, direction * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
        const std::int64_t at = line * plan.out_distance + k * plan.out_stride;
        *part(out, real_out(type) ? at : 2 * at) = static_cast<T>(sum.real());
        if (!real_out(type)) *part(out, 2 * at + 1) = static_cast<T>(sum.imag());
      }
    }
  }

  static Result run(const char* name, int handle, Type type, void* in, void* out, int direction) {
    return with_plan(name, handle, [&](D& d, FakeFftPlan& plan) {
      const auto from = reinterpret_cast<CUdeviceptr>(in), to = reinterpret_cast<CUdeviceptr>(out);
      if (!plan.made || plan.type != static_cast<int>(type)) return refuse(d, "a plan of another type");
      if (plan.automatic) return refuse(d, "a plan that allocates by itself");
      if (plan.work == 0) return refuse(d, "no work area");
      // Real data must be aligned like complex data.
      const std::uint64_t alignment = wide(type) ? 16 : 8;
      if (from % alignment != 0 || to % alignment != 0) return refuse(d, "memory that is not aligned to complex numbers");
      if (from < to + span(plan, true) && to < from + span(plan, false)) return refuse(d, "a result on top of its operand");
      const auto action = [&d, plan, from, to, type, direction] {
        std::byte *in_memory = d.resolve(from, span(plan, false)), *out_memory = d.resolve(to, span(plan, true));
        if (std::byte* work = d.resolve(plan.work, kWork)) std::memset(work, 0xFF, kWork);
        if (!in_memory || !out_memory) return;
        if (wide(type)) {
          transform<double>(plan, in_memory, out_memory, direction);
        } else {
          transform<float>(plan, in_memory, out_memory, direction);
        }
        if (real_out(type)) std::memset(in_memory, 0xFF, span(plan, false));  // as the library is allowed to do
      };
      const CUresult result = d.enqueue(static_cast<CUstream>(plan.stream), {action, nullptr, 0, false, 1e-6, "transform"});
      return result == CUDA_SUCCESS ? Result::success : kInternalError;
    });
  }

  static void fill(cuda::FftApi& t) {
    t.cufftGetVersion = [](int* version) {
      *version = 12000;
      return Result::success;
    };
    t.cufftCreate = [](int* handle) {
      return call("cufftCreate", [&](D& d) {
        *handle = d.fft_plans_.empty() ? 7 : d.fft_plans_.rbegin()->first + 1;
        d.fft_plans_[*handle] = {};
        return Result::success;
      });
    };
    t.cufftDestroy = [](int handle) {
      D& d = D::current();
      std::lock_guard guard(d.mutex_);
      const CUresult result = d.enter("cufftDestroy");
      if (d.fft_plans_.erase(handle) == 0) d.misuse("a plan of cuFFT destroyed twice");
      return result == CUDA_SUCCESS ? Result::success : kInternalError;
    };
    t.cufftSetAutoAllocation = [](int handle, int on) {
      return with_plan("cufftSetAutoAllocation", handle, [&](D& d, FakeFftPlan& plan) {
        if (plan.made) return refuse(d, "another way to allocate once a plan is made");
        plan.automatic = on != 0;
        return Result::success;
      });
    };
    t.cufftSetWorkArea = [](int handle, void* work) {
      return with_plan("cufftSetWorkArea", handle, [&](D& d, FakeFftPlan& plan) {
        if (!plan.made) return refuse(d, "a work area for no plan");
        plan.work = reinterpret_cast<CUdeviceptr>(work);
        return Result::success;
      });
    };
    t.cufftSetStream = [](int handle, void* stream) {
      return with_plan("cufftSetStream", handle, [&](D&, FakeFftPlan& plan) {
        plan.stream = stream;
        return Result::success;
      });
    };
    t.cufftMakePlanMany64 = [](int handle, int rank, long long* n, long long* in, long long in_stride, long long in_distance,
                               long long* out, long long out_stride, long long out_distance, Type type, long long lines,
                               std::size_t* work_bytes) {
      return with_plan("cufftMakePlanMany64", handle, [&](D& d, FakeFftPlan& plan) {
        if (plan.made) return refuse(d, "a plan twice");
        if (rank != 1 || *n < 1 || lines < 1 || in_stride < 1 || out_stride < 1) return refuse(d, "an impossible plan");
        if (!in || !out) return refuse(d, "no extents, so that strides do not count");
        plan = {true, plan.automatic, static_cast<int>(type), *n, in_stride, in_distance, out_stride, out_distance, lines, 0, nullptr};
        *work_bytes = kWork;
        return Result::success;
      });
    };
    t.cufftExecC2C = [](int plan, void* in, void* out, int direction) { return run("cufftExecC2C", plan, Type::c2c, in, out, direction); };
    t.cufftExecZ2Z = [](int plan, void* in, void* out, int direction) { return run("cufftExecZ2Z", plan, Type::z2z, in, out, direction); };
    t.cufftExecR2C = [](int plan, void* in, void* out) { return run("cufftExecR2C", plan, Type::r2c, in, out, cuda::kFftForward); };
    t.cufftExecD2Z = [](int plan, void* in, void* out) { return run("cufftExecD2Z", plan, Type::d2z, in, out, cuda::kFftForward); };
    t.cufftExecC2R = [](int plan, void* in, void* out) { return run("cufftExecC2R", plan, Type::c2r, in, out, cuda::kFftInverse); };
    t.cufftExecZ2D = [](int plan, void* in, void* out) { return run("cufftExecZ2D", plan, Type::z2d, in, out, cuda::kFftInverse); };
  }
};

void fill_fake_fft(cuda::FftApi& table) {
  FakeFft::fill(table);
}

}  // namespace cleave::testing
