#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "dp/ledger/ledger_file.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// Maximum number of accounted rounds of a run, evenly spaced and including the last.
inline constexpr std::uint32_t kMaxAccountedRounds = 25;

/// Epsilon by each registered accountant after some rounds of a finished run, from its ledger alone, for the run's stated
/// deltas: epsilon_by_tight, epsilon_by_rdp, ... for the client that has spent most; client_epsilon_by_tight, ... at client
/// level. Omits accountants that are unsound for the spending. Cached in accounting.json in the run's folder if writable. With a
/// secret source, empty if the key of the ledger's chain no longer exists. Throws Error (failure) if the ledger is broken or does
/// not contain the mark.
std::map<std::uint32_t, Numbers> account(const std::filesystem::path& run, const LedgerMark& mark, std::uint32_t rounds,
                                         bool secret);

/// Which of a run's `rounds` rounds are accounted.
std::vector<std::uint32_t> accounted_rounds(std::uint32_t rounds);

}  // namespace fedstride
