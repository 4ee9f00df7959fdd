#include "cli/terminal/progress_bar.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "cli/flags.hpp"
#include "cli/terminal/columns.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/program_name.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "dp/ledger/statement.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/results.hpp"

namespace fedstride {
namespace {

// ", learning rate 0.1"; empty for an optimizer without one.
std::string rate_text(const Optimizer& optimizer) {
  const SettingInfo* rate = optimizer.part().find("learning-rate");
  return rate == nullptr ? "" : ", learning rate " + value_text(optimizer.part().get(*rate));
}

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// "0.1234", or "-" if the value is missing.
std::string figure(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

std::string end_text(const RunSummary& summary) {
  const char* const how = summary.interrupted ? "stopped" : summary.halted.empty() ? "finished" : "halted";
  return formatted("%s after round %u", how, summary.rounds);
}

// Prints the last lines of a run.
void print_text(const RunSummary& summary, const Configuration& configuration) {
  std::printf("%s", end_text(summary).c_str());
  if (std::isnan(summary.test.accuracy) && summary.test.examples == 0)
    std::printf(", not evaluated");
  else
    std::printf(": test %s %.4f, loss %.4f", std::string(summary.test.metric).c_str(), summary.test.accuracy, summary.test.loss);
  std::printf("; training %s, evaluation %s; results in %s\n", clock_text(summary.seconds).c_str(),
              clock_text(summary.evaluation_seconds).c_str(), summary.folder.c_str());
  if (!summary.halted.empty()) std::printf("halted: %s\n", summary.halted.c_str());
  if (summary.failures > 0) std::printf("note: %s\n", failures_text(summary).c_str());
  if (summary.idle_rounds > 0)
    std::printf("note: %s\n", idle_rounds_text(configuration, summary.idle_rounds, summary.rounds).c_str());
  for (const PrivacyStatement& statement : summary.privacy) std::printf("%s\n", statement_text(statement).c_str());
}

// A command that is often useful after a run.
std::string next_command(const RunSummary& summary, const std::string& resume_command) {
  if (!summary.privacy.empty()) return program_name() + " privacy audit " + summary.folder;
  if (summary.idle_rounds == summary.rounds) return program_name() + " help optimizers";
  if (resume_command.starts_with(program_name() + " run ") && summary.halted.empty())
    return resume_command + " --rounds " + std::to_string(2 * summary.rounds);
  return program_name() + " evaluate " + summary.folder + "/model.safetensors";
}

}  // namespace

RunObserver ProgressBar::observer(const std::atomic<bool>* stop) {
  RunObserver observer;
  observer.stop = stop;
  observer.started = [this](const auto&... arguments) { started(arguments...); };
  observer.round = [this](const RoundRecord& record) { round(record); };
  observer.ended = [this] { live_.end(); };
  return observer;
}

void ProgressBar::started(const Setup& setup, const std::string& folder, std::uint32_t rounds_done,
                          const std::atomic<std::uint64_t>& examples) {
  quiet_ = silent_ || setup.configuration.quiet;
  if (quiet_ && !log_) return;
  configuration_ = setup.configuration;
  idle_advice_ = worded(idle_rounds_advice(setup.configuration));
  rounds_ = static_cast<std::uint32_t>(setup.configuration.rounds);
  first_ = done_ = rounds_done;
  examples_ = &examples;
  start_ = std::chrono::steady_clock::now();
  std::uint64_t held = 0;
  for (const std::uint64_t rows : setup.clients.row_counts) held += rows;
  const Configuration& configuration = setup.configuration;
  const bool by_steps = configuration.local_steps > 0;
  const int passes = by_steps ? configuration.local_steps : configuration.local_epochs;
  const std::uint64_t examples_a_pass =
      by_steps ? setup.clients.row_counts.size() * static_cast<std::uint64_t>(configuration.batch) : held;
  examples_a_round_ = examples_a_pass * static_cast<std::uint64_t>(passes);
  if (quiet_) return;
  std::printf("%s: %s on %s, %s%s; partition %s\n%s", setup.data.train.name.c_str(), counted(held, "training row").c_str(),
              counted(setup.clients.rows.size(), "client").c_str(), counted(setup.data.test.size(), "test row").c_str(),
              setup.data.evaluation_rows.empty()
                  ? ""
                  : (", rounds on " + std::to_string(setup.data.evaluation_rows.size()) + " of them").c_str(),
              std::string(setup.configuration.partition.name()).c_str(),
              setup.data.train.size() > 0 ? partition_text(setup).c_str() : "");
  std::printf("model: %s (%s)\n", setup.model.line().c_str(), counted(setup.model.parameter_count(), "parameter").c_str());
  std::printf("optimizer: %s%s; batch %d, local %s %d, seed %s\n", std::string(configuration.optimizer.name()).c_str(),
              rate_text(configuration.optimizer).c_str(), configuration.batch, by_steps ? "steps" : "epochs", passes,
              number_text(configuration.seed).c_str());
  const auto privacy = [](const char* whose, const LevelSetup& level) {
    std::printf("privacy of %s: clip %s, noise multiplier %s%s, delta %s%s\n", whose, number_text(level.clip).c_str(),
                number_text(level.noise_multiplier).c_str(), level.calibrated ? " (calibrated)" : "",
                number_text(level.delta).c_str(),
                level.epsilon > 0 ? (", budget epsilon " + number_text(level.epsilon)).c_str() : "");
  };
  if (setup.privacy.example) privacy(user_level(configuration.privacy) != nullptr ? "users" : "examples", *setup.privacy.example);
  if (setup.privacy.client) privacy("clients", *setup.privacy.client);
  for (const auto& note : setup.notes) std::printf("note: %s\n", worded(note).c_str());
  std::printf("results: %s\n", folder.c_str());
  if (rounds_done >= rounds_)
    std::printf("nothing to do: round %u of %u is already finished%s\n", rounds_done, rounds_,
                worded("; a larger --rounds continues the run").c_str());
  else if (rounds_done > 0)
    std::printf("resuming after round %u\n", rounds_done);
  std::fflush(stdout);
  live_.begin([this](std::size_t columns) { return lines(columns); });
}

std::string ProgressBar::time_left() const {
  const double computed = static_cast<double>(examples_->load(std::memory_order_relaxed));
  const double total = static_cast<double>(examples_a_round_) * (rounds_ - first_);
  return computed > 0 ? clock_text(seconds_since(start_) * std::max(0.0, total - computed) / computed) : "?";
}

void ProgressBar::round(const RoundRecord& record) {
  if (quiet_ && !log_) return;
  const std::lock_guard lock(mutex_);
  done_ = record.round;
  examples_before_ += record.totals.sums.examples;
  examples_a_round_ = examples_before_ / (done_ - first_);
  std::string text = formatted("round %u/%u", record.round, rounds_);
  if (record.test) {
    accuracy_ = record.test->accuracy;
    metric_ = record.test->metric;
    text += formatted("  test %s %.4f  loss %.4f", metric_.c_str(), record.test->accuracy, record.test->loss);
    if (const std::vector<double> accuracies = accuracies_of_clients(record); !accuracies.empty())
      text += formatted("  worst %s %.4f", record.client_test.empty() ? "class mix" : "client",
                        *std::ranges::min_element(accuracies));
  }
  if (record.validation) text += formatted("  validation %.4f", record.validation->accuracy);
  if (record.example_spent) text += "  epsilon " + epsilon_text(record.example_spent->epsilon);
  if (record.client_spent) text += "  client epsilon " + epsilon_text(record.client_spent->epsilon);
  if (record.is_idle()) text += "  no step kept";
  if (const std::uint64_t failures = record.failures(); failures > 0) text += "  " + counted(failures, "client") + " left out";
  text += "  train loss " + figure(record.totals.sums.loss);
  text += formatted("  %.0f examples/s  %s left",
                    record.seconds > 0 ? static_cast<double>(record.totals.sums.examples) / record.seconds : 0.0,
                    time_left().c_str());
  std::vector<std::string> warnings;
  if (record.is_idle() && !idle_advice_.empty())
    warnings.push_back(formatted("round %u: no client kept a step; ", record.round) + std::exchange(idle_advice_, {}));
  for (const ClientReport& client : record.clients)  // a reason is shown when it first occurs
    if (!client.failure.empty() && reasons_.insert(client.failure).second)
      warnings.push_back(formatted("round %u: client %u left out: ", record.round, client.client) + client.failure);
  print(record.round, text, warnings);
}

void ProgressBar::print(std::uint32_t round, std::string line, const std::vector<std::string>& warnings) {
  constexpr double kSecondsBetween = 5;
  if (!log_) {
    for (const std::string& warning : warnings) line += "\n" + warning;
    return live_.print(line + "\n");
  }
  if (round == first_ + 1 || round == rounds_ || seconds_since(logged_) >= kSecondsBetween) {
    log_(line);
    logged_ = std::chrono::steady_clock::now();
  }
  for (const std::string& warning : warnings) log_.warn(warning);
}

std::vector<std::string> ProgressBar::lines(std::size_t columns) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t computed = examples_->load(std::memory_order_relaxed);
  const double within = examples_a_round_ > 0
                            ? std::min(1.0, static_cast<double>(computed - std::min(computed, examples_before_)) /
                                                static_cast<double>(examples_a_round_))
                            : 0.0;
  const double seconds = seconds_since(start_);
  const Piece pieces[] = {
      {formatted("round %u/%u", std::min(done_ + 1, rounds_), rounds_)},
      {metric_ + " " + figure(accuracy_), 2},
      {formatted("%.0f examples/s", seconds > 0 ? static_cast<double>(computed) / seconds : 0.0), 3},
      {time_left() + " left", 1},
  };
  return {bar_line(rounds_ > 0 ? (done_ + within) / rounds_ : 1.0, pieces, columns)};
}

void ProgressBar::end(const RunSummary& summary, bool json, const std::string& resume_command) {
  live_.end();
  if (json) {
    Json all{{"folder", summary.folder}};
    all.update(parse_json(read_file(std::filesystem::path(summary.folder) / "summary.json")));
    print_json(all);
  } else if (!quiet_) {
    print_text(summary, configuration_);
    if (!summary.interrupted) std::printf("next: %s\n", next_command(summary, resume_command).c_str());
  }
  if (log_ && quiet_) log_(end_text(summary) + (summary.halted.empty() ? "" : ": " + summary.halted));
  if (!summary.interrupted) return;
  const std::string resumed = "stopped; resume with: " + resume_command;
  if (log_ && quiet_)
    log_(resumed);
  else
    std::fprintf(stderr, "fedstride: %s\n", resumed.c_str());
  if (summary.paused) return;
  throw CLI::RuntimeError(130);
}

}  // namespace fedstride
