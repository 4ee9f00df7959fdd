#include "dp/accountants/refusals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

std::string uncovered(std::span<const Releases> spending, const Covers& covers) {
  for (const Releases& releases : spending) {
    if (releases.neighbours != spending.front().neighbours)
      return "neighbours are " + std::string(name_of(spending.front().neighbours)) + " in some releases and " +
             std::string(name_of(releases.neighbours)) + " in others; valid: one of them for all";
    if (releases.adaptive && !covers.adaptive)
      return "noise or rate were chosen after looking at earlier outputs; valid: a filter whose budget was fixed beforehand "
             "(ask 'filter' of a composition file, by rdp or zcdp)";
    const bool sampled = releases.rate < 1;
    const bool replaced = releases.neighbours == Neighbours::replace_one;
    if (sampled && releases.sampling == Sampling::without_replacement && !replaced)
      return "sampling without replacement has no bound under " + std::string(name_of(releases.neighbours)) +
             " neighbours; valid: neighbours replace-one";
    if (sampled && releases.sampling == Sampling::without_replacement && !covers.without_replacement)
      return "it has no bound for sampling without replacement; valid: rdp, strong, basic";
    if (sampled && releases.sampling == Sampling::poisson && replaced && !covers.poisson_replace_one)
      return "it has no bound for Poisson sampling under replace-one neighbours; valid: tight, rdp, strong, basic";
  }
  return {};
}

void check_sound(std::string_view accountant, std::span<const Releases> spending, const std::string& reason) {
  check_spending(spending);
  if (!reason.empty()) throw usage_error(std::string(accountant) + ": " + reason);
}

std::string coarse_warning(std::size_t kinds, std::size_t most) {
  if (kinds <= most) return {};
  return "an upper bound: the " + std::to_string(kinds) + " kinds of releases were counted as at most " + std::to_string(most) +
         ", with a little less noise and higher rates";
}

PrivacyBound bound_of(double log_delta, std::string remark) {
  constexpr double kLeast = std::numeric_limits<double>::min();
  if (log_delta < std::log(kLeast)) {
    if (!remark.empty()) remark += "; ";
    remark += "delta is below the smallest number that can be shown";
    if (std::isfinite(log_delta)) remark += ": at most 10^" + number_text(std::ceil(log_delta / std::numbers::ln10));
  }
  return {std::clamp(std::exp(log_delta), kLeast, 1.0), std::move(remark)};
}

double smallest_delta(function_ref<double(double delta)> epsilon_of, double epsilon) {
  double low = std::log(1e-300);
  double high = std::log1p(-1e-12);
  if (epsilon_of(std::exp(low)) <= epsilon) return std::exp(low);
  if (!(epsilon_of(std::exp(high)) <= epsilon)) return 1;
  while (high - low > 1e-9) {
    const double middle = (low + high) / 2;
    (epsilon_of(std::exp(middle)) <= epsilon ? high : low) = middle;
  }
  return std::exp(high);
}

}  // namespace fedstride
