#include "dp/accountants/accountants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "dp/accountants/spending.hpp"
#include "dp/correlations/correlation.hpp"

namespace fedstride {
namespace {

template <class Kind>
void set_word(Kind& accountant, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  std::vector<std::string> settings;
  for (const SettingInfo& setting : settings_of<Kind>()) {
    if (setting.name == name) {
      setting.assign(&accountant, value);
      return;
    }
    settings.emplace_back(setting.name);
  }
  throw usage_error(std::string(name) + " is not a setting of accountant '" + std::string(Kind::kName) + "'; " +
                    (settings.empty() ? "it has no settings" : "its settings: " + joined(settings)));
}

std::string uncovered(std::span<const Releases> spending, const Covers& covers) {
  for (const Releases& releases : spending) {
    if (releases.neighbours != spending.front().neighbours)
      return "neighbours are " + std::string(name_of(spending.front().neighbours)) + " in some releases and " +
             std::string(name_of(releases.neighbours)) + " in others; valid: the same in all";
    if (releases.adaptive && !covers.adaptive)
      return "noise or rate was chosen after looking at earlier outputs; valid: zcdp, with a budget fixed beforehand";
    const Draw& draw = draw_of(releases.sampling);
    const bool sampled = releases.rate < 1;
    if (releases.law != NoiseLaw::gaussian && !covers.shares)
      return "it has no bound for " + std::string(choice_name(releases.law)) + " noise that clients add in shares; valid: rdp";
    if (releases.law != NoiseLaw::gaussian && sampled)
      return "noise that clients add in shares has no bound with sampling; valid: sampling full";
    if (releases.correlation.on() && sampled &&
        (releases.sampling != Sampling::poisson || !is_amplified_in_groups(releases.correlation)))
      return "noise '" + std::string(choice_name(releases.correlation.mechanism)) + "' is not amplified by sampling " +
             std::string(name_of(releases.sampling)) + "; valid: sampling full";
    const bool replaced = releases.neighbours == Neighbours::replace_one;
    if (releases.rows > 1 && (replaced || !draw.draws_rows()))
      return "several rows of a record have a bound only under add-remove or zero-out neighbours, with sampling poisson or full";
    if (releases.rows > 1 && sampled && !covers.rows)
      return "it has no bound for several rows of a record; valid: rdp, or tight for a single release";
    if (sampled && !draw.has_bound(releases.neighbours)) {
      std::vector<std::string_view> valid{kChoiceNames<Neighbours>.begin(), kChoiceNames<Neighbours>.end()};
      std::erase_if(valid, [&](std::string_view name) { return !draw.has_bound(neighbours_named(name)); });
      return "sampling " + std::string(name_of(releases.sampling)) + " has no bound under " +
             std::string(name_of(releases.neighbours)) + " neighbours; valid: neighbours " + joined(valid);
    }
    if (sampled && releases.sampling == Sampling::without_replacement && !covers.without_replacement)
      return "it has no bound for sampling without replacement; valid: rdp";
    if (sampled && releases.sampling == Sampling::poisson && replaced && !covers.poisson_replace_one)
      return "it has no bound for Poisson sampling under replace-one neighbours; valid: tight, rdp";
  }
  return {};
}

}  // namespace

template <class Part>
std::string AccountantPart<Part>::unsound(std::span<const Releases> spending) const {
  return uncovered(spending, Part::kCovers);
}

template <class Part>
PrivacyBound AccountantPart<Part>::epsilon(std::span<const Releases> spending, double delta) const {
  const Part& part = static_cast<const Part&>(*this);
  check_sound(Part::kName, spending, part.unsound(spending));
  check_delta(delta);
  if (is_correlated(spending)) return epsilon(without_correlation(spending), delta);
  if constexpr (requires { Part::kMaxKinds; }) {
    const Spending all = merged(spending);
    return {Part::composed(coarser(all, Part::kMaxKinds), delta), coarse_warning(all.size(), Part::kMaxKinds)};
  } else {
    return part.least_epsilon(spending, delta);
  }
}

template <class Part>
PrivacyBound AccountantPart<Part>::delta(std::span<const Releases> spending, double epsilon) const {
  const Part& part = static_cast<const Part&>(*this);
  check_sound(Part::kName, spending, part.unsound(spending));
  check_epsilon(epsilon);
  if (is_correlated(spending)) return delta(without_correlation(spending), epsilon);
  if constexpr (requires { Part::kMaxKinds; }) {
    const Spending all = merged(spending);
    if (all.empty()) return {};
    const Spending kinds = coarser(all, Part::kMaxKinds);
    return {smallest_delta([&](double delta) { return Part::composed(kinds, delta); }, epsilon),
            coarse_warning(all.size(), Part::kMaxKinds)};
  } else {
    return part.least_delta(spending, epsilon);
  }
}

template struct AccountantPart<Tight>;
template struct AccountantPart<Rdp>;
template struct AccountantPart<Moments>;
template struct AccountantPart<Zcdp>;
template struct AccountantPart<Strong>;
template struct AccountantPart<Basic>;
template struct AccountantPart<AsInPaper>;

Accountant make_accountant(const AccountantWords& words) {
  Accountant accountant;
  if (!words.name.empty()) accountant = make_part<Accountant>("accountant", words.name);
  std::visit(
      [&](auto& part) {
        set_word(part, "orders", words.orders);
        set_word(part, "conversion", words.conversion);
      },
      accountant);
  return accountant;
}

bool has_setting(std::string_view accountant, std::string_view setting) {
  bool found = false;
  for_each_part<Accountant>([&]<class Part>(const Part&) {
    for (const SettingInfo& info : settings_of<Part>()) found = found || (Part::kName == accountant && info.name == setting);
  });
  return found;
}

void check_spending(std::span<const Releases> spending) {
  // Within these limits, a square times any count is a finite double.
  constexpr double kMinNoise = 1e-100;
  constexpr double kMaxNoise = 1e100;
  constexpr double kMinRate = 1e-100;
  constexpr double kMaxCount = 9.2e18;  // counts are added up in 64 bits
  double count = 0;
  for (const Releases& releases : spending) {
    const double noise = releases.noise_multiplier;
    if (!std::isfinite(noise) || noise <= 0)
      throw usage_error("noise multiplier is " + number_text(noise) + "; it must be a number above 0");
    if (noise < kMinNoise || noise > kMaxNoise)
      throw usage_error("noise multiplier is " + number_text(noise) + "; it must be a number from 1e-100 to 1e100");
    if (!(releases.rate > 0 && releases.rate <= 1))
      throw usage_error("sampling rate is " + number_text(releases.rate) + "; it must be a number above 0 and at most 1");
    if (releases.rate < kMinRate)
      throw usage_error("sampling rate is " + number_text(releases.rate) + "; it must be a number from 1e-100 to 1");
    if (const std::string wrong = draw_of(releases.sampling).wrong_rate(releases.rate); !wrong.empty())
      throw usage_error("sampling rate is " + number_text(releases.rate) + "; with sampling " +
                        std::string(name_of(releases.sampling)) + " " + wrong);
    if (releases.rows == 0 || releases.rows > kMaxRowsOfRecord)
      throw usage_error("rows of a record are " + std::to_string(releases.rows) + "; valid: 1 to 1000");
    count += static_cast<double>(releases.count);
    const NoiseShares& shares = releases.shares;
    if (releases.law != NoiseLaw::gaussian &&
        !(shares.step >= kMinNoise && shares.step <= kMaxNoise && shares.count > 0 && shares.dimension > 0))
      throw usage_error("noise in shares has " + std::to_string(shares.count) + " shares of " + std::to_string(shares.dimension) +
                        " components with a step of " + number_text(shares.step) + "; all must be above 0");
  }
  if (count > kMaxCount) throw usage_error("there are " + number_text(count) + " releases; at most 9.2e18 are supported");
}

void check_delta(double delta) {
  if (!(delta > 0 && delta < 1))
    throw usage_error("delta is " + number_text(delta) + "; it must be a number above 0 and below 1");
}

void check_epsilon(double epsilon) {
  if (!std::isfinite(epsilon) || epsilon < 0)
    throw usage_error("epsilon is " + number_text(epsilon) + "; it must be a finite number, at least 0");
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
    remark += "delta is below the smallest number that a double can hold";
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
