#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// A figure of the page: one or several pictures under one title, with a caption.
struct Figure {
  std::string kind;
  std::string title;
  std::string caption;
  std::vector<Plot> plots = {};  ///< none: there is nothing to draw and the caption says why
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
  /// The values of a key among the configurations that were run, in their order.
  std::vector<std::string> values(std::string_view key) const;
  /// Swept keys except the seed, in the order of the axes; then those of them with two numbers or more.
  const std::vector<std::string>& keys() const { return keys_; }
  std::vector<std::string> numeric_keys() const;
  bool is_tuned(std::string_view key) const;

 private:
  const SweepResults* results_;
  std::map<std::string, Rows, std::less<>> rows_;
  std::vector<std::string> keys_;
};

/// The value of a key at a point of the grid; "" if it has none.
std::string value_at(const FigureData::Point& point, std::string_view key);

/// True if a configuration has a tuned key, and so competes with others that differ in tuned keys alone.
bool competes(const Tuning& tuning, const FigureData::Point& point);

/// One kind of figure: the function that draws a request, and the default requests if the experiment file has none.
struct FigureKind {
  std::string_view name;
  std::vector<FigureRequest> (*automatic)(const FigureData& data);
  Figure (*draw)(const FigureData& data, const FigureRequest& request);
};

/// All kinds, in their order on a page.
std::span<const FigureKind> figure_kinds();

/// The figures requested by the experiment file, else the default ones. Throws Error (usage) for an unknown kind or key.
std::vector<Figure> figures_of(const SweepResults& results);

// The kinds, in files of similar ones.
Figure draw_by_round(const FigureData& data, const FigureRequest& request);
Figure draw_by_key(const FigureData& data, const FigureRequest& request);
Figure draw_lines(const FigureData& data, const FigureRequest& request);
Figure draw_by_epsilon(const FigureData& data, const FigureRequest& request);
Figure draw_epsilon(const FigureData& data, const FigureRequest& request);
Figure draw_clients(const FigureData& data, const FigureRequest& request);
Figure draw_client_spread(const FigureData& data, const FigureRequest& request);
Figure draw_partition(const FigureData& data, const FigureRequest& request);
Figure draw_time(const FigureData& data, const FigureRequest& request);

}  // namespace fedstride
