// Product: matrix products of one plan, on the code for this processor. Decides, from the shape alone, how operands are read, what is
// packed and into which pieces the work is cut: so results are equal to the bit for every number of threads. Memory is taken at the first
// run.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/matmul_plan.h"
#include "executor/device/workers.h"
#include "executor/host/matmul/code.h"
#include "executor/host/scratch.h"

namespace cleave::runtime::host {

template <class T>
class Product {
 public:
  /// `keeps`: b is packed once, and again only where it lies elsewhere.
  explicit Product(const MatmulPlan& plan, bool keeps = false);
  /// `bias`: where the plan has one.
  void run(Workers& workers, const T* a, const T* b, T* c, const T* bias);

  /// Whether it would be faster with b kept.
  [[nodiscard]] bool would_keep() const;

 private:
  /// How one product, or a part of one, is worked out.
  enum class Method : std::uint8_t {
    tiles,    ///< of the result, in registers
    dots,     ///< few rows against many lines that have their inner axis side by side
    combine,  ///< few rows, line by line of the right operand
  };
  struct Operands {
    std::int64_t rows = 0, columns = 0, inner = 0;
    Matrix<const T> a, b;
    Matrix<T> c;
  };

  void choose();
  void cut();
  void cut_tiles(std::int64_t elements);
  [[nodiscard]] std::int64_t across(std::int64_t columns) const;
  [[nodiscard]] Operands operands(std::int64_t index, const T* a, const T* b, T* c) const;
  /// The part of `all` that begins at a row, a column and an index of the inner axis.
  static Operands part(const Operands& all, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns);
  [[nodiscard]] Operands block_of(const Operands& all, std::int64_t row, std::int64_t index) const;
  void one(Workers& workers, const Operands& all, const T* bias);
  void in_parts(Workers& workers, const Operands& all, const T* bias);
  void packed(Workers& workers, const Operands& all, const T* bias);
  void pack(Workers& workers, const Operands& slice, T* panels) const;
  void keep(Workers& workers, const Operands& all);
  template <class Body>
  void each_block(Workers& workers, std::int64_t columns, const Body& body);
  void alone(const Operands& part);
  void tiles(const Operands& part, T* scratch) const;
  void block(const Operands& part, const T* packed_b, bool add, T* scratch) const;
  void finish(const Operands& part, std::int64_t row, std::int64_t column, const T* bias) const;

  MatmulPlan plan_;
  const ProductCode<T>& code_;
  std::int64_t matrices_ = 1, together_ = 1;  ///< how many there are, and how many one piece takes; 0: each is cut
  bool swapped_ = false;                      ///< the transposed product is worked out
  std::int64_t rows_ = 0, columns_ = 0;       ///< of one product, as worked out
  Method method_ = Method::tiles;
  bool pack_a_ = false, pack_b_ = false;
  std::int64_t row_block_ = 1, column_block_ = 1;  ///< of a piece
  std::int64_t strip_ = 1;                         ///< columns whose panels are packed at a time
  std::int64_t parts_ = 1;                         ///< of the inner axis, whose sums are added up at the end
  Scratch<T> scratch_, shared_;
  const bool keeps_;
  const T* kept_from_ = nullptr;  ///< the b whose panels `shared_` has
};

extern template class Product<float>;
extern template class Product<double>;
extern template class Product<std::uint32_t>;
extern template class Product<std::uint64_t>;

}  // namespace cleave::runtime::host
