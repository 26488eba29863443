// `explain --advise`: missing kernels of the accelerator, ranked by what they would save, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "partitioner/advice/kernel_advice.h"
#include "partitioner/plan.h"

namespace cleave::planner {

std::string to_text(const std::vector<KernelAdvice>& advice, const Plan& plan, std::size_t most);
std::string to_json(const std::vector<KernelAdvice>& advice, const Plan& plan, std::size_t most);

}  // namespace cleave::planner
