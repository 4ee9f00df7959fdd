#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "data/dataset.hpp"
#include "nn/evaluation.hpp"

namespace fedstride {

// Evaluations reported by user code or by clients, on examples that are unknown here. NaN stands for an unreported number,
// 0 for an unreported number of examples.

/// The maximum number of examples a model can have been tested on, since row numbers have 32 bits.
inline constexpr std::uint64_t kMaxTestedExamples = std::numeric_limits<Row>::max();

/// The metric that Evaluation::accuracy contains for these targets.
std::string_view metric_of(Targets targets);
/// The metric's name in file keys: "accuracy", "r2" (test_r2).
constexpr std::string_view metric_key(std::string_view metric) { return metric == "R2" ? "r2" : metric; }

/// Returns the evaluation in a form that may be sent: numbers of a diverged model, such as an infinite loss, become NaN.
Evaluation sendable(Evaluation told);

/// Says why no test can have produced this evaluation, as the end of a sentence ("says that the accuracy is 2; it must be from 0
/// to 1"); empty if it is possible. An evaluation returned by sendable() can be impossible, e.g. with a negative loss.
std::string impossible(const Evaluation& told);

}  // namespace fedstride
