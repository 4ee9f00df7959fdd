#include "sweep/report/result_grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/text.hpp"
#include "sweep/report/metrics.hpp"
#include "sweep/results/settings_of_cells.hpp"

namespace fedstride {
namespace {

using Values = MethodTable::Values;

constexpr double kSignificant = 0.05;
constexpr std::string_view kAccuracy = "test_accuracy";
constexpr std::size_t kMaxSentences = 12;

/// The number format of a column.
struct Decimals {
  int places = 4;
  bool is_scientific = false;

  std::string text(double value) const {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, is_scientific ? "%.*e" : "%.*f", places, value);
    return buffer;
  }
};

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Shows two significant digits of the median half-interval or, without intervals, four of the median absolute mean.
Decimals decimals_of(const std::vector<Compared>& column) {
  std::vector<double> halves, sizes;
  for (const Compared& one : column) {
    const SeedStatistics& all = one.statistics;
    if (all.n == 0) continue;
    if (all.high > all.low) halves.push_back((all.high - all.low) / 2);
    if (all.mean != 0) sizes.push_back(std::fabs(all.mean));
  }
  if (sizes.empty()) return {.places = 0};
  const auto power = [](double value) { return static_cast<int>(std::floor(std::log10(value))); };
  const int places = halves.empty() ? 3 - power(middle_of(sizes)) : 1 - power(middle_of(halves));
  if (places > 6 || std::ranges::max(sizes) >= 1e9) return {.places = 1, .is_scientific = true};
  return {.places = std::max(places, 0)};
}

double half_of(const SeedStatistics& all) { return (all.high - all.low) / 2; }

std::string p_text(double p) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, p < 0.001 ? "p < 0.001" : "p = %.3f", p);
  return buffer;
}

std::string interval_text(const SeedStatistics& all, const Decimals& decimals) {
  return decimals.text(all.low) + " to " + decimals.text(all.high);
}

bool excludes_zero(const SeedStatistics& all) { return all.n > 1 && (all.low > 0 || all.high < 0); }

/// True if, for every other method, the interval of the best method's lead excludes 0.
bool is_led(const std::vector<Compared>& column) {
  return std::ranges::all_of(column,
                             [](const Compared& one) { return one.is_best || one.statistics.n == 0 || excludes_zero(one.lead); });
}

/// `leads`: the column's best may be marked, because intervals justify it or, with single seeds, there are no intervals.
GridCell cell_of(const Compared& entry, const Decimals& decimals, bool is_compared, bool leads) {
  const SeedStatistics& all = entry.statistics;
  if (entry.never > 0)
    return {.mean = "never", .detail = counted(static_cast<std::uint64_t>(entry.never), "seed") + " never reached the target"};
  if (all.n == 0) return {};
  GridCell cell{.mean = decimals.text(all.mean),
                .half = all.n < 2 ? "" : decimals.text(half_of(all)),
                .is_best = is_compared && entry.is_best && leads,
                .is_worse = is_compared && entry.p < kSignificant,
                .detail = number_text(all.mean)};
  if (all.n > 1) cell.detail += "; 95 %: " + number_text(all.low) + " to " + number_text(all.high);
  cell.detail += "; " + counted(static_cast<std::uint64_t>(all.n), "seed");
  if (is_compared && !std::isnan(entry.p)) cell.detail += "; " + p_text(entry.p) + " against the best";
  return cell;
}

/// The facts that a table's note depends on.
struct Notes {
  int least = 1 << 30, most = 0, pairs = 0;
  bool is_compared = false, has_stars = false, has_never = false;

  void add(const Compared& entry, const GridCell& cell, bool is_compared_here) {
    has_never = has_never || entry.never > 0;
    if (entry.statistics.n == 0) return;
    least = std::min(least, entry.statistics.n);
    most = std::max(most, entry.statistics.n);
    pairs = std::max(pairs, entry.lead.n);
    is_compared = is_compared || is_compared_here;
    has_stars = has_stars || cell.is_worse;
  }
};

std::string note_of(const SweepResults& sweep, const Notes& notes, bool has_accuracy) {
  const Tuning& tuning = sweep.experiment.tuning;
  const bool is_run = sweep.experiment.command == "run";
  std::string text = is_run ? "After the last round." : "";
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
  if (notes.most > 1)
    add("Mean over " + (notes.least == notes.most ? "" : std::to_string(notes.least) + " to ") + std::to_string(notes.most) +
        " seeds ± half the width of its 95 % interval (Student's t).");
  else if (is_run)
    add("One seed, so there is no interval.");
  if (!tuning.keys.empty())
    add("Each at the best " + joined(tuning.keys) + ", chosen by " + tuning.metric + " on the " + tuning.on + " set.");
  if (const auto chance = has_accuracy ? chance_accuracy(sweep) : std::nullopt)
    add("Always predicting the commonest class has a test accuracy of " + number_text(std::round(*chance * 1e4) / 1e4) + ".");
  const Target& target = sweep.experiment.target;
  if (target.is_declared())
    add("Target: the first of " + std::to_string(kEvaluationsInARow) + " evaluations in a row with " +
        (target.metric == "r2" ? "R2" : target.metric) + (target.metric == "loss" ? " at or below " : " at or above ") +
        number_text(target.at) + (notes.has_never ? "; never: at least one seed did not reach it." : "."));
  if (notes.is_compared)
    add(notes.most > 1 ? "Bold: the best mean of its column, if the interval of its lead over each of the others excludes 0."
                       : "Bold: the best of its column.");
  if (notes.has_stars)
    add("*: differs from the best (p < 0.05; two-sided paired t-test over common seeds, Holm's correction within the column; the "
        "best was chosen from the same numbers).");
  else if (notes.is_compared && notes.pairs >= kMinTestedPairs)
    add("None differs from the best of its column at p < 0.05 (two-sided paired t-test over common seeds, Holm's correction).");
  else if (notes.is_compared && notes.pairs > 1)
    add("Fewer than " + std::to_string(kMinTestedPairs) + " seeds are too few for a test.");
  return text;
}

std::vector<GridCell> cells_of(const std::vector<Compared>& column, bool is_compared, Notes& notes) {
  const bool has_intervals = std::ranges::any_of(column, [](const Compared& entry) { return entry.statistics.n > 1; });
  const bool leads = !has_intervals || is_led(column);
  const Decimals decimals = decimals_of(column);
  std::vector<GridCell> cells;
  cells.reserve(column.size());
  for (const Compared& entry : column) {
    cells.push_back(cell_of(entry, decimals, is_compared, leads));
    notes.add(entry, cells.back(), is_compared);
  }
  return cells;
}

ResultGrid grid_by_condition(const SweepResults& sweep, const MethodTable& table, const std::string& metric) {
  ResultGrid grid{.metric = metric,
                  .row_keys = table.method_keys,
                  .rows = table.methods,
                  .heads = table.condition_keys,
                  .columns = table.conditions};
  const Comparison comparison = compare(table, metric);
  Notes notes;
  for (const auto& column : comparison.entries) {
    grid.cells.push_back(cells_of(column, comparison.is_compared, notes));
  }
  grid.note = note_of(sweep, notes, metric == kAccuracy);
  grid.settings = settings_of_methods(sweep, table);
  return grid;
}

ResultGrid grid_by_metric(const SweepResults& sweep, const MethodTable& table) {
  const bool by_method = table.conditions.size() == 1;
  ResultGrid grid{.row_keys = by_method ? table.method_keys : table.condition_keys,
                  .rows = by_method ? table.methods : table.conditions,
                  .heads = {""}};
  if (grid.row_keys.empty()) grid.row_keys = {"run"}, grid.rows = {{sweep.experiment.name}};
  Notes notes;
  const auto metrics = compared_metrics(sweep);
  for (const auto& metric : metrics) {
    const Comparison comparison = compare(table, metric);
    std::vector<Compared> column;
    for (const auto& entries : comparison.entries) column.insert(column.end(), entries.begin(), entries.end());
    grid.columns.push_back({title_of_metric(metric)});
    grid.cells.push_back(cells_of(column, comparison.is_compared, notes));
  }
  grid.note = note_of(sweep, notes, std::ranges::find(metrics, kAccuracy) != metrics.end());
  grid.settings = settings_of_methods(sweep, table);
  return grid;
}

std::string name_of(const std::vector<std::string>& keys, const Values& values, bool with_keys) {
  std::string name;
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (!values[k].empty())
      name += (name.empty() ? "" : ", ") + (with_keys ? keys[k] + " " + values[k] : value_label(keys[k], values[k]));
  return name.empty() ? "the default" : name;
}

/// Writes the sentences about one metric.
class Sentences {
 public:
  Sentences(const MethodTable& table, const std::string& metric) : table_(table), comparison_(compare(table, metric)) {
    metric_ = title_of_metric(metric);
    if (!metric_.empty()) metric_[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(metric_[0])));
  }

  std::vector<std::string> all() const {
    if (!comparison_.is_compared) return without_methods();
    std::vector<std::string> sentences;
    std::vector<std::size_t> wins(table_.methods.size());
    std::size_t contests = 0, led = 0;
    bool has_intervals = false;
    for (std::size_t c = 0; c < table_.conditions.size(); ++c) {
      const auto best = best_of(c);
      if (best == wins.size()) continue;
      ++wins[best];
      ++contests;
      has_intervals = has_intervals || comparison_.entries[c][best].statistics.n > 1;
      if (is_led(comparison_.entries[c])) ++led;
      sentences.push_back(winner(c, best));
    }
    if (contests < 2) return sentences;
    std::vector<std::size_t> order(wins.size());
    for (std::size_t m = 0; m < order.size(); ++m) order[m] = m;
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t m) { return wins[m]; });
    std::vector<std::string> parts;
    for (const std::size_t m : order)
      if (wins[m] > 0)
        parts.push_back(method(m) + (parts.empty() ? " has the " + extreme() + " mean " + metric_ + " in " : " in ") +
                        std::to_string(wins[m]) + (parts.empty() ? " of " + std::to_string(contests) + " conditions" : ""));
    if (sentences.size() > kMaxSentences) sentences.clear();
    const std::string sure =
        !has_intervals ? ""
                       : " The interval of the lead excludes 0 in " + (led == 0 ? "none" : std::to_string(led)) + " of them.";
    sentences.insert(sentences.begin(), joined(parts) + "." + sure);
    return sentences;
  }

 private:
  std::string method(std::size_t m) const { return name_of(table_.method_keys, table_.methods[m], false); }
  std::string extreme() const { return comparison_.highest ? "highest" : "lowest"; }

  std::size_t best_of(std::size_t condition) const {
    const auto& column = comparison_.entries[condition];
    return static_cast<std::size_t>(std::ranges::find_if(column, &Compared::is_best) - column.begin());
  }

  static std::string with_interval(const SeedStatistics& all) {
    const Decimals decimals = decimals_of({{.statistics = all}});
    return decimals.text(all.mean) +
           (all.n < 2 ? " (one seed)"
                      : " (95 % interval " + interval_text(all, decimals) + ", " + std::to_string(all.n) + " seeds)");
  }

  // States a condition's best method and its lead over the next.
  std::string winner(std::size_t condition, std::size_t best) const {
    const auto& column = comparison_.entries[condition];
    const std::string number = with_interval(column[best].statistics);
    std::string text = table_.conditions.size() == 1 ? method(best) + " has the " + extreme() + " mean " + metric_ + ", " + number
                                                     : name_of(table_.condition_keys, table_.conditions[condition], true) + ": " +
                                                           method(best) + ", " + number;
    std::size_t next = column.size();
    for (std::size_t m = 0; m < column.size(); ++m) {
      const double mean = column[m].statistics.mean;
      if (m == best || column[m].statistics.n == 0) continue;
      if (next == column.size() ||
          (comparison_.highest ? mean > column[next].statistics.mean : mean < column[next].statistics.mean))
        next = m;
    }
    if (next == column.size()) return text + ".";
    const Compared& other = column[next];
    const SeedStatistics& lead = other.lead;
    if (lead.n == 0) return text + "; the next, " + method(next) + ", has no seed in common with it.";
    const Decimals decimals = decimals_of({{.statistics = lead}});
    const double distance = comparison_.highest ? lead.mean : -lead.mean;
    text += "; " + decimals.text(distance) + (comparison_.highest ? " above " : " below ") + method(next);
    if (lead.n < 2) return text + ", on one seed, which cannot rule out chance.";
    const double half = half_of(lead);
    text += " (paired 95 % interval " + decimals.text(distance - half) + " to " + decimals.text(distance + half) + ")";
    if (lead.n < kMinTestedPairs) return text + ". " + std::to_string(lead.n) + " seeds are too few for a test.";
    if (std::isnan(other.p)) return text + ".";
    return text + ". The difference is " + (other.p < kSignificant ? "" : "not ") + "significant (" + p_text(other.p) + ").";
  }

  // Without competing methods: states the only number, or the highest and lowest.
  std::vector<std::string> without_methods() const {
    std::vector<std::pair<const SeedStatistics*, std::string>> all;
    for (std::size_t c = 0; c < table_.conditions.size(); ++c)
      for (const Compared& entry : comparison_.entries[c])
        if (entry.statistics.n > 0)
          all.emplace_back(&entry.statistics, name_of(table_.condition_keys, table_.conditions[c], true));
    if (all.empty()) return {};
    std::string title = metric_;
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    if (all.size() == 1) return {title + " after the last round: " + with_interval(*all.front().first) + "."};
    const auto [low, high] = std::ranges::minmax_element(all, {}, [](const auto& one) { return one.first->mean; });
    const auto& from = comparison_.highest ? *high : *low;
    const auto& to = comparison_.highest ? *low : *high;
    return {title + " is " + (comparison_.highest ? "highest" : "lowest") + " at " + from.second + ", " +
            with_interval(*from.first) + ", and " + (comparison_.highest ? "lowest" : "highest") + " at " + to.second + ", " +
            with_interval(*to.first) + "."};
  }

  const MethodTable& table_;
  Comparison comparison_;
  std::string metric_;
};

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right, std::string_view blank = " ") {
  std::string room;
  for (std::size_t i = characters(text); i < width; ++i) room += blank;
  return right ? room + text : text + room;
}

// Returns a key's value, or a dash if the configuration lacks the key.
std::string shown_value(const std::string& value) { return value.empty() ? "–" : value; }

template <class Member>
std::size_t widest(const std::vector<GridCell>& cells, Member member) {
  std::size_t width = 0;
  for (const GridCell& cell : cells) width = std::max(width, (cell.*member).size());
  return width;
}

// Returns text such as "0.920 ± 0.025", padded so that the decimals of a column align.
std::string cell_text(const GridCell& cell, std::size_t mean, std::size_t half, std::string_view blank) {
  if (cell.mean.empty()) return "–";
  std::string text = padded(cell.mean, mean, true, blank);
  if (half == 0) return text;
  return text + (cell.half.empty() ? padded("", half + 3, true, blank) : " ± " + padded(cell.half, half, true, blank));
}

std::string head_cell(std::size_t columns, const std::string& text) {
  return "<th class=\"n\"" + (columns > 1 ? " colspan=\"" + std::to_string(columns) + "\"" : "") + ">" + escaped(text) + "</th>";
}

std::string note_html(const std::string& note) { return note.empty() ? "" : "<p class=\"note\">" + escaped(note) + "</p>\n"; }

std::string grid_html(const ResultGrid& grid) {
  constexpr std::size_t kMaxRows = 500;
  constexpr std::string_view kFigureSpace = "\u2007";  // as wide as a digit
  std::string blank;
  for (std::size_t k = 0; k < grid.row_keys.size(); ++k) blank += "<td></td>";
  std::string html = "<div class=\"wide\"><table class=\"results\">\n<thead>";
  for (std::size_t h = 0; h + 1 < grid.heads.size(); ++h) {
    html += "<tr>" + blank;
    for (std::size_t from = 0; from < grid.columns.size();) {
      std::size_t end = from + 1;  // equal neighbors share a head
      while (end < grid.columns.size() && shares_head(grid, h, from, end)) ++end;
      html += head_cell(end - from, grid.heads[h] + " " + shown_value(grid.columns[from][h]));
      from = end;
    }
    html += "</tr>";
  }
  if (!grid.heads.back().empty()) html += "<tr>" + blank + head_cell(grid.columns.size(), grid.heads.back()) + "</tr>";
  html += "<tr>";
  for (const auto& key : grid.row_keys) html += "<th>" + escaped(key) + "</th>";
  for (const auto& column : grid.columns) html += head_cell(1, shown_value(column.back()));
  html += "</tr>";
  html += "</thead>\n<tbody>\n";
  for (std::size_t r = 0; r < std::min(grid.rows.size(), kMaxRows); ++r) {
    html += "<tr>";
    for (std::size_t k = 0; k < grid.row_keys.size(); ++k)
      html += std::string("<th scope=\"row\"") + (has_numbers(grid, k) ? " class=\"n\"" : "") + ">" + escaped(grid.rows[r][k]) +
              "</th>";
    for (const auto& column : grid.cells) {
      const GridCell& cell = column[r];
      const bool has_stars = std::ranges::any_of(column, &GridCell::is_worse);
      html += "<td class=\"n" + std::string(cell.is_best ? " best" : "") + "\" title=\"" + escaped(cell.detail) + "\">" +
              cell_text(cell, widest(column, &GridCell::mean), widest(column, &GridCell::half), kFigureSpace) +
              (has_stars ? std::string("<span class=\"star\">") + (cell.is_worse ? "*" : "") + "</span>" : "") + "</td>";
    }
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (grid.rows.size() > kMaxRows)
    html +=
        "<p class=\"note\">The first " + std::to_string(kMaxRows) + " of " + std::to_string(grid.rows.size()) + " rows.</p>\n";
  return html;
}

std::string grid_lines(const ResultGrid& grid) {
  // Lines are built column by column, label columns first.
  std::vector<std::string> lines(grid.heads.size() + grid.rows.size());
  const auto add = [&](const std::vector<std::string>& texts, bool right) {
    std::size_t width = 0;
    for (const auto& text : texts) width = std::max(width, characters(text));
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += (lines[i].empty() ? "" : "  ") + padded(texts[i], width, right);
  };
  for (std::size_t k = 0; k < grid.row_keys.size(); ++k) {
    std::vector<std::string> texts(grid.heads.size() - 1);
    texts.push_back(grid.row_keys[k]);
    for (const auto& row : grid.rows) texts.push_back(one_line(row[k]));
    add(texts, has_numbers(grid, k));
  }
  if (grid.heads.front() != "") {
    std::vector<std::string> texts;
    for (const auto& head : grid.heads) texts.push_back(head);
    texts.resize(lines.size());
    add(texts, true);
  }
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::vector<std::string> texts;
    for (const auto& text : grid.columns[c]) texts.push_back(one_line(shown_value(text)));
    const auto& column = grid.cells[c];
    const bool has_best = std::ranges::any_of(column, &GridCell::is_best);
    const bool has_stars = std::ranges::any_of(column, &GridCell::is_worse);
    for (const GridCell& cell : column)
      texts.push_back(cell_text(cell, widest(column, &GridCell::mean), widest(column, &GridCell::half), " ") +
                      (cell.is_best ? " best"
                       : has_best   ? (cell.is_worse ? " *   " : "     ")
                       : has_stars  ? (cell.is_worse ? " *" : "  ")
                                    : ""));
    add(texts, true);
  }
  std::string text;
  for (auto& line : lines) text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

std::size_t width_of(const std::string& lines) {
  std::size_t width = 0;
  for (const auto line : split(lines, '\n')) width = std::max(width, characters(line));
  return width;
}

}  // namespace

std::vector<ResultGrid> result_grids(const SweepResults& results) {
  const MethodTable table = method_table(results);
  if (table.methods.empty()) return {};
  if (table.methods.size() == 1 || table.conditions.size() == 1) return {grid_by_metric(results, table)};
  std::vector<ResultGrid> grids;
  for (const auto& metric : compared_metrics(results)) grids.push_back(grid_by_condition(results, table, metric));
  return grids;
}

bool shares_head(const ResultGrid& grid, std::size_t line, std::size_t column, std::size_t other) {
  const auto first = grid.columns[column].begin();
  return std::equal(first, first + static_cast<std::ptrdiff_t>(line) + 1, grid.columns[other].begin());
}

bool has_numbers(const ResultGrid& grid, std::size_t key) {
  return std::ranges::all_of(grid.rows, [&](const auto& row) { return row[key].empty() || number_of(row[key]); });
}

std::vector<ResultGrid> split_columns(const ResultGrid& grid, std::size_t most) {
  std::vector<ResultGrid> parts;
  for (std::size_t from = 0; from < grid.columns.size(); from += most) {
    const auto begin = static_cast<std::ptrdiff_t>(from);
    const auto end = static_cast<std::ptrdiff_t>(std::min(from + most, grid.columns.size()));
    ResultGrid& part = parts.emplace_back(grid);
    part.columns.assign(grid.columns.begin() + begin, grid.columns.begin() + end);
    part.cells.assign(grid.cells.begin() + begin, grid.cells.begin() + end);
  }
  return parts;
}

std::vector<std::string> result_sentences(const SweepResults& results) {
  const auto metrics = compared_metrics(results);
  const MethodTable table = method_table(results);
  if (results.experiment.command != "run" || metrics.empty() || table.methods.empty()) return {};
  return Sentences(table, metrics.front()).all();
}

std::string results_html(const SweepResults& results) {
  const auto grids = result_grids(results);
  if (grids.empty()) return {};
  const auto sentences = result_sentences(results);
  std::string html = "<h2>Results</h2>\n";
  if (!sentences.empty()) html += "<p class=\"winner\">" + escaped(sentences.front()) + "</p>\n";
  if (sentences.size() > 1) {
    html += "<ul>\n";
    for (std::size_t i = 1; i < sentences.size(); ++i) html += "<li>" + escaped(sentences[i]) + "</li>\n";
    html += "</ul>\n";
  }
  // A single configuration is already in the table of configurations.
  const bool is_one = grids.front().rows.size() == 1 && grids.front().metric.empty();
  std::string note;
  for (const ResultGrid& grid : is_one ? std::vector<ResultGrid>{} : grids) {
    if (!note.empty() && note != grid.note) html += note_html(note);
    note = grid.note;
    html += (grid.metric.empty() ? "" : "<h3>" + escaped(title_of_metric(grid.metric)) + "</h3>\n") + grid_html(grid);
  }
  return html + note_html(note) + note_html(grids.front().settings);
}

ResultsText results_text(const SweepResults& results, std::size_t width) {
  const auto grids = result_grids(results);
  if (grids.empty()) return {};
  const ResultGrid& grid = grids.front();
  std::size_t most = std::max<std::size_t>(grid.columns.size(), 1);
  const auto fits = [&](std::size_t columns) {
    return std::ranges::all_of(split_columns(grid, columns),
                               [&](const ResultGrid& part) { return width_of(grid_lines(part)) <= width; });
  };
  while (most > 1 && !fits(most)) --most;
  ResultsText text{.table = grid.metric.empty() ? "" : title_of_metric(grid.metric) + "\n"};
  for (const ResultGrid& part : split_columns(grid, most)) text.table += grid_lines(part);
  // In plain text, a word marks the best.
  text.sentences = {grid.note};
  if (const auto bold = grid.note.find("Bold:"); bold != std::string::npos) text.sentences.front().replace(bold, 4, "best");
  if (auto said = result_sentences(results); !said.empty()) text.sentences.push_back(std::move(said.front()));
  return text;
}

}  // namespace fedstride
