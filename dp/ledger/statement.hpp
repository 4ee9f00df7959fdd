#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/privacy_statement.hpp"

namespace fedstride {

/// The statement for a spending; `papers` is the spending with shuffled lots counted as if Poisson-sampled (SpendingTotals).
/// Throws Error (usage) if the accountant has no bound for it.
PrivacyStatement make_statement(const LedgerHeader& header, Level level, const std::string& who, const Spending& spending,
                                const Spending& papers, const Accountant& accountant);

/// The statements on the released model, one for each level of the ledger. What a run prints and publishes comes only from here,
/// as does its audit. The statement at example level is that of the client with the largest epsilon, since an example belongs to
/// only one client; levels are never added. Throws Error (usage) if the ledger names an unknown accountant or an accountant
/// without a bound.
std::vector<PrivacyStatement> model_statements(const LedgerBook& book);

/// One epsilon for each history of totals (SpendingTotals::history_of). If `only_largest`, a history that costs no more than
/// another (no less noise, no larger rates, counts or passes) gets 0 instead.
std::vector<double> history_epsilons(const SpendingTotals& totals, const Accountant& accountant, double delta, bool only_largest);

/// The statement as readable lines, and as a JSON object.
std::string statement_text(const PrivacyStatement& statement);
/// The statement for a person who is no specialist, in short sentences: against whom it holds, what is protected, the number, and
/// what it means for a guess. `source`: that of the noise (LedgerHeader::source).
std::string plain_text(const PrivacyStatement& statement, std::string_view source);
std::string statement_json(const PrivacyStatement& statement);
/// The value of "privacy" in summary.json: a list of statements.
std::string statements_json(const std::vector<PrivacyStatement>& statements);

/// Four significant digits, rounded up, such as "0.9469" or "0.000123".
std::string epsilon_text(double epsilon);

}  // namespace fedstride
