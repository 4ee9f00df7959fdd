#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dp/accountants/accountants.hpp"

namespace CLI {
class App;
}

namespace fedstride {

class Json;

/// The flags of `fedstride privacy`.
struct PrivacyQuestion {
  AccountantWords accountant;
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
};
void add_question_flags(CLI::App& command, PrivacyQuestion& question, const QuestionFlags& flags);

/// Returns the releases that may include a given record, at this noise multiplier. For shuffled lots, their `passes` is the
/// number of epochs. Throws Error (usage) if flags contradict each other.
Releases releases_of(const PrivacyQuestion& question, double noise_multiplier);
/// Returns the number of shuffled lots in an epoch. Throws Error (usage) if no rate is given.
std::uint64_t lots_of(const PrivacyQuestion& question);

/// "tight; add-remove neighbors, Poisson sampling at rate 0.01, noise multiplier 4, 10000 steps"
std::string setting_text(std::string_view accountant, const Releases& releases);

/// The number, or "infinite": JSON has no infinity.
Json finite_json(double number);

// Subcommands of `fedstride privacy` defined in files of their own.

void add_privacy_audit(CLI::App& privacy);
void add_privacy_measure(CLI::App& privacy);
void add_privacy_schedule(CLI::App& privacy);

}  // namespace fedstride
