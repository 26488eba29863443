#include "executor/cuda/mailboxes.h"

namespace cleave::runtime::cuda {
namespace {

/// The device address of page-locked memory, which equals its host address (CUDA Programming Guide, "Unified Virtual Address Space").
std::uint64_t address_of(const void* page_locked) {
  return reinterpret_cast<std::uint64_t>(page_locked);
}

}  // namespace

Result<Mailbox> CudaMailboxes::open() {
  const Context::Visit visit(context_);
  if (!visit.status()) return visit.status().error();
  if (handover_ == nullptr) {
    Result<CUfunction> entry = modules_.function(handover_text(), handover_launch(1));
    if (!entry) return entry.error();
    handover_ = *entry;
  }
  Result<std::byte*> words = memory_.stage(Mailbox::kBytes);
  if (!words) return words.error();
  mailboxes_.emplace_back(*words);
  mailboxes_.back().reset();
  return mailboxes_.back();
}

/// Makes the stream wait for the host's word. If the word has been written already, no wait is enqueued.
Status CudaMailboxes::wait_for_host(const Mailbox& mailbox, std::uint64_t number, CUstream stream) const {
  if (mailbox.told() >= number) return {};
  Status status = context_.check(
      "cuStreamWaitValue64", context_.api().cuStreamWaitValue64(stream, address_of(mailbox.host_word()), number, CU_STREAM_WAIT_VALUE_GEQ));
  return status ? streams_.behind_wait(Stream::compute) : status;
}

Status CudaMailboxes::hand_over(Handover what, CUstream stream) const {
  const KernelLaunch shape = handover_launch(static_cast<std::int64_t>(what.bytes));
  void* parameters[] = {&what.to, &what.from, &what.bytes, &what.note, &what.command, &what.word, &what.number};
  return context_.check("cuLaunchKernel",
                        context_.api().cuLaunchKernel(handover_, 1, 1, 1, shape.block[0], 1, 1, 0, stream, parameters, nullptr));
}

/// Enqueues the copy of `pieces`, if any, as a kernel of its own, and then the hand-over kernel.
Status CudaMailboxes::deliver(const Delivery& delivery, const Origin& origin, PreparedPieces* pieces, Handover what) {
  if (pieces && pieces->launch.function) pieces->launch.values[pieces->packed] = address_of(delivery.slot.data);
  return streams_.enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t command) {
    Status status = wait_for_host(delivery.mailbox, delivery.after, stream);
    if (status && pieces && pieces->launch.function) status = enqueue(context_, pieces->launch, stream, command);
    if (what.note != 0) what.command = command;
    what.word = address_of(delivery.mailbox.device_word());
    what.number = delivery.number;
    return status ? hand_over(what, stream) : status;
  });
}

Status CudaMailboxes::take(Range to, const Delivery& delivery, const Origin& origin) {
  memory_.touch(to.offset + to.bytes);
  return deliver(delivery, origin, nullptr, {memory_.at(to.offset), address_of(delivery.slot.data), static_cast<std::uint64_t>(to.bytes)});
}

Status CudaMailboxes::take(PiecesId to, const Delivery& delivery, const Origin& origin) {
  PreparedPieces& pieces = copies_[to];
  memory_.touch(pieces.end);
  return deliver(delivery, origin, &pieces, {});
}

Status CudaMailboxes::give(Range from, const Delivery& delivery, const Origin& origin) {
  return deliver(
      delivery, origin, nullptr,
      {address_of(delivery.slot.data), memory_.at(from.offset), static_cast<std::uint64_t>(from.bytes), address_of(delivery.slot.command)});
}

Status CudaMailboxes::give(PiecesId from, const Delivery& delivery, const Origin& origin) {
  return deliver(delivery, origin, &copies_[from], {0, 0, 0, address_of(delivery.slot.command)});
}

Status CudaMailboxes::await(const Mailbox& mailbox, std::uint64_t number, const MailboxSlot* slot, const std::function<bool()>& stops) {
  const auto heard = [&] { return mailbox.heard() >= number; };
  if (!heard())
    if (Status status = streams_.await(heard, stops); !status) return status;
  return slot ? streams_.sound(*slot->command) : Status();
}

void CudaMailboxes::release() const {
  for (const Mailbox& mailbox : mailboxes_) mailbox.release();
}

}  // namespace cleave::runtime::cuda
