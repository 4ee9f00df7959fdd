#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dp/ledger/statement.hpp"

namespace fedstride {

/// One statement of a run, computed anew by two accountants.
struct AuditedStatement {
  PrivacyStatement statement;  ///< by the run's accountant; epsilon infinite if it does not fit
  std::string second = {};     ///< another accountant that fits; empty if none does
  double second_epsilon = 0;
};

/// What a ledger amounts to.
struct Audit {
  std::vector<AuditedStatement> statements;  ///< each level, then each client if asked for
  std::vector<std::string> failures;         ///< one line each; empty: the ledger is in order
  std::vector<std::string> notes;
  std::uint32_t clients = 0;
  std::uint32_t rounds = 0;  ///< with a reservation; private components count as one
  std::uint64_t lines = 0;
};

/// Computes every statement from what the ledger holds, and lists what is wrong: addresses used for two inputs, more
/// executed than reserved, weights that break the sensitivity, an accountant that is unknown or cannot account for the
/// sampling, a passed budget, two accountants that cannot both be right.
Audit audit_book(const LedgerBook& book, bool each_client);

/// The same of a file. Throws Error (failure) where there is nothing to compute: a broken or cut chain.
Audit audit_ledger(const std::filesystem::path& path, const std::vector<LedgerMark>& marks, std::string_view key,
                   bool each_client);

/// A table for a person; a JSON object.
std::string audit_text(const Audit& audit);
std::string audit_json(const Audit& audit);

}  // namespace fedstride
