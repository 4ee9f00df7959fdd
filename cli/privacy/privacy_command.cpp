#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/privacy/privacy_compositions.hpp"
#include "cli/privacy/privacy_parts.hpp"
#include "cli/privacy/privacy_question.hpp"
#include "cli/settings_flags.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/lower_bound.hpp"

namespace fedstride {
namespace {

Json described(const PrivacyQuestion& question, const Accountant& accountant, const Releases& releases) {
  Json json{{"accountant", part_name(accountant)},           {"neighbours", name_of(releases.neighbours)},
            {"sampling", name_of(releases.sampling)},        {"sampling_rate", releases.rate},
            {"noise_multiplier", releases.noise_multiplier}, {"steps", releases.count}};
  if (releases.sampling == Sampling::shuffle) json["epochs"] = releases.passes;
  if (question.delta) json["delta"] = *question.delta;
  if (question.epsilon) json["epsilon"] = *question.epsilon;
  return json;
}

void warn(const std::string& warning) {
  if (!warning.empty()) std::cerr << "fedstride: note: " << warning << "\n";
}

/// Shuffled lots as the papers account for them. No bound.
Spending as_poisson(Releases releases) {
  releases.sampling = Sampling::poisson;
  releases.passes = 0;
  return {releases};
}

/// Remarks on shuffled lots besides the proven epsilon: the papers' number, labelled as such, and a lower bound on any epsilon
/// that can be proven.
void add_shuffle_facts(const PrivacyQuestion& question, const Accountant& accountant, const Releases& releases, Json& json,
                       std::string& text) {
  if (releases.sampling != Sampling::shuffle) return;
  const auto as_in_papers = as_poisson(releases);
  const std::string label = "as in the papers, assuming Poisson sampling";
  if (unsound_by(accountant, as_in_papers).empty()) {
    const bool asks_epsilon = question.delta.has_value();
    const double value = asks_epsilon ? epsilon_by(accountant, as_in_papers, *question.delta).value
                                      : delta_by(accountant, as_in_papers, *question.epsilon).value;
    text += "\n" + label + ": " + (asks_epsilon ? "epsilon " : "delta ") + rounded_up(value) +
            ", which does not hold for shuffled lots";
    json[label] = finite_json(value);
  }
  if (!question.delta) return;
  const double lower = shuffle_epsilon_lower_bound(releases.noise_multiplier, lots_of(question), *question.delta);
  text += "\nlower bound, of the first epoch alone: epsilon " + rounded_down(lower) + "; nothing below it can be proven";
  json["lower_bound"] = lower;
}

void print(const PrivacyQuestion& question, const Json& json, const std::string& text) {
  std::cout << (question.json ? dump_json(json, 1) : text) << "\n";
}

void say_epsilon(const PrivacyQuestion& question) {
  if (!question.composition.empty()) return answer_compositions(question, CompositionAsk::epsilon);
  const Accountant accountant = make_accountant(question.accountant);
  const Releases releases = releases_of(question, *question.noise_multiplier);
  const auto bound = epsilon_by(accountant, std::span(&releases, 1), *question.delta);
  Json json = described(question, accountant, releases);
  json["epsilon"] = finite_json(bound.value);
  if (!bound.warning.empty()) json["warning"] = bound.warning;
  std::string text = "epsilon " + rounded_up(bound.value) + " at delta " + number_text(*question.delta) + " (" +
                     setting_text(part_name(accountant), releases) + ")";
  add_shuffle_facts(question, accountant, releases, json, text);
  print(question, json, text);
  warn(bound.warning);
}

void say_delta(const PrivacyQuestion& question) {
  if (!question.composition.empty()) return answer_compositions(question, CompositionAsk::delta);
  const Accountant accountant = make_accountant(question.accountant);
  const Releases releases = releases_of(question, *question.noise_multiplier);
  const auto bound = delta_by(accountant, std::span(&releases, 1), *question.epsilon);
  Json json = described(question, accountant, releases);
  json["delta"] = bound.value;
  if (!bound.warning.empty()) json["warning"] = bound.warning;
  std::string text = "delta " + rounded_up(bound.value) + " at epsilon " + number_text(*question.epsilon) + " (" +
                     setting_text(part_name(accountant), releases) + ")";
  add_shuffle_facts(question, accountant, releases, json, text);
  print(question, json, text);
  warn(bound.warning);
}

void say_noise(const PrivacyQuestion& question) {
  const Accountant accountant = make_accountant(question.accountant);
  const double multiplier = calibrate(
      accountant, [&](double noise_multiplier) { return Spending{releases_of(question, noise_multiplier)}; }, *question.epsilon,
      *question.delta);
  const Releases releases = releases_of(question, multiplier);
  const auto bound = epsilon_by(accountant, std::span(&releases, 1), *question.delta);
  Json json = described(question, accountant, releases);
  json["reached_epsilon"] = finite_json(bound.value);
  if (!bound.warning.empty()) json["warning"] = bound.warning;
  std::string text = "noise multiplier " + number_text(multiplier) + " for epsilon " + number_text(*question.epsilon) +
                     " at delta " + number_text(*question.delta) + "; it reaches " + rounded_up(bound.value) + " (" +
                     setting_text(part_name(accountant), releases) + ")";
  print(question, json, text);
  warn(bound.warning);
}

void say_steps(PrivacyQuestion question) {
  question.steps = 1;
  const Accountant accountant = make_accountant(question.accountant);
  Releases next = releases_of(question, *question.noise_multiplier);
  const bool shuffled = next.sampling == Sampling::shuffle;
  if (shuffled) next.sampling = Sampling::full;  // a record is in one lot an epoch
  std::uint64_t steps = most_steps(accountant, {}, next, *question.epsilon, *question.delta);
  Releases releases = releases_of(question, *question.noise_multiplier);
  releases.passes = shuffled ? steps : 0;
  if (shuffled) steps *= lots_of(question);
  releases.count = steps;
  const auto bound = epsilon_by(accountant, std::span(&releases, 1), *question.delta);
  Json json = described(question, accountant, releases);
  json["reached_epsilon"] = finite_json(bound.value);
  if (!bound.warning.empty()) json["warning"] = bound.warning;
  print(question, json,
        counted(steps, "step") + " within epsilon " + number_text(*question.epsilon) + " at delta " +
            number_text(*question.delta) + "; they reach " + rounded_up(bound.value) + " (" +
            setting_text(part_name(accountant), releases) + ")");
  warn(bound.warning);
}

void compare(const PrivacyQuestion& question) {
  if (!question.composition.empty()) return compare_on_compositions(question);
  if (question.epsilon.has_value() == question.delta.has_value())
    throw usage_error("compare needs one of --delta (it then shows epsilon) and --epsilon (it then shows delta)");
  const Releases releases = releases_of(question, *question.noise_multiplier);
  const Spending spending{releases};
  std::string text = setting_text(
      question.delta ? "delta " + number_text(*question.delta) : "epsilon " + number_text(*question.epsilon), releases);
  const Json rows = compare_accountants(spending, question.accountant, question.epsilon, question.delta, text);
  Json json = described(question, Accountant{}, releases);
  json.erase("accountant");
  json["accountants"] = rows;
  add_shuffle_facts(question, Accountant{}, releases, json, text);
  print(question, json, text);
}

}  // namespace

void add_privacy_command(CLI::App& app) {
  CLI::App& privacy = *app.add_subcommand("privacy", "What releases with noise cost: epsilon, delta, noise, steps.");
  privacy.require_subcommand(1);
  privacy.footer("Example: fedstride privacy epsilon --sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --delta 1e-5");
  auto question = std::make_shared<PrivacyQuestion>();
  const auto add = [&](const std::string& name, const std::string& what, const QuestionFlags& flags, const std::string& example,
                       const auto& carry_out) {
    CLI::App* command = privacy.add_subcommand(name, what);
    command->footer("Example: fedstride privacy " + name + " " + example);
    add_question_flags(*command, *question, flags);
    command->callback([question, command, flags, carry_out] {
      check_question_flags(*command, *question, flags);
      carry_out(*question);
    });
  };
  add("epsilon", "The epsilon that an accountant proves.",
      {"accountant sampling-rate steps epochs", "noise-multiplier delta", true},
      "--sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --delta 1e-5", say_epsilon);
  add("delta", "The delta that an accountant proves.",
      {"accountant sampling-rate steps epochs", "noise-multiplier epsilon", true},
      "--sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --epsilon 1", say_delta);
  add("calibrate", "The smallest noise multiplier, to 0.001 and rounded up, that meets epsilon and delta.",
      {"accountant sampling-rate steps epochs", "epsilon delta"}, "--epsilon 3 --delta 1e-5 --sampling-rate 0.01 --steps 10000",
      say_noise);
  add("steps", "The largest number of steps within epsilon and delta.",
      {"accountant sampling-rate", "noise-multiplier epsilon delta"},
      "--epsilon 1 --delta 1e-5 --sampling-rate 0.01 --noise-multiplier 4", say_steps);
  add("compare", "What all accountants say, side by side.",
      {"sampling-rate steps epochs delta epsilon", "noise-multiplier", true},
      "--sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --delta 1e-5", compare);

  auto path = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  CLI::App* evaluate = privacy.add_subcommand("evaluate", "Answer every case of a composition file, a line of JSON each.");
  evaluate->footer(
      "Fails if a case cannot be answered or its answer is out of the case's bounds; docs/compositions.md has the form.\n"
      "Example: fedstride privacy evaluate tests/golden/compositions.json");
  evaluate->allow_extras();
  takes(*evaluate->add_option("FILE", *path, "JSON: {\"version\": 1, \"cases\": [{\"id\", \"ask\", \"events\", ...}, ...]}")
             ->required(),
        Place::file);
  add_switch(*evaluate, "--json", *as_json, "print JSON, as it does without this flag too");
  when_called(*evaluate, [path, as_json] { evaluate_compositions(*path); });

  add_privacy_schedule(privacy);
  add_privacy_audit(privacy);
}

}  // namespace fedstride
