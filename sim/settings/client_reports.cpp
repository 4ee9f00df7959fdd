#include "sim/settings/client_reports.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"

namespace fedstride {

ClientReports ClientReports::of(std::string_view text, std::uint64_t seed) {
  if (text == "all") return {.seed = seed};
  if (text == "none") return {.most = 0, .seed = seed};
  std::uint32_t most = 0;
  if (!parse_number(text, most) || most == 0)
    throw usage_error("client-reports is '" + std::string(text) + "'; it must be all, none, or a number of clients from 1");
  return {.most = most, .seed = seed};
}

std::vector<std::size_t> ClientReports::chosen(std::span<const ClientReport> reports) const {
  std::vector<std::size_t> places(reports.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (reports.size() <= most) return places;
  std::vector<std::pair<std::uint64_t, std::size_t>> drawn;  // positions break ties
  drawn.reserve(reports.size());
  for (const std::size_t place : places)
    drawn.emplace_back(RandomStream(seed, {.purpose = Purpose::client_reports, .client = reports[place].client}).bits64(), place);
  const auto middle = drawn.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(drawn, middle);
  places.clear();
  for (auto at = drawn.begin(); at != middle; ++at) places.push_back(at->second);
  std::ranges::sort(places);
  return places;
}

ClientTotals::ClientTotals() {
  for_each_report_field([&](const auto& field) {
    if (!field.of_round_name().empty())
      totals_.push_back({.of_client = field.name, .name = field.of_round_name(), .is_sum = field.is(ReportRule::summed)});
  });
}

void ClientTotals::add(std::string_view name, double value) {
  const auto total = std::ranges::find(totals_, name, &Total::of_client);
  if (total == totals_.end()) return;
  total->was_added = true;
  if (!std::isfinite(value)) return;
  if (total->count++ == 0) total->first = value;
  total->over_first += value - total->first;
}

void ClientTotals::visit(function_ref<void(std::string_view, double, bool)> visit) const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double steps = 0;
  for (const Total& total : totals_) {
    if (!total.was_added) continue;
    const double sum = total.count > 0 ? total.first * total.count + total.over_first : kNone;
    visit(total.name, total.is_sum ? sum : total.first + total.over_first / total.count, total.is_sum);
    if (total.of_client == "steps") steps = sum;
    if (total.of_client == "rejected") visit("rejected_share", steps > 0 ? sum / steps : kNone, false);
  }
}

}  // namespace fedstride
