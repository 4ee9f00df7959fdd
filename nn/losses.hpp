#pragma once

#include <cstdint>

#include "data/batch.hpp"
#include "data/example_form.hpp"

namespace fedstride {

/// The loss of one example, and how many of its answers are right.
struct ExampleLoss {
  double loss = 0;            ///< the mean over the answers that count; 0 if none does
  std::uint64_t correct = 0;  ///< of flags: a score above 0 says yes; of values: none
  std::uint64_t counted = 0;
  Label predicted = 0;  ///< Targets::classes only
};

/// Compares the scores of example `index` of a batch with its answers. With a gradient, writes *scale times the loss's gradient
/// by the scores there, zeros behind them up to whole vectors. The scores of sequences lie sequence_stride(outputs) floats
/// apart a position.
ExampleLoss example_loss(const ExampleForm& form, const Answers& answers, int index, const float* scores, const float* scale,
                         float* gradient);

}  // namespace fedstride
