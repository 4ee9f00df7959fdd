#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/in_python.hpp"
#include "cli/terminal/results.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/output.hpp"
#include "sim/run/replay.hpp"
#include "sweep/results/task.hpp"

namespace fedstride {
namespace {

struct ReportFlags {
  std::vector<std::string> folders;
  std::string out;
  std::string by;
  std::string record;
  bool latex = false;
  bool json = false;
};

// The folders, each replay after the run that it repeats, if that is still there.
std::vector<std::string> with_replayed(const std::vector<std::string>& folders) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& folder) {
    if (std::ranges::find(all, folder) == all.end()) all.push_back(folder);
  };
  for (const std::string& folder : folders) {
    if (const std::string run = replayed_run(folder); !run.empty() && is_there(std::filesystem::path(run) / "config.toml"))
      add(run);
    add(folder);
  }
  return all;
}

void report(const ReportFlags& arguments) {
  const bool has_out = !arguments.out.empty();  // --out '' was rejected earlier
  if (arguments.folders.size() > 1 && !has_out)
    throw usage_error("a report on " + std::to_string(arguments.folders.size()) + " folders needs --out FILE.html" +
                      (arguments.latex && arguments.folders.back().ends_with(".tex")
                           ? "; '" + arguments.folders.back() + "' is not a folder, and --latex takes no value"
                           : ""));
  const std::string out = has_out ? arguments.out : (std::filesystem::path(arguments.folders.front()) / "report.html").string();
  const std::string tables = arguments.latex ? std::filesystem::path(out).replace_extension(".tex").string() : "";
  if (arguments.latex && target_of(out).kind == FileTarget::Kind::written_into)
    throw usage_error("--latex writes its tables beside the page, but out '" + out +
                      "' is not a regular file; name a regular file");
  if (arguments.latex) check_output(tables);
  Json task = report_task();
  for (const auto& folder : with_replayed(arguments.folders)) {
    if (folder.empty()) throw usage_error("DIR is ''; it must name a folder");
    task["sweeps"].push_back(sweep_task(folder, !arguments.record.empty()));
  }
  task.update({{"do", "report"}, {"out", out}, {"by", arguments.by}, {"latex", tables}, {"record", arguments.record}});
  in_python(task);
  if (arguments.json) {
    Json written{{"page", out}};
    if (arguments.latex) written["latex"] = tables;
    if (!arguments.record.empty()) written["record"] = arguments.record;
    return print_json(written);
  }
  print_means(task.at("sweeps"));
  std::printf("%s\n", out.c_str());
  if (arguments.latex) std::printf("%s\n", tables.c_str());
  if (!arguments.record.empty()) std::printf("%s\n", arguments.record.c_str());
}

}  // namespace

void add_report_command(CLI::App& app) {
  const auto [command, flags] = add_command<ReportFlags>(
      app, "report", "Write a page with figures, tables and tested claims from sweeps or runs.",
      "The page needs no network; its figures are also written as SVG, PNG and PDF files beside it. Several runs share their\n"
      "axes; each sweep has a section of its own.\n"
      "Example: fedstride report sweeps/koskela-figure-1a --latex",
      report);
  add_flag(command, "DIR", flags.folders, Place::folder, "folders of sweeps or of runs", Needed::yes);
  add_flag(command, "--out", flags.out, Place::output, "the page (default: DIR/report.html)");
  add_by_flag(command, flags.by);
  add_switch(command, "--latex", flags.latex,
             "also write LaTeX tables (booktabs) beside the page: means, 95 % intervals, and paired tests against the best");
  add_flag(
      command, "--record", flags.record, Place::output,
      "also write a finished sweep's results with its rule, settings, data, machine and date, to keep beside the experiment");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
