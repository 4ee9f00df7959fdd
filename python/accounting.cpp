// Accounting that no subcommand offers: implements the functions of fedstride.privacy that take and return numbers.
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/one_run_audit.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/selection.hpp"
#include "dp/accountants/user_mixture.hpp"
#include "dp/bounds/bound.hpp"
#include "dp/correlations/buffered_toeplitz.hpp"
#include "dp/correlations/participation.hpp"
#include "dp/correlations/toeplitz.hpp"
#include "dp/correlations/tree.hpp"
#include "python/bindings.hpp"
#include "python/guard.hpp"

namespace fedstride::python {
namespace {

using Numbers = std::vector<double>;

// Registers a function without argument names: the package's Python functions have the keywords. pybind11 refuses wrong types.
void add(py::module_& module, const char* name, auto function) { module.def(name, function); }

std::pair<double, bool> sensitivity_of(const Numbers& values, std::size_t steps, bool dense, std::size_t separation,
                                       std::size_t most) {
  const Participation participation{separation, most};
  const Sensitivity found = computed([&] {
    return dense ? matrix_sensitivity(values, steps, participation) : toeplitz_sensitivity(values, steps, participation);
  });
  return {found.value, found.exact};
}

double selected(const std::string& runs, double mean, double shape, const Numbers& orders, const Numbers& divergences,
                double delta) {
  const Selection selection{runs == "poisson" ? SelectionRuns::poisson : SelectionRuns::negative_binomial, mean, shape};
  return selection_epsilon(selection, orders, divergences, delta);
}

using Events = std::vector<std::tuple<std::string, double, double, std::uint64_t>>;  // sampling, rate, noise multiplier, steps

// Returns the releases of all events, which expose the same records. Throws Error (usage) for unknown words and numbers out of range.
Spending spending_of(const Events& events, const std::string& neighbours) {
  Spending spending;
  for (const auto& [sampling, rate, noise_multiplier, steps] : events)
    spending.push_back({.sampling = sampling_named(sampling),
                        .neighbours = neighbours_named(neighbours),
                        .rate = rate,
                        .noise_multiplier = noise_multiplier,
                        .count = steps});
  check_spending(spending);
  for (Releases& releases : spending)
    if (has_passes(releases.sampling)) releases.passes = epochs_of(releases.count, releases.rate);
  return spending;
}

// Returns the orders of the standard grid, and the events' Renyi divergences at these orders.
std::pair<Numbers, Numbers> divergences(const Events& events, const std::string& neighbours) {
  const auto orders = order_grid(OrderGrid::standard);
  return {Numbers(orders.begin(), orders.end()), computed([&] { return spending_rdp(spending_of(events, neighbours), orders); })};
}

// Returns epsilon at the delta given, or delta at the epsilon, and the accountant's remark.
std::pair<double, std::string> composed(const Events& events, const std::string& neighbours,
                                        const std::array<std::string, 3>& words, std::optional<double> epsilon,
                                        std::optional<double> delta) {
  const Accountant accountant = make_accountant({words[0], words[1], words[2]});
  const PrivacyBound bound = computed([&] {
    const Spending spending = spending_of(events, neighbours);
    return delta ? epsilon_by(accountant, spending, *delta) : delta_by(accountant, spending, *epsilon);
  });
  return {bound.value, bound.warning};
}

}  // namespace

void register_accounting(py::module_& module) {
  add(module, "bound_noise",
      [](const std::string& rule, const std::map<std::string, double>& settings, double noise_multiplier, double expected) {
        Bound bound;
        bound.choose(rule);
        for (const auto& [name, value] : settings) bound.part().set(*bound.part().find(name), value);
        const double count = bound->count_noise(noise_multiplier, expected);
        return std::pair(noise_beside_count(noise_multiplier, count), count);
      });
  add(module, "toeplitz", [](std::size_t steps, std::size_t bands) {
    return computed([&] { return bands == 0 ? optimal_toeplitz(steps) : optimal_banded_toeplitz(bands, steps); });
  });
  add(module, "prefix_error", [](const Numbers& coefficients, std::size_t steps) {
    return computed([&] { return largest_prefix_error(coefficients, steps); });
  });
  add(module, "buffered_toeplitz", [](std::size_t buffers, std::size_t steps, std::size_t separation, std::size_t most) {
    const BufferedToeplitz found = computed([&] {
      return optimal_buffered_toeplitz(buffers, steps, Participation{separation, most});
    });
    return std::pair(found.scale, found.decay);
  });
  add(module, "sensitivity", sensitivity_of);
  add(module, "tree", [](std::uint64_t steps, std::uint64_t separation) {
    return std::tuple(tree_depth(steps), tree_sensitivity(steps, separation), tree_variance(steps, false),
                      tree_variance(steps, true));
  });
  add(module, "draw_curve",
      [](const std::string& sampling, double noise_multiplier, std::uint64_t lots, std::uint64_t passes,
         std::optional<double> epsilon, double delta) {
        return computed([&] {
          const auto curve = draw_of(sampling_named(sampling)).curve(noise_multiplier, lots, passes, 1);
          if (curve == nullptr) throw usage_error("sampling '" + sampling + "' has no privacy curve of its own");
          return epsilon ? std::pair(curve->delta_remove(*epsilon), curve->delta_add(*epsilon))
                         : std::pair(curve->epsilon(delta), 0.0);
        });
      });
  add(module, "user_mixture",
      [](std::uint64_t rows, double rate, double noise_multiplier, std::uint64_t releases, std::optional<double> epsilon,
         double delta) {
        return computed([&] {
          const UserMixture mixture{rows, rate, noise_multiplier};
          if (epsilon) return user_mixture_delta(mixture, *epsilon);
          return releases == 1 ? user_mixture_epsilon(mixture, delta) : user_mixture_epsilon(mixture, releases, delta);
        });
      });
  add(module, "divergences", divergences);
  add(module, "compose", composed);
  add(module, "selection", selected);
  add(module, "one_run",
      [](std::uint64_t canaries, std::uint64_t guesses, std::uint64_t right, double delta, double significance) {
        return computed([&] {
          const Guesses all{canaries, guesses, right};
          return std::pair(one_run_epsilon(all, delta, significance), one_run_gaussian_epsilon(all, delta, significance));
        });
      });
  add(module, "fitted_audit", [](const Numbers& in, const Numbers& out, double delta, double significance) {
    const FittedAudit found = computed([&] { return fitted_audit(in, out, delta, significance); });
    return std::tuple(found.mu, found.least_mu, found.epsilon);
  });
  add(module, "audit_scores", [](const Numbers& in, const Numbers& out, double delta, double significance) {
    const ScoredAudit found = computed([&] { return one_run_audit(in, out, delta, significance); });
    return std::tuple(found.epsilon, found.gaussian_epsilon, found.thresholds);
  });
}

}  // namespace fedstride::python
