#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "dp/ledger/ledger_file.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// Most rounds of a run that accountants are asked about: evenly spaced, and the last.
inline constexpr std::uint32_t kAccountedRounds = 25;

/// What each accountant of the registry says, after some of the rounds of a finished run, from its ledger alone:
/// epsilon_by_tight, epsilon_by_rdp, ... of the client that has spent most, client_epsilon_by_tight, ... at client level;
/// at the delta of the run's own statements. An accountant that is unsound for the spending says nothing.
/// Kept in accounting.json in the run's folder, where that can be written, so that it is computed once. With a secret
/// source, nothing if the key that the ledger's chain was made with is not there any more. Throws Error (failure) for a ledger that is broken or
/// does not hold the mark.
std::map<std::uint32_t, Numbers> account(const std::filesystem::path& run, const LedgerMark& mark,
                                         std::uint32_t rounds, bool secret);

/// The rounds asked about, of so many.
std::vector<std::uint32_t> accounted_rounds(std::uint32_t rounds);

}  // namespace fedstride
