#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/flags.hpp"
#include "cli/privacy/privacy.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/accountants/hong.hpp"

namespace fedstride {
namespace {

constexpr const char* kPublic =
    "kappa, gap, smoothness and the Lipschitz constant behind the clip must come from public or auxiliary data; "
    "estimates from the private data leak information about it.";

struct PrivacyScheduleFlags {
  hong::Problem problem;
  double kappa = 10;
  double learning_rate = 0;
  double momentum = 0;
  int steps = 0;
  bool json = false;
};

void schedule(const PrivacyScheduleFlags& arguments) {
  hong::Problem problem = arguments.problem;
  problem.learning_rate = arguments.learning_rate > 0 ? arguments.learning_rate : 1 / problem.smoothness;
  const double alpha = hong::alpha(problem);
  const double kappa = arguments.kappa;
  const hong::StaticSteps fixed = hong::best_static_steps(alpha, kappa);
  const auto [dynamic_as_printed, dynamic] = hong::best_dynamic_steps(alpha, kappa);
  // Theorem 3.4 takes gamma = 1 - eta mu, which is 1 - 1/kappa for eta = 1/M.
  const double gamma = arguments.momentum > 0 ? 1 - problem.learning_rate * problem.smoothness / kappa : hong::gamma(kappa);
  if (!(gamma > 0))
    throw usage_error("kappa is " + number_text(kappa) + "; it is so small that one step is enough, and there is no schedule");
  const std::uint64_t steps = arguments.steps > 0 ? static_cast<std::uint64_t>(arguments.steps) : dynamic;
  constexpr std::uint64_t kMaxListedSteps = 1'000'000;
  if (steps > kMaxListedSteps)
    throw usage_error("a schedule of " + std::to_string(steps) + " steps is too long; set --steps to at most 1000000");
  const std::vector<double> sigmas =
      steps == 0 ? std::vector<double>{} : hong::dynamic_sigmas(steps, problem.budget, gamma, arguments.momentum);
  const auto value = [&](auto bound, std::uint64_t at) { return bound(static_cast<double>(at), alpha, kappa); };

  Json json{{"alpha", alpha},
            {"gamma", gamma},
            {"best_static_steps_as_printed", fixed.printed},
            {"best_static_steps_of_the_relaxed_bound", fixed.relaxed},
            {"best_static_steps", fixed.bound},
            {"static_bound", value(hong::static_bound, fixed.bound)},
            {"best_dynamic_steps_as_printed", dynamic_as_printed},
            {"best_dynamic_steps", dynamic},
            {"dynamic_bound", value(hong::dynamic_bound, dynamic)}};
  if (arguments.momentum > 0) {
    const double zeta = hong::zeta(problem.smoothness, arguments.momentum, gamma, problem.learning_rate);
    json["zeta"] = finite_json(zeta);
  }
  json["steps"] = steps;
  json["budget"] = problem.budget;
  json["zcdp_rho_add_remove"] = problem.budget / 2;
  json["inputs"] = kPublic;
  json["sigmas"] = sigmas;
  if (arguments.json) return print_json(json);
  for (const auto& [name, entry] : json.items()) {
    if (name == "sigmas" || name == "inputs") continue;
    std::string label = name;
    std::ranges::replace(label, '_', ' ');
    std::printf("%-40s %s\n", label.c_str(), dump_json(entry).c_str());
  }
  std::printf("note: %s\n\n%8s  %s\n", kPublic, "step", "noise multiplier");
  const std::size_t stride = sigmas.size() > 50 ? (sigmas.size() + 19) / 20 : 1;
  for (std::size_t t = 0; t < sigmas.size(); t = t + 1 == sigmas.size() ? t + 1 : std::min(t + stride, sigmas.size() - 1))
    std::printf("%8zu  %.6g\n", t + 1, sigmas[t]);
  if (stride > 1) std::printf("one in every %zu of %zu steps is shown; --json lists all\n", stride, sigmas.size());
}

}  // namespace

void add_privacy_schedule(CLI::App& privacy) {
  const auto [command, flags] = add_command<PrivacyScheduleFlags>(
      privacy, "schedule", "Compute the steps and noise schedule of Hong et al.'s dynamic budgets.",
      std::string(kPublic) +
          "\nThe noise multiplier is for clipped sums; the budget R is the sum of 1 / (noise multiplier)^2.\n"
          "Example: fedstride privacy schedule --kappa 50 --dimension 7850 --examples 60000 --budget 0.5 --gap 2.3",
      schedule);
  hong::Problem& problem = flags.problem;
  add_number_flag(command, "--kappa", flags.kappa, kAtLeastOne, "smoothness divided by the Polyak-Lojasiewicz constant");
  add_number_flag(command, "--smoothness", problem.smoothness, kPositive, "M, the Lipschitz constant of the gradient");
  add_number_flag(command, "--dimension", problem.dimension, kPositive, "D, the number of parameters");
  add_number_flag(command, "--examples", problem.examples, kPositive, "N, the number of examples, which is public");
  add_number_flag(command, "--clip", problem.clip, kPositive, "C, at least the loss's Lipschitz constant");
  add_number_flag(command, "--gap", problem.gap, kPositive, "initial loss minus the minimal loss");
  add_number_flag(command, "--budget", problem.budget, kPositive, "R, twice the zCDP budget under add-remove neighbors");
  add_number_flag(command, "--learning-rate", flags.learning_rate, kNonNegative, "step size; 0: 1/M");
  add_number_flag(command, "--momentum", flags.momentum, {.low = 0, .high = 1, .high_included = false},
                  "beta of Theorem 3.4; 0: Lemma 3.1");
  add_number_flag(command, "--steps", flags.steps, {.low = 0, .high = 1e6},
                  "T, the number of steps; 0: the best number for dynamic noise without momentum");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
