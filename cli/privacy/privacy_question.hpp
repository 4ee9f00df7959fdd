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
  std::string accountant;  ///< empty: the first of the registry
  std::string orders;
  std::string conversion;
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

/// Gives a subcommand the flags named; those in `required` must be given.
void add_question_flags(CLI::App& command, PrivacyQuestion& question, const std::string& flags,
                        const std::string& required);

Accountant accountant_of(const PrivacyQuestion& question);
Accountant accountant_of(const PrivacyQuestion& question, std::string_view name);

/// The exposure of one record with this noise; under shuffle `passes` is the number of epochs. Throws Error (usage) for
/// flags that do not go together.
Releases releases_of(const PrivacyQuestion& question, double noise_multiplier);
/// Shuffled lots of one epoch.
std::uint64_t lots_of(const PrivacyQuestion& question);

/// "tight; add-remove neighbours, Poisson sampling at rate 0.01, noise multiplier 4, 10000 steps"
std::string setting_text(std::string_view accountant, const Releases& releases);

/// Four significant digits, never less than the number: what is printed must still be a bound.
std::string rounded_up(double number);
std::string rounded_down(double number);

}  // namespace fedstride
