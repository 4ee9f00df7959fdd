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
  std::string warning = {};  ///< of the accountant
  std::vector<std::string> assumptions = {};
  bool users = false;                       ///< at example level: for users, each with all rows inside a client
  std::optional<double> as_in_papers = {};  ///< shuffled lots: the epsilon for Poisson sampling, not valid for them
};

/// The epsilon of one level so far, at a delta, as in a line of rounds.jsonl.
struct SpentSoFar {
  double epsilon = 0;
  double delta = 0;
};

}  // namespace fedstride
