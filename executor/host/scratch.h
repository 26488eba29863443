// Scratch: working memory for pieces of a kernel's work, one part for each thread, held while a piece runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "executor/runtime.h"

namespace cleave::runtime::host {

template <class T>
class Scratch {
  struct Piece;

 public:
  static constexpr std::size_t kAlignment = 64;

  /// Allocates `elements` for each of `threads` threads. Throws if memory is short. Call it only between runs.
  void reserve(int threads, std::int64_t elements) {
    if (threads <= threads_ || elements == 0) return;
    auto parts = std::make_unique<Piece[]>(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T);
      parts[static_cast<std::size_t>(i)].memory.reset(static_cast<T*>(::operator new[](bytes, std::align_val_t(kAlignment))));
    }
    parts_ = std::move(parts);
    threads_ = threads;
  }

  /// Exclusive use of one part. There are as many parts as threads, so one is free.
  class Part {
   public:
    explicit Part(Scratch& scratch) {
      for (int i = 0;; i = i + 1 < scratch.threads_ ? i + 1 : 0) {
        part_ = &scratch.parts_[static_cast<std::size_t>(i)];
        if (!part_->taken.exchange(true, std::memory_order_acquire)) return;
      }
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    ~Part() { part_->taken.store(false, std::memory_order_release); }
    [[nodiscard]] T* data() const { return part_->memory.get(); }

   private:
    Piece* part_ = nullptr;
  };

 private:
  struct Free {
    void operator()(T* memory) const { ::operator delete[](memory, std::align_val_t(kAlignment)); }
  };
  struct Piece {
    std::unique_ptr<T[], Free> memory;
    std::atomic<bool> taken{false};
  };
  int threads_ = 0;
  std::unique_ptr<Piece[]> parts_;
};

}  // namespace cleave::runtime::host
