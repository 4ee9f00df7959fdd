#include "cli/terminal/run_summary.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/terminal/clock_text.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "run/results.hpp"

namespace fedstride {
namespace {

// summary.json, and where it lies.
void print_json(const RunSummary& summary) {
  Json json{{"folder", summary.folder}};
  json.update(parse_json(read_file(std::filesystem::path(summary.folder) / "summary.json")));
  std::printf("%s\n", dump_json(json, 2).c_str());
}

void print_text(const RunSummary& summary, const Configuration& configuration) {
  std::printf("%s after round %u",
              summary.interrupted      ? "stopped"
              : summary.halted.empty() ? "finished"
                                       : "halted",
              summary.rounds);
  if (std::isnan(summary.test.accuracy) && summary.test.examples == 0)
    std::printf(", not evaluated");
  else
    std::printf(": test %s %.4f, loss %.4f", std::string(summary.test.metric).c_str(), summary.test.accuracy, summary.test.loss);
  if (summary.failures > 0) std::printf("; %s of clients left out", counted(summary.failures, "update").c_str());
  std::printf("; training %s, evaluation %s; results in %s\n", clock_text(summary.seconds).c_str(),
              clock_text(summary.evaluation_seconds).c_str(), summary.folder.c_str());
  if (!summary.halted.empty()) std::printf("halted: %s\n", summary.halted.c_str());
  if (summary.idle_rounds > 0)
    std::printf("note: %s\n", idle_rounds_text(configuration, summary.idle_rounds, summary.rounds).c_str());
  for (const PrivacyStatement& statement : summary.privacy) std::printf("%s\n", statement_text(statement).c_str());
}

}  // namespace

void end_run(const RunSummary& summary, const ProgressBar& progress, bool json, const std::string& goes_on) {
  if (json)
    print_json(summary);
  else if (!progress.quiet())
    print_text(summary, progress.configuration());
  if (!summary.interrupted) return;
  std::fprintf(stderr, "fedstride: stopped; go on with: %s\n", goes_on.c_str());
  throw CLI::RuntimeError(130);
}

}  // namespace fedstride
