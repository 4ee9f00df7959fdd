#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "data/named_facts.hpp"
#include "nn/tensor_line.hpp"
#include "sim/settings/configuration.hpp"
#include "sim/settings/methods.hpp"
#include "sim/settings/resolving.hpp"
#include "sim/settings/rules.hpp"

namespace fedstride {
namespace {

/// Settings in which neither the local nor the server optimizer is "auto".
struct AutomaticChoice {
  Settings settings;
  std::string note = {};  ///< one line for the user; empty unless the program chose something other than its first candidate
};

using Candidate = std::vector<std::pair<std::string_view, std::string_view>>;

// Candidates, from first choice to last resort.
const Candidate kExamples[] = {
    {{"optimizer", "pooled"}, {"server-optimizer", "restore"}},
    {{"optimizer", "pooled"}},
    {{"optimizer", "adadp"}, {"tolerance", "auto"}},
    {{"optimizer", "adadp"}},
};
const Candidate kClients[] = {
    {{"optimizer", "pooled"}, {"tolerance-schedule", "constant"}, {"clip-rule", "scaled"}, {"server-schedule", "noise"}},
    {{"optimizer", "pooled"}},
    {{"optimizer", "adadp"}, {"tolerance", "auto"}},
    {{"optimizer", "adadp"}},
};

// What completes an "adadp" whose clients are protected, after too-long: the direction of a step counts, so the bound scales it, and
// the server's rate follows from the noise.
const Candidate kPrivateAdadp[] = {
    {{"clip-rule", "scaled"}, {"server-schedule", "noise"}},
    {{"clip-rule", "scaled"}},
    {},
};

bool is_text(const Settings& settings, std::string_view key, std::string_view text) {
  const auto found = settings.find(key);
  if (found == settings.end()) return false;
  const auto* given = std::get_if<std::string>(&found->second.value);
  return given != nullptr && *given == text;
}

bool is_open(const Settings& settings, std::string_view key) {
  return !settings.contains(key) || is_text(settings, key, kAutomatic);
}

// Returns the first given key of an optimizer that `pooled` lacks and `adadp` has (of_adadp) or also lacks. If the command line
// sets auto, a file's keys for the optimizer that it chose do not count.
std::optional<std::string> optimizer_key(const Settings& settings, bool of_adadp) {
  const auto asked = settings.find("optimizer");
  const bool replaces = asked != settings.end() && asked->second.from_command_line;
  const auto has = [](const KeyInfo& key, std::string_view part) {
    return std::ranges::find(key.parts, part) != key.parts.end();
  };
  for (const auto& [name, setting] : settings) {
    const KeyInfo* key = find_key(name);
    if (key == nullptr || key->group != "optimizer" || (replaces && !setting.from_command_line)) continue;
    if (has(*key, "adadp") == of_adadp && !has(*key, "pooled")) return name;
  }
  return std::nullopt;
}

Settings with(Settings settings, const Candidate& candidate) {
  for (const auto& [key, value] : candidate) {
    // A value that replaces "auto" from the command line overrides a file, as "auto" did.
    const auto given = settings.find(key);
    const bool from_command_line = given != settings.end() && given->second.from_command_line;
    if (given == settings.end() || is_text(settings, key, kAutomatic))
      settings[std::string(key)] = {std::string(value), from_command_line};
  }
  if (is_text(settings, "server-optimizer", kAutomatic)) settings.erase("server-optimizer");  // plain averaging
  return settings;
}

// Returns why these settings are refused, or nullopt if they are valid.
std::optional<std::string> refused(const Settings& settings) {
  try {
    const Configuration configuration = resolve_named(settings);
    // User code takes the steps, so an optimizer that plans them is meaningless.
    if ((is_trained_outside(configuration) || is_tensor_line(configuration.model)) &&
        !(configuration.optimizer.name() == "adadp" && !configuration.optimizer->is_told()))
      return "";
    return broken_rule(configuration);
  } catch (const Error& error) {
    return error.what();
  }
}

// "too-long keep, clip-rule scaled".
std::string words_of(std::span<const Candidate::value_type> pieces) {
  std::vector<std::string> words;
  for (const auto& [key, value] : pieces) words.push_back(std::string(key) + " " + std::string(value));
  return joined(words);
}

std::string joined_notes(std::string note, const std::string& more) {
  return more.empty() ? note : std::move(note) + "; " + more;
}

bool protects_clients(const Settings& settings) { return is_text(settings, "dp", "client") || is_text(settings, "dp", "both"); }

// Completes settings whose optimizer is "adadp", if clients are protected, by the first candidate that no rule refuses. At a model
// with noise every step exceeds the tolerance, and an undone step sends nothing. A tolerance that follows from few clients is so
// large that kept steps can diverge; they are cut to it.
AutomaticChoice with_adadp(const Settings& settings) {
  if (!protects_clients(settings)) return {settings};
  if (const Configuration named = resolve_named(settings); is_trained_outside(named) || is_tensor_line(named.model))
    return {settings};  // user code takes the steps
  for (const Candidate& candidate : kPrivateAdadp) {
    Candidate open{{"too-long", is_text(settings, "tolerance", kAutomatic) ? "clip" : "keep"}};
    std::ranges::copy(candidate, std::back_inserter(open));
    std::erase_if(open, [&](const auto& one) { return !is_open(settings, one.first); });
    AutomaticChoice choice{with(settings, open)};
    if (refused(choice.settings)) continue;
    if (!open.empty())
      choice.note = "optimizer adadp with " + words_of(open) + ", since clients are protected: undone steps send nothing" +
                    (settings.contains("preset") ? "; no preset's source has private clients" : "");
    return choice;
  }
  return {settings};
}

/// Chooses the local optimizer, with the settings that go with it, if the user left it open: the first of a few candidates
/// that no rule refuses. Settings from the user stay unchanged, and a key that only ADADP has selects ADADP. If
/// every candidate is refused, the choice is plain ADADP, so the error concerns the user's settings. An unspecified server
/// optimizer becomes plain averaging unless the chosen candidate includes one. The choice depends only on the settings, so it is
/// the same in every process of a run.
AutomaticChoice choose_optimizers(const Settings& settings) {
  if (!is_open(settings, "optimizer")) {
    const Settings named = with(settings, {});
    return is_text(settings, "optimizer", "adadp") ? with_adadp(named) : AutomaticChoice{named};
  }
  if (const auto key = optimizer_key(settings, true)) {
    AutomaticChoice choice = with_adadp(with(settings, {{"optimizer", "adadp"}}));
    choice.note = joined_notes(auto_note("optimizer", "adadp, since " + *key + " is given", "--optimizer"), choice.note);
    return choice;
  }
  const auto candidates =
      protects_clients(settings) ? std::span<const Candidate>(kClients) : std::span<const Candidate>(kExamples);
  // If a given key belongs to neither optimizer, the error names the first-choice optimizer.
  if (optimizer_key(settings, false)) return {with(settings, candidates.front())};
  std::string first;
  for (const Candidate& candidate : candidates) {
    AutomaticChoice choice{with(settings, candidate)};
    if (candidate.front().second == "adadp") choice = with_adadp(choice.settings);
    const auto why = refused(choice.settings);
    if (why && &candidate != &candidates.back()) {
      if (&candidate == &candidates.front()) first = *why;
      continue;
    }
    if (first.empty()) return choice;  // no note for user code either, which replaces the optimizer
    std::string chosen(candidate.front().second);
    if (candidate.size() > 1) chosen += " with " + words_of(std::span(candidate).subspan(1));
    if (!choice.settings.contains("server-optimizer"))
      chosen += (candidate.size() > 1 ? " and" : " with") + std::string(" server-optimizer average");
    choice.note =
        joined_notes(auto_note("optimizer", chosen + "; its first choice is refused: " + first, "--optimizer"), choice.note);
    return choice;
  }
  return {settings};
}

}  // namespace

Configuration resolve_unchecked(const Settings& settings) {
  AutomaticChoice chosen = choose_optimizers(with_method(with_clip_rule(settings)));
  Configuration configuration = resolve_named(chosen.settings);
  configuration.automatic_note = std::move(chosen.note);
  return configuration;
}

}  // namespace fedstride
