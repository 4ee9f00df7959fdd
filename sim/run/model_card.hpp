#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fedstride {

/// What others must know to use the model of a finished run, as pairs of name and text: its line, inputs, outputs, normalization,
/// missing inputs, test and privacy statement, from model.safetensors and summary.json. Empty until the run has written them.
/// Throws Error (failure) if one is damaged.
std::vector<std::pair<std::string, std::string>> model_card(const std::filesystem::path& folder);

}  // namespace fedstride
