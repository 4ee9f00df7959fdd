#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/settings/configuration.hpp"

namespace fedstride {

/// The result of comparing a run's ledger with its settings.
struct LedgerComparison {
  std::vector<std::string> contradictions;  ///< one line each; empty if ledger and settings agree
  std::vector<std::string> not_compared;    ///< values that do not follow from the settings alone
};

/// The settings that have an effect and must not change during a run, except the seed and the number of clients, for
/// LedgerHeader::settings: values as text by key, and files by name, without their folders.
std::map<std::string, std::string> recorded_settings(const Configuration& configuration);

/// Compares a ledger, line by line, with the settings of its run: the recorded settings, the levels and their guarantees, the
/// source of the noise, the number of clients, and each release's clip, noise, sampling and rate if they follow from the
/// settings. Reads no data. Throws Error (failure) like read_ledger.
LedgerComparison compare_with_settings(const std::filesystem::path& ledger, std::string_view key,
                                       const Configuration& configuration);

}  // namespace fedstride
