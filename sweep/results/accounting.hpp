#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "dp/ledger/ledger_file.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// The most rounds of a run that are accounted: evenly spaced, and the last.
inline constexpr std::uint32_t kMaxAccountedRounds = 25;

/// The values of each accountant of the registry after some rounds of a finished run, from its ledger alone:
/// epsilon_by_tight, epsilon_by_rdp, ... of the client that has spent most, client_epsilon_by_tight, ... at client level;
/// at the delta of the run's own statements. An accountant that is unsound for the spending gives none.
/// Kept in accounting.json in the run's folder, if that can be written, so that it is computed once. With a secret source,
/// the result is empty if the key of the ledger's chain does not exist any more. Throws Error (failure) for a ledger that is
/// broken or does not hold the mark.
std::map<std::uint32_t, Numbers> account(const std::filesystem::path& run, const LedgerMark& mark, std::uint32_t rounds,
                                         bool secret);

/// The accounted rounds of a run with `rounds` rounds.
std::vector<std::uint32_t> accounted_rounds(std::uint32_t rounds);

}  // namespace fedstride
