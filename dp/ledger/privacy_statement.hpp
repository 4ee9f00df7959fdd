#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fedstride {

enum class Level;  // dp/ledger/ledger_entry.hpp

/// An epsilon with the party it protects and its conditions; never printed without them.
struct PrivacyStatement {
  Level level = {};
  std::string who = {};
  double epsilon = 0;  ///< an upper bound; infinite if none
  double delta = 0;
  double budget = 0;  ///< infinite: none
  std::string accountant = {};
  std::string warning = {};  ///< the accountant's warning
  std::vector<std::string> assumptions = {};
  bool users = false;                       ///< at example level: protects each user with all rows within one client
  std::optional<double> as_in_papers = {};  ///< for shuffled lots: the epsilon under Poisson sampling, not valid for them
};

/// The epsilon spent so far at one level, for a given delta, as in a line of rounds.jsonl.
struct SpentSoFar {
  double epsilon = 0;
  double delta = 0;
};

}  // namespace fedstride
