#include "sweep/report/looks.hpp"

#include <algorithm>
#include <set>

namespace fedstride {

std::vector<std::size_t> Looks::alike(bool is_part, const Thing& thing) const {
  const auto within = [](const Thing& a, const Thing& b) {
    return std::ranges::all_of(a, [&](const auto& part) { return std::ranges::find(b, part) != b.end(); });
  };
  std::vector<std::size_t> looks;
  for (const auto& [known, look] : known_)
    if (known.first == is_part && (within(known.second, thing) || within(thing, known.second)) &&
        std::ranges::find(looks, look) == looks.end())
      looks.push_back(look);
  return looks;
}

void Looks::assign(Plot& plot) {
  if (plot.style == Plot::Style::bars || plot.style == Plot::Style::map) return;
  std::set<std::size_t> taken;
  const auto key_of = [](const PlotLine& line) {
    return std::pair(line.is_part, line.identity.empty() ? Thing{{"", line.name}} : line.identity);
  };
  std::vector<PlotLine*> left;
  for (auto& line : plot.lines) {
    const auto found = known_.find(key_of(line));
    if (found != known_.end() && taken.insert(found->second).second)
      line.look = found->second;
    else
      left.push_back(&line);
  }
  // A line that matches exactly one known look takes it, unless another line matches the same look.
  std::map<std::size_t, std::vector<PlotLine*>> meant;
  for (PlotLine* line : left)
    if (const auto looks = alike(line->is_part, key_of(*line).second); looks.size() == 1 && !taken.contains(looks.front()))
      meant[looks.front()].push_back(line);
  for (const auto& [look, lines] : meant) {
    if (lines.size() > 1) continue;
    lines.front()->look = look;
    taken.insert(look);
    known_.try_emplace(key_of(*lines.front()), look);
    std::erase(left, lines.front());
  }
  for (PlotLine* line : left) {
    const std::size_t first = line->is_part ? kMaxLines : 0;
    std::size_t best = kLooks.size();
    for (std::size_t look = first; look < first + kMaxLines; ++look)
      if (!taken.contains(look) && (best == kLooks.size() || uses_[look] < uses_[best])) best = look;
    if (best == kLooks.size()) best = first;  // more lines than a plot can distinguish
    taken.insert(best);
    line->look = best;
    if (known_.try_emplace(key_of(*line), best).second) ++uses_[best];
  }
}

}  // namespace fedstride
