#include "cli/terminal/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/terminal/clock_text.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "run/results.hpp"

namespace fedstride {
namespace {

// ", learning rate 0.1"; empty for an optimizer without one.
std::string rate_text(const Optimizer& optimizer) {
  const SettingInfo* rate = optimizer.part().find("learning-rate");
  return rate == nullptr ? "" : ", learning rate " + value_text(optimizer.part().get(*rate));
}

// "0.1234", or "-" where there is no such number.
std::string figure(double value) {
  if (!std::isfinite(value) || value < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

}  // namespace

ProgressBar::ProgressBar(bool silent) : silent_(silent), terminal_(isatty(STDOUT_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (!drawer_.joinable()) return;
  drawer_.request_stop();
  drawer_.join();
  clear();
}

RunObserver ProgressBar::observer(const std::atomic<bool>* stop) {
  RunObserver observer;
  observer.stop = stop;
  observer.started = [this](const auto&... arguments) { started(arguments...); };
  observer.round = [this](const RoundRecord& record) { round(record); };
  return observer;
}

void ProgressBar::started(const Setup& setup, const std::string& folder, std::uint32_t rounds_done,
                          const std::atomic<std::uint64_t>& examples) {
  quiet_ = silent_ || setup.configuration.quiet;
  if (quiet_) return;
  configuration_ = setup.configuration;
  idle_advice_ = idle_rounds_advice(setup.configuration);
  rounds_ = static_cast<std::uint32_t>(setup.configuration.rounds);
  first_ = done_ = rounds_done;
  examples_ = &examples;
  start_ = std::chrono::steady_clock::now();
  std::uint64_t held = 0;
  for (const std::uint64_t rows : setup.row_counts) held += rows;
  examples_a_round_ = held * static_cast<std::uint64_t>(setup.configuration.local_epochs);
  std::printf(
      "%s: %s on %s, %s%s; partition %s\n%s", setup.data.train.name.c_str(), counted(held, "training row").c_str(),
      counted(setup.rows.size(), "client").c_str(), counted(setup.data.test.size(), "test row").c_str(),
      setup.evaluation_rows.empty() ? "" : (", rounds on " + std::to_string(setup.evaluation_rows.size()) + " of them").c_str(),
      std::string(setup.configuration.partition.name()).c_str(),
      setup.data.train.size() > 0 ? partition_text(setup).c_str() : "");
  std::printf("model: %s (%s)\n", setup.model.line().c_str(), counted(setup.model.parameter_count(), "parameter").c_str());
  const Configuration& configuration = setup.configuration;
  std::printf("optimizer: %s%s; batch %d, local epochs %d, seed %s\n", std::string(configuration.optimizer.name()).c_str(),
              rate_text(configuration.optimizer).c_str(), configuration.batch, configuration.local_epochs,
              number_text(configuration.seed).c_str());
  const auto privacy = [](const char* whose, const LevelSetup& level) {
    std::printf("privacy of %s: clip %s, noise multiplier %s%s, delta %s%s\n", whose, number_text(level.clip).c_str(),
                number_text(level.noise_multiplier).c_str(), level.calibrated ? " (calibrated)" : "",
                number_text(level.delta).c_str(),
                level.epsilon > 0 ? (", budget epsilon " + number_text(level.epsilon)).c_str() : "");
  };
  if (setup.privacy.example) privacy("examples", *setup.privacy.example);
  if (setup.privacy.client) privacy("clients", *setup.privacy.client);
  for (const auto& note : setup.notes) std::printf("note: %s\n", note.c_str());
  std::printf("results: %s\n", folder.c_str());
  if (rounds_done > 0) std::printf("going on after round %u\n", rounds_done);
  std::fflush(stdout);
  if (terminal_)
    drawer_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        draw();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    });
}

std::string ProgressBar::time_left() const {
  const double computed = static_cast<double>(examples_->load(std::memory_order_relaxed));
  const double total = static_cast<double>(examples_a_round_) * (rounds_ - first_);
  return computed > 0 ? clock_text(seconds_since(start_) * std::max(0.0, total - computed) / computed) : "?";
}

void ProgressBar::round(const RoundRecord& record) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  done_ = record.round;
  examples_before_ += record.examples;
  examples_a_round_ = examples_before_ / (done_ - first_);
  clear();
  std::printf("round %u/%u", record.round, rounds_);
  if (record.test) {
    accuracy_ = record.test->accuracy;
    metric_ = record.test->metric;
    std::printf("  test %s %.4f  loss %.4f", metric_.c_str(), record.test->accuracy, record.test->loss);
    if (!record.client_accuracy.empty()) std::printf("  worst client %.4f", *std::ranges::min_element(record.client_accuracy));
  }
  if (record.validation) std::printf("  validation %.4f", record.validation->accuracy);
  if (record.example_spent) std::printf("  epsilon %s", epsilon_text(record.example_spent->epsilon).c_str());
  if (record.client_spent) std::printf("  client epsilon %s", epsilon_text(record.client_spent->epsilon).c_str());
  if (record.is_idle()) std::printf("  no step kept");
  std::printf("  train loss %s  %.0f examples/s  %s left\n", figure(record.train_loss).c_str(),
              record.seconds > 0 ? static_cast<double>(record.examples) / record.seconds : 0.0, time_left().c_str());
  if (record.is_idle() && !idle_advice_.empty()) {
    std::printf("round %u: no step of anybody was kept; %s\n", record.round, idle_advice_.c_str());
    idle_advice_.clear();
  }
  for (const ClientReport& client : record.clients)
    if (!client.failure.empty())
      std::printf("round %u: client %u left out: %s\n", record.round, client.client, client.failure.c_str());
  std::fflush(stdout);
}

void ProgressBar::draw() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t computed = examples_->load(std::memory_order_relaxed);
  const double within = examples_a_round_ > 0
                            ? std::min(1.0, static_cast<double>(computed - std::min(computed, examples_before_)) /
                                                static_cast<double>(examples_a_round_))
                            : 0.0;
  const double share = rounds_ > 0 ? std::min(1.0, (done_ + within) / rounds_) : 1.0;
  constexpr int width = 30;
  const int filled = static_cast<int>(share * width);
  const double seconds = seconds_since(start_);
  std::printf(
      "\r\033[K[%s%s] round %u/%u  %s %s  %.0f examples/s  %s left", std::string(static_cast<std::size_t>(filled), '#').c_str(),
      std::string(static_cast<std::size_t>(width - filled), '.').c_str(), std::min(done_ + 1, rounds_), rounds_, metric_.c_str(),
      figure(accuracy_).c_str(), seconds > 0 ? static_cast<double>(computed) / seconds : 0.0, time_left().c_str());
  std::fflush(stdout);
}

void ProgressBar::clear() {
  if (!terminal_) return;
  std::printf("\r\033[K");
  std::fflush(stdout);
}

}  // namespace fedstride
