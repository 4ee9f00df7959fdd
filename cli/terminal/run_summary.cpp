#include "cli/terminal/run_summary.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace fedstride {

void print_summary(const RunSummary& summary) {
  std::printf("%s after round %u: test accuracy %.4f, loss %.4f",
              summary.interrupted      ? "stopped"
              : summary.halted.empty() ? "finished"
                                       : "halted",
              summary.rounds, summary.test.accuracy, summary.test.loss);
  if (summary.failures > 0) std::printf("; %llu updates of clients left out", static_cast<unsigned long long>(summary.failures));
  std::printf("; results in %s\n", summary.folder.c_str());
  if (!summary.halted.empty()) std::printf("halted: %s\n", summary.halted.c_str());
  for (const PrivacyStatement& statement : summary.privacy) std::printf("%s\n", statement_text(statement).c_str());
}

void stop_interrupted(const std::string& command) {
  std::fprintf(stderr, "fedstride: stopped; go on with: %s\n", command.c_str());
  throw CLI::RuntimeError(130);
}

}  // namespace fedstride
