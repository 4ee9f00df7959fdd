#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

// Public rows, from which come facts that must not be read off protected ones.

/// The rows of the file `public_data`, as the training part of a data set; nothing if no file is specified. They are stored like
/// the rows that the settings describe. Throws Error.
std::optional<DataPair> public_rows_of(const ReadSettings& settings);

/// Returns the settings, with facts that they do not specify taken from the public rows, if there are any.
ReadSettings with_public_facts(ReadSettings settings, const std::optional<DataPair>& from);

/// The same facts, and the inputs' mean and deviation, as settings: {"classes", "2"}, {"mean", "age=54.1,chol=240"}.
std::vector<std::pair<std::string, std::string>> facts_as_settings(DataPair rows);

}  // namespace fedstride
