#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dp/ledger/ledger_file.hpp"

namespace fedstride {

using Numbers = std::map<std::string, double>;  ///< by metric

/// Maximum number of accounted rounds per run. They are evenly spaced and include the last.
inline constexpr std::uint32_t kMaxAccountedRounds = 25;

/// Returns epsilon by each registered accountant after some rounds of a finished run, computed from its ledger alone for the
/// run's stated deltas. epsilon_by_tight, epsilon_by_rdp, ... apply to the client that has spent the most;
/// client_epsilon_by_tight, ... are at client level. Omits accountants that are unsound for the spending. Cached in
/// accounting.json in the run's folder if writable. With a secret source, empty if the key of the ledger's chain no longer
/// exists. Throws Error (failure) if the ledger is broken or does not contain the mark.
std::map<std::uint32_t, Numbers> account(const std::filesystem::path& run, const LedgerMark& mark, std::uint32_t rounds,
                                         bool secret);

/// Returns the rounds after which a run of `rounds` rounds is accounted.
std::vector<std::uint32_t> accounted_rounds(std::uint32_t rounds);

}  // namespace fedstride
