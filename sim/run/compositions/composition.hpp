#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "dp/noise/noise_plan.hpp"

namespace fedstride {

/// The quantity requested by a case of a composition file.
enum class CompositionAsk {
  epsilon,
  delta,
  noise_multiplier,  ///< the smallest, to 0.001, that meets epsilon and delta, for events that omit it
  steps,             ///< the largest count within epsilon and delta for the last event, which omits it
  filter,            ///< the share of its budget that a filter has spent (dp/accountants/filter.hpp)
  divergence,        ///< the Rényi divergence of all events, at one order
  rho,               ///< the rho of zero-concentrated differential privacy
  lower_bound,       ///< a lower bound on epsilon for one epoch of shuffled lots (dp/accountants/gaussian_curve.hpp)
};

struct CompositionAskRow {
  CompositionAsk ask;
  std::string_view name;
  std::string_view needs;  ///< required keys, separated by spaces; no other keys that occur in this column are allowed
};
inline constexpr CompositionAskRow kCompositionAsks[] = {
    {CompositionAsk::epsilon, "epsilon", "accountant delta"},
    {CompositionAsk::delta, "delta", "accountant epsilon"},
    {CompositionAsk::noise_multiplier, "noise-multiplier", "accountant epsilon delta"},
    {CompositionAsk::steps, "steps", "accountant epsilon delta"},
    {CompositionAsk::filter, "filter", "accountant epsilon delta"},
    {CompositionAsk::divergence, "divergence", "order"},
    {CompositionAsk::rho, "rho", ""},
    {CompositionAsk::lower_bound, "lower-bound", "delta"},
};
const CompositionAskRow& row_of(CompositionAsk ask);

/// Releases with the same sampling, which share a noise multiplier or each have their own.
struct CompositionEvent {
  Sampling sampling = Sampling::poisson;
  double rate = 1;                         ///< in (0, 1]
  std::optional<double> noise_multiplier;  ///< empty if it is requested or listed
  std::vector<double> noise_multipliers;   ///< one per release
  std::optional<std::uint64_t> count;      ///< empty if it is requested or the list's length
  std::optional<NoisePlanRules> schedule;  ///< how the noise changes from noise_multiplier
  bool adaptive = false;                   ///< chosen after seeing earlier events' releases
};

/// One case of a composition file.
struct CompositionCase {
  std::size_t number = 0;  ///< from 1, in the file's order
  std::string id = {};     ///< empty if missing or not unique
  std::string error = {};  ///< one line if the case cannot be read; the other members are then meaningless
  Neighbours neighbours = Neighbours::add_remove;
  std::optional<CompositionAsk> ask = {};
  AccountantWords accountant = {};
  std::optional<double> epsilon = {};
  std::optional<double> delta = {};
  std::optional<double> order = {};
  std::vector<CompositionEvent> events = {};
  double accept_min = -std::numeric_limits<double>::infinity();
  double accept_max = std::numeric_limits<double>::infinity();

  bool bounded() const;
  bool accepts(double value) const { return value >= accept_min && value <= accept_max; }
};

/// "case 'mnist-60-epochs'", or "case 7" if it has no id.
std::string name_of(const CompositionCase& one);

/// Returns the releases to which all events expose one record. Throws Error (usage) if an event omits its noise multiplier or
/// count, or if its schedule is out of range.
Spending spending_of(const CompositionCase& one);

/// Computes the requested quantity. Throws Error (usage), without the case's name, for missing keys and anything that the
/// accountant refuses.
PrivacyBound answer(const CompositionCase& one);

/// The cases of a composition file (docs/compositions.md). A mistake in one case becomes that case's `error`: an unknown key or
/// word, a missing field, a value out of range or not a number (including NaN, Infinity and 1e999), a duplicate key, or a missing
/// or repeated id. Throws Error (failure), naming the file, if it cannot be read, is larger than kMaxCompositionFile, is not
/// JSON, or has another version, an unknown key outside the cases, or too many cases.
std::vector<CompositionCase> read_compositions(const std::filesystem::path& path);

}  // namespace fedstride
