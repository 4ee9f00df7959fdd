#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Sets mean and deviation of the training part as the settings say, and adds them to the facts with their source:
///   given    those that the settings name
///   range    the middle and half the width of the named range, or of 8-bit numbers: inputs are in [-1, 1]
///   public   of the rows of public_data, which `public_rows` has
///   rows     of the training rows; refused where these are protected
///   private  as range, until an accounted release gives them (run/private_normalization.hpp)
///   none     0 and 1
///   auto     given if they are named; else those that the data set or its file publishes; else of public_data; else of the training
///            rows, or, where these are protected, range
/// Tokens have none. `published_by` says where mean and deviation are from that the training part has already. Throws Error (usage), one line with the setting that mends it, where nothing tells them.
void normalize(DataPair& pair, const ReadSettings& settings, const std::string& published_by, Dataset* public_rows);

/// Throws Error (failure), which begins with `set`, unless `whose` mean and deviation fit examples of that form: one each a channel, which
/// of a table is a column, finite, deviations above 0, mean / deviation finite; none for tokens.
void check_normalization(const ExampleForm& form, std::span<const float> mean, std::span<const float> deviation,
                         const std::string& set, const std::string& whose);

/// Sets mean and deviation of every column, or of every channel of pictures and other examples with height and width, from the training
/// rows; a constant one gets deviation 1, columns of 0 and 1 by construction mean 0 and deviation 1. Tokens have none.
void standardize(Dataset& train);

/// Clips inputs to the named range. A missing input that is left becomes its mean. Where rows are protected an input that is not finite becomes its mean and a label that has no class
/// becomes class 0, a function of that row alone. Returns how many were replaced.
std::uint64_t make_valid(Dataset& data, const ReadSettings& settings);

}  // namespace fedstride
