#include "tests/support/fake_solver.h"

#include <cstring>

#include "executor/host/lapack.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

template <class T>
struct FakeSolver {
  using D = FakeDriver;
  using Result = cuda::SolverResult;
  using Handle = cuda::SolverHandle;
  using Job = cuda::SolverJob;
  using Triangle = cuda::SolverTriangle;
  static constexpr auto kInvalidValue = static_cast<Result>(3), kInternalError = static_cast<Result>(7);
  static constexpr int kWork = 100;  ///< workspace that every routine requires, in elements

  template <class Act>
  static Result call(const std::string& name, Handle handle, Act&& act) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    const std::string whole = std::string("cusolverDn") + (sizeof(T) == 4 ? "S" : "D") + name;
    if (d.enter(whole.c_str()) != CUDA_SUCCESS) return kInternalError;
    if (!d.solvers_.contains(handle)) return refuse(d, "no handle");
    return act(d);
  }
  static Result refuse(D& d, const char* why) {
    d.misuse(std::string("cuSOLVER is given ") + why);
    return kInvalidValue;
  }
  static Result size_for(const char* name, Handle handle, int* size) {
    return call(name, handle, [&](D&) {
      *size = kWork;
      return Result::success;
    });
  }

  /// Device memory that a routine accesses, as a number of `Element`s.
  struct AccessedElements {
    const void* address = nullptr;
    std::int64_t count = 0;
    bool whole = false;  ///< elements are int
  };
  /// Enqueues `compute(parts as pointers)`. The workspace is overwritten.
  template <class Compute>
  static Result enqueue(D& d, Handle handle, const std::vector<AccessedElements>& parts, const void* work, Compute compute) {
    const auto address = [](const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); };
    const auto action = [&d, parts, work, compute, address] {
      if (work) {
        if (std::byte* memory = d.resolve(address(work), kWork * sizeof(T))) std::memset(memory, 0xFF, kWork * sizeof(T));
      }
      std::vector<void*> found;
      for (const AccessedElements& part : parts) {
        const auto bytes = static_cast<std::size_t>(part.count) * (part.whole ? sizeof(int) : sizeof(T));
        found.push_back(part.address ? d.resolve(address(part.address), bytes) : nullptr);
        if (part.address && !found.back()) return;
      }
      const auto alone = host::lapack()->enter();
      compute(found);
    };
    const CUresult result = d.enqueue(static_cast<CUstream>(d.solvers_.at(handle)), {action, nullptr, 0, false, 1e-6, "solver"});
    return result == CUDA_SUCCESS ? Result::success : kInternalError;
  }
  static AccessedElements numbers(const void* address, std::int64_t count) { return {address, count, false}; }
  static AccessedElements integers(const void* address, std::int64_t count) { return {address, count, true}; }
  static const host::LapackRoutines<T>& lapack() { return host::lapack()->of<T>(); }
  static T* real(void* memory) { return static_cast<T*>(memory); }
  static int* whole(void* memory) { return static_cast<int*>(memory); }

  static void fill_handles(cuda::SolverApi& t) {
    t.cusolverDnCreate = [](Handle* handle) {
      D& d = D::current();
      std::lock_guard guard(d.mutex_);
      if (d.enter("cusolverDnCreate") != CUDA_SUCCESS) return kInternalError;
      *handle = static_cast<Handle>(d.new_handle());
      d.solvers_[*handle] = nullptr;
      return Result::success;
    };
    t.cusolverDnDestroy = [](Handle handle) {
      D& d = D::current();
      std::lock_guard guard(d.mutex_);
      const CUresult result = d.enter("cusolverDnDestroy");
      if (d.solvers_.erase(handle) == 0) d.misuse("a handle of cuSOLVER destroyed twice");
      return result == CUDA_SUCCESS ? Result::success : kInternalError;
    };
    t.cusolverDnSetStream = [](Handle handle, void* stream) {
      D& d = D::current();
      std::lock_guard guard(d.mutex_);
      if (d.enter("cusolverDnSetStream") != CUDA_SUCCESS) return kInternalError;
      if (!d.solvers_.contains(handle)) return refuse(d, "no handle");
      d.solvers_[handle] = stream;
      return Result::success;
    };
  }

  static void fill_factors(cuda::SolverRoutines& t) {
    t.getrf_size = [](Handle handle, int, int, void*, int, int* size) { return size_for("getrf_bufferSize", handle, size); };
    t.getrf = [](Handle handle, int m, int n, void* a, int lda, void* work, int* pivots, int* info) {
      return call("getrf", handle, [&](D& d) {
        return enqueue(d, handle, {numbers(a, std::int64_t{lda} * n), integers(pivots, n), integers(info, 1)}, work,
                       [m, n, lda](const std::vector<void*>& p) { lapack().getrf(&m, &n, real(p[0]), &lda, whole(p[1]), whole(p[2])); });
      });
    };
    t.getrs = [](Handle handle, cuda::SolverTurn turn, int n, int sides, const void* a, int lda, const int* pivots, void* b, int ldb,
                 int* info) {
      return call("getrs", handle, [&](D& d) {
        const std::vector<AccessedElements> parts = {numbers(a, std::int64_t{lda} * n), integers(pivots, n),
                                                     numbers(b, std::int64_t{ldb} * sides), integers(info, 1)};
        return enqueue(d, handle, parts, nullptr, [turn, n, sides, lda, ldb](const std::vector<void*>& p) {
          lapack().getrs(turn == cuda::SolverTurn::transposed ? "T" : "N", &n, &sides, real(p[0]), &lda, whole(p[1]), real(p[2]), &ldb,
                         whole(p[3]), 1);
        });
      });
    };
    t.potrf_size = [](Handle handle, Triangle, int, void*, int, int* size) { return size_for("potrf_bufferSize", handle, size); };
    t.potrf = [](Handle handle, Triangle triangle, int n, void* a, int lda, void* work, int size, int* info) {
      return call("potrf", handle, [&](D& d) {
        if (size < kWork) return refuse(d, "too little work memory");
        return enqueue(d, handle, {numbers(a, std::int64_t{lda} * n), integers(info, 1)}, work,
                       [triangle, n, lda](const std::vector<void*>& p) {
                         lapack().potrf(triangle == Triangle::lower ? "L" : "U", &n, real(p[0]), &lda, whole(p[1]), 1);
                       });
      });
    };
    t.geqrf_size = [](Handle handle, int, int, void*, int, int* size) { return size_for("geqrf_bufferSize", handle, size); };
    t.geqrf = [](Handle handle, int m, int n, void* a, int lda, void* tau, void* work, int size, int* info) {
      return call("geqrf", handle, [&](D& d) {
        if (size < kWork) return refuse(d, "too little work memory");
        const std::vector<AccessedElements> parts = {numbers(a, std::int64_t{lda} * n), numbers(tau, std::min(m, n)), integers(info, 1)};
        return enqueue(d, handle, parts, work, [m, n, lda](const std::vector<void*>& p) {
          std::vector<T> own(4096);
          const int own_size = 4096;
          lapack().geqrf(&m, &n, real(p[0]), &lda, real(p[1]), own.data(), &own_size, whole(p[2]));
        });
      });
    };
    t.orgqr_size = [](Handle handle, int, int, int, const void*, int, const void*, int* size) {
      return size_for("orgqr_bufferSize", handle, size);
    };
    t.orgqr = [](Handle handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info) {
      return call("orgqr", handle, [&](D& d) {
        if (size < kWork) return refuse(d, "too little work memory");
        const std::vector<AccessedElements> parts = {numbers(a, std::int64_t{lda} * n), numbers(tau, k), integers(info, 1)};
        return enqueue(d, handle, parts, work, [m, n, k, lda](const std::vector<void*>& p) {
          std::vector<T> own(4096);
          const int own_size = 4096;
          lapack().orgqr(&m, &n, &k, real(p[0]), &lda, real(p[1]), own.data(), &own_size, whole(p[2]));
        });
      });
    };
  }

  static void fill_values(cuda::SolverRoutines& t) {
    t.syevd_size = [](Handle handle, Job, Triangle, int, const void*, int, const void*, int* size) {
      return size_for("syevd_bufferSize", handle, size);
    };
    t.syevd = [](Handle handle, Job job, Triangle triangle, int n, void* a, int lda, void* values, void* work, int size, int* info) {
      return call("syevd", handle, [&](D& d) {
        if (size < kWork) return refuse(d, "too little work memory");
        const std::vector<AccessedElements> parts = {numbers(a, std::int64_t{lda} * n), numbers(values, n), integers(info, 1)};
        return enqueue(d, handle, parts, work, [job, triangle, n, lda](const std::vector<void*>& p) {
          std::vector<T> own(4096);
          std::vector<int> own_whole(4096);
          const int own_size = 4096;
          lapack().syevd(job == Job::vectors ? "V" : "N", triangle == Triangle::lower ? "L" : "U", &n, real(p[0]), &lda, real(p[1]),
                         own.data(), &own_size, own_whole.data(), &own_size, whole(p[2]), 1, 1);
        });
      });
    };
    t.gesvd_size = [](Handle handle, int, int, int* size) { return size_for("gesvd_bufferSize", handle, size); };
    t.gesvd = [](Handle handle, signed char job_u, signed char job_vt, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* vt,
                 int ldvt, void* work, int size, void*, int* info) {
      return call("gesvd", handle, [&](D& d) {
        if (size < kWork) return refuse(d, "too little work memory");
        if (m < n) return refuse(d, "more columns than rows");
        if (job_u != job_vt) return refuse(d, "two jobs");
        const bool vectors = job_u == 'S';
        const std::vector<AccessedElements> parts = {numbers(a, std::int64_t{lda} * n), numbers(s, n),
                                                     numbers(vectors ? u : nullptr, std::int64_t{ldu} * n),
                                                     numbers(vectors ? vt : nullptr, std::int64_t{ldvt} * n), integers(info, 1)};
        return enqueue(d, handle, parts, work, [vectors, m, n, lda, ldu, ldvt](const std::vector<void*>& p) {
          std::vector<T> own(4096);
          std::vector<int> own_whole(4096);
          const int own_size = 4096;
          lapack().gesdd(vectors ? "S" : "N", &m, &n, real(p[0]), &lda, real(p[1]), real(p[2]), &ldu, real(p[3]), &ldvt, own.data(),
                         &own_size, own_whole.data(), whole(p[4]), 1);
        });
      });
    };
  }
};

void fill_fake_solver(cuda::SolverApi& t) {
  FakeSolver<float>::fill_factors(t.f32);
  FakeSolver<float>::fill_values(t.f32);
  FakeSolver<double>::fill_factors(t.f64);
  FakeSolver<double>::fill_values(t.f64);
  FakeSolver<float>::fill_handles(t);
}

}  // namespace cleave::testing
