#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Sets mean and deviation of the training part according to the settings, and adds them to the facts with their source:
///   given    specified by the settings
///   range    the middle and half the width of the specified range, or of the range of 8-bit numbers, so inputs are in [-1, 1]
///   public   computed from the rows of public_data, passed as `public_rows`
///   rows     computed from the training rows; refused if these are protected
///   client   computed from each natural client's training rows, for normalize_by_client; refused if these are protected
///   private  like range, or none with normalize_clip, until an accounted release (sim/prepare/private_inputs.hpp)
///   none     0 and 1
///   auto     given if specified; otherwise published by the data set or its file; otherwise public; otherwise range if one is
///            specified or rows are protected, or else rows
/// Tokens have neither. `published_by` is the source of a mean and deviation that the training part already has. Throws Error
/// (usage) with one line, naming the setting that fixes it, if mean and deviation cannot be determined.
void normalize(DataPair& pair, const ReadSettings& settings, const std::string& published_by, Dataset* public_rows);

/// Normalizes every row by its client's moments, if the data set has them, so inputs are stored normalized. Throws Error
/// (failure) for a row whose client has none.
void normalize_by_client(DataPair& pair);

/// Throws Error (failure), beginning with `set`, unless the mean and deviation (called those of `whose` in the message) fit
/// examples of this form. There must be one of each per channel (in a table: per column), all finite, with deviations above 0 and
/// mean / deviation finite; none for tokens.
void check_normalization(const ExampleForm& form, std::span<const float> mean, std::span<const float> deviation,
                         const std::string& set, const std::string& whose);

/// Sets mean and deviation of every column, or of every channel of images and other examples with height and width, from the
/// training rows. A constant column or channel gets deviation 1; 0/1 columns get mean 0 and deviation 1. Tokens have neither.
void standardize(Dataset& train);

/// Clips inputs to the specified range, or to that of their column of `columns`. A remaining missing input becomes its column's or channel's mean. If rows are protected,
/// so does any other input that is not finite; a label without a class becomes class 0 (at a position: kNoLabel), and a token
/// outside the vocabulary becomes token 0. Other rows do not affect this. Returns the number of values replaced.
std::uint64_t make_valid(Dataset& data, const ReadSettings& settings, const TableColumns& columns);

}  // namespace fedstride
