#include <algorithm>
#include <map>
#include <unordered_map>

#include "sweep/results/places.hpp"
#include "sweep/results/summary.hpp"

namespace fedstride {
namespace {

struct Standing {
  int lacking = 0;  // finished seeds without the number
  double mean = 0;
};

std::optional<Standing> standing(const std::string& metric, const Seeds& seeds) {
  std::vector<double> values;
  int finished = 0;
  for (const CellResult* cell : seeds) {
    if (cell->status != "finished") continue;
    ++finished;
    if (const auto found = cell->numbers.find(metric); found != cell->numbers.end()) values.push_back(found->second);
  }
  if (values.empty()) return std::nullopt;
  return Standing{.lacking = finished - static_cast<int>(values.size()), .mean = statistics(values).mean};
}

bool is_tuned(const Tuning& tuning, const std::string& key) { return std::ranges::find(tuning.keys, key) != tuning.keys.end(); }

// Configurations with the same text compete: all of the point but what is tuned, and the seed.
std::string contest(const Tuning& tuning, const Cell& cell) {
  std::string text;
  for (const auto& [key, value] : cell.point)
    if (key != "seed" && !is_tuned(tuning, key)) text += key + '\0' + value + '\0';
  return text;
}

}  // namespace

std::vector<Seeds> by_configuration(const std::vector<CellResult>& cells) {
  std::vector<Seeds> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (const CellResult& cell : cells) {
    const auto [place, fresh] = known.try_emplace(cell.cell.configuration, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(&cell);
  }
  return groups;
}

std::vector<std::size_t> ordered(const Tuning& tuning, const std::vector<Seeds>& configurations) {
  std::vector<std::pair<Standing, std::size_t>> list;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (const auto stands = standing(tuning.metric_name(), configurations[i])) list.emplace_back(*stands, i);
  const bool highest = tuning.metric != "loss";
  std::ranges::stable_sort(list, [&](const auto& a, const auto& b) {
    if (a.first.lacking != b.first.lacking) return a.first.lacking < b.first.lacking;
    return highest ? a.first.mean > b.first.mean : a.first.mean < b.first.mean;
  });
  std::vector<std::size_t> order;
  order.reserve(list.size());
  for (const auto& [stands, place] : list) order.push_back(place);
  return order;
}

std::unordered_map<std::string, int> places(const Experiment& experiment, const std::vector<CellResult>& cells) {
  std::unordered_map<std::string, int> ranks;
  if (experiment.tuning.keys.empty()) return ranks;
  std::map<std::string, std::vector<Seeds>> contests;
  for (Seeds& seeds : by_configuration(cells)) {
    const std::string text = contest(experiment.tuning, seeds.front()->cell);
    contests[text].push_back(std::move(seeds));
  }
  for (const auto& [text, configurations] : contests) {
    int rank = 0;
    for (const std::size_t place : ordered(experiment.tuning, configurations))
      ranks[configurations[place].front()->cell.configuration] = ++rank;
  }
  return ranks;
}

}  // namespace fedstride
