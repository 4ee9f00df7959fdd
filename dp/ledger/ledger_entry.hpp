#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// Whose presence is hidden: an example of one client's data, or a client with all of its data.
enum class Level { example, client };

/// What is released with noise.
enum class Quantity {
  sums,        ///< clipped sums: of example gradients, or of client updates
  components,  ///< the matrix of private PCA, once, before the first round
};

std::string_view name_of(Level level);
std::string_view name_of(Quantity quantity);

/// What a run promises at one level.
struct LedgerStatement {
  Level level = Level::example;
  std::string accountant = {};
  double delta = 0;
  double epsilon = std::numeric_limits<double>::infinity();  ///< budget; infinite: none
  Neighbours neighbours = Neighbours::add_remove;
  double largest_weight = 1;  ///< client level: the largest weight of an update that the sensitivity counts
  double bound = 0;           ///< client level: S, the largest norm of an update
  std::string noise_at = {};  ///< client level: "central", "discrete" or "local"
  bool operator==(const LedgerStatement&) const = default;
};

/// The first line of a ledger.
struct LedgerHeader {
  std::string source = "seeded";  ///< of the noise: "seeded" or "secret"
  std::uint32_t clients = 1;
  std::vector<LedgerStatement> statements;  ///< at most one a level
  const LedgerStatement* at(Level level) const;
  bool operator==(const LedgerHeader&) const = default;
};

/// Releases of clients that are alike. Its addresses are (round, client, first), ..., (round, client, first + count - 1)
/// with count the sum over the runs.
struct LedgerGroup {
  Level level = Level::example;
  std::vector<ClientId> clients = {};  ///< empty: all of them; at client level always, since the undrawn pay as well
  Sampling sampling = Sampling::poisson;
  Neighbours neighbours = Neighbours::add_remove;
  double rate = 1;
  std::uint64_t passes = 0;  ///< shuffle: epochs the runs touch
  std::uint64_t first = 0;   ///< number of the first release in the client's noise plan
  std::vector<ReleaseRun> runs = {};
  double largest_weight = 1;  ///< client level: of the updates in the sum
  Quantity quantity = Quantity::sums;
  bool adaptive = false;  ///< noise or rate were chosen after looking at earlier outputs
  bool operator==(const LedgerGroup&) const = default;

  std::uint64_t count() const;
  /// For exposure(): everything but multiplier and count.
  Releases like() const;
};

using LedgerGroups = std::vector<LedgerGroup>;

/// One line of the ledger after the first.
struct LedgerEntry {
  bool closes = false;  ///< what was executed; else what is reserved
  std::uint32_t round = 0;
  std::string digest = {};   ///< reservation: of all that the releases are computed from
  bool as_reserved = false;  ///< closing: everything that was reserved; `groups` is empty then
  LedgerGroups groups = {};
};

/// The same releases of a run with so many clients: groups that differ in their clients alone merged, all clients listed
/// as none, clients and groups in order, and what releases nothing left out. Equal for equal releases, however they were
/// grouped.
LedgerGroups canonical(LedgerGroups groups, std::uint32_t clients);

/// JSON without line end. Throw Error (failure) for what does not read back, a number that is not finite for instance.
std::string header_text(const LedgerHeader& header);
std::string entry_text(const LedgerEntry& entry);
std::string groups_text(const LedgerGroups& groups);

/// The inverse. Throw Error (failure), one line that says what is wrong with it.
LedgerHeader read_header(std::string_view text);
LedgerEntry read_entry(std::string_view text, const LedgerHeader& header);

/// Why such groups cannot stand in a ledger with that header, empty if they can: clients that are not there, numbers out
/// of range, a level without statement.
std::string malformed(const LedgerGroups& groups, const LedgerHeader& header);

}  // namespace fedstride
