#include "cli/privacy/privacy_quantities.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "dp/accountants/composition.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/hong.hpp"
#include "dp/accountants/lower_bound.hpp"

namespace fedstride {
namespace {

constexpr double kMostCaseSteps = 1e7;  // a schedule's steps are listed one by one

constexpr std::string_view kParameters[] = {"q",    "sigma",       "alpha",       "steps",         "delta", "epsilon",
                                            "n",    "sigma0",      "clip",        "sigma_schedule", "T",    "gamma",
                                            "rho",  "alpha_t",     "R",           "k",             "eps0",  "eps1",
                                            "batches", "delta_split", "delta_slack", "quadratic_term"};

bool has(const PrivacyCase& one, const std::string& name) { return one.numbers.contains(name); }

double number(const PrivacyCase& one, const std::string& name, const Valid& valid) {
  const auto found = one.numbers.find(name);
  if (found == one.numbers.end())
    throw usage_error("quantity '" + one.quantity + "' needs the number '" + name + "'");
  check_value(name, valid, found->second);
  return found->second;
}

std::uint64_t whole(const PrivacyCase& one, const std::string& name, double most) {
  const double value = number(one, name, {.low = 1, .high = most});
  if (value != std::floor(value)) throw usage_error(name + " is " + number_text(value) + "; it must be a whole number");
  return static_cast<std::uint64_t>(value);
}

constexpr Valid kOpenFraction{.low = 0, .high = 1, .low_included = false, .high_included = false};
constexpr Valid kRate{.low = 0, .high = 1, .low_included = false};
double delta_of(const PrivacyCase& one) { return number(one, "delta", kOpenFraction); }
double epsilon_of(const PrivacyCase& one) { return number(one, "epsilon", kNonNegative); }

std::string text(const PrivacyCase& one, const std::string& name) {
  const auto found = one.texts.find(name);
  return found == one.texts.end() ? "" : found->second;
}

bool says(const PrivacyCase& one, std::string_view words) {
  std::string lower = one.mechanism;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find(words) != std::string::npos;
}

/// The number behind `label` in a description, "sigma0=4.0, T=10000".
double number_after(const std::string& description, const std::string& label) {
  const auto at = description.rfind(label);
  double value = 0;
  if (at != std::string::npos) {
    const char* from = description.data() + at + label.size();
    const auto [end, error] = std::from_chars(from, description.data() + description.size(), value);
    if (error == std::errc{} && std::isfinite(value) && value > 0) return value;
  }
  throw usage_error("'" + description + "' has no number above 0 after '" + label + "'");
}

Releases release_of(const PrivacyCase& one) {
  Releases release;
  if (says(one, "replace-one") && !says(one, "add/remove")) release.neighbours = Neighbours::replace_one;
  release.sampling = says(one, "without replacement") ? Sampling::without_replacement
                     : says(one, "shuffle")           ? Sampling::shuffle
                     : says(one, "full-batch")        ? Sampling::full
                                                      : Sampling::poisson;
  if (release.sampling == Sampling::poisson && !says(one, "poisson") && text(one, "sigma_schedule").empty())
    throw usage_error("mechanism '" + one.mechanism +
                      "' is unknown; valid: Poisson-subsampled Gaussian, full-batch Gaussian, sampling without "
                      "replacement, shuffled batches, rho-zCDP, composition");
  if (release.sampling != Sampling::full) release.rate = number(one, "q", kRate);
  return release;
}

/// Noise multipliers one by one, where the case describes a schedule; else empty.
std::vector<double> schedule_of(const PrivacyCase& one) {
  std::vector<double> multipliers;
  if (has(one, "gamma"))
    return hong::dynamic_sigmas(whole(one, "T", kMostCaseSteps), number(one, "R", kPositive),
                                number(one, "gamma", kRate));
  const std::string shrinking = text(one, "sigma_schedule");
  if (!shrinking.empty()) {
    if (shrinking.find("sigma_t=sigma0*min(2,1+t/T)") == std::string::npos)
      throw usage_error("sigma_schedule '" + shrinking + "' is unknown; valid: ... sigma_t=sigma0*min(2,1+t/T) ; "
                        "sigma0=NUMBER, T=NUMBER");
    const double first = number_after(shrinking, "sigma0=");
    const double target = number_after(shrinking, "T=");
    const std::uint64_t steps = whole(one, "steps", kMostCaseSteps);
    for (std::uint64_t t = 1; t <= steps; ++t)
      multipliers.push_back(first * std::min(2.0, 1 + static_cast<double>(t) / target));
  }
  const std::string clip = text(one, "clip");
  if (!clip.empty()) {
    if (!clip.starts_with("C*max(1/2,1-t/"))
      throw usage_error("clip '" + clip + "' is unknown; valid: C*max(1/2,1-t/NUMBER), t=1..T");
    const double first = number(one, "sigma0", kPositive);
    const double fall = number_after(clip, "1-t/");
    const std::uint64_t steps = whole(one, "steps", kMostCaseSteps);
    for (std::uint64_t t = 1; t <= steps; ++t)
      multipliers.push_back(first / std::max(0.5, 1 - static_cast<double>(t) / fall));
  }
  return multipliers;
}

Spending spending_of(const PrivacyCase& one) {
  Releases release = release_of(one);
  Spending spending;
  for (const double multiplier : schedule_of(one)) {
    release.noise_multiplier = multiplier;
    spending.push_back(release);
  }
  if (!spending.empty()) return spending;
  // Without replacement the cases give sigma relative to the distance of replace-one neighbours, twice the clip bound.
  const double unit = release.sampling == Sampling::without_replacement ? 2 : 1;
  release.noise_multiplier = unit * number(one, "sigma", kPositive);
  if (has(one, "steps")) release.count = whole(one, "steps", 9e15);
  return {release};
}

Rdp rdp(const PrivacyCase& one, const std::string& conversion) {
  Rdp part;
  part.conversion = conversion;
  if (one.order_grid == "MA32") part.orders = "ma32";
  if (one.order_grid == "INT256") part.orders = "int256";
  if (!one.order_grid.empty() && one.order_grid != "DPACC" && part.orders == "default")
    throw usage_error("order_grid '" + one.order_grid + "' is unknown; valid: MA32, DPACC, INT256");
  return part;
}

Accountant tight() { return make_part<Accountant>("accountant", "tight"); }

double calibrated(const Accountant& accountant, const PrivacyCase& one) {
  Releases release = release_of(one);
  release.count = whole(one, "steps", 9e15);
  return calibrate(
      accountant,
      [&](double noise_multiplier) {
        release.noise_multiplier = noise_multiplier;
        return Spending{release};
      },
      epsilon_of(one), delta_of(one));
}

double steps_within(const Accountant& accountant, const PrivacyCase& one) {
  return static_cast<double>(
      most_steps(accountant, {}, spending_of(one).front(), epsilon_of(one), delta_of(one)));
}

double rho_of(const PrivacyCase& one) {
  return has(one, "rho") ? number(one, "rho", kNonNegative) : zcdp_rho(spending_of(one));
}

double strong_composition(const PrivacyCase& one) {
  if (!has(one, "eps0")) {
    if (text(one, "delta_split") != "T*q*delta0 = delta/2, delta_slack = delta/2")
      throw usage_error("delta_split '" + text(one, "delta_split") +
                        "' is unknown; valid: T*q*delta0 = delta/2, delta_slack = delta/2");
    const Releases release{.rate = number(one, "q", kRate),
                           .noise_multiplier = number(one, "sigma", kPositive),
                           .count = whole(one, "steps", 9e15)};
    return abadi_heuristic(Spending{release}, delta_of(one));
  }
  const ApproximateSteps steps{number(one, "eps0", kNonNegative), 0, whole(one, "k", 9e15)};
  return advanced_composition({&steps, 1}, number(one, "delta_slack", kOpenFraction));
}

struct Quantity {
  std::string_view name;
  double (*value)(const PrivacyCase&);
};

constexpr Quantity kQuantities[] = {
    {"rdp_per_step",
     [](const PrivacyCase& one) {
       const Spending spending = spending_of(one);
       const double order = number(one, "alpha", {.low = 1, .high = 1e6, .low_included = false});
       if (const std::string reason = Rdp{}.unsound(spending); !reason.empty()) throw usage_error("rdp: " + reason);
       return release_rdp(spending.front(), order);
     }},
    {"epsilon_rdp_classical",
     [](const PrivacyCase& one) { return rdp(one, "classical").epsilon(spending_of(one), delta_of(one)).value; }},
    {"epsilon_rdp_improved",
     [](const PrivacyCase& one) { return rdp(one, "improved").epsilon(spending_of(one), delta_of(one)).value; }},
    {"epsilon_tight_upper",
     [](const PrivacyCase& one) { return epsilon_by(tight(), spending_of(one), delta_of(one)).value; }},
    {"delta_rdp_classical",
     [](const PrivacyCase& one) { return rdp(one, "classical").delta(spending_of(one), epsilon_of(one)).value; }},
    {"delta_rdp_improved",
     [](const PrivacyCase& one) { return rdp(one, "improved").delta(spending_of(one), epsilon_of(one)).value; }},
    {"delta_tight_upper",
     [](const PrivacyCase& one) { return delta_by(tight(), spending_of(one), epsilon_of(one)).value; }},
    {"epsilon_zcdp_classic",
     [](const PrivacyCase& one) { return zcdp_epsilon_classic(rho_of(one), delta_of(one)); }},
    {"epsilon_zcdp_improved", [](const PrivacyCase& one) { return zcdp_epsilon(rho_of(one), delta_of(one)); }},
    {"rho_total", [](const PrivacyCase& one) { return rho_of(one); }},
    {"sigma_1", [](const PrivacyCase& one) { return spending_of(one).front().noise_multiplier; }},
    {"sigma_T", [](const PrivacyCase& one) { return spending_of(one).back().noise_multiplier; }},
    {"epsilon_strong_composition", strong_composition},
    {"epsilon_optimal_composition",
     [](const PrivacyCase& one) {
       return optimal_composition_on_grid(number(one, "eps0", kNonNegative), whole(one, "k", 9e15), delta_of(one));
     }},
    {"sigma_min_rdp_classical", [](const PrivacyCase& one) { return calibrated(rdp(one, "classical"), one); }},
    {"sigma_min_rdp_improved", [](const PrivacyCase& one) { return calibrated(rdp(one, "improved"), one); }},
    {"sigma_min_tight", [](const PrivacyCase& one) { return calibrated(tight(), one); }},
    {"max_steps_rdp_classical", [](const PrivacyCase& one) { return steps_within(rdp(one, "classical"), one); }},
    {"max_steps_rdp_improved", [](const PrivacyCase& one) { return steps_within(rdp(one, "improved"), one); }},
    {"max_steps_tight", [](const PrivacyCase& one) { return steps_within(tight(), one); }},
    {"epsilon_lower_bound",
     [](const PrivacyCase& one) {
       if (!says(one, "shuffle"))
         throw usage_error("quantity 'epsilon_lower_bound' is for shuffled batches, not '" + one.mechanism + "'");
       return shuffle_epsilon_lower_bound(number(one, "sigma", kPositive), whole(one, "batches", 9e15),
                                          delta_of(one));
     }},
};

double answered(const PrivacyCase& one) {
  std::vector<std::string> known(std::begin(kParameters), std::end(kParameters));
  const auto check_known = [&](const std::string& name) {
    if (std::ranges::find(known, name) == known.end()) throw usage_error(unknown_name("parameter", name, known));
  };
  for (const auto& [name, value] : one.numbers) check_known(name);
  for (const auto& [name, value] : one.texts) check_known(name);
  for (const Quantity& quantity : kQuantities)
    if (quantity.name == one.quantity) return quantity.value(one);
  std::vector<std::string> names;
  for (const Quantity& quantity : kQuantities) names.emplace_back(quantity.name);
  throw usage_error(unknown_name("quantity", one.quantity, names));
}

}  // namespace

double answer(const PrivacyCase& one) {
  try {
    return answered(one);
  } catch (const Error& error) {
    throw Error(error.kind(), "case '" + one.id + "': " + error.what());
  }
}

}  // namespace fedstride
