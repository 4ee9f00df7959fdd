#pragma once

#include "core/random.hpp"
#include "run/setup.hpp"

namespace fedstride {

/// Shape of the examples the model sees: the data set's, or the private components' number.
Shape input_shape(const Setup& setup);

/// Charges private components in setup.privacy, if the configuration asks for them. Throws Error (usage) unless there is
/// one client, no augmentation, and a noise multiplier.
void prepare_components(Setup& setup);

/// Replaces training and test examples by their projections on the training rows' private components: each row scaled to
/// unit norm, projected on k directions, times sqrt(k). Nothing to do without components. What is released here is what
/// setup.privacy.components says; whoever calls has it in the ledger first.
void project_on_components(Setup& setup, const RandomSource& source);

}  // namespace fedstride
