#pragma once

#include "core/random.hpp"
#include "sim/prepare/data_setup.hpp"

namespace fedstride {

// Transforms inputs by accounted releases, which the caller must already have entered in the ledger (RunPrivacy::enter_once).

/// Releases the mean and standard deviation of the inputs (normalize private): noisy means of x and x^2 per channel, with x
/// scaled to [-1, 1] by the range. With normalize-clip, x is not scaled: a record's vectors of means and of mean squares are
/// divided by their bounds and clipped to norm 1, and the noise's deviation is added to the variance. At example level, a record
/// is a training row; at client level (and with both, which also covers the examples), it is a client's mean over its rows.
/// Normalizes the training and test parts, with the same draws in every process and after every interruption.
void release_moments(DataSetup& setup, const RandomSource& source);

/// Throws Error (usage) for data that cannot have this many private components. Does nothing without private components.
void check_components(const DataSetup& setup);
/// The form of the model's inputs: the data set's form; with private components, their number is its shape.
ExampleForm input_form(const DataSetup& setup);
/// Replaces training and test examples with their projections on the training rows' private components: each row is scaled to
/// unit norm, projected on k directions and multiplied by sqrt(k). Does nothing without private components.
void project_on_components(DataSetup& setup, const RandomSource& source);

}  // namespace fedstride
