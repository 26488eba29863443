#include "tests/support/fake_dnn.h"

#include <array>
#include <cstring>

#include "graph/array/tensor_type.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct FakeDnn {
  using D = FakeDriver;
  using R = cuda::DnnResult;
  using Description = FakeDnnDescription;
  using Type = cuda::DnnType;
  static constexpr auto kBadParameter = static_cast<R>(2000), kNotSupported = static_cast<R>(3000), kInternalError = static_cast<R>(4000);
  static constexpr std::size_t kWork = 1000;

  template <class Act>
  static R call(const char* name, Act&& act) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    if (d.enter(name) != CUDA_SUCCESS) return kInternalError;
    return act(d);
  }
  static R refuse(D& d, const char* why) {
    d.misuse(std::string("cuDNN is given ") + why);
    return kBadParameter;
  }
  template <class Handle>
  static R create(const char* name, Handle* handle, const char* kind) {
    return call(name, [&](D& d) {
      *handle = static_cast<Handle>(d.new_handle());
      d.dnn_[*handle].kind = kind;
      return R::success;
    });
  }
  static R destroy(const char* name, void* handle) {
    D& d = D::current();
    std::lock_guard guard(d.mutex_);
    const CUresult result = d.enter(name);
    if (d.dnn_.erase(handle) == 0) d.misuse(std::string(name) + " of what is not there");
    return result == CUDA_SUCCESS ? R::success : kInternalError;
  }
  template <class Act>
  static R change(const char* name, void* handle, const char* kind, Act&& act) {
    return call(name, [&](D& d) {
      const auto found = d.dnn_.find(handle);
      if (found == d.dnn_.end() || found->second.kind != kind) return refuse(d, "a handle of another kind");
      return act(d, found->second);
    });
  }

  // --- convolutions ---------------------------------------------------------------------------------------------------------------------

  struct Seen {
    Description x, weights, convolution, y;
  };
  static R look(D& d, void* handle, void* x, void* weights, void* convolution, void* y, Seen& seen) {
    const std::pair<void*, const char*> wanted[] = {
        {handle, "handle"}, {x, "tensor"}, {weights, "filter"}, {convolution, "convolution"}, {y, "tensor"}};
    for (const auto& [each, kind] : wanted)
      if (!d.dnn_.contains(each) || d.dnn_[each].kind != kind) return refuse(d, "a handle of another kind");
    seen = {d.dnn_[x], d.dnn_[weights], d.dnn_[convolution], d.dnn_[y]};
    const std::size_t axes = seen.convolution.extents.size();
    if (axes < 2) return refuse(d, "fewer than two spatial axes");
    for (const Description* each : {&seen.x, &seen.weights, &seen.y})
      if (each->extents.size() != axes + 2 || each->type != seen.x.type) return refuse(d, "operands that do not go together");
    const int groups = seen.convolution.groups;
    if (seen.x.extents[1] != groups * seen.weights.extents[1] || seen.y.extents[1] != seen.weights.extents[0] ||
        seen.y.extents[0] != seen.x.extents[0] || seen.weights.extents[0] % groups != 0)
      return refuse(d, "channels that do not go together");
    for (std::size_t a = 0; a < axes; ++a) {
      const int span = (seen.weights.extents[a + 2] - 1) * seen.convolution.dilations[a] + 1;
      const int room = seen.x.extents[a + 2] + 2 * seen.convolution.extents[a] - span;
      if (room < 0 || room / seen.convolution.strides[a] + 1 != seen.y.extents[a + 2]) return refuse(d, "a result of the wrong shape");
    }
    const bool single = seen.x.type == static_cast<int>(Type::f32);
    if (single && seen.convolution.math != static_cast<int>(cuda::DnnMath::multiply_add))
      return refuse(d, "f32 that may be rounded to TF32");
    if (groups == 7) return kNotSupported;  // a case for which the fake has no algorithm
    return R::success;
  }

  static double load(int type, const std::byte* data, std::int64_t index) {
    switch (static_cast<Type>(type)) {
      case Type::f64: return reinterpret_cast<const double*>(data)[index];
      case Type::f16: return static_cast<float>(reinterpret_cast<const Half*>(data)[index]);
      case Type::bf16: return static_cast<float>(reinterpret_cast<const BFloat16*>(data)[index]);
      case Type::f32: break;
    }
    return reinterpret_cast<const float*>(data)[index];
  }
  static void store(int type, std::byte* data, std::int64_t index, double value) {
    switch (static_cast<Type>(type)) {
      case Type::f64: reinterpret_cast<double*>(data)[index] = value; return;
      case Type::f16: reinterpret_cast<Half*>(data)[index] = Half(static_cast<float>(value)); return;
      case Type::bf16: reinterpret_cast<BFloat16*>(data)[index] = BFloat16(static_cast<float>(value)); return;
      case Type::f32: break;
    }
    reinterpret_cast<float*>(data)[index] = static_cast<float>(value);
  }
  static std::int64_t count(const Description& tensor) {
    std::int64_t all = 1;
    for (const int extent : tensor.extents) all *= extent;
    return all;
  }
  static std::size_t bytes(const Description& tensor) {
    const auto type = static_cast<Type>(tensor.type);
    return static_cast<std::size_t>(count(tensor)) * (type == Type::f64 ? 8 : type == Type::f32 ? 4 : 2);
  }

  /// For two or three spatial axes; two are extended by a leading one of a single element.
  static void convolve(const Seen& seen, const std::byte* x, const std::byte* weights, std::byte* y) {
    const auto three = [](std::vector<int> numbers, int front) {
      if (numbers.size() == 2) numbers.insert(numbers.begin(), front);
      return numbers;
    };
    const auto spatial = [&](const Description& each) { return three({each.extents.begin() + 2, each.extents.end()}, 1); };
    const std::vector<int> in = spatial(seen.x), taps = spatial(seen.weights), out = spatial(seen.y);
    const std::vector<int> pads = three(seen.convolution.extents, 0), strides = three(seen.convolution.strides, 1),
                           dilations = three(seen.convolution.dilations, 1);
    const int channels = seen.weights.extents[1], outputs = seen.weights.extents[0] / seen.convolution.groups;
    std::int64_t at = 0;
    for (int image = 0; image < seen.y.extents[0]; ++image)
      for (int o = 0; o < seen.y.extents[1]; ++o)
        for (int p0 = 0; p0 < out[0]; ++p0)
          for (int p1 = 0; p1 < out[1]; ++p1)
            for (int p2 = 0; p2 < out[2]; ++p2) {
              double sum = 0;
              std::int64_t weight = std::int64_t{o} * channels * taps[0] * taps[1] * taps[2];
              for (int c = 0; c < channels; ++c)
                for (int t0 = 0; t0 < taps[0]; ++t0)
                  for (int t1 = 0; t1 < taps[1]; ++t1)
                    for (int t2 = 0; t2 < taps[2]; ++t2, ++weight) {
                      const int i0 = p0 * strides[0] - pads[0] + t0 * dilations[0], i1 = p1 * strides[1] - pads[1] + t1 * dilations[1],
                                i2 = p2 * strides[2] - pads[2] + t2 * dilations[2];
                      if (i0 < 0 || i0 >= in[0] || i1 < 0 || i1 >= in[1] || i2 < 0 || i2 >= in[2]) continue;
                      const std::int64_t channel = std::int64_t{image} * seen.x.extents[1] + o / outputs * channels + c;
                      sum += load(seen.x.type, x, ((channel * in[0] + i0) * in[1] + i1) * in[2] + i2) * load(seen.x.type, weights, weight);
                    }
              store(seen.x.type, y, at++, sum);
            }
  }

  static R enqueue(D& d, void* handle, std::function<void()> action) {
    const CUresult result =
        d.enqueue(static_cast<CUstream>(d.dnn_[handle].stream), {std::move(action), nullptr, 0, false, 1e-6, "convolution"});
    return result == CUDA_SUCCESS ? R::success : kInternalError;
  }
  static CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
  static double scale(int type, const void* number) {
    return type == static_cast<int>(Type::f64) ? *static_cast<const double*>(number) : *static_cast<const float*>(number);
  }

  static void fill_descriptions(cuda::DnnApi& t) {
    t.cudnnGetErrorString = [](R) { return "as asked of the fake cuDNN"; };
    t.cudnnCreate = [](cuda::DnnHandle* handle) { return create("cudnnCreate", handle, "handle"); };
    t.cudnnDestroy = [](cuda::DnnHandle handle) { return destroy("cudnnDestroy", handle); };
    t.cudnnCreateTensorDescriptor = [](cuda::DnnTensor* made) { return create("cudnnCreateTensorDescriptor", made, "tensor"); };
    t.cudnnDestroyTensorDescriptor = [](cuda::DnnTensor tensor) { return destroy("cudnnDestroyTensorDescriptor", tensor); };
    t.cudnnCreateFilterDescriptor = [](cuda::DnnFilter* made) { return create("cudnnCreateFilterDescriptor", made, "filter"); };
    t.cudnnDestroyFilterDescriptor = [](cuda::DnnFilter filter) { return destroy("cudnnDestroyFilterDescriptor", filter); };
    t.cudnnCreateConvolutionDescriptor = [](cuda::DnnConvolution* made) {
      return create("cudnnCreateConvolutionDescriptor", made, "convolution");
    };
    t.cudnnDestroyConvolutionDescriptor = [](cuda::DnnConvolution made) { return destroy("cudnnDestroyConvolutionDescriptor", made); };
    t.cudnnSetStream = [](cuda::DnnHandle handle, void* stream) {
      return change("cudnnSetStream", handle, "handle", [&](D&, Description& each) {
        each.stream = stream;
        return R::success;
      });
    };
    t.cudnnSetTensorNdDescriptor = [](cuda::DnnTensor tensor, Type type, int rank, const int* extents, const int* strides) {
      return change("cudnnSetTensorNdDescriptor", tensor, "tensor", [&](D& d, Description& each) {
        each.type = static_cast<int>(type);
        each.extents.assign(extents, extents + rank);
        int stride = 1;
        for (int a = rank - 1; a >= 0; stride *= extents[a--])
          if (strides[a] != stride) return refuse(d, "a tensor that does not lie row by row");
        return rank < 4 ? kBadParameter : R::success;
      });
    };
    t.cudnnSetFilterNdDescriptor = [](cuda::DnnFilter filter, Type type, cuda::DnnFormat, int rank, const int* extents) {
      return change("cudnnSetFilterNdDescriptor", filter, "filter", [&](D&, Description& each) {
        each.type = static_cast<int>(type);
        each.extents.assign(extents, extents + rank);
        return R::success;
      });
    };
    t.cudnnSetConvolutionNdDescriptor = [](cuda::DnnConvolution convolution, int axes, const int* pads, const int* strides,
                                           const int* dilations, cuda::DnnMode, Type compute) {
      return change("cudnnSetConvolutionNdDescriptor", convolution, "convolution", [&](D&, Description& each) {
        each.type = static_cast<int>(compute);
        each.extents.assign(pads, pads + axes);
        each.strides.assign(strides, strides + axes);
        each.dilations.assign(dilations, dilations + axes);
        return R::success;
      });
    };
    t.cudnnSetConvolutionGroupCount = [](cuda::DnnConvolution convolution, int groups) {
      return change("cudnnSetConvolutionGroupCount", convolution, "convolution", [&](D&, Description& each) {
        each.groups = groups;
        return R::success;
      });
    };
    t.cudnnSetConvolutionMathType = [](cuda::DnnConvolution convolution, cuda::DnnMath math) {
      return change("cudnnSetConvolutionMathType", convolution, "convolution", [&](D&, Description& each) {
        each.math = static_cast<int>(math);
        return R::success;
      });
    };
  }

  static void fill_work(cuda::DnnApi& t) {
    // Offers an algorithm that cannot run, one that wants too much workspace, one that is not deterministic, and two good ones.
    t.cudnnGetConvolutionForwardAlgorithm_v7 = [](cuda::DnnHandle handle, cuda::DnnTensor x, cuda::DnnFilter weights,
                                                  cuda::DnnConvolution convolution, cuda::DnnTensor y, int most, int* number,
                                                  cuda::DnnOffer* offers) {
      return call("cudnnGetConvolutionForwardAlgorithm_v7", [&](D& d) {
        Seen seen;
        if (const R result = look(d, handle, x, weights, convolution, y, seen); result != R::success) return result;
        const auto algorithm = [](int index) { return static_cast<cuda::DnnAlgorithm>(index); };
        const cuda::DnnMath math = static_cast<cuda::DnnMath>(seen.convolution.math);
        const cuda::DnnOffer all[] = {{algorithm(0), kNotSupported, 1, 0, 1, math, {}},
                                      {algorithm(1), R::success, 2, std::size_t{1} << 40, 1, math, {}},
                                      {algorithm(2), R::success, 3, 0, 0, math, {}},
                                      {algorithm(6), R::success, 4, kWork, 1, math, {}},
                                      {algorithm(7), R::success, 5, 0, 1, math, {}}};
        *number = std::min(most, static_cast<int>(std::size(all)));
        std::copy_n(all, *number, offers);
        return R::success;
      });
    };
    t.cudnnGetConvolutionForwardWorkspaceSize = [](cuda::DnnHandle handle, cuda::DnnTensor x, cuda::DnnFilter weights,
                                                   cuda::DnnConvolution convolution, cuda::DnnTensor y, cuda::DnnAlgorithm algorithm,
                                                   std::size_t* work) {
      return call("cudnnGetConvolutionForwardWorkspaceSize", [&](D& d) {
        Seen seen;
        if (const R result = look(d, handle, x, weights, convolution, y, seen); result != R::success) return result;
        if (static_cast<int>(algorithm) < 6) return refuse(d, "an algorithm that it did not offer for this");
        *work = static_cast<int>(algorithm) == 6 ? kWork : 0;
        return R::success;
      });
    };
    t.cudnnConvolutionForward = [](cuda::DnnHandle handle, const void* alpha, cuda::DnnTensor x_tensor, const void* x,
                                   cuda::DnnFilter filter, const void* weights, cuda::DnnConvolution convolution,
                                   cuda::DnnAlgorithm algorithm, void* work, std::size_t work_bytes, const void* beta,
                                   cuda::DnnTensor y_tensor, void* y) {
      return call("cudnnConvolutionForward", [&](D& d) {
        Seen seen;
        if (const R result = look(d, handle, x_tensor, filter, convolution, y_tensor, seen); result != R::success) return result;
        if (static_cast<int>(algorithm) == 6 && (work_bytes < kWork || !work)) return refuse(d, "too little work memory");
        if (scale(seen.x.type, alpha) != 1 || scale(seen.x.type, beta) != 0) return refuse(d, "odd factors");
        return enqueue(d, handle, [&d, seen, x, weights, y, work, work_bytes] {
          if (std::byte* lost = work ? d.resolve(address(work), work_bytes) : nullptr) std::memset(lost, 0xFF, work_bytes);
          const std::byte *from = d.resolve(address(x), bytes(seen.x)), *taps = d.resolve(address(weights), bytes(seen.weights));
          std::byte* to = d.resolve(address(y), bytes(seen.y));
          if (from && taps && to) convolve(seen, from, taps, to);
        });
      });
    };
    t.cudnnAddTensor = [](cuda::DnnHandle handle, const void* alpha, cuda::DnnTensor a_tensor, const void* a, const void* beta,
                          cuda::DnnTensor c_tensor, void* c) {
      return call("cudnnAddTensor", [&](D& d) {
        if (!d.dnn_.contains(handle) || !d.dnn_.contains(a_tensor) || !d.dnn_.contains(c_tensor)) return refuse(d, "no such tensor");
        const Description added = d.dnn_[a_tensor], sum = d.dnn_[c_tensor];
        if (added.extents.size() != sum.extents.size() || added.extents[1] != sum.extents[1] || count(added) != added.extents[1])
          return refuse(d, "something else than a number for each channel");
        if (scale(sum.type, alpha) != 1 || scale(sum.type, beta) != 1) return refuse(d, "odd factors");
        return enqueue(d, handle, [&d, added, sum, a, c] {
          const std::byte* from = d.resolve(address(a), bytes(added));
          std::byte* to = d.resolve(address(c), bytes(sum));
          const std::int64_t inner = count(sum) / sum.extents[0] / sum.extents[1];
          for (std::int64_t i = 0; from && to && i < count(sum); ++i)
            store(sum.type, to, i, load(sum.type, to, i) + load(sum.type, from, i / inner % sum.extents[1]));
        });
      });
    };
  }
};

void fill_fake_dnn(cuda::DnnApi& table) {
  FakeDnn::fill_descriptions(table);
  FakeDnn::fill_work(table);
}

}  // namespace cleave::testing
