// The code for one axis of windows: the taps of a window that are inside x, and the windows that cover an element of x.
#pragma once

#include <string>

#include "executor/cuda/kernels/kernel_text.h"
#include "graph/ops/window.h"

namespace cleave::runtime::cuda {

/// The taps of the window at `place` along axis `number`.
class TapsText {
 public:
  TapsText(KernelText& kernel, const ops::WindowAxis& axis, std::size_t number, std::string place)
      : kernel_(kernel), axis_(axis), number_(std::to_string(number)), place_(std::move(place)) {}

  /// `counts`: the taps are counted, with `padding` those in the padding too.
  void declare(bool counts, bool padding) {
    kernel_ << "    const Index first" << number_ << " = " << place_ << " * " << number(axis_.stride) << " - " << number(axis_.before)
            << ";\n";
    range("", 0, axis_.in);
    if (counts && padding) range("padded_", -axis_.before, axis_.in + axis_.after);
    if (counts) counted_ = (padding ? "(padded_end" : "(end") + number_ + (padding ? " - padded_begin" : " - begin") + number_ + ")";
  }
  [[nodiscard]] const std::string& counted() const { return counted_; }
  void open_loop() {
    kernel_ << "    for (Index t" << number_ << " = begin" << number_ << "; t" << number_ << " < end" << number_ << "; ++t" << number_
            << ")\n";
  }
  /// The position in x of tap `t`.
  [[nodiscard]] std::string at() { return "(first" + number_ + " + t" + number_ + " * " + number(axis_.dilation) + ")"; }

 private:
  [[nodiscard]] std::string number(std::int64_t value) { return kernel_.index(value); }
  /// Declares the range of taps between two positions.
  void range(const std::string& prefix, std::int64_t begin, std::int64_t end) {
    for (const auto& [name, place] : {std::pair(std::string("begin"), begin), std::pair(std::string("end"), end)}) {
      const std::string lack = "(" + number(place) + " - first" + number_ + ")";
      kernel_ << "    Index " << prefix << name << number_ << " = " << lack << " > 0 ? (" << lack << " + " << number(axis_.dilation - 1)
              << ") / " << number(axis_.dilation) << " : 0;\n    if (" << prefix << name << number_ << " > " << number(axis_.kernel) << ") "
              << prefix << name << number_ << " = " << number(axis_.kernel) << ";\n";
    }
  }

  KernelText& kernel_;
  const ops::WindowAxis& axis_;
  std::string number_, place_, counted_;
};

/// The windows that cover the element at `place` of x along axis `number`: a loop over their numbers `o0`, `o1`, ….
class CoveringText {
 public:
  CoveringText(KernelText& kernel, const ops::WindowAxis& axis, std::size_t number, std::string place)
      : kernel_(kernel), axis_(axis), number_(std::to_string(number)), place_(std::move(place)) {}

  void declare() {
    const std::string reach = "reach" + number_, lack = "(" + reach + " - " + number(axis_.span() - 1) + ")";
    kernel_ << "    const Index " << reach << " = " << place_ << " + " << number(axis_.before) << ";\n    const Index from" << number_
            << " = " << lack << " > 0 ? (" << lack << " + " << number(axis_.stride - 1) << ") / " << number(axis_.stride)
            << " : 0;\n    Index last" << number_ << " = " << reach << " / " << number(axis_.stride) << ";\n    if (last" << number_
            << " > " << number(axis_.out - 1) << ") last" << number_ << " = " << number(axis_.out - 1) << ";\n";
  }
  void open_loop() {
    const std::string o = "o" + number_;
    kernel_ << "    for (Index " << o << " = from" << number_ << "; " << o << " <= last" << number_ << "; ++" << o << ")\n";
    if (axis_.dilation > 1)
      kernel_ << "    if ((reach" << number_ << " - " << o << " * " << number(axis_.stride) << ") % " << number(axis_.dilation)
              << " == 0)\n";
  }

 private:
  [[nodiscard]] std::string number(std::int64_t value) { return kernel_.index(value); }

  KernelText& kernel_;
  const ops::WindowAxis& axis_;
  std::string number_, place_;
};

}  // namespace cleave::runtime::cuda
