#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "dp/noise/noise_plan.hpp"

namespace fedstride {

/// The quantity that a case of a composition file asks for.
enum class CompositionAsk {
  epsilon,
  delta,
  noise_multiplier,  ///< the smallest, to 0.001, that meets epsilon and delta where events leave theirs out
  steps,             ///< the largest count of the last event, which leaves it out, within epsilon and delta
  filter,            ///< share of a budget that a filter has given out (dp/accountants/filter.hpp)
  divergence,        ///< the Rényi divergence of everything, at one order
  rho,               ///< of zero-concentrated privacy
  lower_bound,       ///< of epsilon, for one epoch of shuffled lots (dp/accountants/lower_bound.hpp)
};

struct CompositionAskRow {
  CompositionAsk ask;
  std::string_view name;
  std::string_view needs;  ///< keys of the case, with blanks between; of the others of these a case may have none
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

/// Releases drawn in one way: alike, or with a noise multiplier each.
struct CompositionEvent {
  Sampling sampling = Sampling::poisson;
  double rate = 1;                         ///< in (0, 1]
  std::optional<double> noise_multiplier;  ///< empty if it is asked for, or listed
  std::vector<double> noise_multipliers;   ///< one a release
  std::optional<std::uint64_t> count;      ///< empty if it is asked for, or the list's length
  std::optional<NoisePlanRules> schedule;  ///< how the noise goes on from noise_multiplier
  bool adaptive = false;                   ///< chosen after looking at what earlier events released
};

/// One case of a composition file.
struct CompositionCase {
  std::size_t number = 0;  ///< from 1, in the file's order
  std::string id = {};     ///< empty if there is none that is its own
  std::string error = {};  ///< why it cannot be read, one line; what follows then means nothing
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

/// "case 'mnist-60-epochs'", or "case 7" if it has no id of its own.
std::string name_of(const CompositionCase& one);

/// Returns the releases that one record is exposed to by all events. Throws Error (usage) if an event leaves its noise multiplier or count out,
/// or for a schedule out of range.
Spending spending_of(const CompositionCase& one);

/// Throws Error (usage), without the case's name, for what the case leaves out and for what the accountant refuses.
PrivacyBound answer(const CompositionCase& one);

}  // namespace fedstride
