#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/bounds/bounds.hpp"
#include "dp/noise/noise_place.hpp"

namespace fedstride {

/// The unit whose presence is hidden: an example of one client's data, or a client with all of its data.
enum class Level { example, client };
constexpr auto choice_names(Level) { return names("example", "client"); }

/// The quantity released with noise.
enum class Quantity {
  sums,        ///< clipped sums: of example gradients, or of client updates
  components,  ///< the matrix of private PCA, once, before the first round
  moments,     ///< mean and standard deviation of the inputs, once, before the first round
  evaluation,  ///< accuracy and loss on protected rows, once per evaluated round
};

constexpr auto choice_names(Quantity) { return names("sums", "components", "moments", "evaluation"); }

inline std::string_view name_of(Level level) { return choice_name(level); }

/// The guarantee of a run at one level.
struct LedgerStatement {
  Level level = Level::example;
  std::string accountant = {};
  double delta = 0;
  double epsilon = std::numeric_limits<double>::infinity();  ///< budget; infinite: none
  /// What all planned releases of sums have in common. A client's releases may differ from this in rate and passes.
  Releases each = {};
  double largest_weight = 1;    ///< client level: the largest weight of an update that the sensitivity assumes
  double bound = 0;             ///< client level: S, the largest norm of an update
  std::string noise_at = {};    ///< client level: who adds the noise (dp/noise/noise_place.hpp)
  bool own_code = false;        ///< example level: user code computes the gradients
  std::uint64_t survivors = 0;  ///< noise in shares: minimum number of clients in a round's sum
  std::uint64_t colluders = 0;  ///< noise in shares: maximum number of clients that may reveal their noise to the coordinator
  ClipRule clip_rule =
      {};  ///< if not the default: the bound (S) applies to the first round and then follows counts in the same releases
  bool participations = false;  ///< client level: sums publicly name their clients; the largest number with one client is charged
  bool own_tasks = false;       ///< participations in a client's own ledger: rounds are its tasks, and model versions are unknown
  bool users = false;           ///< example level: a record is all rows of one user within one client
  bool operator==(const LedgerStatement&) const = default;

  const NoisePlace& place() const { return place_of(find_choice<ClientNoiseBy>(noise_at).value_or(ClientNoiseBy{})); }

  static constexpr auto kTerms =
      terms(Term{"level", &LedgerStatement::level, true}, Term{"accountant", &LedgerStatement::accountant, true},
            Term{"delta", &LedgerStatement::delta, true}, Term{"epsilon", &LedgerStatement::epsilon},
            Term{"each", &LedgerStatement::each}, Term{"largest_weight", &LedgerStatement::largest_weight},
            Term{"bound", &LedgerStatement::bound}, Term{"noise_at", &LedgerStatement::noise_at},
            Term{"own_code", &LedgerStatement::own_code}, Term{"survivors", &LedgerStatement::survivors},
            Term{"colluders", &LedgerStatement::colluders}, Term{"_clip", &LedgerStatement::clip_rule},
            Term{"participations", &LedgerStatement::participations}, Term{"own_tasks", &LedgerStatement::own_tasks},
            Term{"users", &LedgerStatement::users});
};

/// The first line of a ledger.
struct LedgerHeader {
  std::string kind = "ledger";
  std::uint32_t version = 1;
  std::string source = "seeded";  ///< source of the noise: "seeded" or "secret"
  std::uint32_t clients = 1;
  std::vector<LedgerStatement> statements;  ///< at most one per level
  /// The facts that the guarantee assumes to be public, each with its source, such as "classes 10 (named)".
  std::vector<std::string> constants = {};
  std::string schema = {};                           ///< schema_seal() of the run's schema; empty: not recorded
  std::map<std::string, std::string> settings = {};  ///< by key, only settings fixed for a run; empty if not recorded
  const LedgerStatement* at(Level level) const;
  bool operator==(const LedgerHeader&) const = default;

  static constexpr auto kTerms =
      terms(Term{"kind", &LedgerHeader::kind, true}, Term{"version", &LedgerHeader::version, true},
            Term{"source", &LedgerHeader::source, true}, Term{"clients", &LedgerHeader::clients, true},
            Term{"statements", &LedgerHeader::statements, true}, Term{"constants", &LedgerHeader::constants},
            Term{"schema", &LedgerHeader::schema}, Term{"settings", &LedgerHeader::settings});
};

/// Equal releases of several clients. The addresses are (round, client, first), ..., (round, client, first + count - 1) where
/// count is the sum of the runs' counts.
struct LedgerGroup {
  Level level = Level::example;
  std::vector<ClientId> clients =
      {};  ///< empty: all clients; always so at client level (clients not drawn are also charged) except with participations
  Releases each = {};       ///< one of the releases; `runs` holds multipliers and counts; passes: the epochs that the runs span
  std::uint64_t first = 0;  ///< number of the first release in the client's noise plan
  std::vector<ReleaseRun> runs = {};
  double largest_weight = 1;  ///< client level: largest weight of the updates in the sum
  Quantity quantity = Quantity::sums;
  bool operator==(const LedgerGroup&) const = default;

  static constexpr auto kTerms = terms(Term{"level", &LedgerGroup::level, true}, Term{"quantity", &LedgerGroup::quantity},
                                       Term{"clients", &LedgerGroup::clients}, Term{"each", &LedgerGroup::each},
                                       Term{"largest_weight", &LedgerGroup::largest_weight},
                                       Term{"first", &LedgerGroup::first, true}, Term{"runs", &LedgerGroup::runs, true});

  std::uint64_t count() const;
  /// True if an earlier round already charged this pass: only at client level, for draws with passes, where each release is a
  /// round.
  bool goes_on() const;
  /// The argument `like` of exposure(): everything except multiplier and count.
  Releases like() const;
};

using LedgerGroups = std::vector<LedgerGroup>;

/// A ledger line after the first.
struct LedgerEntry {
  bool closes = false;  ///< true if it lists executed releases; false: reserved releases
  std::uint32_t round = 0;
  std::string digest = {};   ///< reservation: hash of everything the releases are computed from
  bool as_reserved = false;  ///< closing: executed all that was reserved; `groups` is empty
  LedgerGroups groups = {};
};

/// The canonical form of the releases of a run with `clients` clients: groups that differ only in their clients are merged, a
/// list of all clients becomes empty, clients and groups are sorted, and groups without releases are omitted. Equal releases have
/// the same form, however they were grouped.
LedgerGroups canonical(LedgerGroups groups, std::uint32_t clients);

/// JSON without a line end, from the terms above (core/term_json.hpp). In an entry, a group holds only what differs from its
/// level's statement. All throw Error (failure) for a value that cannot be read back, such as a non-finite number.
std::string header_text(const LedgerHeader& header);
std::string entry_text(const LedgerEntry& entry, const LedgerHeader& header);
/// The groups in full, for hashing.
std::string groups_text(const LedgerGroups& groups);

/// The inverses of header_text() and entry_text(). Both throw Error (failure) with one line that says what is wrong.
LedgerHeader read_header(std::string_view text);
LedgerEntry read_entry(std::string_view text, const LedgerHeader& header);

/// Why these groups cannot be in a ledger with this header: unknown clients, numbers out of range, a level without a
/// statement; empty if they can.
std::string malformed(const LedgerGroups& groups, const LedgerHeader& header);

/// The first address that two groups of one round share, such as "client 3, release 17"; empty if none.
std::string repeated_address(const LedgerGroups& groups);

/// Describes how `executed` exceeds `reserved`; empty if it does not. Every release must have been reserved for that client at
/// that address, with the same sampling and neighbors, and must not have less noise than reserved.
std::string excess(const LedgerGroups& executed, const LedgerGroups& reserved);

/// Describes a weight above the largest that the header's sensitivity assumes; empty if there is none.
std::string breaks_sensitivity(const LedgerGroups& groups, const LedgerHeader& header);

}  // namespace fedstride
