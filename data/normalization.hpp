#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Sets mean and deviation of the training part by the settings, and adds them to the facts with their source:
///   given    named by the settings
///   range    the middle and half the width of the named range, or of 8-bit numbers: inputs are in [-1, 1]
///   public   of the rows of public_data, given in `public_rows`
///   rows     of the training rows; refused if these are protected
///   client   of each natural client's training rows, for normalize_by_client; refused if these are protected
///   private  like range, or none with normalize_clip, until an accounted release (sim/prepare/private_inputs.hpp)
///   none     0 and 1
/// auto given if named; otherwise published by the data set or its file; otherwise of public_data; otherwise of the training
///            rows or, if these are protected, range
/// Tokens have none. `published_by` gives the source of a mean and deviation that the training part already has. Throws Error
/// (usage), one line with the setting that fixes it, if they cannot be found.
void normalize(DataPair& pair, const ReadSettings& settings, const std::string& published_by, Dataset* public_rows);

/// Normalizes every row by its client's moments, if the data set has them: inputs are then stored normalized. Throws Error
/// (failure) for a row whose client has none.
void normalize_by_client(DataPair& pair);

/// Throws Error (failure), which begins with `set`, unless the mean and deviation of `whose` fit examples of this form: one each
/// per channel (in a table: column), finite, deviations above 0, mean / deviation finite; none for tokens.
void check_normalization(const ExampleForm& form, std::span<const float> mean, std::span<const float> deviation,
                         const std::string& set, const std::string& whose);

/// Sets mean and deviation of every column, or of every channel of pictures and other examples with height and width, from the training
/// rows; a constant one gets deviation 1, columns of 0 and 1 by construction mean 0 and deviation 1. Tokens have none.
void standardize(Dataset& train);

/// Clips inputs to the named range. A missing input that remains becomes its mean. If rows are protected, an input that is not
/// finite becomes its mean and a label without a class becomes class 0, a function of that row alone. Returns how many were
/// replaced.
std::uint64_t make_valid(Dataset& data, const ReadSettings& settings);

}  // namespace fedstride
