#include "sweep/report/samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/text.hpp"
#include "sweep/report/metrics.hpp"

namespace fedstride {
namespace {

using Point = FigureData::Point;

constexpr std::size_t kMaxPoints = 200;  // per line
constexpr std::size_t kMaxPanels = 12;   // per figure

Point only(const Point& point, const std::vector<std::string>& keys) {
  Point result;
  for (const auto& part : point)
    if (std::ranges::find(keys, part.first) != keys.end()) result.push_back(part);
  return result;
}

Point without(const Point& point, const std::vector<std::string>& keys) {
  Point result;
  for (const auto& part : point)
    if (std::ranges::find(keys, part.first) == keys.end()) result.push_back(part);
  return result;
}

std::string name_of(const Point& identity) {
  std::string name;
  for (const auto& [key, value] : identity)
    if (!value.empty()) name += (name.empty() ? "" : ", ") + value_label(key, value);
  return name;
}

std::vector<std::string> keys_of(const std::vector<Sample>& samples) {
  std::vector<std::string> keys;
  for (const auto& sample : samples)
    for (const auto& [key, value] : sample.identity)
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

std::set<std::string> values_of(const std::vector<Sample>& samples, const std::string& key) {
  std::set<std::string> values;
  for (const auto& sample : samples) values.insert(value_at(sample.identity, key));
  return values;
}

bool are_distinct(const std::vector<Sample>& samples, const std::vector<std::string>& keys) {
  std::set<std::pair<Point, std::string>> seen;
  return std::ranges::all_of(samples,
                             [&](const Sample& sample) { return seen.emplace(only(sample.identity, keys), sample.slot).second; });
}

// Returns the keys whose values name the lines.
std::vector<std::string> naming_keys(const std::vector<Sample>& samples, const FigureRequest& request) {
  std::vector<std::string> varying, named;
  for (const auto& key : keys_of(samples))
    if (values_of(samples, key).size() > 1) varying.push_back(key);
  if (request.lines.empty()) return varying;
  for (const auto& key : varying)
    if (std::ranges::find(request.lines, key) != request.lines.end()) named.push_back(key);
  for (const auto& key : varying) {
    if (are_distinct(samples, named)) break;
    if (std::ranges::find(named, key) == named.end()) named.push_back(key);
  }
  return named;
}

using Lines = std::vector<std::pair<Point, std::vector<const Sample*>>>;

Lines grouped(const std::vector<Sample>& samples, const std::vector<std::string>& keys) {
  Lines lines;
  std::map<Point, std::size_t> places;
  for (const auto& sample : samples) {
    const Point identity = only(sample.identity, keys);
    const auto [place, is_new] = places.try_emplace(identity, lines.size());
    if (is_new) lines.push_back({identity, {}});
    lines[place->second].second.push_back(&sample);
  }
  return lines;
}

// Returns the key whose values make the fewest panels without overfilling any; empty if there is none. Prefers keys that every
// line has, and numeric keys, since named values are better compared within a panel.
std::string splitting_key(const Lines& lines, const std::vector<std::string>& keys) {
  std::string best;
  std::size_t fewest = 3 * kMaxPanels;
  for (const auto& key : keys) {
    std::map<std::string, std::size_t> sizes;
    bool is_number = true;
    for (const auto& [identity, samples] : lines) {
      const std::string value = value_at(identity, key);
      ++sizes[value];
      is_number = is_number && (value.empty() || number_of(value));
    }
    const bool fits = std::ranges::all_of(sizes, [](const auto& size) { return size.second <= kMaxLines; });
    const std::size_t cost = sizes.size() + (is_number ? 0 : kMaxPanels / 2) + (sizes.contains("") ? kMaxPanels : 0);
    if (fits && sizes.size() > 1 && cost < fewest) {
      fewest = cost;
      best = key;
    }
  }
  return best;
}

// True for a line that shows only a part of a run: one client, or one accountant's epsilon.
bool is_part(const Point& identity) { return !value_at(identity, "client").empty() || !value_at(identity, "accountant").empty(); }

// Returns the identity shared by all samples of a line, without its panel's keys, tuned keys and keys that never vary.
Point thing_of(const FigureData& data, const std::vector<const Sample*>& samples, const Point& panel) {
  Point thing;
  for (const auto& part : samples.front()->identity) {
    const std::string& key = part.first;  // not a structured binding, which Clang 14 cannot capture
    const std::string& value = part.second;
    const bool is_of_run = key == "client" || key == "accountant" || key == "rank";
    if (value.empty() || data.is_tuned(key) || (!is_of_run && data.values(key).size() < 2)) continue;
    if (std::ranges::any_of(panel, [&](const auto& other) { return other.first == key; })) continue;
    if (std::ranges::all_of(samples, [&](const Sample* sample) { return value_at(sample->identity, key) == value; }))
      thing.push_back(part);
  }
  // A client has one look in all configurations.
  return is_part(thing) ? only(thing, {"client", "accountant"}) : thing;
}

// Distinguishes the lines of a panel that differ only in tuned keys.
void make_distinct(std::vector<PlotLine>& lines) {
  std::map<std::string, int> counts;
  for (const auto& line : lines) ++counts[line.thing];
  std::map<Point, int> same;
  for (const auto& line : lines) ++same[line.identity];
  for (auto& line : lines) {
    if (counts[line.thing] > 1) line.thing = line.name;
    if (same[line.identity] > 1) line.identity = {{"", line.name}};
  }
}

// Omits tuned keys from panel titles if the remaining keys identify the panels.
void name_panels(std::vector<Plot>& plots, const std::vector<Point>& points, const std::vector<std::string>& tuned) {
  std::set<std::string> names;
  for (const auto& point : points) names.insert(name_of(without(point, tuned)));
  if (names.size() < points.size() || names.contains("")) return;
  for (std::size_t i = 0; i < plots.size(); ++i) plots[i].panel = name_of(without(points[i], tuned));
}

bool needs_offsets(const Plot& plot) {
  return plot.shows_intervals &&
         std::ranges::count_if(plot.lines, [](const PlotLine& line) {
           return std::ranges::any_of(line.points, [](const PlotPoint& point) { return point.low < point.high; });
         }) > 1;
}

PlotLine drawn(const std::vector<const Sample*>& samples, std::string name) {
  PlotLine line{.name = std::move(name)};
  line.is_reference = std::ranges::all_of(samples, [](const Sample* sample) { return sample->is_reference; });
  for (std::size_t i = 0; i < samples.size(); ++i) {
    // A long line keeps evenly spaced points, including the last.
    const std::size_t step = 1 + (samples.size() - 1) / kMaxPoints;
    if ((samples.size() - 1 - i) % step != 0) continue;
    const SummaryRow& row = *samples[i]->row;
    line.points.push_back({.x = samples[i]->x, .y = row.mean, .low = row.low, .high = row.high, .text = samples[i]->text});
  }
  return line;
}

std::vector<Plot> plots_of(const FigureData& data, const FigureDraft& draft, const FigureRequest& request, std::string& notes) {
  const Plot& model = draft.model;
  std::vector<Sample> samples = draft.samples;
  std::erase_if(samples, [&](const Sample& sample) {
    return (model.log_y && sample.row->mean <= 0) || (model.log_x && sample.x <= 0 && !sample.is_reference);
  });
  const auto keys = naming_keys(samples, request);
  const Lines lines = grouped(samples, keys);
  std::vector<std::string> panels = keys;
  std::erase_if(panels,
                [&](const std::string& key) { return std::ranges::find(draft.panel_keys, key) == draft.panel_keys.end(); });
  if (panels.empty() && lines.size() > kMaxLines)
    if (const auto key = splitting_key(lines, keys); !key.empty()) panels.push_back(key);

  std::vector<Plot> plots;
  std::vector<Point> points;  // identities of the panels
  std::map<Point, std::size_t> last;
  std::size_t left_out = 0;
  for (const auto& [identity, group] : lines) {
    const Point panel = only(identity, panels);
    const Point rest = without(identity, panels);
    const auto [place, is_new] = last.try_emplace(panel, plots.size());
    const bool is_full = !is_new && plots[place->second].lines.size() == kMaxLines;
    if ((is_new || is_full) && plots.size() == kMaxPanels) {
      if (is_new) last.erase(place);
      ++left_out;
      continue;
    }
    if (is_new || is_full) {
      place->second = plots.size();
      plots.push_back(model);
      plots.back().panel = name_of(panel) + (is_full ? (panel.empty() ? "more lines" : ", more lines") : "");
      points.push_back(is_full ? Point{} : panel);
    }
    PlotLine& line = plots[place->second].lines.emplace_back(drawn(group, name_of(rest)));
    line.thing = name_of(without(rest, data.results().experiment.tuning.keys));
    line.is_part = is_part(rest);
    line.identity = thing_of(data, group, panel);
  }
  for (auto& plot : plots) make_distinct(plot.lines);
  name_panels(plots, points, data.results().experiment.tuning.keys);
  if (left_out > 0)
    notes += " Not drawn: " + counted(left_out, "more line", "more lines") +
             "; select some with 'where' in a [[figure]], or see summary.csv.";
  share_scale(plots);
  if (std::ranges::any_of(plots, needs_offsets))
    notes += " Markers and bars that would overlap are drawn side by side; their values are exact.";
  if (std::ranges::any_of(plots, cuts_intervals))
    notes += " Intervals that reach an edge extend beyond it; summary.csv has their ends.";
  return plots;
}

// Returns a caption such as "Mean of 3 seeds; bars: ... Drawn at the best learning-rate, chosen by accuracy on the test set (as
// in the paper)."
std::string caption_of(const FigureData& data, const FigureDraft& draft) {
  const Tuning& tuning = data.results().experiment.tuning;
  int least = 1 << 30, most = 0;
  bool is_ranked = false;
  for (const auto& sample : draft.samples) {
    least = std::min(least, sample.row->n);
    most = std::max(most, sample.row->n);
    is_ranked = is_ranked || (sample.row->rank > 0 && competes(tuning, sample.row->point));
  }
  const bool has_seeds = data.results().experiment.command == "run" || most > 1;
  std::string text = most == 0 || !has_seeds ? ""
                     : most == 1             ? "One seed, so there is no interval."
                                 : "Mean of " + (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) +
                                       " seeds; " +
                                       (!draft.model.shows_intervals ? "summary.csv has 95 % intervals (Student's t)."
                                                                     : std::string("bars: 95 % intervals (Student's t)."));
  if (draft.is_chosen && is_ranked && !tuning.keys.empty())
    text += " Drawn at the best " + joined(tuning.keys) + ", chosen by " + tuning.metric + " on the " + tuning.on + " set" +
            (tuning.why.empty() ? "" : " (" + tuning.why + ")") + ".";
  return text;
}

}  // namespace

bool is_wanted(const SummaryRow& row, const FigureRequest& request, bool all_ranks) {
  for (const auto& [key, value] : request.where)
    if (!same_value(value_at(row.point, key), value)) return false;
  return all_ranks || row.rank == 0 || std::ranges::find(request.ranks, row.rank) != request.ranks.end();
}

Point identity_of(const FigureData& data, const SummaryRow& row, const FigureRequest& request,
                  const std::vector<std::string>& left_out) {
  Point identity = without(row.point, left_out);
  if (request.ranks.size() > 1 && row.rank > 0 && competes(data.results().experiment.tuning, row.point))
    identity.emplace_back("rank", row.rank == 1 ? "best" : row.rank == 2 ? "second best" : "rank " + std::to_string(row.rank));
  return identity;
}

std::string point_text(const SummaryRow& row, const std::string& x_label, const std::string& x) {
  std::string text;
  for (const auto& [key, value] : row.point) text += (text.empty() ? "" : ", ") + key + " " + value;
  if (row.client) text += (text.empty() ? "client " : ", client ") + std::to_string(*row.client);
  if (!text.empty()) text += '\n';
  if (!x.empty()) text += x_label + ": " + x + "\n";
  text += metric_label(row.metric) + ": " + number_text(row.mean);
  if (row.n > 1) text += "\n95 %: " + number_text(row.low) + " to " + number_text(row.high) + ", n = " + std::to_string(row.n);
  return text;
}

Plot metric_plot(const std::string& x_label, const std::string& metric, const FigureRequest& request) {
  Plot plot{.x_label = x_label,
            .y_label = metric_label(metric),
            .log_x = request.log_x.value_or(false),
            .log_y = request.log_y.value_or(false)};
  if (is_never_negative(metric)) plot.least = 0;
  if (is_share(metric)) plot.most = 1;
  return plot;
}

bool spans_decades(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return least > 0 && most / least >= 30;
}

Figure figure_of(const FigureData& data, const FigureRequest& request, FigureDraft draft) {
  Figure figure{.kind = request.kind, .title = request.title.empty() ? draft.title : request.title, .caption = {}};
  if (draft.samples.empty()) {
    figure.caption = "Nothing to draw yet: no matching finished cell has " + draft.missing + ".";
    return figure;
  }
  const bool is_accuracy = draft.samples.front().row->metric == "test_accuracy";
  const std::optional<double> chance = is_accuracy ? chance_accuracy(data.results()) : std::nullopt;
  if (chance && draft.model.style != Plot::Style::bars)
    draft.model.level = *chance, draft.model.level_text = "chance: the commonest class";
  figure.caption = draft.before + caption_of(data, draft) + draft.after;
  figure.plots = plots_of(data, draft, request, figure.caption);
  return figure;
}

}  // namespace fedstride
