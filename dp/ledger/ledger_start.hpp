#pragma once

#include <filesystem>

namespace fedstride {

/// True if the file holds a line after its first: a reservation, whose addresses may have been used. Needs no key. False if
/// there is no file. Throws Error (failure) if it cannot be read.
bool holds_reservation(const std::filesystem::path& ledger);

/// Makes way for a new ledger: removes one in which nothing was reserved, left over by a run that was killed before its first
/// checkpoint. The only place that removes a ledger. Throws Error (failure) if the file holds a reservation.
void remove_unused_ledger(const std::filesystem::path& ledger);

}  // namespace fedstride
