#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/family.hpp"
#include "core/function_ref.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {

/// An accountant's answer. `value` is an upper bound on epsilon or delta: never negative or NaN, infinite if no bound is known.
struct PrivacyBound {
  double value = 0;
  std::string warning = {};  ///< a note for the reader, such as "the best order, 33, is the last of the grid"
};

/// The releases that an accountant covers. It refuses all others, and spendings that mix neighbor relations.
struct Covers {
  bool poisson_replace_one = false;
  bool without_replacement = false;  ///< under replace-one; no accountant covers it under add-remove
  bool adaptive = false;
  bool rows = false;    ///< several rows per record, Poisson-sampled
  bool shares = false;  ///< non-Gaussian noise, which clients add in shares
};

/// Computes the epsilon of a spending for a given delta, and its delta for a given epsilon. Both functions compose releases that
/// were fixed in advance and may differ; they return 0 for an empty spending. Both throw Error (usage) if unsound() is not empty,
/// or for numbers out of range: a noise multiplier outside [1e-100, 1e100], a rate outside [1e-100, 1], more than 9.2e18
/// releases, delta outside (0, 1), or epsilon < 0. Time and memory are bounded for valid inputs: if an exact answer would take
/// more, the result is an upper bound, and the warning says so. Long computations may throw Stopped (core/stop.hpp).
///
/// A Part has kName, kSummary, kFields (core/family.hpp), kCovers, and least_epsilon and least_delta, which are called only for a
/// spending that has passed these checks. A Part that composes (epsilon, delta) steps has composed(kinds, delta) instead, which
/// returns the epsilon of at most kMaxKinds kinds of steps; delta is then found by a search.
template <class Part>
struct AccountantPart {
  /// Why this accountant has no bound for the spending, in one line without the accountant's name; empty if it has a bound.
  std::string unsound(std::span<const Releases> spending) const;
  /// The smallest epsilon that the accountant can prove; 0 < delta < 1.
  PrivacyBound epsilon(std::span<const Releases> spending, double delta) const;
  /// The smallest delta that the accountant can prove; epsilon >= 0.
  PrivacyBound delta(std::span<const Releases> spending, double epsilon) const;
};

/// Computes epsilon and delta from the exact privacy loss of Gaussian releases, Poisson-sampled or full, by a contour integral of
/// its moment generating function. The values are upper bounds; docs/privacy-tight.md has the proof.
struct Tight : AccountantPart<Tight> {
  bool quick = false;  ///< compute slow curves more coarsely, for a first guess; values are still upper bounds

  static constexpr std::string_view kName = "tight";
  static constexpr std::string_view kSummary = "exact privacy loss distribution; values are rounded up slightly";
  static constexpr auto kFields = fields();
  static constexpr Covers kCovers{.poisson_replace_one = true, .rows = true, .shares = true};
  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound least_epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound least_delta(std::span<const Releases> spending, double epsilon) const;
};

/// Rényi differential privacy (Mironov 2017): divergences are summed at each order, and the best order's sum is converted.
struct Rdp : AccountantPart<Rdp> {
  OrderGrid orders = OrderGrid::standard;
  Conversion conversion = Conversion::improved;

  static constexpr std::string_view kName = "rdp";
  static constexpr std::string_view kSummary = "Renyi divergences at orders 1.1 to 1024, including fractional ones";
  static constexpr auto kFields = fields(Field{"orders", &Rdp::orders, "grid of orders from which the best is chosen"},
                                         Field{"conversion", &Rdp::conversion, "conversion from divergence to epsilon"});
  static constexpr Covers kCovers{.poisson_replace_one = true, .without_replacement = true, .rows = true, .shares = true};
  PrivacyBound least_epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound least_delta(std::span<const Releases> spending, double epsilon) const;
};

/// The moments accountant of Abadi et al. 2016: lambda 1 to 32, that is, orders 2 to 33, with the paper's tail bound.
struct Moments : AccountantPart<Moments> {
  static constexpr std::string_view kName = "moments";
  static constexpr std::string_view kSummary = "moments accountant of Abadi et al. (2016): orders 2 to 33, classical conversion";
  static constexpr auto kFields = fields();
  static constexpr Covers kCovers{};
  PrivacyBound least_epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound least_delta(std::span<const Releases> spending, double epsilon) const;
};

/// Concentrated differential privacy (Bun, Steinke 2016): a full Gaussian release, continuous or discrete (Canonne, Kamath,
/// Steinke 2020), is rho-zCDP with rho = (distance / standard deviation)^2 / 2; the values of rho add up.
struct Zcdp : AccountantPart<Zcdp> {
  Conversion conversion = Conversion::improved;

  static constexpr std::string_view kName = "zcdp";
  static constexpr std::string_view kSummary =
      "zero-concentrated differential privacy, for unsampled releases; covers discrete Gaussian noise";
  static constexpr auto kFields = fields(Field{"conversion", &Zcdp::conversion, "conversion from rho to epsilon"});
  static constexpr Covers kCovers{.adaptive = true};
  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound least_epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound least_delta(std::span<const Releases> spending, double epsilon) const;
};

double zcdp_rho(std::span<const Releases> spending);
/// rho + 2 sqrt(rho ln(1/delta)) (Bun, Steinke 2016, Proposition 1.3).
double zcdp_epsilon_classical(double rho, double delta);
/// The smallest value of the improved conversion over all real orders (Canonne, Kamath, Steinke 2020, Proposition 12).
double zcdp_epsilon(double rho, double delta);
double zcdp_log_delta(double rho, double epsilon);  ///< rho > 0

/// Composition of steps that are each (epsilon0, delta0)-private: the smallest of the sum of epsilon0 and the bounds of Kairouz,
/// Oh, Viswanath 2015, which improve on Dwork, Rothblum, Vadhan 2010. Delta is split optimally between the steps and the
/// composition.
struct Strong : AccountantPart<Strong> {
  static constexpr std::string_view kName = "strong";
  static constexpr std::string_view kSummary = "strong composition of (epsilon, delta) steps (Kairouz et al. 2015)";
  static constexpr auto kFields = fields();
  static constexpr Covers kCovers{.poisson_replace_one = true, .without_replacement = true};
  static constexpr std::size_t kMaxKinds = 1000;
  static double composed(const Spending& kinds, double delta);
};

/// The sums of epsilon0 and delta0 over the steps, with delta divided equally among them.
struct Basic : AccountantPart<Basic> {
  static constexpr std::string_view kName = "basic";
  static constexpr std::string_view kSummary = "basic composition: the sums of the steps' epsilons and of their deltas";
  static constexpr auto kFields = fields();
  static constexpr Covers kCovers{.poisson_replace_one = true, .without_replacement = true};
  static constexpr std::size_t kMaxKinds = 20'000;
  static double composed(const Spending& kinds, double delta);
};

/// The strong composition with which Abadi et al. 2016 compare their accountant (9.34 for q 0.01, sigma 4, 10,000 steps, delta
/// 1e-5): eps1 sqrt(2 T ln(2/delta)) + T eps1^2, eps1 = q eps0, T q delta0 = delta/2. NOT a bound: it uses eps0 = sqrt(2
/// ln(1.25/delta0)) / sigma even if that exceeds 1, and q eps0 as the amplified epsilon. Every value comes with a warning that
/// states a valid bound. Covers Poisson and full sampling under add-remove or zero-out neighbors.
struct AsInPaper : AccountantPart<AsInPaper> {
  static constexpr std::string_view kName = "as-in-paper";
  static constexpr std::string_view kSummary = "heuristic strong composition of Abadi et al. (2016); not a bound";
  static constexpr auto kFields = fields();
  static constexpr Covers kCovers{};
  std::string unsound(std::span<const Releases> spending) const;
  PrivacyBound least_epsilon(std::span<const Releases> spending, double delta) const;
  PrivacyBound least_delta(std::span<const Releases> spending, double epsilon) const;
};

/// A valid version of AsInPaper's formula, with delta divided in the same way: eps0 is at least the exact curve's value, eps1 =
/// ln(1 + q (exp(eps0) - 1)), and T eps1 (exp(eps1) - 1) replaces T eps1^2. Returns 26.78 in the paper's case.
double abadi_valid(std::span<const Releases> spending, double delta);

/// The registry of privacy accountants; the first is the default.
using Accountant = std::variant<Tight, Rdp, Moments, Zcdp, Strong, Basic, AsInPaper>;

/// An accountant and its settings, as named in flags and files. An empty name stands for the default: the registry's first
/// accountant, or the accountant's default setting.
struct AccountantWords {
  std::string name = {};
  std::string conversion = {};  ///< the name of a Conversion
  std::string orders = {};      ///< the name of an OrderGrid
};
/// Throws Error (usage) for an unknown name or a setting that the accountant lacks.
Accountant make_accountant(const AccountantWords& words);
/// True if the accountant has a setting with this name.
bool has_setting(std::string_view accountant, std::string_view setting);

inline std::string unsound_by(const Accountant& accountant, std::span<const Releases> spending) {
  return std::visit([&](const auto& part) { return part.unsound(spending); }, accountant);
}
inline PrivacyBound epsilon_by(const Accountant& accountant, std::span<const Releases> spending, double delta) {
  return std::visit([&](const auto& part) { return part.epsilon(spending, delta); }, accountant);
}
inline PrivacyBound delta_by(const Accountant& accountant, std::span<const Releases> spending, double epsilon) {
  return std::visit([&](const auto& part) { return part.delta(spending, epsilon); }, accountant);
}

/// Throw Error (usage) for numbers out of range (see AccountantPart), stating the value and the valid range.
void check_spending(std::span<const Releases> spending);
void check_delta(double delta);
void check_epsilon(double epsilon);
/// Throws Error (usage) with the message "<accountant>: <reason>" unless the reason is empty, and for numbers out of range.
void check_sound(std::string_view accountant, std::span<const Releases> spending, const std::string& reason);

/// The warning for an answer computed after coarser() reduced the number of kinds of releases to `most`; empty if kinds <= most.
std::string coarse_warning(std::size_t kinds, std::size_t most);

/// Returns the bound e^log_delta, at most 1, with `remark` as its warning. If the bound is below the smallest normal double,
/// returns that double, never 0, and states a bound as a power of 10 in the warning.
PrivacyBound bound_of(double log_delta, std::string remark = {});

/// The smallest delta in (0, 1) with epsilon_of(delta) <= epsilon, rounded up by a relative error of at most 1e-9, and at least
/// 1e-300; 1 if there is none.
double smallest_delta(function_ref<double(double delta)> epsilon_of, double epsilon);

}  // namespace fedstride
