#include "report/draw.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"

namespace fedstride {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

/// Cuts out everything from each `begin` through the next `end`.
void cut_all(std::string& text, std::string_view begin, std::string_view end) {
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    const auto last = text.find(end, at + begin.size());
    text.erase(at, last == std::string::npos ? last : last + end.size() - at);
  }
}

std::string circle(const PlotPoint& point, std::string_view x, std::string_view y) {
  std::string text = "<circle class=\"v\" cx=\"" + std::string(x) + "\" cy=\"" + std::string(y) + "\" r=\"6\" data-x=\"" +
                     number_text(point.x) + "\" data-y=\"" + number_text(point.y) + '"';
  if (std::isfinite(point.low))
    text += " data-low=\"" + number_text(point.low) + "\" data-high=\"" + number_text(point.high) + '"';
  return text + "><title>" + escaped(point.text) + "</title></circle>\n";
}

/// Makes every id, and every reference to one, unique to this picture. Only tags are changed, since text may look the same.
std::string with_ids(const std::string& svg, const std::string& id) {
  std::string result;
  for (std::size_t at = 0; at < svg.size();) {
    const std::size_t open = std::min(svg.find('<', at), svg.size()), close = std::min(svg.find('>', open), svg.size() - 1);
    result.append(svg, at, open - at);
    if (open == svg.size()) break;
    std::string tag = svg.substr(open, close + 1 - open);
    for (const char* name : {" id='", " id=\"", "xlink:href='#", "url(#"}) replace_all(tag, name, name + id + "-");
    replace_all(tag, "font-family=\"sans\"", "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\"");
    result += tag;
    at = close + 1;
  }
  return result;
}

/// Replaces gnuplot's output for the marks by circles at the end of the picture, in the same order.
std::string take_marks(std::string& svg, std::span<const Plot> panels) {
  std::vector<const PlotPoint*> points;
  for (const auto& plot : panels)
    for (const auto& line : plot.lines)
      for (const auto& point : line.points) points.push_back(&point);
  std::string circles;
  constexpr std::string_view begin = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'v", place = "translate(", end = "</g>";
  std::string left;
  std::size_t at = 0;
  for (std::size_t found; (found = svg.find(begin, at)) != std::string::npos;) {
    const std::size_t last = svg.find(end, found), where = svg.find(place, found);
    if (last == std::string::npos || where > last) throw failure("gnuplot's SVG is not as expected: a mark without a place");
    const std::size_t index = std::stoul(svg.substr(found + begin.size(), 12));
    const std::string_view xy = std::string_view(svg).substr(where + place.size(), svg.find(')', where) - where - place.size());
    const auto comma = xy.find(',');
    if (index >= points.size() || comma == xy.npos)
      throw failure("gnuplot's SVG is not as expected: mark " + std::to_string(index));
    circles += circle(*points[index], xy.substr(0, comma), xy.substr(comma + 1));
    left.append(svg, at, found - at);
    at = last + end.size();
  }
  left.append(svg, at);
  svg = std::move(left);
  return circles;
}

/// gnuplot opens a group for every pen it takes up, used or not.
void remove_empty_groups(std::string& svg) {
  std::string result;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = svg.find("<g ", at)) != std::string::npos;) {
    const std::size_t tag = svg.find('>', at);
    const std::size_t next = tag == std::string::npos ? tag : svg.find_first_not_of(" \t\n", tag + 1);
    if (next == std::string::npos) break;
    if (svg.compare(next, 4, "</g>") == 0) {
      result.append(svg, from, at - from);
      from = at = next + 4;
    } else {
      at = tag;
    }
  }
  result.append(svg, from);
  svg = std::move(result);
}

}  // namespace

std::string page_svg(const std::string& source, std::span<const Plot> panels, const std::string& id, const std::string& label) {
  const auto begin = source.find("<svg"), head = source.find('>', begin), end = source.rfind("</g>");
  const auto size = source.find("viewBox=", begin);
  if (begin == std::string::npos || head == std::string::npos || end == std::string::npos || size > head)
    throw failure("gnuplot did not write an SVG");
  const std::string view_box = source.substr(size, source.find('"', size + 9) + 1 - size);
  std::string svg = source.substr(head + 1, end - head - 1);
  const std::string circles = take_marks(svg, panels);
  cut_all(svg, "<title>", "</title>");
  cut_all(svg, "<desc>", "</desc>");
  cut_all(svg, "<script", "</script>");
  cut_all(svg, "<filter", "</filter>");
  remove_empty_groups(svg);
  svg = with_ids(svg, id);
  replace_all(svg, "\n\n", "\n");
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" " + view_box +
         " role=\"img\" aria-label=\"" + escaped(label) + "\">" + svg + "<g fill=\"#000\" fill-opacity=\"0\" stroke=\"none\">\n" +
         circles + "</g>\n</g>\n</svg>\n";
}

Drawing draw(std::span<const Plot> panels, const std::string& id, const std::string& label) {
  constexpr double kPixelsOfAnInch = 108.6;  // 760 pixels are 7 inches, the width of two columns of a paper
  const auto [width, height] = figure_size(panels);
  const auto size = [width = width, height = height](double scale) {
    return number_text(width * scale) + "," + number_text(height * scale) + "\n";
  };
  const std::string vector = "set terminal svg noenhanced font 'sans,14' background '#ffffff' size " + size(1);
  const std::string pixels =
      "if (strstrt(GPVAL_TERMINALS, ' pngcairo ') > 0) {\nset terminal pngcairo noenhanced font 'Helvetica,20' background rgb "
      "'white' linewidth 2 pointscale 2 size " +
      size(2) + "} else {\nset terminal png noenhanced size " + size(2) + "}\n";
  const std::string paper = "set terminal pdfcairo noenhanced font 'Helvetica,9' fontscale 1 linewidth 0.7 pointscale 0.5 size " +
                            number_text(width / kPixelsOfAnInch) + "in," + number_text(height / kPixelsOfAnInch) + "in\n";
  return {.svg = page_svg(run_gnuplot(gnuplot_script(panels, vector, true)), panels, id, label),
          .png = run_gnuplot(gnuplot_script(panels, pixels, false)),
          .pdf = run_gnuplot(gnuplot_script(panels, paper, false))};
}

}  // namespace fedstride
