#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "dp/ledger/ledger_file.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// At most this many rounds of a run are accounted: evenly spaced, including the last.
inline constexpr std::uint32_t kMaxAccountedRounds = 25;

/// Epsilon by each registered accountant after some rounds of a finished run, from its ledger alone: epsilon_by_tight,
/// epsilon_by_rdp, ... for the client that has spent most; client_epsilon_by_tight, ... at client level; at the delta of the
/// run's statements. Omits accountants that are unsound for the spending. Cached in accounting.json in the run's folder, if that
/// is writable. With a secret source, empty if the key of the ledger's chain no longer exists. Throws Error (failure) for a
/// ledger that is broken or does not contain the mark.
std::map<std::uint32_t, Numbers> account(const std::filesystem::path& run, const LedgerMark& mark, std::uint32_t rounds,
                                         bool secret);

/// The accounted rounds of a run with `rounds` rounds.
std::vector<std::uint32_t> accounted_rounds(std::uint32_t rounds);

}  // namespace fedstride
