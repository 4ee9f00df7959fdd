#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dp/accountants/accountants.hpp"

namespace CLI {
class App;
}

namespace fedstride {

/// The flags of `fedstride privacy`.
struct PrivacyQuestion {
  AccountantWords accountant;
  std::string composition;  ///< a file, in place of the flags that say what is released; empty: none
  std::string sampling = "poisson";
  std::string neighbours = "add-remove";
  std::optional<double> rate;
  std::optional<double> noise_multiplier;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> epochs;
  double resolution = 1e-3;
  bool json = false;
};

/// Which flags a subcommand has, with blanks between.
struct QuestionFlags {
  std::string optional;
  std::string required;  ///< they must be given
  bool by_file = false;  ///< or --composition in place of those that say what is released
};
void add_question_flags(CLI::App& command, PrivacyQuestion& question, const QuestionFlags& flags);
/// Throws Error (usage) that names a flag that is unknown, missing, or does not go with --composition.
void check_question_flags(const CLI::App& command, const PrivacyQuestion& question, const QuestionFlags& flags);

/// The exposure of one record with this noise; under shuffle `passes` is the number of epochs. Throws Error (usage) for
/// flags that do not go together.
Releases releases_of(const PrivacyQuestion& question, double noise_multiplier);
/// Shuffled lots of one epoch. Throws Error (usage) if no rate is given.
std::uint64_t lots_of(const PrivacyQuestion& question);

/// "tight; add-remove neighbours, Poisson sampling at rate 0.01, noise multiplier 4, 10000 steps"
std::string setting_text(std::string_view accountant, const Releases& releases);

}  // namespace fedstride
