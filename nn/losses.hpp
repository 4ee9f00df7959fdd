#pragma once

#include <cstdint>

#include "data/batch.hpp"
#include "data/example_form.hpp"

namespace fedstride {

/// The loss of one example and its number of correct answers.
struct ExampleLoss {
  double loss = 0;            ///< the mean over the counted answers; 0 if none
  std::uint64_t correct = 0;  ///< flags: a score above 0 means yes; values: always 0
  std::uint64_t counted = 0;
  Label predicted = 0;  ///< Targets::classes only
};

/// Compares the scores of example `index` of a batch with its answers. If `gradient` is not null, writes to it *scale
/// times the gradient of the loss with respect to the scores, followed by zeros up to whole vectors. The scores of consecutive
/// positions are row_stride(outputs) floats apart.
ExampleLoss example_loss(const ExampleForm& form, const Answers& answers, int index, const float* scores, const float* scale,
                         float* gradient);

}  // namespace fedstride
