// Linear algebra by LAPACK, matrix by matrix; workers divide batches. A row-major matrix here is its transpose in column-major LAPACK; each
// kernel says how it accounts for that.
#include <algorithm>
#include <cmath>
#include <vector>

#include "executor/host/isolated_thread.h"
#include "executor/host/kernels.h"
#include "executor/host/lapack.h"
#include "graph/base/stop.h"
#include "graph/ops/decompositions.h"
#include "graph/ops/matrices.h"

namespace cleave::runtime::host {
namespace {

constexpr const char* kNotConverged = "has values that LAPACK did not find";

/// One thread's working memory.
template <class T>
struct Memory {
  std::vector<T> a, b, work;
  std::vector<int> pivots, whole;
};

/// The operands and results for one matrix of the batch.
template <class T>
struct Task {
  const LapackRoutines<T>& lapack;
  Memory<T>& memory;
  const T *a, *b;  ///< the operands' matrices
  int m, n;        ///< extents of a
  int sides;       ///< columns of b
  T* results[3];
  bool upper;

  [[nodiscard]] T* copy_of_a() const {
    memory.a.assign(a, a + std::int64_t{m} * n);
    return memory.a.data();
  }
};

/// Converts a row-major `rows` x `columns` matrix to column-major.
template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      for (std::int64_t i = i0; i < std::min(rows, i0 + kBlock); ++i)
        for (std::int64_t j = j0; j < std::min(columns, j0 + kBlock); ++j) to[j * rows + i] = from[i * columns + j];
    }
  }
}

/// Calls `routine(work, size, info)` with as much working memory as it requests.
template <class T, class Routine>
int with_work(std::vector<T>& work, const Routine& routine) {
  int info = 0;
  if (work.empty()) {
    T wanted = 0;
    const int ask = -1;
    routine(&wanted, &ask, &info);
    work.resize(static_cast<std::size_t>(std::max(T(1), std::nextafter(wanted, 2 * wanted))));
  }
  const auto size = static_cast<int>(work.size());
  routine(work.data(), &size, &info);
  return info;
}

/// LU-factorizes `a`, n x n, in place.
template <class T>
bool factor(const Task<T>& task, T* a) {
  int info = 0;
  task.memory.pivots.resize(static_cast<std::size_t>(task.n));
  task.lapack.getrf(&task.n, &task.n, a, &task.n, task.memory.pivots.data(), &info);
  return info == 0;
}

template <class T>
const char* solve_system(const Task<T>& task) {
  T* a = task.copy_of_a();
  if (!factor(task, a)) return ops::kSingular;
  const std::size_t size = static_cast<std::size_t>(task.n) * static_cast<std::size_t>(task.sides);
  task.memory.b.resize(size);
  transpose(task.b, task.n, task.sides, task.memory.b.data());
  int info = 0;
  task.lapack.getrs("T", &task.n, &task.sides, a, &task.n, task.memory.pivots.data(), task.memory.b.data(), &task.n, &info, 1);
  transpose(task.memory.b.data(), task.sides, task.n, task.results[0]);
  return nullptr;
}

template <class T>
const char* invert(const Task<T>& task) {
  T* out = task.results[0];
  std::copy_n(task.a, std::int64_t{task.n} * task.n, out);
  if (!factor(task, out)) return ops::kSingular;
  const int info = with_work(task.memory.work, [&](T* work, const int* size, int* status) {
    task.lapack.getri(&task.n, out, &task.n, task.memory.pivots.data(), work, size, status);
  });
  return info == 0 ? nullptr : ops::kSingular;
}

/// Calls `add` with the magnitude of each pivot; returns the determinant's sign.
template <class T, class Add>
int pivots_of(const Task<T>& task, const Add& add) {
  const T* a = task.copy_of_a();
  if (!factor(task, task.memory.a.data())) return 0;
  int sign = 1;
  for (int i = 0; i < task.n; ++i) {
    const T pivot = a[std::int64_t{i} * task.n + i];
    if ((task.memory.pivots[static_cast<std::size_t>(i)] != i + 1) != (pivot < 0)) sign = -sign;
    add(std::fabs(static_cast<double>(pivot)));
  }
  return sign;
}
template <class T>
const char* determine(const Task<T>& task) {
  double magnitude = 1;
  const int sign = pivots_of(task, [&](double pivot) { magnitude *= pivot; });
  task.results[0][0] = sign == 0 ? T(0) : static_cast<T>(sign * magnitude);
  return nullptr;
}
template <class T>
const char* log_determine(const Task<T>& task) {
  double logarithm = 0;
  const int sign = pivots_of(task, [&](double pivot) { logarithm += std::log(pivot); });
  task.results[0][0] = static_cast<T>(sign);
  task.results[1][0] = sign == 0 ? -std::numeric_limits<T>::infinity() : static_cast<T>(logarithm);
  return nullptr;
}

/// The row-major lower triangle is the upper triangle for LAPACK, so its factor U is L here.
template <class T>
const char* decompose_cholesky(const Task<T>& task) {
  const std::int64_t n = task.n;
  T* out = task.upper ? task.copy_of_a() : task.results[0];
  if (!task.upper) std::copy_n(task.a, n * n, out);
  int info = 0;
  task.lapack.potrf("U", &task.n, out, &task.n, &info, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    if (info == 0 && !(out[i * n + i] > 0)) info = 1;  // NaN
    std::fill(out + i * n + i + 1, out + (i + 1) * n, T(0));
  }
  if (task.upper) transpose(out, n, n, task.results[0]);
  return info == 0 ? nullptr : ops::kNotPositiveDefinite;
}

template <class T>
const char* decompose_qr(const Task<T>& task) {
  const std::int64_t m = task.m, n = task.n;
  const int k = std::min(task.m, task.n);
  Memory<T>& memory = task.memory;
  memory.a.resize(static_cast<std::size_t>(m * std::max<std::int64_t>(n, k)));
  memory.b.resize(2 * static_cast<std::size_t>(k));  // tau, and the signs of the diagonal
  T *a = memory.a.data(), *signs = memory.b.data() + k;
  transpose(task.a, m, n, a);
  const auto wide = [&](auto routine) {
    T most = 1;
    int info = 0;
    const int ask = -1;
    routine(&most, &ask, &info);
    memory.work.resize(std::max(memory.work.size(), static_cast<std::size_t>(most)));
    const auto size = static_cast<int>(memory.work.size());
    routine(memory.work.data(), &size, &info);
  };
  wide([&](T* work, const int* size, int* info) { task.lapack.geqrf(&task.m, &task.n, a, &task.m, memory.b.data(), work, size, info); });
  for (std::int64_t i = 0; i < k; ++i) {
    signs[i] = a[i * m + i] < 0 ? T(-1) : T(1);
    for (std::int64_t j = 0; j < n; ++j) task.results[1][i * n + j] = j < i ? T(0) : signs[i] * a[j * m + i];
  }
  wide([&](T* work, const int* size, int* info) { task.lapack.orgqr(&task.m, &k, &k, a, &task.m, memory.b.data(), work, size, info); });
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < k; ++j) task.results[0][i * k + j] = signs[j] * a[j * m + i];
  return nullptr;
}

/// The row-major lower triangle is LAPACK's upper one. LAPACK's eigenvectors are columns and are transposed back to columns here.
template <class T, bool vectors>
const char* find_eigen(const Task<T>& task) {
  const std::int64_t n = task.n;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      if (!std::isfinite(task.a[i * n + j])) return ops::kNotFinite;
  T* a = task.copy_of_a();
  Memory<T>& memory = task.memory;
  const char* job = vectors ? "V" : "N";
  int info = 0;
  if (memory.work.empty()) {
    T wanted = 1;
    int whole = 1;
    const int ask = -1;
    task.lapack.syevd(job, "U", &task.n, a, &task.n, task.results[0], &wanted, &ask, &whole, &ask, &info, 1, 1);
    memory.work.resize(static_cast<std::size_t>(std::nextafter(wanted, 2 * wanted)));
    memory.whole.resize(static_cast<std::size_t>(whole));
  }
  const auto size = static_cast<int>(memory.work.size()), whole_size = static_cast<int>(memory.whole.size());
  task.lapack.syevd(job, "U", &task.n, a, &task.n, task.results[0], memory.work.data(), &size, memory.whole.data(), &whole_size, &info, 1,
                    1);
  if (info != 0) return kNotConverged;
  if constexpr (vectors) {
    for (std::int64_t j = 0; j < n; ++j) {
      T* column = a + j * n;
      if (ops::naive::wrong_sign(n, [&](std::int64_t i) { return column[i]; }))
        std::transform(column, column + n, column, [](T x) { return -x; });
    }
    transpose(a, n, n, task.results[1]);
  }
  return nullptr;
}

/// LAPACK is column-major and so sees the transpose: its V is our U, and the reverse. It writes both directly to the results.
template <class T, bool vectors>
const char* find_singular(const Task<T>& task) {
  const std::int64_t m = task.m, n = task.n;
  const int k = std::min(task.m, task.n);
  if (!std::all_of(task.a, task.a + m * n, [](T x) { return std::isfinite(x); })) return ops::kNotFinite;
  T *a = task.copy_of_a(), *s = task.results[vectors ? 1 : 0];
  T *u = vectors ? task.results[0] : nullptr, *vh = vectors ? task.results[2] : nullptr;
  task.memory.whole.resize(8 * static_cast<std::size_t>(k));
  const int one = 1;
  const int info = with_work(task.memory.work, [&](T* work, const int* size, int* status) {
    task.lapack.gesdd(vectors ? "S" : "N", &task.n, &task.m, a, &task.n, s, vh, vectors ? &task.n : &one, u, vectors ? &k : &one, work,
                      size, task.memory.whole.data(), status, 1);
  });
  if (info != 0) return kNotConverged;
  for (std::int64_t j = 0; vectors && j < k; ++j) {
    if (!ops::naive::wrong_sign(m, [&](std::int64_t i) { return u[i * k + j]; })) continue;
    for (std::int64_t i = 0; i < m; ++i) u[i * k + j] = -u[i * k + j];
    for (std::int64_t i = 0; i < n; ++i) vh[j * n + i] = -vh[j * n + i];
  }
  return nullptr;
}

template <class T>
using Routine = const char* (*)(const Task<T>& task);

/// The kernel of one routine on each matrix of the batch; LAPACK's working memory is kept between calls. A matrix takes about `work` times
/// the cube of its extents in operations.
template <Routine<float> single, Routine<double> both, int work>
class Matrices final : public HostKernel {
 public:
  Status run(const KernelCall& call) override {
    if (!lapack()) return lapack().error();
    return call.inputs[0].type->dtype == DType::f32 ? run_as<float>(call, single, singles_) : run_as<double>(call, both, doubles_);
  }

 private:
  struct Problem {
    std::int64_t matrix = 0;
    const char* what = nullptr;
  };

  template <class T>
  Status run_as(const KernelCall& call, Routine<T> routine, std::vector<Memory<T>>& memories) {
    const auto empty = [](const TensorView& result) { return result.type->elements() == 0; };
    if (std::all_of(call.results.begin(), call.results.end(), empty)) return {};  // however many empty matrices there are
    const ops::MatrixBatch batch(call.results[0].type->shape, call.inputs);
    const std::int64_t count = batch.count(), threads = call.workers.threads();
    const auto [m, n] = batch.extents(0);
    // Work grows with the third power of the extents, so a thread pays off at smaller sizes than for other kernels.
    const bool worthwhile = static_cast<double>(count) * static_cast<double>(m * n) * static_cast<double>(std::min(m, n)) >= 1 << 16;
    const std::int64_t pieces = worthwhile ? std::min(count, 4 * threads) : std::min<std::int64_t>(count, 1);
    if (static_cast<std::int64_t>(memories.size()) < pieces) memories.resize(static_cast<std::size_t>(pieces));
    std::vector<Problem> problems(static_cast<std::size_t>(pieces));
    call.workers.each(pieces, [&](std::int64_t piece) {
      Problem& problem = problems[static_cast<std::size_t>(piece)];
      for (std::int64_t i = count * piece / pieces; i < count * (piece + 1) / pieces && !problem.what; ++i)
        problem = {i, run_one(call, routine, batch, memories[static_cast<std::size_t>(piece)], i)};
    });
    for (const Problem& problem : problems) {
      if (problem.what) return Error{"`" + std::string(call.op.name) + "`: " + batch.problem(problem.matrix, problem.what)};
    }
    return {};
  }

  template <class T>
  const char* run_one(const KernelCall& call, Routine<T> routine, const ops::MatrixBatch& batch, Memory<T>& memory, std::int64_t i) {
    const auto [m, n] = batch.extents(0);
    Task<T> task{lapack()->of<T>(),
                 memory,
                 call.inputs[0].as<T>() + batch.offset(0, i),
                 nullptr,
                 static_cast<int>(m),
                 static_cast<int>(n),
                 1,
                 {},
                 call.attributes.get_or("upper", false)};
    if (call.inputs.size() > 1) {
      task.b = call.inputs[1].as<T>() + batch.offset(1, i);
      task.sides = static_cast<int>(batch.extents(1).second);
    }
    for (std::size_t r = 0; r < call.results.size(); ++r) {
      const std::int64_t size = call.results[r].type->elements() / batch.count();
      task.results[r] = call.results[r].as<T>() + i * size;
    }
    look_at_stop();
    if (m > 0 && n > 0 && task.sides > 0) return run_routine(call, routine, task, batch.count());
    // The determinant of an empty matrix is 1; all other results are empty.
    if (call.results[0].type->elements() > 0) task.results[0][0] = 1;
    if (call.results.size() == 2 && call.results[1].type->elements() > 0) task.results[1][0] = 0;
    return nullptr;
  }

  /// Runs the routine on one matrix. If it takes long, it runs on a thread that can be left behind, with copies of operands and results.
  template <class T>
  const char* run_routine(const KernelCall& call, Routine<T> routine, const Task<T>& task, std::int64_t count) {
    constexpr double kLong = 1 << 27;  ///< operations; a core does about 10^10 a second
    const auto m = static_cast<double>(task.m), n = static_cast<double>(task.n);
    if (work * m * n * std::min(m, n) + 2 * n * n * task.sides < kLong) {
      const auto alone = lapack()->enter();
      return routine(task);
    }
    struct Own {
      Memory<T> memory;
      std::vector<T> a, b, results[3];
      const char* problem = nullptr;
    };
    const auto own = std::make_shared<Own>();
    own->a.assign(task.a, task.a + std::int64_t{task.m} * task.n);
    if (task.b) own->b.assign(task.b, task.b + std::int64_t{task.n} * task.sides);
    for (std::size_t r = 0; r < call.results.size(); ++r)
      own->results[r].resize(static_cast<std::size_t>(call.results[r].type->elements() / count));
    run_isolated([own, routine, m = task.m, n = task.n, sides = task.sides, upper = task.upper] {
      T* results[3] = {own->results[0].data(), own->results[1].data(), own->results[2].data()};
      const auto alone = lapack()->enter();
      own->problem =
          routine({lapack()->of<T>(), own->memory, own->a.data(), own->b.data(), m, n, sides, {results[0], results[1], results[2]}, upper});
    });
    for (std::size_t r = 0; r < call.results.size(); ++r) std::copy(own->results[r].begin(), own->results[r].end(), task.results[r]);
    return own->problem;
  }

  std::vector<Memory<float>> singles_;
  std::vector<Memory<double>> doubles_;
};

template <Routine<float> single, Routine<double> both, int work>
constexpr KernelRow row() {
  using Kernel = Matrices<single, both, work>;
  return {[](const KernelCall& call) { return Kernel().run(call); },
          [](const KernelRequest&) -> std::unique_ptr<HostKernel> { return std::make_unique<Kernel>(); }};
}

}  // namespace

constexpr KernelRow rows::solve = row<solve_system<float>, solve_system<double>, 1>();
constexpr KernelRow rows::inv = row<invert<float>, invert<double>, 2>();
constexpr KernelRow rows::det = row<determine<float>, determine<double>, 1>();
constexpr KernelRow rows::slogdet = row<log_determine<float>, log_determine<double>, 1>();
constexpr KernelRow rows::cholesky = row<decompose_cholesky<float>, decompose_cholesky<double>, 1>();
constexpr KernelRow rows::qr = row<decompose_qr<float>, decompose_qr<double>, 4>();
constexpr KernelRow rows::eigh = row<find_eigen<float, true>, find_eigen<double, true>, 30>();
constexpr KernelRow rows::eigvalsh = row<find_eigen<float, false>, find_eigen<double, false>, 15>();
constexpr KernelRow rows::svd = row<find_singular<float, true>, find_singular<double, true>, 60>();
constexpr KernelRow rows::svdvals = row<find_singular<float, false>, find_singular<double, false>, 30>();

}  // namespace cleave::runtime::host
