#pragma once

#include <string>

#include "dp/ledger/ledger_entry.hpp"

namespace fedstride {

/// The first address that is in two of the groups of one round: "client 3, release 17"; empty if none is.
std::string repeated_address(const LedgerGroups& groups);

/// Describes how `executed` goes beyond `reserved`; empty if it does not. Every release must have been reserved for that
/// client at that address, with the same sampling and neighbours and no larger noise.
std::string excess(const LedgerGroups& executed, const LedgerGroups& reserved);

/// Describes a weight larger than the one the header's sensitivity counts; empty if there is none.
std::string breaks_sensitivity(const LedgerGroups& groups, const LedgerHeader& header);

}  // namespace fedstride
