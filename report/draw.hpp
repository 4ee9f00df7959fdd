#pragma once

#include <string>

#include "report/plot.hpp"

namespace fedstride {

/// A figure for a page, and for a separate file. In the SVG each number is a transparent
/// `<circle class="v" data-x="..." data-y="...">` in its place, with a <title> for people; there is no script, no
/// document type, and every id begins with `id`.
struct Drawing {
  std::string svg;
  std::string png;
};

/// Throws Error (failure) as run_gnuplot does. `label` describes the picture for people who cannot see it.
Drawing draw(const Plot& plot, const std::string& id, const std::string& label);

/// The number of columns for the names of the lines below the picture.
int name_columns(const Plot& plot);

/// gnuplot's commands for a plot. With `marks`, each number also has its place in the order of lines and points
/// as hypertext.
std::string gnuplot_script(const Plot& plot, const std::string& terminal, bool marks);

/// Converts `source`, the output of gnuplot's svg terminal for a script with marks, into an SVG for a page.
std::string page_svg(const std::string& source, const Plot& plot, const std::string& id, const std::string& label);

}  // namespace fedstride
