#pragma once

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

// Missing inputs are NaN after a file is read (ReadSettings::missing):
//   error      the file is refused on reading, with the place of the first missing input
//   drop       rows with a missing input are omitted, as if they were not in the file
//   zero       0
//   mean       the mean of the column (of an image's channel) over the training rows that have a value; if rows are protected or
//              supplied by clients, the normalization's mean, so no other row is read
//   indicator  as mean, plus a 0/1 column for each number column, after these: 1 where the number was missing

/// Drops rows, fills in zeros and adds columns, in both parts. Throws Error (failure) if no training row is left, or if
/// indicators are requested for examples that are not rows of numbers.
void settle_missing(DataPair& pair, const ReadSettings& settings);

/// Fills in the means of the training rows. Does nothing if rows are protected (make_valid).
void fill_in_means(DataPair& pair, const ReadSettings& settings);

}  // namespace fedstride
