#pragma once

#include <string>

#include "report/plot.hpp"

namespace fedstride {

/// A figure as it stands in a page, and for a file of its own. In the SVG each number is a transparent
/// `<circle class="v" data-x="..." data-y="...">` in its place, with a <title> for people; there is no script, no
/// document type, and every id begins with `id`.
struct Drawing {
  std::string svg;
  std::string png;
};

/// Throws Error (failure) as run_gnuplot does. `label` is for people who do not see the picture.
Drawing draw(const Plot& plot, const std::string& id, const std::string& label);

/// Columns in which the names of the lines have room below the picture.
int name_columns(const Plot& plot);

/// gnuplot's commands for a plot. With `marks`, each number is also marked by its place in the order of lines and
/// points as hypertext.
std::string gnuplot_script(const Plot& plot, const std::string& terminal, bool marks);

/// What gnuplot's svg terminal wrote for a script with marks, made fit for a page.
std::string page_svg(const std::string& svg, const Plot& plot, const std::string& id, const std::string& label);

}  // namespace fedstride
