#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fedstride {

/// Describes a finished run's model for its users, as pairs of name and text: the model's line, inputs, outputs, normalization,
/// treatment of missing inputs, test result and privacy statement, from model.safetensors and summary.json. Empty until the run
/// has written both files. Throws Error (failure) if either is damaged.
std::vector<std::pair<std::string, std::string>> model_card(const std::filesystem::path& folder);

}  // namespace fedstride
