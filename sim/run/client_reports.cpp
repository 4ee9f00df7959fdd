#include "sim/run/client_reports.hpp"

#include <algorithm>
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
  std::vector<std::pair<std::uint64_t, std::size_t>> drawn;  // the places break ties
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

}  // namespace fedstride
