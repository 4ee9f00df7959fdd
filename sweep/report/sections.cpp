#include "sweep/report/sections.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/text.hpp"
#include "sweep/report/html.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxListed = 500;

std::string paragraph(const std::string& text, const char* kind = "") {
  return text.empty() ? ""
                      : "<p" + std::string(*kind == '\0' ? "" : " class=\"") + kind + (*kind == '\0' ? "" : "\"") + ">" +
                            escaped(text) + "</p>\n";
}

std::size_t count(const SweepResults& sweep, std::string_view status) {
  return static_cast<std::size_t>(std::ranges::count(sweep.cells, status, &CellResult::status));
}

std::string rest(std::size_t all, const char* what, const char* where) {
  return all <= kMaxListed ? ""
                           : paragraph("The first " + std::to_string(kMaxListed) + " of " + std::to_string(all) + " " + what +
                                           "; see " + where + " for all.",
                                       "note");
}

}  // namespace

std::string title_of(const SweepResults& sweep) {
  return sweep.experiment.title.empty() ? sweep.experiment.name : sweep.experiment.title;
}

std::string heading(const SweepResults& sweep, bool among_others) {
  const Experiment& experiment = sweep.experiment;
  const std::string level = among_others ? "h2" : "h1";
  std::string html = "<" + level + ">" + escaped(title_of(sweep)) + "</" + level + ">\n";
  html += paragraph(experiment.source.empty() ? "" : "Source: " + experiment.source);
  html += paragraph(experiment.claim.empty() ? "" : "Claim: " + experiment.claim) + paragraph(experiment.note);
  std::string state = std::to_string(count(sweep, "finished")) + " of " + counted(sweep.cells.size(), "cell") +
                      (sweep.cells.size() == 1 ? " is finished" : " are finished");
  for (const char* status : {"unfinished", "failed", "missing"})
    if (const auto number = count(sweep, status); number > 0)
      state += ", " + std::to_string(number) + (std::string_view(status) == "missing" ? " not run" : std::string(" ") + status);
  if (!experiment.scale.empty()) state += "; scale: " + experiment.scale;
  html += paragraph(state + ".");
  if (experiment.scale == "quick")
    html += paragraph("Small settings that show that everything works; they are not those of the source.", "note");
  return html;
}

std::string claims(const SweepResults& sweep) {
  if (sweep.expectations.empty()) return {};
  std::string html =
      "<h2>Expectations</h2>\n<div "
      "class=\"wide\"><table>\n<thead><tr><th>expectation</th><th>result</th><th>numbers</th><th>reason</th></tr></"
      "thead>\n<tbody>\n";
  for (const auto& result : sweep.expectations)
    html += "<tr><td>" + escaped(result.expectation.claim) + "</td><td class=\"status\">" +
            (result.status == "holds"   ? "✓ "
             : result.status == "fails" ? "✗ "
                                        : "– ") +
            escaped(result.status) + "</td><td>" + escaped(result.text) + "</td><td>" +
            escaped(result.status == "fails" ? result.expectation.reason : "") + "</td></tr>\n";
  return html + "</tbody></table></div>\n";
}

// True if the run has spent privacy at the level, even if it is unfinished or its statement has no epsilon.
bool has_spent(const CellResult& cell, std::string_view level) {
  const bool client = level == "client";
  const std::string key = client ? "privacy_client" : "privacy_example", said = cell.text(key + "_level");
  return (cell.texts.contains(key) || cell.numbers.contains(client ? "client_epsilon_spent" : "epsilon_spent")) &&
         (said.empty() ? (client ? "client" : "example") : said) == level;
}

// Returns the total privacy cost of reading the results of all private runs, by basic composition.
std::string cost_of_looking(const SweepResults& sweep) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::string text;
  for (const std::string_view level : {"example", "user", "client"}) {
    const std::string prefix = level == "client" ? "client_" : "";
    double epsilon = 0, delta = 0;
    std::size_t runs = 0;
    for (const CellResult& cell : sweep.cells) {
      if (!has_spent(cell, level)) continue;
      epsilon += cell.numbers.contains(prefix + "epsilon_spent") ? cell.numbers.of(prefix + "epsilon_spent") : kNone;
      delta += cell.numbers.contains(prefix + "delta_spent") ? cell.numbers.of(prefix + "delta_spent") : kNone;
      ++runs;
    }
    if (runs == 0) continue;
    text += " The results of " + (runs == 1 ? "the private run" : "all " + std::to_string(runs) + " private runs together") +
            " have " +
            (epsilon < kNone && delta < 1 ? "an epsilon of at most " + rounded_up(epsilon) + " at delta " + rounded_up(delta)
                                          : std::string("no proven epsilon")) +
            " at " + std::string(level) + " level.";
  }
  return text;
}

std::string notes(const SweepResults& sweep) {
  const Tuning& tuning = sweep.experiment.tuning;
  bool is_seeded = false;
  std::set<std::string> statements;
  for (const auto& cell : sweep.cells) {
    if (cell.status != "finished") continue;
    const bool spends = has_spent(cell, "example") || has_spent(cell, "user") || has_spent(cell, "client");
    is_seeded = is_seeded || (spends && cell.text("randomness") != "secret");
    for (const char* key : {"privacy_example", "privacy_client"})
      if (cell.texts.contains(key) && statements.size() < 10) statements.insert(cell.text(key));
  }
  std::string html;
  if (!tuning.keys.empty())
    html += paragraph("Best and second best " + joined(tuning.keys) + ": by the " +
                          (is_best_lowest(tuning.metric) ? "lowest " : "highest ") + tuning.metric + " on the " + tuning.on +
                          " set after the last round, mean over seeds" + (tuning.why.empty() ? "" : "; " + tuning.why) +
                          ". A result reported on the data that it was chosen on is optimistic, the more so the more "
                          "candidates there were.",
                      "note");
  if (const std::string cost = cost_of_looking(sweep); !cost.empty())
    html += paragraph("No epsilon on this page includes the cost of choices made on private data." + cost +
                          " fedstride sweep --accounted shows only the winner, with a statement that covers the choice.",
                      "note");
  if (is_seeded)
    html += paragraph(
        "These runs drew their noise from a published seed: every epsilon is that of the mechanism with a secret seed.", "note");
  for (const auto& statement : statements) html += paragraph("Privacy: " + statement, "note");
  if (!sweep.left_out.empty()) html += paragraph(sweep.left_out, "note");
  return html;
}

std::string unfinished(const SweepResults& sweep) {
  const std::size_t all = sweep.cells.size() - count(sweep, "finished");
  if (all == 0) return {};
  std::string html =
      "<h2>Cells without results</h2>\n<div "
      "class=\"wide\"><table>\n<thead><tr><th>cell</th><th>status</th><th>reason</th></tr></thead>\n<tbody>\n";
  std::size_t listed = 0;
  for (const auto& cell : sweep.cells)
    if (cell.status != "finished" && ++listed <= kMaxListed)
      html += "<tr><td>" + escaped(point_text(cell.cell)) + "</td><td class=\"status\">" +
              escaped(cell.status == "missing" ? "not run" : cell.status) + "</td><td>" + escaped(cell.error) + "</td></tr>\n";
  return html + "</tbody></table></div>\n" + rest(all, "cells", "cells.csv");
}

std::string machine(const SweepResults& sweep) {
  std::vector<std::pair<std::string, std::set<std::string>>> rows;
  // Each cell records its own build; the sweep records the machine of the last process that wrote to it.
  std::map<std::string, std::set<std::string>> recorded;
  for (const std::string key : {"version", "commit", "compiler", "instruction_set", "numerics_version", "data_hash"})
    for (const auto& cell : sweep.cells)
      if (cell.texts.contains(key) && recorded[key].size() < 5) recorded[key].insert(cell.text(key));
  for (const auto& [name, value] : sweep.machine)
    if (!recorded.contains(name)) rows.push_back({name, {value}});
  for (const auto& [name, values] : recorded)
    if (!values.empty()) rows.emplace_back(name, values);
  if (rows.empty()) return {};
  std::string html = "<h2>Machine and program</h2>\n<table class=\"facts\">\n<tbody>\n";
  for (auto& [name, values] : rows) {
    std::ranges::replace(name, '_', ' ');
    html += "<tr><th scope=\"row\">" + escaped(name) + "</th><td>" + escaped(joined(std::vector(values.begin(), values.end()))) +
            "</td></tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string commands(const SweepResults& sweep) {
  std::string list;
  std::size_t listed = 0;
  for (const auto& cell : sweep.cells)
    if (!cell.cell.command.empty() && ++listed <= kMaxListed) list += escaped(cell.cell.command) + "\n";
  if (list.empty()) return {};
  return folded("Commands that reproduce each cell", "<pre>" + list + "</pre>\n" + rest(listed, "commands", "cells.csv"));
}

std::string tables(const SweepResults& sweep, const fs::path& folder) {
  std::string links;
  for (const char* name : {"cells.csv", "rounds.csv", "clients.csv", "summary.csv", "expectations.csv"}) {
    if (sweep.folder.empty()) break;
    const fs::path path = fs::absolute(sweep.folder).lexically_normal() / name;
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    links +=
        "<li><a href=\"" + url_of(path.lexically_relative(folder.lexically_normal()).string()) + "\">" + name + "</a></li>\n";
  }
  return links.empty() ? "" : "<div class=\"screen\">\n<h2>Tables</h2>\n<ul>\n" + links + "</ul>\n</div>\n";
}

std::string file(const SweepResults& sweep) {
  if (sweep.experiment.text.empty()) return {};
  return folded("Experiment file", "<pre>" + escaped(sweep.experiment.text) + "</pre>\n");
}

}  // namespace fedstride
