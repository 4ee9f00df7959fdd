#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/plot.hpp"

namespace fedstride {

/// One entry of a figure's legend.
struct LegendEntry {
  std::string name;
  std::size_t look = 0;
  bool is_reference = false;
};

/// A rectangle in pixels from the top left.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// Places of the panels of a figure and of its one legend.
struct Layout {
  double width = 0, height = 0;
  std::size_t columns = 1;
  bool shares_x = false;            ///< tics below the lowest panels alone
  bool shares_y = false;            ///< tics beside the leftmost panels alone
  std::vector<Box> panels = {};     ///< the plotting areas
  std::vector<std::string> titles;  ///< of the panels, cut to their width
  std::vector<LegendEntry> legend = {};
  std::size_t legend_columns = 1;
  std::vector<std::string> row_names = {};  ///< of bars and maps, cut to their width
  double legend_top = 0;

  bool has_x_tics(std::size_t panel) const { return !shares_x || panel + columns >= panels.size(); }
  bool has_y_tics(std::size_t panel) const { return !shares_y || panel % columns == 0; }
};

Layout layout_of(std::span<const Plot> panels);

/// Pixels of a row of the legend, and of a letter at the size of all texts.
inline constexpr double kLegendRow = 21;
inline constexpr double kLetter = 7.6;
inline constexpr double kSwatch = 44;

}  // namespace fedstride
