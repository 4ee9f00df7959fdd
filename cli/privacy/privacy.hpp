#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dp/accountants/accountants.hpp"
#include "sim/run/compositions/composition.hpp"

namespace CLI {
class App;
}

namespace fedstride {

class Json;

/// The flags of `fedstride privacy`.
struct PrivacyQuestion {
  AccountantWords accountant;
  std::string composition;  ///< file used instead of the flags that describe the releases; empty: none
  std::string sampling = "poisson";
  std::string neighbours = "add-remove";
  std::optional<double> rate;
  std::optional<double> noise_multiplier;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> epochs;
  bool json = false;
};

/// The names of a subcommand's flags, separated by spaces.
struct QuestionFlags {
  std::string optional;
  std::string required;
  bool by_file = false;  ///< --composition may replace the flags that describe the releases
};
void add_question_flags(CLI::App& command, PrivacyQuestion& question, const QuestionFlags& flags);
/// Throws Error (usage), naming the flag, if a flag is missing or cannot be combined with --composition.
void check_question_flags(const CLI::App& command, const PrivacyQuestion& question, const QuestionFlags& flags);

/// Returns the releases that may include a given record, at this noise multiplier. For shuffled lots, their `passes` is the
/// number of epochs. Throws Error (usage) if flags contradict each other.
Releases releases_of(const PrivacyQuestion& question, double noise_multiplier);
/// Returns the number of shuffled lots in an epoch. Throws Error (usage) if no rate is given.
std::uint64_t lots_of(const PrivacyQuestion& question);

/// "tight; add-remove neighbors, Poisson sampling at rate 0.01, noise multiplier 4, 10000 steps"
std::string setting_text(std::string_view accountant, const Releases& releases);

// Commands on composition files (docs/compositions.md). Each answers every case it can and then, if any failed, throws Error
// (failure) with the number of failures and the first one. A file that cannot be read throws Error (failure).

/// Prints one line of JSON for each case: {"id", "ask", "accountant", "value", "accepted", "warning"} or {"id", "error"}. A case
/// without an id has its number under "case". A case whose answer is outside its bounds counts as failed.
void evaluate_compositions(const std::string& path);

/// Prints epsilon or delta, depending on `ask`, for every case. Flags override the case.
void answer_compositions(const PrivacyQuestion& question, CompositionAsk ask);

/// Prints all accountants' answers to every case: epsilon if the flags (or else the case) give a delta, and delta if they give
/// an epsilon.
void compare_on_compositions(const PrivacyQuestion& question);

/// Returns a row for each accountant, with the bound it proves or why it has none; appends the same table to `text`. Settings
/// apply to the accountants that have them. Exactly one of epsilon and delta must be given.
Json compare_accountants(std::span<const Releases> spending, const AccountantWords& settings,
                         const std::optional<double>& epsilon, const std::optional<double>& delta, std::string& text);

/// The number, or "infinite": JSON has no infinity.
Json finite_json(double number);

// Subcommands of `fedstride privacy` defined in files of their own.

void add_privacy_audit(CLI::App& privacy);
void add_privacy_measure(CLI::App& privacy);
void add_privacy_schedule(CLI::App& privacy);

}  // namespace fedstride
