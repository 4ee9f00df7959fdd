#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/privacy/privacy.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {
namespace {

/// The flags of `fedstride privacy`.
struct PrivacyQuestion {
  AccountantWords accountant;
  std::string sampling = "poisson";
  std::string neighbours = "add-remove";
  std::optional<double> rate;
  std::optional<double> noise_multiplier;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> epochs;
  bool json = false;
};

/// The names of a subcommand's flags, separated by spaces.
struct QuestionFlags {
  std::string optional;
  std::string required;
};

bool is_word_of(const std::string& list, std::string_view word) {
  for (const auto one : split(list, ' '))
    if (one == word) return true;
  return false;
}

/// The accountants with this setting: "rdp, zcdp".
std::string accountants_with(std::string_view setting) {
  std::vector<std::string> names;
  for (const auto& name : part_names<Accountant>())
    if (has_setting(name, setting)) names.push_back(name);
  return joined(names);
}

/// Returns the names of the draws that make passes over the records: "shuffle or ...".
std::string draws_with_passes() {
  std::vector<std::string_view> names{kChoiceNames<Sampling>.begin(), kChoiceNames<Sampling>.end()};
  std::erase_if(names, [](std::string_view name) { return !has_passes(sampling_named(name)); });
  return joined(names, " or ");
}

void add_question_flags(CLI::App& command, PrivacyQuestion& question, const QuestionFlags& flags) {
  const auto number = [&](const std::string& name, auto& target, const Valid& valid, const std::string& help) {
    const bool required = is_word_of(flags.required, name);
    if (required || is_word_of(flags.optional, name))
      add_number_flag(command, "--" + name, target, valid, help).required(required);
  };
  if (is_word_of(flags.optional, "accountant")) {
    std::vector<KnownName> known;
    for_each_part<Accountant>([&]<class Part>(const Part&) {
      known.push_back({std::string(Part::kName), std::string(Part::kSummary)});
    });
    const auto names = part_names<Accountant>();
    add_flag(command, "--accountant", question.accountant.name, {.word = "NAME", .known = known},
             "method that composes the privacy losses; valid: " + joined(names) + " [" + names.front() + "]");
  }
  add_flag(command, "--orders", question.accountant.orders, {.word = "NAME", .known = as_known(choices_of<OrderGrid>())},
           accountants_with("orders") + ": grid of Renyi orders; valid: " + joined(kChoiceNames<OrderGrid>) + " [default]");
  add_flag(command, "--conversion", question.accountant.conversion, {.word = "NAME", .known = as_known(choices_of<Conversion>())},
           accountants_with("conversion") +
               ": conversion from divergence to epsilon; valid: " + joined(kChoiceNames<Conversion>) + " [improved]");
  add_choice_flag(command, "--sampling", question.sampling, choices_of<Sampling>(), "how lots are sampled");
  add_choice_flag(command, "--neighbours", question.neighbours, choices_of<Neighbours>(),
                  "neighboring data sets: one record added or removed, or one replaced");
  number("sampling-rate", question.rate, {.low = 0, .high = 1, .low_included = false},
         "share of the records in a lot; not with --sampling full");
  number("noise-multiplier", question.noise_multiplier, kPositive,
         "standard deviation of the noise on the sum, divided by the clip bound");
  number("steps", question.steps, {.low = 1, .high = 1e15}, "number of releases (ADADP makes two in each step)");
  number("epochs", question.epochs, {.low = 1, .high = 1e15},
         "passes over the data; only with --sampling " + draws_with_passes());
  number("epsilon", question.epsilon, kNonNegative, "privacy loss");
  number("delta", question.delta, {.low = 0, .high = 1, .low_included = false, .high_included = false},
         "probability of a larger loss");
  add_json_switch(command, question.json);
}

/// Returns the number of shuffled lots in an epoch. Throws Error (usage) if no rate is given.
std::uint64_t lots_of(const PrivacyQuestion& question) {
  if (!question.rate)
    throw usage_error("sampling-rate is missing; sampling '" + question.sampling + "' needs it for the number of lots");
  return lots_an_epoch(*question.rate);
}

/// Returns the releases that may include a given record, at this noise multiplier. For shuffled lots, their `passes` is the
/// number of epochs. Throws Error (usage) if flags contradict each other.
Releases releases_of(const PrivacyQuestion& question, double noise_multiplier) {
  Releases releases{.sampling = sampling_named(question.sampling),
                    .neighbours = neighbours_named(question.neighbours),
                    .noise_multiplier = noise_multiplier,
                    .count = question.steps.value_or(1)};
  const bool in_passes = has_passes(releases.sampling);
  if (!question.steps && !question.epochs)
    throw usage_error(in_passes ? "steps and epochs are missing; sampling '" + question.sampling + "' needs one of them"
                                : "steps is missing");
  if (question.epochs && !in_passes)
    throw usage_error("epochs cannot be combined with sampling '" + question.sampling + "', only with " + draws_with_passes() +
                      "; use steps");
  if (releases.sampling == Sampling::full && question.rate.value_or(1) != 1)
    throw usage_error("sampling-rate is " + number_text(*question.rate) + "; with sampling 'full' it must be 1 or left out");
  if (releases.sampling == Sampling::full) return releases;
  if (!question.rate) throw usage_error("sampling-rate is missing; sampling '" + question.sampling + "' needs it");
  releases.rate = *question.rate;
  if (in_passes) {
    releases.passes = question.epochs.value_or(epochs_of(releases.count, releases.rate));
    if (question.epochs && !question.steps) releases.count = *question.epochs * lots_of(question);
  }
  return releases;
}

/// "tight; add-remove neighbors, Poisson sampling at rate 0.01, noise multiplier 4, 10000 steps"
std::string setting_text(std::string_view accountant, const Releases& releases) {
  std::string text = std::string(accountant) + "; " + std::string(name_of(releases.neighbours)) + " neighbors, " +
                     draw_of(releases.sampling).text(releases.rate) + ", noise multiplier " +
                     number_text(releases.noise_multiplier) + ", " + counted(releases.count, "step");
  if (has_passes(releases.sampling)) text += " in " + counted(releases.passes, "epoch");
  return text;
}

Json described(const PrivacyQuestion& question, const Accountant& accountant, const Releases& releases) {
  Json json{{"accountant", part_name(accountant)},           {"neighbours", name_of(releases.neighbours)},
            {"sampling", name_of(releases.sampling)},        {"sampling_rate", releases.rate},
            {"noise_multiplier", releases.noise_multiplier}, {"steps", releases.count}};
  if (has_passes(releases.sampling)) json["epochs"] = releases.passes;
  if (question.delta) json["delta"] = *question.delta;
  if (question.epsilon) json["epsilon"] = *question.epsilon;
  return json;
}

void warn(const std::string& warning) {
  if (!warning.empty()) std::cerr << "fedstride: note: " << warning << "\n";
}

/// Returns shuffled lots as the papers account for them, as if Poisson-sampled; this gives no valid bound.
Spending as_poisson(Releases releases) {
  releases.sampling = Sampling::poisson;
  releases.passes = 0;
  return {releases};
}

/// For shuffled lots, adds to the answer the papers' number, labeled as such, and a lower bound on any provable epsilon.
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
  text += "\nlower bound, from the first epoch alone: epsilon " + rounded_down(lower) + "; no smaller epsilon can be proven";
  json["lower_bound"] = lower;
}

void print(const PrivacyQuestion& question, const Json& json, const std::string& text) {
  std::cout << (question.json ? dump_json(json, 2) : text) << "\n";
}

/// Prints an answer: the bound, and the setting it holds for.
void say(const PrivacyQuestion& question, const Accountant& accountant, const Releases& releases, const PrivacyBound& bound,
         const std::string& key, std::string text) {
  Json json = described(question, accountant, releases);
  json[key] = finite_json(bound.value);
  if (!bound.warning.empty()) json["warning"] = bound.warning;
  text += " (" + setting_text(part_name(accountant), releases) + ")";
  if (key != "reached_epsilon") add_shuffle_facts(question, accountant, releases, json, text);
  print(question, json, text);
  warn(bound.warning);
}

void say_epsilon(const PrivacyQuestion& question) {
  const Accountant accountant = make_accountant(question.accountant);
  const Releases releases = releases_of(question, *question.noise_multiplier);
  const auto bound = epsilon_by(accountant, std::span(&releases, 1), *question.delta);
  say(question, accountant, releases, bound, "epsilon",
      "epsilon " + rounded_up(bound.value) + " at delta " + number_text(*question.delta));
}

void say_delta(const PrivacyQuestion& question) {
  const Accountant accountant = make_accountant(question.accountant);
  const Releases releases = releases_of(question, *question.noise_multiplier);
  const auto bound = delta_by(accountant, std::span(&releases, 1), *question.epsilon);
  say(question, accountant, releases, bound, "delta",
      "delta " + rounded_up(bound.value) + " at epsilon " + number_text(*question.epsilon));
}

/// " epsilon 3 at delta 1e-05"
std::string budget_text(const PrivacyQuestion& question) {
  return " epsilon " + number_text(*question.epsilon) + " at delta " + number_text(*question.delta);
}

void say_noise(const PrivacyQuestion& question) {
  const Accountant accountant = make_accountant(question.accountant);
  const double multiplier = calibrate(
      accountant, [&](double noise_multiplier) { return Spending{releases_of(question, noise_multiplier)}; }, *question.epsilon,
      *question.delta);
  const Releases releases = releases_of(question, multiplier);
  const auto bound = epsilon_by(accountant, std::span(&releases, 1), *question.delta);
  say(question, accountant, releases, bound, "reached_epsilon",
      "noise multiplier " + number_text(multiplier) + " for" + budget_text(question) + "; it reaches " + rounded_up(bound.value));
}

void say_steps(PrivacyQuestion question) {
  question.steps = 1;
  const Accountant accountant = make_accountant(question.accountant);
  Releases releases = releases_of(question, *question.noise_multiplier);
  const bool in_passes = has_passes(releases.sampling);
  Releases next = releases;
  next.passes = 0;
  if (releases.sampling == Sampling::shuffle) next.sampling = Sampling::full, next.rate = 1;  // a record is in one lot per epoch
  const std::uint64_t steps = most_steps(accountant, {}, next, *question.epsilon, *question.delta);
  releases.passes = in_passes ? steps : 0;
  releases.count = in_passes ? steps * lots_of(question) : steps;
  PrivacyBound bound = epsilon_by(accountant, std::span(&releases, 1), *question.delta);
  const std::string remark = steps_remark(steps);
  if (!remark.empty()) bound.warning += (bound.warning.empty() ? "" : "; ") + remark;
  say(question, accountant, releases, bound, "reached_epsilon",
      (remark.empty() ? "" : "at least ") + counted(releases.count, "step") + " within" + budget_text(question) +
          "; they reach " + rounded_up(bound.value));
}

/// Prints a row for each accountant, with the bound it proves or why it has none. Settings apply to the accountants that have them.
void compare(const PrivacyQuestion& question) {
  if (question.epsilon.has_value() == question.delta.has_value())
    throw usage_error("compare needs exactly one of --delta (to show epsilon) and --epsilon (to show delta)");
  const Releases releases = releases_of(question, *question.noise_multiplier);
  const bool asks_epsilon = question.delta.has_value();
  Json json = described(question, Accountant{}, releases);
  json.erase("accountant");
  Json& rows = json["accountants"] = Json::array();
  std::string text = setting_text(
      asks_epsilon ? "delta " + number_text(*question.delta) : "epsilon " + number_text(*question.epsilon), releases);
  text += std::string("\naccountant    ") + (asks_epsilon ? "epsilon" : "delta");
  for (const auto& name : part_names<Accountant>()) {
    const auto setting = [&](const char* key, const std::string& word) { return has_setting(name, key) ? word : ""; };
    const Accountant accountant = make_accountant({.name = name,
                                                   .conversion = setting("conversion", question.accountant.conversion),
                                                   .orders = setting("orders", question.accountant.orders)});
    std::string value = "-";
    std::string remark = unsound_by(accountant, {&releases, 1});
    Json row{{"accountant", name}};
    if (remark.empty()) {
      const auto bound = asks_epsilon ? epsilon_by(accountant, {&releases, 1}, *question.delta)
                                      : delta_by(accountant, {&releases, 1}, *question.epsilon);
      value = rounded_up(bound.value);
      remark = bound.warning;
      row[asks_epsilon ? "epsilon" : "delta"] = finite_json(bound.value);
      if (!remark.empty()) row["warning"] = remark;
    } else {
      row["unsound"] = remark;
    }
    char line[64];
    std::snprintf(line, sizeof line, "\n%-13s %-10s", name.c_str(), value.c_str());
    text += line + (remark.empty() ? "" : " " + remark);
    while (text.ends_with(' ')) text.pop_back();
    rows.push_back(row);
  }
  add_shuffle_facts(question, Accountant{}, releases, json, text);
  print(question, json, text);
}

}  // namespace

Json finite_json(double number) { return std::isfinite(number) ? Json(number) : Json("infinite"); }

void add_privacy_command(CLI::App& app) {
  CLI::App& privacy = add_command(
      app, "privacy",
      "Compute epsilon, delta, noise or steps of noisy releases; audit a run's ledger, or measure what its program leaks.",
      "Example: fedstride privacy epsilon --sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --delta 1e-5", {});
  privacy.require_subcommand(1);
  const auto question = std::make_shared<PrivacyQuestion>();
  const auto add = [&](const std::string& name, const std::string& what, const QuestionFlags& flags, const std::string& example,
                       const auto& carry_out) {
    CLI::App& command = add_command(privacy, name, what, "Example: fedstride privacy " + name + " " + example,
                                    [question, carry_out](CLI::App&) { carry_out(*question); });
    add_question_flags(command, *question, flags);
  };
  add("epsilon", "Compute epsilon at a given delta.", {"accountant sampling-rate steps epochs", "noise-multiplier delta"},
      "--sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --delta 1e-5", say_epsilon);
  add("delta", "Compute delta at a given epsilon.", {"accountant sampling-rate steps epochs", "noise-multiplier epsilon"},
      "--sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --epsilon 1", say_delta);
  add("calibrate", "Find the smallest noise multiplier for epsilon and delta, rounded up to 0.001.",
      {"accountant sampling-rate steps epochs", "epsilon delta"}, "--epsilon 3 --delta 1e-5 --sampling-rate 0.01 --steps 10000",
      say_noise);
  add("steps", "Find the largest number of steps within epsilon and delta.",
      {"accountant sampling-rate", "noise-multiplier epsilon delta"},
      "--epsilon 1 --delta 1e-5 --sampling-rate 0.01 --noise-multiplier 4", say_steps);
  add("compare", "Compare all accountants.", {"sampling-rate steps epochs delta epsilon", "noise-multiplier"},
      "--sampling-rate 0.01 --noise-multiplier 4 --steps 10000 --delta 1e-5", compare);

  add_privacy_schedule(privacy);
  add_privacy_audit(privacy);
  add_privacy_budget(privacy);
  add_privacy_measure(privacy);
}

}  // namespace fedstride
