#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dp/ledger/statement.hpp"

namespace fedstride {

/// One statement of a run, recomputed by two accountants.
struct AuditedStatement {
  PrivacyStatement statement;  ///< by the run's accountant; epsilon is infinite if there is no bound
  std::string second = {};     ///< another accountant that has a bound; empty if there is none
  double second_epsilon = 0;
};

/// The result of auditing a ledger.
struct Audit {
  std::vector<AuditedStatement> statements;  ///< each level, then each client if requested
  std::vector<std::string> failures;         ///< one line each; empty: the ledger is valid
  std::vector<std::string> notes;
  std::vector<std::string> unchecked;   ///< "FILE: KEY, ...": what nothing in the folder confirms
  std::string source = {};              ///< of the noise (LedgerHeader::source)
  std::vector<std::string> depends_on;  ///< secrets on which the chain and the noise depend, one line each
  std::uint32_t clients = 0;
  std::uint32_t rounds = 0;  ///< rounds with a reservation; private components count as one
  std::uint64_t lines = 0;
};

/// Computes every statement from the ledger's contents and lists all faults. Faults are addresses used for two inputs, more
/// releases executed than reserved, weights that break the sensitivity, an accountant that is unknown or has no bound for the
/// releases, an exceeded budget, and two accountants that cannot both be right.
Audit audit_book(const LedgerBook& book, bool each_client);

/// Reads a ledger file and audits it in the same way. Throws Error (failure) if nothing can be computed because the chain is
/// broken or truncated.
Audit audit_ledger(const std::filesystem::path& path, const std::vector<LedgerMark>& marks, std::string_view key,
                   bool each_client);

/// The audit as a readable table, and as a JSON object.
std::string audit_text(const Audit& audit);
std::string audit_json(const Audit& audit);

}  // namespace fedstride
