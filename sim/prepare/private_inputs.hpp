#pragma once

#include "core/random.hpp"
#include "sim/prepare/data_setup.hpp"

namespace fedstride {

// Inputs transformed by accounted releases, which the caller must already have entered in the ledger (RunPrivacy::enter_once).

/// Releases the mean and the standard deviation of the inputs (normalize private): noisy means of x and x^2 per channel, with x
/// scaled to [-1, 1] by the range, or with normalize-clip as it is, a record's vector of means divided by one norm and its vector of
/// mean squares by the other, both clipped to norm 1; noise that a variance has is added to it. At example level, a record is a training row; at client level (and with both, if it covers
/// the examples), a client's mean over its rows. Normalizes both parts with them, with the same draws in every process and
/// after every interruption.
void release_moments(DataSetup& setup, const RandomSource& source);

/// Throws Error (usage) for data that cannot have this many private components. Does nothing without private components.
void check_components(const DataSetup& setup);
/// The shape of the model's inputs: that of the data set, or the number of private components.
ExampleForm input_form(const DataSetup& setup);
/// Replaces training and test examples by their projections on the training rows' private components: each row is scaled to unit norm,
/// projected on k directions and multiplied by sqrt(k). Does nothing without private components.
void project_on_components(DataSetup& setup, const RandomSource& source);

}  // namespace fedstride
