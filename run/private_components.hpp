#pragma once

#include "core/random.hpp"
#include "run/setup.hpp"

namespace fedstride {

/// The shape of the model's inputs: the data set's, or the number of private components.
ExampleForm input_form(const Setup& setup);

/// Charges private components in setup.privacy, if the configuration asks for them. Throws Error (usage) unless there is
/// one client, no augmentation, and a noise multiplier.
void prepare_components(Setup& setup);

/// Replaces training and test examples by their projections on the training rows' private components: each row scaled to
/// unit norm, projected on k directions, times sqrt(k). Does nothing without components. It releases exactly
/// setup.privacy.components, which the caller must have entered in the ledger before.
void project_on_components(Setup& setup, const RandomSource& source);

}  // namespace fedstride
