#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "core/passing_folder.hpp"
#include "core/seconds_since.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/run/run.hpp"
#include "sim/run/run_privacy.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/cells/estimate.hpp"
#include "sweep/cells/subcommand.hpp"
#include "sweep/cells/sweep.hpp"
#include "sweep/cells/sweep_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kMeasured = 0.7;  // seconds of training per kind of cell; less if there are many kinds
constexpr double kMeasuredInAll = 15;
constexpr double kMinMeasuredSeconds = 0.1;
constexpr double kMaxGradientSeconds = 30;  // maximum seconds to wait for the first gradient
constexpr double kMaxCommandSeconds = 10;   // maximum seconds to wait for a command other than run

// The costs of a kind of cell.
struct Speed {
  double preparation = 0;  ///< seconds before the first round
  double example = 0;      ///< seconds to compute the gradient of one example
  double evaluation = 0;   ///< seconds to evaluate the test set
  double training_rows = 0;
  double test_rows = 0;
};

// Starts a run and stops it after the given time, in the middle of a round if necessary.
class Measurement {
 public:
  explicit Measurement(double seconds) : length_(seconds) {}

  Speed measure(const Configuration& configuration) {
    RunObserver observer;
    observer.stop = &stop_;
    observer.started = [&](const Setup& setup, const std::string&, std::uint32_t, const std::atomic<std::uint64_t>& examples) {
      speed_.preparation = seconds_since(begin_);
      speed_.training_rows = static_cast<double>(setup.data.train.size());
      speed_.test_rows = static_cast<double>(setup.data.test.size());
      watcher_ = std::jthread([&, start = Clock::now()] { watch(examples, start); });
    };
    const auto last = static_cast<std::uint32_t>(configuration.rounds);
    observer.round = [&](const RoundRecord& record) {
      const std::lock_guard lock(mutex_);
      examples_ += record.totals.sums.examples;
      seconds_ += record.seconds;
      if (record.round == last) over_ = true;
      ended_.notify_all();
    };
    const RunSummary summary = run(configuration, {}, observer);
    const auto end = Clock::now();
    watcher_.join();
    speed_.evaluation = summary.interrupted ? std::chrono::duration<double>(end - interrupted_).count()
                                            : std::max(0.0, seconds_since(begin_) - speed_.preparation - seconds_);
    speed_.example = examples_ > 0 ? seconds_ / static_cast<double>(examples_) : std::nan("");
    return speed_;
  }

 private:
  // `examples` is valid until the run ends, which happens after its last round or once stop_ is set here.
  void watch(const std::atomic<std::uint64_t>& examples, Clock::time_point start) {
    std::unique_lock lock(mutex_);
    const auto ends_within = [&](double seconds) {
      return ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return over_; });
    };
    if (ends_within(length_)) return;
    while (examples.load() == 0 && seconds_since(start) < kMaxGradientSeconds)  // a large lot takes longer
      if (ends_within(kMinMeasuredSeconds)) return;
    if (const std::uint64_t computed = examples.load(); computed > examples_) {
      examples_ = computed;
      seconds_ = seconds_since(start);
    }
    interrupted_ = Clock::now();
    stop_ = true;
  }

  const double length_;
  const Clock::time_point begin_ = Clock::now();
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::uint64_t examples_ = 0;
  double seconds_ = 0;
  Clock::time_point interrupted_ = {};
  Speed speed_ = {};
  std::jthread watcher_;
};

// Returns the configuration to measure for a cell: without privacy budgets or periodic evaluation, and with a fixed seed.
Configuration measured(Configuration configuration) {
  const auto plain_noise = [](double& noise, double& epsilon) {
    if (noise <= 0) noise = 1;
    epsilon = 0;
  };
  if (ExampleSettings* level = configuration.privacy->example()) plain_noise(level->noise_multiplier, level->epsilon);
  if (ClientSettings* level = configuration.privacy->client()) {
    plain_noise(level->noise_multiplier, level->epsilon);
    if (level->has_shares()) configuration.secure_grid.clear();  // chosen for other noise
  }
  configuration.evaluate_every = 1'000'000'000;
  configuration.evaluate_rows = 0;
  configuration.seed = 1;
  return configuration;
}

// Returns the kind of a cell as text; cells of one kind cost the same per example.
std::string kind_of(const Configuration& configuration) {
  std::string text = configuration.dataset + '\n' + configuration.data + '\n' + configuration.data_dir + '\n' +
                     configuration.model + '\n' + configuration.freeze + '\n' + std::string(choice_name(configuration.augment)) +
                     '\n' + std::to_string(configuration.batch);
  text += '\n' + std::string(configuration.optimizer.name()) + '\n' + std::string(configuration.privacy.name());
  if (const ExampleSettings* example = example_level(configuration.privacy)) text += '\n' + std::to_string(example->components);
  return text + '\n' + std::to_string(std::min(configuration.clients, 64));
}

// Returns the number of rounds that a cell will complete; privacy budgets may end it long before the last round.
double expected_rounds(const Configuration& configuration) {
  const ExampleSettings* example = example_level(configuration.privacy);
  const ClientSettings* client = client_level(configuration.privacy);
  // If the noise is calibrated for all rounds, no budget ends the run early.
  const bool by_examples =
      example != nullptr && example->epsilon > 0 && (example->noise_multiplier > 0 || example->target_epochs > 0);
  const bool by_clients = client != nullptr && client->epsilon > 0 && client->noise_multiplier > 0;
  if (!by_examples && !by_clients) return configuration.rounds;
  return rounds_within_budget(prepare(configuration, FirstWeights::elsewhere));
}

double seconds_of(const Configuration& configuration, const Speed& speed) {
  const double rounds = expected_rounds(configuration);
  double rows = speed.training_rows * (1 - configuration.validation_fraction);
  if (configuration.limit_per_client > 0)
    rows = configuration.clients == 0
               ? rows
               : std::min(rows, static_cast<double>(configuration.limit_per_client) * configuration.clients);
  const auto clients = static_cast<std::size_t>(std::max(1, configuration.clients));  // 0: as many as the data has
  const double cohort = participation_rate(configuration, clients);
  const double evaluations = std::ceil(rounds / configuration.evaluate_every);
  const double test_rows = std::max(1.0, speed.test_rows);
  const bool sampled = configuration.evaluate_rows > 0;
  const double evaluated = (sampled ? std::min(1.0, configuration.evaluate_rows / test_rows) : 1) +
                           configuration.validation_fraction * speed.training_rows / test_rows;
  return speed.preparation + speed.example * rows * cohort * configuration.local_epochs * rounds +
         speed.evaluation * (evaluated * evaluations + (sampled ? 1 : 0));
}

class Estimator {
 public:
  Estimator(const Experiment& experiment, const SweepOptions& options)
      : experiment_(experiment), options_(options), threads_(std::max(1, Threads(options.threads).count() / options.jobs)) {}

  // Sets the length of each measurement: the more kinds of cells, the shorter.
  void look_at(const std::vector<const Cell*>& cells) {
    if (experiment_.command != "run") return;
    std::set<std::string> kinds;
    for (const Cell* cell : cells) kinds.insert(kind_of(resolve(cell->settings)));
    length_ =
        std::clamp(kMeasuredInAll / static_cast<double>(std::max<std::size_t>(kinds.size(), 1)), kMinMeasuredSeconds, kMeasured);
  }

  CellEstimate of(const Cell& cell) {
    try {
      return {experiment_.command == "run" ? run_seconds(cell) : command_seconds(cell)};
    } catch (const Error& error) {
      return {std::nan(""), error.what()};
    }
  }

 private:
  double run_seconds(const Cell& cell) {
    const Configuration configuration = resolve(cell.settings);
    const auto [speed, is_new] = speeds_.try_emplace(kind_of(configuration));
    if (is_new) {
      Configuration shortened = measured(configuration);
      shortened.threads = threads_;
      shortened.out = (scratch_.path() / std::to_string(speeds_.size())).string();
      speed->second.example = std::nan("");
      speed->second = Measurement(length_).measure(shortened);
    }
    return seconds_of(configuration, speed->second);
  }

  // For commands other than run, assumes that all cells cost as much as the first.
  double command_seconds(const Cell& cell) {
    if (!command_seconds_) {
      std::vector<std::string> words = command_words(experiment_, cell);
      words.insert(words.begin(), options_.program);
      const auto start = Clock::now();
      run_program(words, nullptr, kMaxCommandSeconds);
      command_seconds_ = seconds_since(start);
    }
    return *command_seconds_;
  }

  const Experiment& experiment_;
  const SweepOptions& options_;
  int threads_;
  double length_ = kMeasured;
  const PassingFolder scratch_{"estimate"};
  std::map<std::string, Speed> speeds_ = {};
  std::optional<double> command_seconds_ = {};
};

}  // namespace

std::vector<CellEstimate> estimate(const Experiment& experiment, const std::vector<Cell>& cells, const SweepOptions& options) {
  const FloatingPointMode mode;
  const fs::path folder = sweep_path(experiment, options.out);
  Estimator estimator(experiment, options);
  std::vector<CellEstimate> estimates(cells.size());
  std::vector<const Cell*> left;
  for (const Cell& cell : cells)
    if (cell_state(folder, experiment, cell, options.inputs).kind != CellState::Kind::finished) left.push_back(&cell);
  estimator.look_at(left);
  for (const Cell* cell : left) estimates[static_cast<std::size_t>(cell - cells.data())] = estimator.of(*cell);
  return estimates;
}

}  // namespace fedstride
