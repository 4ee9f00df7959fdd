#pragma once

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

// Missing inputs are NaN once a file is read (ReadSettings::missing):
//   error      the file is refused on reading, with the place of the first one
//   drop       rows that have one are omitted, as if they were not in the file
//   zero       0
//   mean       the mean of the column (of a picture's channel) over the training rows that have it; if rows are protected, or
//              supplied by clients, the normalization's mean, so that no other row is read
//   indicator  as mean, plus, after the number columns, one of 0 and 1 for each of them: 1 where it was missing

/// Drops rows, fills in zeros and adds columns, in both parts. Throws Error (failure) if no training row is left, or for an indicator of
/// examples that are not rows of numbers.
void settle_missing(DataPair& pair, const ReadSettings& settings);

/// Fills in the means of the training rows. Does nothing if rows are protected (make_valid).
void fill_in_means(DataPair& pair, const ReadSettings& settings);

}  // namespace fedstride
