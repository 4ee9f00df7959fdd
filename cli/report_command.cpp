#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "report/latex.hpp"
#include "report/report.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/results/settings_of_cells.hpp"
#include "sweep/results/tables.hpp"

namespace fedstride {
namespace {

struct ReportFlags {
  std::vector<std::string> folders;
  std::string out;
  bool latex = false;
  bool json = false;
};

// The tables as they are now, so that the page's numbers stand in them: a sweep that was killed has older ones or none.
void renew_tables(const SweepResults& sweep) {
  if (!std::filesystem::exists(sweep.folder / "sweep.json") || ::access(sweep.folder.c_str(), W_OK) != 0) return;
  const FolderLock lock(sweep.folder, FolderLock::Wait::yes);
  write_tables(sweep);
}

void report(const ReportFlags& arguments, bool has_out) {
  if (arguments.folders.size() > 1 && !has_out)
    throw usage_error("a report on " + std::to_string(arguments.folders.size()) + " folders needs a place: --out FILE.html");
  std::vector<SweepResults> sweeps;
  for (const auto& folder : arguments.folders) {
    if (folder.empty()) throw usage_error("DIR is ''; it must name a place");
    sweeps.push_back(read_results(folder));
    renew_tables(sweeps.back());
  }
  // Runs stand on common axes; a sweep has a part of the page to itself.
  if (std::ranges::count_if(sweeps, is_one_run) > 1) {
    std::vector<SweepResults> runs, others;
    for (auto& sweep : sweeps) (is_one_run(sweep) ? runs : others).push_back(std::move(sweep));
    sweeps = std::move(others);
    sweeps.insert(sweeps.begin(), joined_runs(runs));
  }
  const std::string out = has_out ? arguments.out : (std::filesystem::path(arguments.folders.front()) / "report.html").string();
  write_report(sweeps, out);
  const std::string tables = arguments.latex ? std::filesystem::path(out).replace_extension(".tex").string() : "";
  if (arguments.latex) write_file(tables, latex_tables(sweeps));
  if (arguments.json) {
    Json written{{"page", out}};
    if (arguments.latex) written["latex"] = tables;
    std::cout << dump_json(written, 2) << "\n";
    return;
  }
  std::printf("%s\n", out.c_str());
  if (arguments.latex) std::printf("%s\n", tables.c_str());
}

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("report", "A page with figures, tables and claims from finished sweeps.");
  command.footer(
      "The page needs no network. Figures are drawn by gnuplot; SVG, PNG and PDF files lie beside the page. A folder of one\n"
      "run is reported on as well, and several runs stand on common axes.\n"
      "Example: fedstride report sweeps/koskela-figure-1a --latex");
  auto arguments = std::make_shared<ReportFlags>();
  command.allow_extras();
  takes(*command.add_option("DIR", arguments->folders, "folders of sweeps or of runs")->required(), Place::folder);
  CLI::Option* out = command.add_option("--out", arguments->out, "the page [DIR/report.html]");
  takes(*out, Place::file);
  add_switch(command, "--latex", arguments->latex,
             "also tables for LaTeX (booktabs) beside the page: means, 95 % intervals, paired tests against the best");
  add_json_switch(command, arguments->json);
  when_called(command, [arguments, out] { report(*arguments, out->count() > 0); });
}

}  // namespace fedstride
