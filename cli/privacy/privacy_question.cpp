#include "cli/privacy/privacy.hpp"

#include <CLI/CLI.hpp>

#include "cli/flags.hpp"
#include "core/text.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {
namespace {

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

}  // namespace

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

std::uint64_t lots_of(const PrivacyQuestion& question) {
  if (!question.rate)
    throw usage_error("sampling-rate is missing; sampling '" + question.sampling + "' needs it for the number of lots");
  return lots_an_epoch(*question.rate);
}

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
    throw usage_error("epochs does not go with sampling '" + question.sampling + "', only with " + draws_with_passes() +
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

std::string setting_text(std::string_view accountant, const Releases& releases) {
  std::string text = std::string(accountant) + "; " + std::string(name_of(releases.neighbours)) + " neighbors, " +
                     draw_of(releases.sampling).text(releases.rate) + ", noise multiplier " +
                     number_text(releases.noise_multiplier) + ", " + counted(releases.count, "step");
  if (has_passes(releases.sampling)) text += " in " + counted(releases.passes, "epoch");
  return text;
}

}  // namespace fedstride
