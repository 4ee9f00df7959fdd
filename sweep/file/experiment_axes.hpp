#pragma once

#include "sweep/file/experiment.hpp"
#include "sweep/file/experiment_draft.hpp"

namespace fedstride {

/// The axes of a draft: "variant" first, then in the file's order but each after those its conditions depend on, "seed"
/// last. A fixed setting under a condition is an axis of one value and no keys. Throws Error (usage).
std::vector<Axis> build_axes(const Document& document, const ExperimentDraft& draft);

}  // namespace fedstride
