#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "nn/evaluation.hpp"

namespace fedstride {

// Evaluations by code or clients outside, whose examples nobody here knows. NaN stands for a number that is not reported, 0 for a
// number of examples that is not.

/// The most examples that a model can have been tested on: rows are numbered by 32 bits.
inline constexpr std::uint64_t kMaxTestedExamples = std::numeric_limits<Row>::max();

/// The name of `accuracy` where the answers are these.
std::string_view metric_of(Targets targets);

/// An evaluation in the form that may be sent: the numbers of a model that has diverged, an infinite loss for instance, become NaN.
Evaluation sendable(Evaluation told);

/// The reason why no test can have given an evaluation with that metric, as the end of a sentence ("says that the accuracy is 2;
/// possible is 0 to 1"); empty if there is none. One that sendable() has given may still be impossible: an accuracy of 2, a negative loss.
std::string impossible(const Evaluation& told);

}  // namespace fedstride
