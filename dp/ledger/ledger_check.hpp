#pragma once

#include <string>

#include "dp/ledger/ledger_entry.hpp"

namespace fedstride {

/// The first address that stands in two of the groups of one round, empty if none: "client 3, release 17".
std::string repeated_address(const LedgerGroups& groups);

/// What of `executed` goes beyond `reserved`, in words, empty if nothing: every release must have been reserved for that
/// client at that address, with the same sampling and neighbours and no larger noise.
std::string excess(const LedgerGroups& executed, const LedgerGroups& reserved);

/// The weight that is larger than the header's sensitivity counts, in words; empty if none is.
std::string breaks_sensitivity(const LedgerGroups& groups, const LedgerHeader& header);

}  // namespace fedstride
