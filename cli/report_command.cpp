#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "report/report.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/results/tables.hpp"

namespace fedstride {
namespace {

struct ReportFlags {
  std::vector<std::string> folders;
  std::string out;
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
  const std::string out = has_out ? arguments.out : (std::filesystem::path(arguments.folders.front()) / "report.html").string();
  write_report(sweeps, out);
  std::printf("%s\n", arguments.json ? dump_json(OrderedJson{{"page", out}}, 2).c_str() : out.c_str());
}

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("report", "A page with figures, tables and claims from finished sweeps.");
  command.footer(
      "The page needs no network. Figures are drawn by gnuplot; SVG and PNG files lie beside the page. A folder of one "
      "run\n"
      "is reported on as well.\n"
      "Example: fedstride report sweeps/koskela-figure-1a");
  auto arguments = std::make_shared<ReportFlags>();
  command.allow_extras();
  takes(*command.add_option("DIR", arguments->folders, "folders of sweeps or of runs")->required(), Place::folder);
  CLI::Option* out = command.add_option("--out", arguments->out, "the page [DIR/report.html]");
  takes(*out, Place::file);
  add_json_switch(command, arguments->json);
  when_called(command, [arguments, out] { report(*arguments, out->count() > 0); });
}

}  // namespace fedstride
