#pragma once

#include <span>
#include <string>

#include "report/plot.hpp"

namespace fedstride {

/// A figure for a page, and for separate files: its panels on a grid with one legend below. In the SVG each number is a
/// transparent `<circle class="v" data-x="..." data-y="...">` in its place, with a <title> for people; there is no script, no
/// document type, and every id begins with `id`.
struct Drawing {
  std::string svg;  ///< on white
  std::string png;
  std::string pdf;
};

/// Throws Error (failure) as run_gnuplot does. `label` describes the figure for people who cannot see it.
Drawing draw(std::span<const Plot> panels, const std::string& id, const std::string& label);

/// gnuplot's commands for the panels of a figure. With `marks`, each number also has its place in the order of panels, lines
/// and points as hypertext.
std::string gnuplot_script(std::span<const Plot> panels, const std::string& terminal, bool marks);

/// Width and height of a figure in pixels.
struct FigureSize {
  double width = 0;
  double height = 0;
};
FigureSize figure_size(std::span<const Plot> panels);

/// Converts `source`, the output of gnuplot's svg terminal for a script with marks, into an SVG for a page.
std::string page_svg(const std::string& source, std::span<const Plot> panels, const std::string& id, const std::string& label);

}  // namespace fedstride
