// Product: matrix products of one plan, by the micro-kernels for this processor. The way operands are read, packing and division into
// pieces depend on the shape alone, so results are bit for bit equal for every number of threads. Memory is allocated at the first run.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/matmul_plan.h"
#include "executor/device/workers.h"
#include "executor/host/matmul/code.h"
#include "executor/host/scratch.h"

namespace cleave {
class SharedConstants;
}

namespace cleave::runtime::host {

template <class T>
class Product {
 public:
  /// `keeps`: packed b is kept between runs, and packed again only if its address changes.
  explicit Product(const MatmulPlan& plan, bool keeps = false);
  /// `bias` is read only if the plan has one.
  void run(Workers& workers, const T* a, const T* b, T* c, const T* bias);
  /// Kept panels are those that other products keep of the same b; null: they are this product's own. To be called before `run`.
  void share(SharedConstants* constants) { constants_ = constants; }

  /// Packs b now, if this product keeps it, rather than in the first run.
  void keep(Workers& workers, const T* b);

  /// Whether keeping packed b would make runs faster.
  [[nodiscard]] bool would_keep() const;

 private:
  /// The algorithm of one product or a part of one.
  enum class Method : std::uint8_t {
    tiles,    ///< register tiles of the result
    dots,     ///< dot products: few rows against many lines that are contiguous along the inner axis
    combine,  ///< linear combinations: few rows, line by line of the right operand
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
  /// The part of `all` with so many rows and columns from `row` and `column` on; the inner axis stays whole.
  static Operands part(const Operands& all, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns);
  [[nodiscard]] Operands block_of(const Operands& all, std::int64_t row, std::int64_t index) const;
  void one(Workers& workers, const Operands& all, const T* bias);
  void in_parts(Workers& workers, const Operands& all, const T* bias);
  void packed(Workers& workers, const Operands& all, const T* bias);
  void pack(Workers& workers, const Operands& slice, T* panels) const;
  [[nodiscard]] std::shared_ptr<T> all_panels(Workers& workers, const Operands& all, std::int64_t elements) const;
  void keep(Workers& workers, const Operands& all);
  template <class Body>
  void each_block(Workers& workers, std::int64_t columns, const Body& body);
  void alone(const Operands& part);
  void tiles(const Operands& part, T* scratch) const;
  void block(const Operands& part, const T* packed_b, bool add, T* scratch) const;
  void finish(const Operands& part, std::int64_t row, std::int64_t column, const T* bias) const;

  MatmulPlan plan_;
  const ProductCode<T>& code_;
  std::int64_t matrices_ = 1, together_ = 1;  ///< number of products; products of one piece, or 0 if each product is divided
  bool swapped_ = false;                      ///< the transposed product is computed
  std::int64_t rows_ = 0, columns_ = 0;       ///< of one product, after swapping
  Method method_ = Method::tiles;
  bool pack_a_ = false, pack_b_ = false;
  std::int64_t row_block_ = 1, column_block_ = 1;  ///< rows and columns of one piece
  std::int64_t strip_ = 1;                         ///< columns whose panels are packed at a time
  std::int64_t parts_ = 1;                         ///< parts of the inner axis, whose sums are added at the end
  Scratch<T> scratch_, shared_;
  const bool keeps_;
  std::shared_ptr<T> kept_;       ///< all panels of b, which other products may read, too
  const T* kept_from_ = nullptr;  ///< the b whose panels these are
  SharedConstants* constants_ = nullptr;
};

extern template class Product<float>;
extern template class Product<double>;
extern template class Product<std::uint32_t>;
extern template class Product<std::uint64_t>;

}  // namespace cleave::runtime::host
