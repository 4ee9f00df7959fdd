#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// The unit whose presence is hidden: an example of one client's data, or a client with all of its data.
enum class Level { example, client };

/// The quantity released with noise.
enum class Quantity {
  sums,        ///< clipped sums: of example gradients, or of client updates
  components,  ///< the matrix of private PCA, once, before the first round
  moments,     ///< mean and deviation of the inputs, once, before the first round
  evaluation,  ///< accuracy and loss on protected rows, once a round
};

std::string_view name_of(Level level);
std::string_view name_of(Quantity quantity);

/// The guarantee of a run at one level.
struct LedgerStatement {
  Level level = Level::example;
  std::string accountant = {};
  double delta = 0;
  double epsilon = std::numeric_limits<double>::infinity();  ///< budget; infinite: none
  Neighbours neighbours = Neighbours::add_remove;
  double largest_weight = 1;  ///< client level: the largest weight of an update that the sensitivity counts
  double bound = 0;           ///< client level: S, the largest norm of an update
  std::string noise_at = {};  ///< client level: "central", "discrete" or "local"
  bool own_code = false;      ///< example level: code of the user's own computes the gradients
  bool operator==(const LedgerStatement&) const = default;
};

/// The first line of a ledger.
struct LedgerHeader {
  std::string source = "seeded";  ///< of the noise: "seeded" or "secret"
  std::uint32_t clients = 1;
  std::vector<LedgerStatement> statements;  ///< at most one a level
  /// The facts that the guarantee takes as public, each with its source: "classes 10 (named)".
  std::vector<std::string> constants = {};
  const LedgerStatement* at(Level level) const;
  bool operator==(const LedgerHeader&) const = default;
};

/// Equal releases of several clients. Its addresses are (round, client, first), ..., (round, client, first + count - 1)
/// with count the sum over the runs.
struct LedgerGroup {
  Level level = Level::example;
  std::vector<ClientId> clients = {};  ///< empty: all of them; always so at client level, since clients not drawn pay too
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
  /// The argument `like` of exposure(): everything but multiplier and count.
  Releases like() const;
};

using LedgerGroups = std::vector<LedgerGroup>;

/// One line of the ledger after the first.
struct LedgerEntry {
  bool closes = false;  ///< lists executed releases; else reserved ones
  std::uint32_t round = 0;
  std::string digest = {};   ///< reservation: of everything the releases are computed from
  bool as_reserved = false;  ///< closing: everything that was reserved; `groups` is empty then
  LedgerGroups groups = {};
};

/// The canonical form of the releases of a run with `clients` clients: groups that differ in their clients alone are
/// merged, a list of all clients is empty, clients and groups are in order, groups without releases are left out. Equal for
/// equal releases, however they were grouped.
LedgerGroups canonical(LedgerGroups groups, std::uint32_t clients);

/// JSON without line end. Both throw Error (failure) for a value that cannot be read back, such as a number not finite.
std::string header_text(const LedgerHeader& header);
std::string entry_text(const LedgerEntry& entry);
std::string groups_text(const LedgerGroups& groups);

/// The inverse. Both throw Error (failure), one line that says what is wrong.
LedgerHeader read_header(std::string_view text);
LedgerEntry read_entry(std::string_view text, const LedgerHeader& header);

/// The reason why these groups cannot be in a ledger with that header: unknown clients, numbers out of range, a level
/// without statement; empty if they can.
std::string malformed(const LedgerGroups& groups, const LedgerHeader& header);

}  // namespace fedstride
