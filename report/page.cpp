#include <filesystem>
#include <system_error>

#include "core/error.hpp"
#include "core/files.hpp"
#include "report/draw.hpp"
#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/report.hpp"
#include "report/sections.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStyle = R"(
body { font: 16px/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; color: #111; background: #fff;
  max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.3rem; margin-top: 2.2rem; border-bottom: 1px solid #999; }
h3 { font-size: 1.05rem; margin-bottom: .3rem; }
table { border-collapse: collapse; font-size: .85rem; margin: .8rem 0; } .wide { overflow-x: auto; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #111; vertical-align: bottom; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.first td { font-weight: bold; } tr.second td.n { text-decoration: underline; }
.status { white-space: nowrap; font-weight: bold; }
figure { margin: 1rem 0 1.8rem; }
figure svg { width: 100%; height: auto; display: block; }
figcaption, .note { font-size: .85rem; color: #333; }
pre { font-size: .78rem; line-height: 1.4; background: #f4f4f4; border: 1px solid #ddd; padding: .6rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
svg .v:hover { stroke: #000; stroke-width: 1.5; }
@media print {
  body { max-width: none; margin: 0; font-size: 10.5pt; } a { color: inherit; text-decoration: none; }
  figure, tr { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
  .wide { overflow-x: visible; }
  pre { background: none; }
  thead { display: table-header-group; }
}
)";

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw failure("cannot make the folder '" + folder.string() + "': " + error.message());
}

std::string figure_html(const Figure& figure, const fs::path& page, const fs::path& files, const std::string& id) {
  std::string html = "<figure>\n<h3>" + escaped(figure.title) + "</h3>\n", links;
  for (std::size_t i = 0; i < figure.plots.size(); ++i) {
    const Plot& plot = figure.plots[i];
    const std::string name = id + (figure.plots.size() > 1 ? "-" + std::to_string(i + 1) : "");
    const std::string label = figure.title + (plot.panel.empty() ? "" : ": " + plot.panel) + ". " + figure.caption;
    const Drawing drawing = draw(plot, name, label);
    make_folder(files);
    write_file(files / (name + ".svg"), drawing.svg);
    write_file(files / (name + ".png"), drawing.png);
    html += drawing.svg;
    for (const char* kind : {".svg", ".png"})
      links += " <a href=\"" + url_of((files.lexically_relative(page.parent_path()) / (name + kind)).string()) + "\">" + name +
               kind + "</a>";
  }
  return html + "<figcaption>" + escaped(figure.caption) + links + "</figcaption>\n</figure>\n";
}

}  // namespace

void write_report(const std::vector<SweepResults>& sweeps, const std::string& path) {
  const fs::path page = fs::absolute(path);
  fs::path files = page;
  files.replace_filename(page.stem().string() + "-figures");
  // Fails here, before anything is drawn, if the folder cannot be written.
  make_folder(page.parent_path());
  if (fs::is_directory(page)) throw failure("cannot write '" + path + "': it is a folder");
  std::string contents, body;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const SweepResults& sweep = sweeps[i];
    const std::string id = "sweep" + std::to_string(i + 1), title = title_of(sweep);
    contents += "<li><a href=\"#" + id + "\">" + escaped(title) + "</a></li>\n";
    body += "<section id=\"" + id + "\">\n" + heading(sweep, sweeps.size() > 1) + remarks(sweep) + claims(sweep);
    const auto figures = figures_of(sweep);
    if (!figures.empty()) body += "<h2>Figures</h2>\n";
    for (std::size_t f = 0; f < figures.size(); ++f)
      body += figure_html(figures[f], page, files, (sweeps.size() > 1 ? id + "-" : "") + "figure" + std::to_string(f + 1));
    body += configurations(sweep) + notes(sweep) + unfinished(sweep) + machine(sweep) + commands(sweep) +
            tables(sweep, page.parent_path()) + file(sweep) + "</section>\n";
  }
  const std::string title = sweeps.size() == 1 ? title_of(sweeps.front()) : std::to_string(sweeps.size()) + " sweeps";
  write_file(page,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
                 escaped(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n" +
                 (sweeps.size() > 1 ? "<h1>" + escaped(title) + "</h1>\n<nav><ol>\n" + contents + "</ol></nav>\n" : "") + body +
                 "</body>\n</html>\n");
}

}  // namespace fedstride
