#pragma once

#include <vector>

#include "data/dataset.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

// Missing inputs are NaN after a file is read (ReadSettings::missing):
//   error      the file is refused when it is read, with an error that names the place of the first missing input
//   drop       rows with a missing input are omitted, as if they were not in the file
//   zero       0
//   mean       the mean of the column (or channel) over the training rows that have a value, which the schema keeps (Schema::
//              fill), also for rows that clients supply; if rows are protected, the normalization's mean
//   indicator  as mean; in addition, a 0/1 column for each number column, after all others: 1 where the number was missing

/// Drops rows, fills in zeros or adds columns in both parts, as the settings require. Throws Error (failure) if no training row
/// is left, or if indicators are requested for examples that are not rows of numbers.
void settle_missing(DataPair& pair, const ReadSettings& settings);

/// Fills in missing inputs with these numbers, one per column or channel. Does nothing, and copies no lent inputs, if none is
/// missing.
void fill_gaps(Dataset& data, const std::vector<float>& fill);

/// Fills in the means of the training rows if the settings require it. Does nothing if rows are protected (see make_valid).
void fill_in_means(DataPair& pair, const ReadSettings& settings);

}  // namespace fedstride
