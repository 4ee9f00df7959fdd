#include <filesystem>
#include <system_error>

#include "core/chart.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/output.hpp"
#include "core/text.hpp"
#include "sweep/cells/subcommand.hpp"
#include "sweep/report/figures.hpp"
#include "sweep/report/html.hpp"
#include "sweep/report/looks.hpp"
#include "sweep/report/report.hpp"
#include "sweep/report/result_grid.hpp"
#include "sweep/report/sections.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

// Colors are variables (color_rules), so the same rules serve light pages, dark pages and print.
constexpr const char* kStyle = R"(
body { font: 16px/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; color: var(--ink); background: var(--paper);
  max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--l0); }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.3rem; margin-top: 2.2rem; border-bottom: 1px solid var(--grid); }
h3 { font-size: 1.05rem; margin-bottom: .3rem; }
table { border-collapse: collapse; font-size: .85rem; margin: .8rem 0; } .wide { overflow-x: auto; }
table.results td { white-space: nowrap; } td.best { font-weight: bold; } .star { display: inline-block; width: .6em; }
tbody th { font-weight: normal; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.first td { font-weight: bold; } tr.second td.n { text-decoration: underline; }
.status { white-space: nowrap; font-weight: bold; }
dl.settings { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); gap: 0 1.2rem;
  font-size: .8rem; line-height: 1.45; margin: .6rem 0 1rem; }
dl.settings div { display: flex; justify-content: space-between; gap: .6rem; border-bottom: 1px solid var(--grid); }
dl.settings div.long { grid-column: 1 / -1; }
dl.settings dt { color: var(--soft); white-space: nowrap; }
dl.settings dd { margin: 0; text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0 1.8rem; }
figure svg { width: 100%; height: auto; display: block; }
figure svg.narrow { display: none; }
figcaption, .note { font-size: .85rem; color: var(--soft); }
.winner { font-size: 1.1rem; font-weight: bold; } .winner + ul { font-size: .85rem; padding-left: 1.2rem; }
thead th[colspan] { text-align: center; border-bottom: 1px solid var(--grid); }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--soft); }
pre { font-size: .78rem; line-height: 1.4; background: var(--panel); border: 1px solid var(--grid); padding: .6rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
svg .v:hover { stroke: var(--ink); stroke-width: 1.5; }
@media screen and (max-width: 499px) {
  body { margin: 1rem auto; } h1 { font-size: 1.4rem; } th, td { padding: .25rem .4rem; }
  figure svg.narrow { display: block; } figure svg.broad { display: none; }
}
@media print {
  @page { margin: 14mm 13mm; }
  body { max-width: none; margin: 0; padding: 0; font-size: 9.5pt; line-height: 1.35; }
  a { color: inherit; text-decoration: none; }
  h1 { font-size: 15pt; margin: 0 0 4pt; } h2 { font-size: 12pt; margin: 10pt 0 4pt; } h3 { font-size: 10pt; margin: 0 0 2pt; }
  p, ul { margin: 3pt 0; } .winner { font-size: 10.5pt; } .winner + ul { font-size: 8pt; }
  figure { margin: 0 0 10pt; } figure svg { width: 74%; margin: 0 auto; }
  figcaption, .note { font-size: 8pt; }
  table.facts { break-inside: avoid; }
  table, dl.settings { font-size: 7.5pt; line-height: 1.3; } th, td { padding: 1.5pt 4pt; }
  dl.settings { grid-template-columns: repeat(4, 1fr); }
  figure, tr { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
  .wide { overflow-x: visible; }
  pre { background: none; font-size: 6.5pt; line-height: 1.25; columns: 2; padding: 4pt; }
  thead { display: table-header-group; }
  .screen, figcaption a, details:not([open]) { display: none; }
}
)";

// Converts the SVG file to another format in the same folder.
void convert(const fs::path& svg, const std::string& format, const std::string& dpi) {
  const std::string target = fs::path(svg).replace_extension(format).string();
  ProgramOutput output;
  try {
    output = run_program({"rsvg-convert", "--format", format, "--dpi-x", dpi, "--dpi-y", dpi, "--zoom",
                          format == "png" ? "2" : "1", "--output", target, svg.string()},
                         nullptr);
  } catch (const Error&) {
    throw failure("figures need rsvg-convert, which cannot be run here; install the package 'librsvg2-bin'");
  }
  if (output.code != 0)
    throw failure("rsvg-convert cannot write '" + target + "': " + joined(split(trimmed(output.err), '\n'), " "));
}

// Returns a figure as HTML; writes its files to `files` unless empty.
std::string figure_html(const Figure& figure, const fs::path& page, const fs::path& files, const std::string& id) {
  std::string html = "<figure>\n<h3>" + escaped(figure.title) + "</h3>\n", links;
  std::string label = figure.title + ".";
  for (const auto& plot : figure.plots)
    if (!plot.panel.empty()) label += " " + plot.panel + ".";
  label += " " + figure.caption;
  if (!figure.plots.empty())
    html += chart_svg(figure.plots, label, ChartFor::page) + chart_svg(figure.plots, label, ChartFor::phone);
  if (!figure.plots.empty() && !files.empty()) {
    make_folder(files);
    write_file(files / (id + ".svg"), chart_svg(figure.plots, label, ChartFor::file));
    convert(files / (id + ".svg"), "png", "96");
    convert(files / (id + ".svg"), "pdf", "108.6");  // 760 pixels become 7 inches, the width of a two-column paper
    for (const char* kind : {".svg", ".png", ".pdf"})
      links += " <a href=\"" + url_of((files.lexically_relative(page.parent_path()) / (id + kind)).string()) + "\">" + id + kind +
               "</a>";
  }
  return html + "<figcaption>" + escaped(figure.caption) + links + "</figcaption>\n</figure>\n";
}

}  // namespace

void write_report(const std::vector<SweepResults>& sweeps, const std::string& path) {
  const fs::path page = fs::absolute(path);
  check_output(page);
  fs::path files;
  if (target_of(page).kind != FileTarget::Kind::written_into) (files = page).replace_filename(page.stem().string() + "-figures");
  std::string contents, body, titles;
  Looks looks;  // shared across the page
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const SweepResults& sweep = sweeps[i];
    const std::string id = "sweep" + std::to_string(i + 1), title = title_of(sweep);
    contents += "<li><a href=\"#" + id + "\">" + escaped(title) + "</a></li>\n";
    titles += (titles.empty() ? "" : "; ") + title;
    body += "<section id=\"" + id + "\">\n" + heading(sweep, sweeps.size() > 1) + results_html(sweep) + remarks(sweep) +
            claims(sweep);
    auto figures = figures_of(sweep);
    for (auto& figure : figures)
      for (auto& plot : figure.plots) looks.assign(plot);
    std::string drawn, of_time = times(sweep);
    for (std::size_t f = 0; f < figures.size(); ++f) {
      const std::string name = (sweeps.size() > 1 ? id + "-" : "") + "figure" + std::to_string(f + 1);
      // Unless requested, times are put aside: they describe the machine, not the sweep.
      const bool is_aside = figures[f].kind == "time" && sweep.experiment.figures.empty();
      (is_aside ? of_time : drawn) += figure_html(figures[f], page, files, name);
    }
    if (!drawn.empty()) body += "<h2>Figures</h2>\n" + drawn;
    body += configurations(sweep) + notes(sweep) + unfinished(sweep) + settings(sweep) + machine(sweep) +
            folded("Times on this machine", of_time) + commands(sweep) + file(sweep) + tables(sweep, page.parent_path()) +
            "</section>\n";
  }
  constexpr std::size_t kMaxNamed = 3;
  const std::string title = sweeps.size() <= kMaxNamed ? titles : std::to_string(sweeps.size()) + " sweeps";
  write_file(page,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
                 escaped(title) + "</title>\n<style>" + color_rules() + kStyle + "</style>\n</head>\n<body>\n" +
                 (sweeps.size() > 1 ? "<h1>" + escaped(title) + "</h1>\n<nav><ol>\n" + contents + "</ol></nav>\n" : "") + body +
                 "</body>\n</html>\n");
}

}  // namespace fedstride
