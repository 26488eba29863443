// LAPACK as a table of functions, from a shared library that is opened at the first matrix: programs without linear algebra need none. Its
// matrices are column-major, its integers have 32 bits, and the lengths of text arguments follow as hidden arguments.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>

#include "graph/base/result.h"

namespace cleave::runtime::host {

template <class T>
struct LapackRoutines {
  using Int = int;
  void (*getrf)(const Int* m, const Int* n, T* a, const Int* lda, Int* pivots, Int* info) = nullptr;
  void (*getrs)(const char* trans, const Int* n, const Int* sides, const T* a, const Int* lda, const Int* pivots, T* b, const Int* ldb,
                Int* info, std::size_t) = nullptr;
  void (*getri)(const Int* n, T* a, const Int* lda, const Int* pivots, T* work, const Int* size, Int* info) = nullptr;
  void (*potrf)(const char* uplo, const Int* n, T* a, const Int* lda, Int* info, std::size_t) = nullptr;
  void (*geqrf)(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work, const Int* size, Int* info) = nullptr;
  void (*orgqr)(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work, const Int* size,
                Int* info) = nullptr;
  void (*syevd)(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* values, T* work, const Int* size, Int* whole,
                const Int* whole_size, Int* info, std::size_t, std::size_t) = nullptr;
  void (*gesdd)(const char* job, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, const Int* ldu, T* vt, const Int* ldvt,
                T* work, const Int* size, Int* whole, Int* info, std::size_t) = nullptr;
};

struct Lapack {
  LapackRoutines<float> single;
  LapackRoutines<double> both;
  bool reentrant = true;  ///< several threads may call it at once

  /// A lock to hold while a routine runs: calls of a library that is not reentrant are serialized in the whole process.
  [[nodiscard]] std::unique_lock<std::mutex> enter() const;

  template <class T>
  [[nodiscard]] const LapackRoutines<T>& of() const {
    if constexpr (sizeof(T) == 4) {
      return single;
    } else {
      return both;
    }
  }
};

/// The first of the libraries that can be opened and has all routines. OpenBLAS without threads of its own is not reentrant unless built
/// with USE_LOCKING=1, which it does not report: its calls share buffers that are handed out without a lock (OpenBLAS, Makefile.rule).
Result<Lapack> open_lapack(std::span<const char* const> names);

/// The library, opened once; an Error says which one to install. A library with threads of its own is told to use none, because cleave's
/// workers divide batches among themselves.
const Result<Lapack>& lapack();

}  // namespace cleave::runtime::host
