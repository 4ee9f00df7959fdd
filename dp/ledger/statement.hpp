#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "dp/ledger/ledger_book.hpp"

namespace fedstride {

/// An epsilon, and to whom and under what conditions it applies: never printed without.
struct PrivacyStatement {
  Level level = Level::example;
  std::string who = {};
  double epsilon = 0;  ///< an upper bound; infinite if there is none
  double delta = 0;
  double budget = 0;  ///< infinite: none
  std::string accountant = {};
  std::string warning = {};  ///< of the accountant
  std::vector<std::string> assumptions = {};
  std::optional<double> as_in_papers = {};  ///< shuffled lots: the Poisson number, which does not hold for them
};

/// Of what was spent, `papers` with shuffled lots taken for Poisson-sampled ones (SpendingTotals). Throws
/// Error (usage) if the accountant cannot say anything about it.
PrivacyStatement make_statement(const LedgerHeader& header, Level level, const std::string& who,
                                const Spending& spending, const Spending& papers, const Accountant& accountant);

/// Of the released model, one for each level of the ledger: under example level the client that has spent most stands
/// for it, since an example is in one client's data alone; levels are never added. `accountant_of` gives the
/// accountant of a level.
std::vector<PrivacyStatement> model_statements(const LedgerBook& book, function_ref<Accountant(Level)> accountant_of);

/// One epsilon for each history of totals (SpendingTotals::history_of). Where only the largest is asked for, histories
/// that cost no more than another one (the same noise or more, no larger rates, counts and passes) get 0 instead.
std::vector<double> history_epsilons(const SpendingTotals& totals, const Accountant& accountant, double delta,
                                     bool only_largest);

/// Lines for a person, and JSON (an object).
std::string statement_text(const PrivacyStatement& statement);
std::string statement_json(const PrivacyStatement& statement);

/// "0.9469": four decimals, rounded upwards.
std::string epsilon_text(double epsilon);

}  // namespace fedstride
