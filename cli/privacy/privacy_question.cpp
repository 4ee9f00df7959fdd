#include "cli/privacy/privacy_question.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "cli/flag_values.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

template <class Number>
void add_number(CLI::App& command, const std::string& name, std::optional<Number>& number, const Valid& valid,
                const std::string& help, bool required) {
  const auto read = [&number, valid, name](const std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !valid.admits(static_cast<double>(value)))
      throw usage_error(name + " is '" + text + "'; it must be " + valid.text(std::is_integral_v<Number>));
    number = value;
  };
  takes(*command.add_option_function<std::string>("--" + name, read, help + "; " + valid.text(std::is_integral_v<Number>))
             ->required(required),
        {.word = "NUMBER"});
}

template <class Part>
void set_field(Part& part, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  bool found = false;
  std::vector<std::string> names;
  for_each_field<Part>([&](const auto& field) {
    names.emplace_back(field.name);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part.*field.member)>, std::string>) {
      if (field.name != name) return;
      check_field(field, value);
      part.*field.member = value;
      found = true;
    }
  });
  if (found) return;
  const std::string settings = names.empty() ? "it has no settings" : "its settings: " + joined(names);
  throw usage_error(std::string(name) + " does not go with accountant '" + std::string(Part::kName) + "'; " + settings);
}

// What a setting of that name may be, whichever accountant has it.
std::vector<std::string> field_choices(std::string_view name) {
  std::vector<std::string> names;
  for_each_part<Accountant>([&]<class Part>(const Part&) {
    for_each_field<Part>([&](const auto& field) {
      if (field.name != name) return;
      for (const auto choice : split(field.valid.choices, '|'))
        if (std::ranges::find(names, choice) == names.end()) names.emplace_back(choice);
    });
  });
  return names;
}

std::vector<KnownName> as_known(const std::vector<std::string>& names) {
  std::vector<KnownName> known;
  for (const std::string& name : names) known.push_back({name});
  return known;
}

template <Choice E>
std::vector<std::string> choices_of() {
  return {kChoiceNames<E>.begin(), kChoiceNames<E>.end()};
}

std::string with_digits(double number, int direction) {
  if (std::isinf(number)) return "infinite";
  if (number == 0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
  // Numbers that four digits hold but for their last bits stay as they are.
  double digits = number / unit;
  const double nearest_digits = std::round(digits);
  digits = std::abs(digits - nearest_digits) < 1e-9 ? nearest_digits
           : direction > 0                          ? std::ceil(digits)
                                                    : std::floor(digits);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", digits * unit);
  return text;
}

}  // namespace

void add_question_flags(CLI::App& command, PrivacyQuestion& question, const std::string& flags,
                        const std::string& required) {
  const auto in = [](const std::string& list, const std::string& name) {
    for (const auto word : split(list, ' '))
      if (word == name) return true;
    return false;
  };
  const auto number = [&](const std::string& name, auto& target, const Valid& valid, const std::string& help) {
    if (in(flags, name) || in(required, name)) add_number(command, name, target, valid, help, in(required, name));
  };
  command.allow_extras();
  if (in(flags, "accountant")) {
    std::vector<KnownName> known;
    for_each_part<Accountant>([&]<class Part>(const Part&) {
      known.push_back({std::string(Part::kName), std::string(Part::kSummary)});
    });
    const auto names = part_names<Accountant>();
    takes(*command.add_option("--accountant", question.accountant,
                              "how losses are added up; valid: " + joined(names) + " [" + names.front() + "]"),
          {.word = "NAME", .known = known});
  }
  takes(*command.add_option("--orders", question.orders,
                            "rdp: grid of orders; valid: " + joined(field_choices("orders")) + " [default]"),
        {.word = "NAME", .known = as_known(field_choices("orders"))});
  takes(*command.add_option("--conversion", question.conversion,
                            "rdp: improved or classical; zcdp: improved or classic [improved]"),
        {.word = "NAME", .known = as_known(field_choices("conversion"))});
  add_choice_flag(command, "--sampling", question.sampling, choices_of<Sampling>(), "how lots are drawn");
  add_choice_flag(command, "--neighbours", question.neighbours, choices_of<Neighbours>(),
                  "data sets that must look alike: one record more or less, or one other record");
  number("sampling-rate", question.rate, {.low = 0, .high = 1, .low_included = false},
         "share of the records in a lot; not with --sampling full");
  number("noise-multiplier", question.noise_multiplier, kPositive,
         "standard deviation of the noise on the sum / clip bound of one record");
  number("steps", question.steps, {.low = 1, .high = 1e15}, "releases (ADADP makes two a step)");
  number("epochs", question.epochs, {.low = 1, .high = 1e15}, "passes over the data; with --sampling shuffle alone");
  number("epsilon", question.epsilon, kNonNegative, "privacy loss");
  number("delta", question.delta, {.low = 0, .high = 1, .low_included = false, .high_included = false},
         "probability of a larger loss");
  add_switch(command, "--json", question.json, "print JSON");
}

Accountant accountant_of(const PrivacyQuestion& question, std::string_view name) {
  auto accountant = make_part<Accountant>("accountant", name);
  std::visit(
      [&](auto& part) {
        set_field(part, "orders", question.orders);
        set_field(part, "conversion", question.conversion);
      },
      accountant);
  return accountant;
}

Accountant accountant_of(const PrivacyQuestion& question) {
  return accountant_of(question, question.accountant.empty() ? part_names<Accountant>().front() : question.accountant);
}

std::uint64_t lots_of(const PrivacyQuestion& question) {
  if (!question.rate) throw usage_error("sampling-rate is missing; with sampling shuffle it says how many lots there are");
  return static_cast<std::uint64_t>(std::max(1.0, std::round(1 / *question.rate)));
}

Releases releases_of(const PrivacyQuestion& question, double noise_multiplier) {
  Releases releases{.sampling = sampling_named(question.sampling),
                    .neighbours = neighbours_named(question.neighbours),
                    .noise_multiplier = noise_multiplier,
                    .count = question.steps.value_or(1)};
  const bool shuffled = releases.sampling == Sampling::shuffle;
  if (!question.steps && !question.epochs)
    throw usage_error(shuffled ? "steps and epochs are both missing; sampling shuffle needs one" : "steps is missing");
  if (question.epochs && !shuffled) throw usage_error("epochs is for sampling shuffle; valid: steps");
  if (releases.sampling == Sampling::full && question.rate.value_or(1) != 1)
    throw usage_error("sampling-rate is " + number_text(*question.rate) +
                      "; with sampling full it is 1, or left out. Valid: poisson, without-replacement");
  if (releases.sampling == Sampling::full) return releases;
  if (!question.rate)
    throw usage_error("sampling-rate is missing; sampling '" + question.sampling + "' needs it");
  releases.rate = *question.rate;
  if (shuffled) {
    const std::uint64_t lots = lots_of(question);
    releases.passes = question.epochs.value_or((releases.count + lots - 1) / lots);
    if (question.epochs && !question.steps) releases.count = *question.epochs * lots;
  }
  return releases;
}

std::string setting_text(std::string_view accountant, const Releases& releases) {
  const std::string rate = number_text(releases.rate);
  const std::string drawn =
      releases.sampling == Sampling::poisson               ? "Poisson sampling at rate " + rate
      : releases.sampling == Sampling::without_replacement ? "sampling without replacement at rate " + rate
      : releases.sampling == Sampling::shuffle             ? "shuffled lots, no amplification claimed"
                                                           : "everyone in every release";
  std::string text = std::string(accountant) + "; " + std::string(name_of(releases.neighbours)) + " neighbours, " +
                     drawn + ", noise multiplier " + number_text(releases.noise_multiplier) + ", " +
                     std::to_string(releases.count) + (releases.count == 1 ? " step" : " steps");
  if (releases.sampling == Sampling::shuffle)
    text += " in " + std::to_string(releases.passes) + (releases.passes == 1 ? " epoch" : " epochs");
  return text;
}

std::string rounded_up(double number) { return with_digits(number, 1); }
std::string rounded_down(double number) { return with_digits(number, -1); }

}  // namespace fedstride
