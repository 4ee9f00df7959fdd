#include <cstdio>
#include <filesystem>
#include <iostream>

#include "cli/flags.hpp"
#include "cli/privacy/privacy.hpp"
#include "cli/terminal/host.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/run/measure.hpp"

namespace fedstride {
namespace {

struct PrivacyMeasureFlags {
  std::string run;
  std::string config;
  int canaries = 0;
  double confidence = 0.99;
  bool json = false;
};

Settings measured_settings(const PrivacyMeasureFlags& arguments) {
  if (arguments.run.empty() == arguments.config.empty())
    throw usage_error("privacy measure needs a run's folder or --config FILE, but not both");
  if (!arguments.config.empty()) return read_settings(arguments.config);
  const std::filesystem::path file = std::filesystem::path(arguments.run) / "config.toml";
  if (std::error_code error; !std::filesystem::exists(file, error))
    throw usage_error("'" + arguments.run + "' is not the folder of a run: it has no config.toml");
  return read_settings(file.string());
}

Json measured_json(const Measurement& found) {
  Json json{{"rounds", found.rounds}, {"seconds", found.seconds}, {"levels", Json::array()}};
  for (const MeasuredLevel& level : found.levels) {
    Json bounds = Json::array();
    for (const LowerBound& bound : level.bounds)
      bounds.push_back({{"view", bound.view},
                        {"method", bound.method},
                        {"epsilon", finite_json(bound.epsilon)},
                        {"confidence", bound.confidence}});
    json["levels"].push_back({{"level", choice_name(level.ledger.level)},
                              {"epsilon", finite_json(level.ledger.epsilon)},
                              {"delta", level.ledger.delta},
                              {"canaries", level.canaries},
                              {"releases", level.releases},
                              {"ratio", level.ratio},
                              {"least_ratio", level.least_ratio},
                              {"rate", level.rate},
                              {"least_rate", level.least_rate},
                              {"largest_contribution", level.largest_contribution},
                              {"power", level.power},
                              {"bounds", bounds},
                              {"contradiction", level.contradiction}});
  }
  return json;
}

void show_measured(const Measurement& found) {
  for (const MeasuredLevel& level : found.levels) {
    std::printf("%s level, delta %s: %s in %s\n", std::string(choice_name(level.ledger.level)).c_str(),
                number_text(level.ledger.delta).c_str(), counted(level.canaries, "canary", "canaries").c_str(),
                counted(level.releases, "release").c_str());
    std::printf("  %-14s %-29s %-17s %s\n", "seen", "method", "epsilon", "confidence");
    for (const LowerBound& bound : level.bounds)
      std::printf("  %-14s %-29s at least %-8s %.4g %%\n", bound.view.c_str(), bound.method.c_str(),
                  rounded_down(bound.epsilon).c_str(), 100 * bound.confidence);
    std::printf("  %-14s %-29s at most %-8s  proven\n", "ledger", level.ledger.accountant.c_str(),
                rounded_up(level.ledger.epsilon).c_str());
    if (level.releases > 0)
      std::printf("  signal-to-noise ratio: %.3f of the one claimed, at least %.3f; share of records in a release: %.4g\n",
                  level.ratio, level.least_ratio, level.rate);
    else
      std::printf("  no release contained canaries\n");
    std::printf("  noise %g times as large as claimed would have been found with probability %.2f%s\n", MeasuredLevel::kLessNoise,
                level.power, level.power < 0.95 ? "; more --canaries or rounds make it more likely" : "");
    if (level.largest_contribution > 0)
      std::printf("  a row changed a sum by at most %.4f times the clip bound\n", level.largest_contribution);
  }
  std::fflush(stdout);
}

void measure(const PrivacyMeasureFlags& arguments) {
  const Settings settings = measured_settings(arguments);
  const Measurement found = measure_privacy(resolve(settings), {.canaries = static_cast<std::uint64_t>(arguments.canaries),
                                                                .confidence = arguments.confidence,
                                                                .stop = stop_on_signals()});
  if (arguments.json)
    print_json(measured_json(found));
  else
    show_measured(found);
  for (const MeasuredLevel& level : found.levels)
    if (!level.contradiction.empty())
      throw failure("measured at " + std::string(choice_name(level.ledger.level)) + " level: " + level.contradiction);
}

}  // namespace

void add_privacy_measure(CLI::App& privacy) {
  const auto [command, flags] = add_command<PrivacyMeasureFlags>(
      privacy, "measure", "Train again with canaries and derive lower bounds on epsilon from what releases reveal about them.",
      "Canaries, random directions that a coin flip includes or leaves out, pass through the program's own sampling, clipping,\n"
      "noise and rounds. "
      "The lower bounds are printed beside the ledger's upper bound; the command fails if one is above it. Jointly,\n"
      "they hold with probability --confidence. Nothing is written. ('privacy audit' recomputes a ledger instead, and trains "
      "nothing.)\n"
      "Example: fedstride privacy measure runs/private",
      measure);
  add_flag(command, "RUN", flags.run, Place::folder, "the folder of a run, whose config.toml is used");
  add_flag(command, "--config", flags.config, Place::file, "the configuration to measure, instead of a run's");
  add_number_flag(
      command, "--canaries", flags.canaries, {.low = 0, .high = 1e5},
      "number of canaries, or fewer if the model has no room for them; 0: 1000 at example level, 200 at client level");
  add_number_flag(command, "--confidence", flags.confidence, {.low = 0.5, .high = 0.999999}, "joint confidence of all bounds");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
