// CudaDevice: an NVIDIA GPU behind the Device interface: one arena, page-locked staging, kernels compiled at run time, matrix products by
// cuBLASLt, three streams (streams.h). Nothing is allocated, created or loaded once the first run has begun, but for the events of the
// first timeline, and nothing waits for the whole device.
//
// What is not put into a stream may be called on threads of the caller, whose current context is as it was when the call comes back.
// Streams are filled by threads that are the executor's own, and by `upload`.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/compiler.h"
#include "executor/cuda/control_graph.h"
#include "executor/cuda/dependences.h"
#include "executor/cuda/handover.h"
#include "executor/cuda/kernels/packet.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/library/library_op.h"
#include "executor/cuda/matmul/blas_api.h"
#include "executor/cuda/matmul/matmul.h"
#include "executor/cuda/segment_graph.h"
#include "executor/cuda/staging.h"
#include "executor/cuda/stopwatch.h"
#include "executor/cuda/streams.h"
#include "executor/device/device.h"

namespace cleave::runtime::cuda {

/// All that is opened at run time.
struct Api {
  DriverApi driver;
  CompilerApi compiler;
  BlasApi blas;
  std::shared_ptr<const Libraries> libraries = nullptr;  ///< those that it can do without; null: none of them
  std::shared_ptr<Contexts> contexts = nullptr;          ///< those of the process; null: the device opens one of its own
};

struct CudaOptions {
  int ordinal = 0;
  Precision precision = Precision::f32;
  std::string cache_folder = default_cache_folder();
  CudaStreams::Options streams;
  bool stream_mode = false;             ///< every launch by itself, no segments: to find where an error comes from
  std::int64_t upload_bytes = 4 << 20;  ///< of each of the two pieces of page-locked memory that uploads go through
  std::function<std::optional<KernelSource>(const KernelRequest&, const Architecture&)> source = kernel_source;
  /// The kernel of a product that cuBLASLt has no algorithm for.
  std::function<KernelSource(const KernelRequest&, const Architecture&)> product = product_source;
  std::function<KernelSource(std::span<const Piece>, bool unpacks)> packet = packet_source;
  std::function<void(const KernelRequest&, KernelSource&)> around;  ///< is shown the kernels around a library's calls; null: nobody
};

class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(const Api& api, CudaOptions options);
  ~CudaDevice() override;

  Status allocate(std::int64_t bytes) override;
  Result<std::byte*> allocate_staging(std::int64_t bytes) override;
  void keep(Range what) override { kept_.push_back({what}); }
  Result<KernelId> prepare(KernelRequest request) override;
  [[nodiscard]] bool joins(KernelId kernel) const override;
  SegmentId prepare_segment(std::vector<DeviceStep> steps) override;
  ControlId prepare_control(DeviceControl control) override;
  [[nodiscard]] bool controls(ControlId control) const override { return controls_[control.index].graph.has_value(); }
  Result<PiecesId> prepare_pieces(std::vector<Piece> pieces, Stream stream) override;
  Status upload(Range to, const std::byte* from, bool page_locked) override;
  Status begin_run(RunState& run) override;
  void end_run() override;

  Status launch(KernelId kernel, const Origin& origin) override;
  Status launch_segment(SegmentId segment, const Origin& origin) override;
  Status launch_control(ControlId control, std::int64_t count, const Origin& origin) override;
  Status copy_to_device(Range to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, Range from, const Origin& origin) override;
  Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) override;
  Status copy_inside(Range to, Range from, const Origin& origin) override;
  Status fill(Range to, std::int32_t value, const Origin& origin) override;
  Status discard(Range, const Origin&) override { return {}; }
  Result<std::optional<Mailbox>> open_mailbox() override;
  Status take(Range to, const Delivery& delivery, const Origin& origin) override;
  Status take(PiecesId to, const Delivery& delivery, const Origin& origin) override;
  Status give(Range from, const Delivery& delivery, const Origin& origin) override;
  Status give(PiecesId from, const Delivery& delivery, const Origin& origin) override;
  Status await(const Mailbox& mailbox, std::uint64_t number, const MailboxSlot* slot, const std::function<bool()>& stops) override;
  Event record(Stream stream) override { return streams_->record(stream); }
  Event record_awaited(Stream stream) override { return streams_->record(stream, true); }
  Status wait(Stream stream, Event event) override { return streams_->wait(stream, event); }
  Status synchronize(Event event) override { return streams_->synchronize(event); }
  [[nodiscard]] bool passed(Event event) override { return streams_->passed(event); }
  void abort() override;

  Status prepare_to_measure() override;
  Result<bool> measure() override;
  void label(Stream stream, std::uint64_t label) override { streams_->label(stream, label); }
  Status measured(Stream stream, bool last, std::vector<Measured>& to) override { return streams_->measured(stream, last, to); }

  [[nodiscard]] bool lost() const override { return context_->lost(); }
  [[nodiscard]] bool simulated() const override { return false; }
  [[nodiscard]] const std::byte* address(std::int64_t offset) const override { return reinterpret_cast<const std::byte*>(at(offset)); }
  [[nodiscard]] std::int64_t measured_peak() const override { return touched_; }

 private:
  /// One launch with its parameters where the driver can read them.
  struct Launch {
    CUfunction function = nullptr;
    KernelLaunch shape;
    std::vector<std::uint64_t> values;
    int scratch = -1, ticket = -1;  ///< which of `values`, if any
    std::int64_t scratch_offset = 0;
  };
  /// Where the driver finds a launch's parameters; it copies them before it returns.
  struct Parameters {
    Parameters(const Launch& launch, std::uint64_t& ticket);
    void* all[256];
  };
  static CUDA_KERNEL_NODE_PARAMS as_node(const Launch& launch, Parameters& parameters);
  /// What algorithms are tried with before the first run.
  struct Trial {
    DeviceMemory workspace;
    Stopwatch watch;
    DeviceMemory operands;
    std::int64_t bytes = 0;  ///< of the operands' memory
  };
  /// An operand of a product that is read from a copy in a narrower type: one that is kept, or one in scratch memory.
  struct RoundedOperand {
    CUdeviceptr MatmulAddresses::*which = nullptr;
    std::optional<std::size_t> copy;  ///< index into rounded_
    std::int64_t scratch_offset = 0;
  };
  struct PreparedKernel {
    std::vector<Launch> launches;
    std::unique_ptr<Matmul> matmul;  ///< behind the launches
    MatmulAddresses addresses;
    std::vector<RoundedOperand> rounded;
    std::vector<LibraryOp::Call> calls;  ///< among the launches
    OperandAddresses operands;           ///< of the calls
    bool captures = true;
    Touched touched;
    std::optional<std::size_t> fault;  ///< index into faults_
    std::int64_t end = 0;              ///< of the arena that it touches
    [[nodiscard]] bool empty() const { return !matmul && launches.empty() && calls.empty(); }
    /// Launches and calls in their order, until one fails.
    template <class OnLaunch, class OnCall>
    Status walk(OnLaunch&& on_launch, OnCall&& on_call) const {
      std::size_t call = 0;
      for (std::size_t i = 0; i <= launches.size(); ++i) {
        for (; call < calls.size() && calls[call].behind == i; ++call)
          if (Status status = on_call(*calls[call].call); !status) return status;
        if (i == launches.size()) break;
        if (Status status = on_launch(launches[i]); !status) return status;
      }
      return {};
    }
  };
  /// What copies pieces at once, but for where the packet lies.
  struct PreparedPieces {
    Launch launch;
    std::size_t packet = 0;  ///< which of its values
    std::int64_t end = 0;    ///< of the arena that it touches
  };
  /// A node whose launch is told its number anew each time.
  struct NumberedNode {
    CUgraphNode node = nullptr;
    const Launch* launch = nullptr;
  };
  struct PreparedSegment {
    std::vector<DeviceStep> steps;
    // Once the first run is to begin:
    GraphHandle source;     ///< names the nodes
    GraphExecHandle graph;  ///< none: nothing to do
    std::vector<NumberedNode> numbered;
    std::int64_t end = 0;
  };
  /// A loop or branch that is decided here.
  struct PreparedControl {
    DeviceControl control;
    std::vector<DeviceStep> steps;  ///< all that are inside
    std::int64_t end = 0;
    DeviceMemory words;
    std::optional<ControlGraph> graph;  ///< once the first run is to begin; none: the driver cannot do it
  };
  /// What a kernel writes where it finds its data wrong: the number of its command and the offending number.
  struct FaultWords {
    std::uint64_t* words = nullptr;  ///< the device's to write, too
    [[nodiscard]] std::uint64_t ticket() const { return std::atomic_ref(words[0]).load(std::memory_order_acquire); }
    std::string text;
    std::function<std::string(std::int64_t)> describe;  ///< null: `text` does
    NodeId node;
    std::optional<std::int64_t> order;  ///< in a segment: the last number of the node's position
  };

  /// A part of the arena that only `upload` writes.
  struct Kept {
    Range range;
    bool uploaded = false;
  };
  /// A copy of such a part, in a narrower type.
  struct RoundedCopy {
    Range from;
    std::int64_t offset = 0;  ///< in rounded_memory_
    std::vector<Launch> launches;
  };

  CudaDevice(const Api& api, CudaOptions options) : api_(api), options_(std::move(options)) {}
  Status open_parts();
  Result<PreparedKernel> prepare_any(const KernelRequest& request);
  Result<PreparedKernel> prepare_source(const KernelRequest& request, const KernelSource& source);
  Result<PreparedKernel> prepare_calls(const KernelRequest& request, LibraryOp op);
  Result<PreparedKernel> prepare_matmul(const KernelRequest& request);
  Status open_matmuls();
  Status open_trial();
  Status fill_trial(std::int64_t bytes);
  Result<MatmulTrial> matmul_trial(const KernelRequest& request, const MatmulRequest& product);
  Status round_operands(const KernelRequest& request, const MatmulRequest& product, PreparedKernel& kernel, std::int64_t& scratch);
  Result<std::vector<Launch>> prepare_rounding(NodeId node, const Range& from, DType narrow);
  /// Null: others write there.
  [[nodiscard]] const Kept* kept(const Range& range) const;
  Result<std::size_t> keep_rounded(NodeId node, const Range& from, DType narrow);
  Status allocate_rounded();
  Status upload_at_once(Range to, const std::byte* from);
  Status upload_in_pieces(Range to, const std::byte* from);
  Status round_uploaded(Range range);
  Status round(Range range);
  Status fit_grid(Launch& launch) const;
  Result<CUfunction> function(const std::string& text, const KernelLaunch& launch);
  /// What needs to know all kernels: scratch memory, and the graphs that hold its address. Before the first run.
  Status finish_preparing();
  Status allocate_scratch();
  Status build(PreparedSegment& segment);
  /// `ticket`: what kernels are told that want one; those nodes are put into `numbered`, unless that is null.
  Status add_step(SegmentGraph& graph, const DeviceStep& step, std::uint64_t ticket, std::vector<NumberedNode>* numbered) const;
  Status open_controls();
  void watch_controls(RunState& run) const;
  Status build(PreparedControl& control);
  Status wait_for_host(const Mailbox& mailbox, std::uint64_t number, CUstream stream) const;
  Status deliver(const Delivery& delivery, const Origin& origin, PreparedPieces* pieces, Handover what);
  Status hand_over(Handover what, CUstream stream) const;
  [[nodiscard]] Touched touched_by(const DeviceStep& step) const;
  [[nodiscard]] std::optional<CudaStreams::DataFault> find_fault() const;
  [[nodiscard]] Status launch_one(const Launch& launch, CUstream stream, std::uint64_t ticket) const;
  Status copy_pieces(Stream stream, PreparedPieces& pieces, const std::byte* packet, const Origin& origin);
  [[nodiscard]] CUdeviceptr at(std::int64_t offset) const { return arena_.get() + static_cast<CUdeviceptr>(offset); }
  void touch(std::int64_t end);
  [[nodiscard]] const DriverApi& driver() const { return context_->api(); }

  const Api api_;
  const CudaOptions options_;
  std::shared_ptr<Context> context_;      ///< first: all else ends before it
  std::optional<Context::Visit> ending_;  ///< while all else ends
  std::optional<Compiler> compiler_;
  std::map<std::string, ModuleHandle> modules_;  ///< by text
  MatmulSetting matmuls_;
  LibrarySetting libraries_;
  std::optional<Trial> trial_;
  DeviceMemory arena_, scratch_, rounded_memory_;
  std::int64_t scratch_bytes_ = 0, rounded_bytes_ = 0;
  std::vector<Kept> kept_;
  std::vector<RoundedCopy> rounded_;
  std::optional<Staging> staging_;
  std::byte* bounce_[2] = {};
  std::vector<PreparedKernel> kernels_;
  std::vector<PreparedSegment> segments_;
  std::vector<PreparedControl> controls_;
  CUfunction decide_ = nullptr;      ///< null: no controls
  HostWords* host_words_ = nullptr;  ///< the same; in page-locked memory
  std::vector<PreparedPieces> pieces_;
  CUfunction handover_ = nullptr;  ///< null: no mailboxes yet
  std::vector<Mailbox> mailboxes_;
  bool finished_ = false;
  std::vector<FaultWords> faults_;
  std::int64_t touched_ = 0;
  std::unique_ptr<CudaStreams> streams_;
};

}  // namespace cleave::runtime::cuda
