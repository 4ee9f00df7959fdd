#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// A figure of the page: one or several pictures under one title, and what has to be known to read them.
struct Figure {
  std::string kind;
  std::string title;
  std::string caption;
  std::vector<Plot> plots = {};  ///< none: there is nothing to draw, the caption says why
};

/// A sweep's results, sorted for drawing: the rows of the summary by metric. Refers to the results.
class FigureData {
 public:
  using Rows = std::vector<const SummaryRow*>;
  using Point = std::vector<std::pair<std::string, std::string>>;

  explicit FigureData(const SweepResults& results);

  const SweepResults& results() const { return *results_; }
  const Rows& rows(std::string_view metric) const;
  std::vector<std::string> metrics() const;
  bool has_rounds(std::string_view metric) const;   ///< known after two rounds at least, of one configuration
  bool has_clients(std::string_view metric) const;  ///< known of two clients at least
  /// Values that a key has among the configurations that were run, in their order.
  std::vector<std::string> values(std::string_view key) const;
  /// Swept keys but for the seed, in the order of the axes; likewise those with two numbers or more.
  const std::vector<std::string>& keys() const { return keys_; }
  std::vector<std::string> numeric_keys() const;
  bool is_tuned(std::string_view key) const;

 private:
  const SweepResults* results_;
  std::map<std::string, Rows, std::less<>> rows_;
  std::vector<std::string> keys_;
};

/// The value of a key at a point of the grid; "" where it has none.
std::string value_at(const FigureData::Point& point, std::string_view key);

/// Whether a configuration competes with others that differ in tuned keys alone: it has such a key.
bool competes(const Tuning& tuning, const FigureData::Point& point);

/// One kind: what it draws of a request, and the requests that are made of it where the experiment file makes none.
struct FigureKind {
  std::string_view name;
  std::vector<FigureRequest> (*automatic)(const FigureData& data);
  Figure (*draw)(const FigureData& data, const FigureRequest& request);
};

/// All kinds, in the order in which they stand on a page.
std::span<const FigureKind> figure_kinds();

/// What the experiment file asks for, else what makes sense. Throws Error (usage) for an unknown kind or key.
std::vector<Figure> figures_of(const SweepResults& results);

// The kinds; each in a file with its likes.
Figure draw_by_round(const FigureData& data, const FigureRequest& request);
Figure draw_by_key(const FigureData& data, const FigureRequest& request);
Figure draw_lines(const FigureData& data, const FigureRequest& request);
Figure draw_by_epsilon(const FigureData& data, const FigureRequest& request);
Figure draw_epsilon(const FigureData& data, const FigureRequest& request);
Figure draw_clients(const FigureData& data, const FigureRequest& request);
Figure draw_partition(const FigureData& data, const FigureRequest& request);
Figure draw_time(const FigureData& data, const FigureRequest& request);

}  // namespace fedstride
