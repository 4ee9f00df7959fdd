#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "client/told_evaluation.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/schema.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/statement.hpp"
#include "nn/safetensors.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMostNames = 20;

std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> some(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  for (std::string& name : some) name = one_line(name);
  return joined(some) + (some.size() < names.size() ? ", ... (" + std::to_string(names.size()) + ")" : "");
}

std::string inputs_text(const Schema& schema) {
  std::string text = schema.form.vocabulary > 0
                         ? std::to_string(schema.form.shape.height) + " tokens of " + std::to_string(schema.form.vocabulary)
                         : schema.form.shape.text();
  if (schema.columns.are_named) text += ": " + names_text(schema.columns.inputs);
  for (const NamedCategories& one : schema.columns.categories)
    text += "; '" + one_line(one.column) + "' is one of " + names_text(one.words);
  return text;
}

std::string outputs_text(const Schema& schema) {
  std::string text = std::to_string(schema.form.outputs) + ' ' + std::string(choice_name(schema.form.targets));
  if (!schema.classes.empty())
    text += ": " + names_text(schema.classes);
  else if (schema.columns.are_named)
    text += ": " + names_text(schema.columns.answers);
  return text;
}

/// What the ledger of a run says of its privacy; a claim of summary.json alone is called that.
std::string privacy_of(const std::filesystem::path& folder, bool is_claimed) {
  const std::filesystem::path ledger = folder / "ledger.jsonl";
  if (!is_there(ledger))
    return is_claimed ? "claimed by summary.json, but there is no ledger.jsonl to compute it from: ask for it"
                      : "none: nothing protects the training rows";
  try {
    const LedgerReading reading = read_ledger(ledger, {}, ledger_key(folder));
    std::string text;
    for (const PrivacyStatement& statement : model_statements(reading.book))
      text += (text.empty() ? "" : " ") + plain_text(statement, reading.book.header().source);
    return text + " 'fedstride privacy audit' checks the folder.";
  } catch (const Error& error) {
    return std::string("unknown: ") + error.what();
  }
}

/// Describes a finished run's model for its users, as pairs of name and text: the model's line, inputs, outputs, normalization,
/// treatment of missing inputs, test result and privacy statement, from model.safetensors and summary.json. Empty until the run
/// has written both files. Throws Error (failure) if either is damaged.
std::vector<std::pair<std::string, std::string>> model_card(const std::filesystem::path& folder) {
  std::error_code error;
  const auto file = folder / "model.safetensors";
  if (!std::filesystem::exists(file, error) || !std::filesystem::exists(folder / "summary.json", error)) return {};
  const SafeTensors model = read_safetensors(file);
  std::vector<std::pair<std::string, std::string>> card;
  const auto text_of = [](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? one_line(found->get<std::string>()) : std::string();
  };
  try {
    const Json summary = parse_json(read_file(folder / "summary.json", size_of_file(folder / "summary.json")));
    card.emplace_back("model", text_of(summary, "model"));
    if (const auto text = model.metadata.find(kSchemaKey); text != model.metadata.end()) {
      const Schema schema = read_schema(text->second, "'" + file.string() + "'");
      card.emplace_back("inputs", inputs_text(schema));
      card.emplace_back("outputs", outputs_text(schema));
      if (!schema.mean.empty())
        card.emplace_back("normalized", "(input - mean) / deviation, " + schema.normalized_by +
                                            "; the constants are in schema.json, and pixels are divided by 255 first");
      card.emplace_back("missing", std::string(choice_name(schema.missing)));
    }
    const std::string metric = text_of(summary, "metric");
    const std::string key = "test_" + std::string(metric_key(metric));
    if (const auto value = summary.find(key); value != summary.end() && value->is_number())
      card.emplace_back("test", metric + " " + number_text(value->get<double>()));
    if (const std::string ended = text_of(summary, "halted"); !ended.empty()) card.emplace_back("ended", ended);
    card.emplace_back("privacy", privacy_of(folder, summary.contains("privacy")));
  } catch (const JsonError& damaged) {
    throw failure("'" + (folder / "summary.json").string() + "' is damaged: " + damaged.what());
  }
  return card;
}

struct ExplainFlags {
  std::string folder;
  bool json = false;
};

/// A column of the output: a number that a line of rounds.jsonl contains or implies.
struct ExplainedNumber {
  const char* key;
  const char* head;
  const char* meaning;
};
constexpr ExplainedNumber kExplained[] = {
    {"test_accuracy", "accuracy", "on the test rows"},
    {"test_r2", "R2", "on the test rows"},
    {"learning_rate", "rate", "of the clients' next steps, on average"},
    {"lowest_rate", "lowest", "of these rates"},
    {"highest_rate", "highest", "of these rates"},
    {"undone_share", "undone", "share of the clients' steps that were undone because their error exceeded the tolerance"},
    {"tolerance", "tolerance", "noise that one step may add to the weights, at the start of the round"},
    {"tolerance_bound", "bound", "on the tolerance, before its decrease in the second half of the run"},
    {"pooled_noise", "V", "squared noise of a step at rate 1, as sent to the clients: rate = tolerance / sqrt(V)"},
    {"round_noise", "V here", "the same, as measured in this round"},
    {"noise_directions", "directions", "number of directions in which that noise points"},
    {"server_rate", "gamma", "factor on the mean change"},
    {"client_length", "|D_k|", "root mean square length of the clients' changes"},
    {"mean_length", "|D|", "length of their mean"},
    {"change_cosine", "cosine", "between the mean change and the model's change one round earlier"},
};
constexpr std::size_t kExplainedNumbers = std::size(kExplained);
/// The number with two significant digits.
std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", number);
  return text;
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct ExplainedRound {
  int round = 0;
  std::array<double, kExplainedNumbers> numbers;
  double steps = 0;   ///< taken by all clients
  double undone = 0;  ///< how many of these were undone
};

double number_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : kUnknown;
}

std::size_t place_of(std::string_view key) {
  return static_cast<std::size_t>(
      std::ranges::find(kExplained, key, [](const ExplainedNumber& one) { return std::string_view(one.key); }) - kExplained);
}

/// What the explanation uses from a run's rounds.jsonl and config.toml.
struct ExplainedRun {
  bool is_adadp = false;  ///< from config.toml
  std::vector<ExplainedRound> rounds;
  std::map<std::uint64_t, std::pair<double, int>> lengths;  ///< by client: sum and count of update_norm / client_length

  bool has(std::string_view key) const { return !std::isnan(mean(key)); }
  /// Returns the mean of this number over the rounds that report it; NaN if none does.
  double mean(std::string_view key) const {
    double sum = 0;
    int count = 0;
    for (const ExplainedRound& round : rounds)
      if (const double number = round.numbers[place_of(key)]; !std::isnan(number)) sum += number, ++count;
    return count > 0 ? sum / count : kUnknown;
  }
  int count_if(auto test) const {
    return static_cast<int>(std::ranges::count_if(rounds, [&](const ExplainedRound& round) {
      return test([&](std::string_view key) { return round.numbers[place_of(key)]; });
    }));
  }
};

// Adds the learning rates and undone steps, which a line reports for the whole round or per client.
void add_steps(const Json& line, ExplainedRun& run, ExplainedRound& round) {
  const auto number = [&](std::string_view key) -> double& { return round.numbers[place_of(key)]; };
  const auto sum = [&](const char* key) { return std::isnan(number_in(line, key)) ? 0 : number_in(line, key); };
  round.steps = sum("steps");
  round.undone = sum("rejected_steps");
  double rate = 0;
  int rates = 0;
  if (const auto clients = line.find("clients"); clients != line.end())
    for (const Json& client : *clients) {
      if (const double own = number_in(client, "learning_rate"); !std::isnan(own)) {
        rate += own, ++rates;
        if (run.is_adadp) {
          number("lowest_rate") = std::fmin(number("lowest_rate"), own);
          number("highest_rate") = std::fmax(number("highest_rate"), own);
        }
      }
      const double steps = number_in(client, "steps"), undone = number_in(client, "rejected");
      if (!line.contains("steps") && !std::isnan(steps) && !std::isnan(undone)) round.steps += steps, round.undone += undone;
      const double length = number_in(client, "update_norm") / number("client_length");
      if (std::isfinite(length)) {
        auto& [total, count] = run.lengths[static_cast<std::uint64_t>(number_in(client, "client"))];
        total += length;
        ++count;
      }
    }
  if (double& mean = number("learning_rate"); std::isnan(mean) && rates > 0) mean = rate / rates;
  if (run.is_adadp && round.steps > 0) number("undone_share") = round.undone / round.steps;
}

bool is_run_of_adadp(const std::string& folder) {
  const std::string path = folder + "/config.toml";
  return std::filesystem::exists(path) && resolve_unchecked(read_settings(path)).optimizer.name() == "adadp";
}

ExplainedRun read_explained(const std::string& folder) {
  const std::string path = folder + "/rounds.jsonl";
  std::ifstream file(path);
  if (!file) throw failure("'" + path + "' cannot be read; DIR must be the folder of a run");
  ExplainedRun run;
  run.is_adadp = is_run_of_adadp(folder);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    ++number;
    try {
      const Json json = parse_json(line);
      if (!json.is_object()) throw JsonError("not an object");
      ExplainedRound& round = run.rounds.emplace_back();
      round.round = static_cast<int>(number_in(json, "round"));
      for (std::size_t i = 0; i < kExplainedNumbers; ++i) round.numbers[i] = number_in(json, kExplained[i].key);
      add_steps(json, run, round);
    } catch (const JsonError&) {
      throw failure("'" + path + "' is damaged: see the line of round " + std::to_string(number));
    }
  }
  if (run.rounds.empty()) throw failure("'" + folder + "' has no finished round yet; there is nothing to explain");
  return run;
}

constexpr std::size_t kMostRoundsShown = 16;

// Selects at most 16 rounds, including the first and the last.
std::vector<const ExplainedRound*> shown_rounds(const ExplainedRun& run) {
  std::vector<const ExplainedRound*> shown;
  const std::size_t last = run.rounds.size() - 1;
  const std::size_t steps = std::min(last, kMostRoundsShown - 1);
  for (std::size_t i = 0; i <= steps; ++i) shown.push_back(&run.rounds[steps == 0 ? 0 : last * i / steps]);
  return shown;
}

// Adds sentences about ADADP's undone steps and the learning rates that clients found.
void diagnose_steps(const ExplainedRun& run, std::vector<std::string>& text) {
  double steps = 0, undone = 0, most = 0;
  int worst = 0, idle = 0;
  for (const ExplainedRound& round : run.rounds) {
    steps += round.steps;
    undone += round.undone;
    if (round.steps > 0 && round.undone / round.steps > most) most = round.undone / round.steps, worst = round.round;
    if (round.steps > 0 && round.undone == round.steps) ++idle;
  }
  if (steps > 0)
    text.push_back("Of " + counted(static_cast<std::size_t>(steps), "step") +
                   (undone == 0 ? std::string(" none was undone.")
                                : ", " + std::to_string(std::lround(100 * undone / steps)) +
                                      " % were undone: they cost two gradients each and left the weights as they were. Round " +
                                      std::to_string(worst) + " has the largest share, " +
                                      std::to_string(std::lround(100 * most)) + " %."));
  if (idle > 0)
    text.push_back("In " + std::to_string(idle) + " of " + counted(run.rounds.size(), "round") +
                   " every step was undone, so the model did not move; a smaller initial --learning-rate or a larger --tolerance "
                   "helps.");
  const auto at = [&](const ExplainedRound& round, std::string_view key) { return round.numbers[place_of(key)]; };
  const ExplainedRound &first = run.rounds.front(), &last = run.rounds.back();
  if (std::isnan(at(first, "learning_rate")) || std::isnan(at(last, "learning_rate"))) return;
  std::string rates = "Clients' rates were " + shown(at(first, "learning_rate")) + " on average after round " +
                      std::to_string(first.round) + " and " + shown(at(last, "learning_rate")) + " after round " +
                      std::to_string(last.round);
  if (const double low = at(last, "lowest_rate"), high = at(last, "highest_rate"); high > low)
    rates += ", where they ranged from " + shown(low) + " to " + shown(high);
  text.push_back(rates + "; each follows the error of its client's own steps.");
}

// Returns sentences that interpret the numbers.
std::vector<std::string> diagnosis(const ExplainedRun& run) {
  std::vector<std::string> text;
  const std::string all = " of " + counted(run.rounds.size(), "round");
  if (run.is_adadp) diagnose_steps(run, text);
  if (run.has("tolerance")) {
    const int bounded = run.count_if([](auto of) { return of("tolerance") >= of("tolerance_bound") * (1 - 1e-9); });
    text.push_back("The bound on the tolerance was in force at the start of " + std::to_string(bounded) + all + ".");
    const int grown = run.count_if([](auto of) { return of("round_noise") > 1.5 * of("pooled_noise"); });
    text.push_back("In " + std::to_string(grown) + all +
                   " clients measured more than 1.5 times the noise sent to them; they took smaller steps for the rest of the "
                   "round.");
  }
  if (run.has("server_rate")) {
    const double share = run.mean("mean_length") / run.mean("client_length");
    text.push_back("Averaging left " + shown(100 * share) +
                   " % of the length of the clients' changes, and the server moved the model by " +
                   shown(run.mean("server_rate")) +
                   " times the mean change, on average. The smaller that share, the less "
                   "clients agree; with k clients that do not agree at all, it is 1 / sqrt(k).");
  }
  if (run.has("change_cosine")) {
    const double cosine = run.mean("change_cosine");
    text.push_back("Consecutive changes have a cosine of " + shown(cosine) + " on average" +
                   (cosine > 0.3    ? ": the model still moves in one direction, and more rounds would move it further."
                    : cosine < -0.1 ? ": the model oscillates, so the steps were too long for the end of a run."
                                    : ": the model neither moves in one direction nor oscillates."));
  }
  std::vector<std::pair<double, std::uint64_t>> far;
  for (const auto& [client, sum] : run.lengths) far.emplace_back(sum.first / sum.second, client);
  std::ranges::sort(far, std::greater{});
  if (far.size() > 2 && far.front().first > 1.5) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, far.size()) && far[i].first > 1.5; ++i)
      names += (i > 0 ? ", " : "") + std::to_string(far[i].second) + " (" + shown(far[i].first) + " times)";
    text.push_back("Clients whose changes are longest, in units of the round's root mean square: " + names + ".");
  }
  if (text.empty())
    text.emplace_back(
        "Neither the local optimizer nor the server optimizer of this run adapts a rate in a way that the run's files explain; "
        "'pooled', "
        "'adadp' and 'restore' do.");
  return text;
}

void explain(const ExplainFlags& arguments) {
  if (arguments.folder.empty()) throw usage_error("DIR is ''; it must name the folder of a run");
  const ExplainedRun run = read_explained(arguments.folder);
  const auto card = model_card(arguments.folder);
  std::vector<const ExplainedNumber*> columns;
  for (const ExplainedNumber& number : kExplained)
    if (run.has(number.key)) columns.push_back(&number);
  if (arguments.json) {
    Json rounds = Json::array();
    for (const ExplainedRound& round : run.rounds) {
      Json json{{"round", round.round}};
      for (const ExplainedNumber* column : columns) {
        const double number = round.numbers[place_of(column->key)];
        json[column->key] = std::isnan(number) ? Json(nullptr) : Json(number);
      }
      rounds.push_back(std::move(json));
    }
    Json model = Json::object();
    for (const auto& [name, text] : card) model[name] = text;
    return print_json(
        {{"folder", arguments.folder}, {"rounds", std::move(rounds)}, {"diagnosis", diagnosis(run)}, {"model", model}});
  }
  std::printf("%6s", "round");
  for (const ExplainedNumber* column : columns) std::printf("%11s", column->head);
  std::printf("\n");
  for (const ExplainedRound* round : shown_rounds(run)) {
    std::printf("%6d", round->round);
    for (const ExplainedNumber* column : columns) {
      const double number = round->numbers[place_of(column->key)];
      if (std::isnan(number))
        std::printf("%11s", "-");
      else
        std::printf("%11.3g", number);
    }
    std::printf("\n");
  }
  if (run.rounds.size() > kMostRoundsShown)
    std::printf("%zu of %zu rounds, evenly spaced; --json lists all\n", kMostRoundsShown, run.rounds.size());
  std::printf("\n");
  for (const ExplainedNumber* column : columns) std::printf("  %-11s %s\n", column->head, column->meaning);
  std::printf("\n");
  for (const std::string& sentence : diagnosis(run)) std::printf("%s\n", sentence.c_str());
  if (!card.empty()) std::printf("\n");
  for (const auto& [name, text] : card) std::printf("  %-11s %s\n", name.c_str(), text.c_str());
}

}  // namespace

void add_explain_command(CLI::App& app) {
  const auto [command, flags] = add_command<ExplainFlags>(
      app, "explain", "Explain a run's rates and describe its model.",
      "Shows, over the rounds, the numbers from which the local optimizer and the server optimizer derived their rates, and\n"
      "what they mean: noise, the tolerance and its bound, the server's factor, how much clients agree, and whether consecutive\n"
      "changes point the same way; for ADADP, the clients' rates and undone steps. At most 16 rounds are shown; --json lists\n"
      "all. For a finished run, also describes the model: inputs, classes, normalization, metric and privacy.\n"
      "Example: fedstride explain runs/pooled",
      explain);
  add_flag(command, "DIR", flags.folder, Place::folder, "folder of a run", Needed::yes);
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
