#include "tests/support/kernel_emulator/stack_switch.h"

#include <cstdint>

#include "tests/support/namespaces.h"

#if CLEAVE_OWN_SWITCH
// Pushes the callee-saved registers, stores the stack pointer, and loads both from the other stack.
asm(R"(
  .text
  .type cleave_switch_stacks, @function
cleave_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size cleave_switch_stacks, . - cleave_switch_stacks
)");
extern "C" __attribute__((visibility("hidden"))) void cleave_switch_stacks(void** top, void* other_top);
#endif

namespace cleave::testing {

#if CLEAVE_OWN_SWITCH

void StackContext::begin(std::byte* stack, std::size_t bytes, void (*start)()) {
  constexpr std::size_t kRegisters = 6;
  auto* end = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack + bytes) / 16 * 16);
  *--end = nullptr;  // the return address of `start`: the stack is aligned as after a call
  *--end = reinterpret_cast<void*>(start);
  for (std::size_t i = 0; i < kRegisters; ++i) *--end = nullptr;
  top_ = end;
}

void StackContext::switch_to(StackContext& other) {
  cleave_switch_stacks(&top_, other.top_);
}

#else

void StackContext::begin(std::byte* stack, std::size_t bytes, void (*start)()) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, start, 0);
}

void StackContext::switch_to(StackContext& other) {
  swapcontext(&context_, &other.context_);
}

#endif

}  // namespace cleave::testing
