#include "sim/run/run_records.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "client/told_evaluation.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/schema.hpp"
#include "dp/ledger/ledger.hpp"
#include "nn/safetensors.hpp"
#include "server/checkpoint.hpp"
#include "sim/run/results.hpp"
#include "sim/run/run_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

const Json* member_of(const Json& json, std::string_view key) {
  const auto at = json.find(key);
  return at == json.end() ? nullptr : &*at;
}

std::optional<std::uint64_t> whole_member(const Json& json, std::string_view key) {
  const Json* value = member_of(json, key);
  return value != nullptr && value->is_number_unsigned() ? std::optional(value->get<std::uint64_t>()) : std::nullopt;
}

std::string text_member(const Json& json, std::string_view key) {
  const Json* value = member_of(json, key);
  return value != nullptr && value->is_string() ? value->text() : std::string();
}

/// True unless the line shows that there was no release: only examples are protected, all participants are listed without a
/// release, and epsilon is unchanged.
bool shows_release(const Json& line, double epsilon_before, double epsilon) {
  if (member_of(line, "client_privacy") != nullptr || epsilon != epsilon_before) return true;
  const Json* clients = member_of(line, "clients");
  const std::uint64_t listed = clients == nullptr ? 0 : clients->size();
  if (whole_member(line, "participants").value_or(listed) != listed) return true;
  return clients != nullptr &&
         std::any_of(clients->begin(), clients->end(), [](const Json& one) { return whole_member(one, "releases") != 0U; });
}

/// Epsilon and delta in a line; NaN, which equals nothing, for what it does not have.
SpentSoFar spent_in(const Json& json) {
  const auto number = [&](const char* name) {
    const Json* value = member_of(json, name);
    return value != nullptr && value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
  };
  return {number("epsilon"), number("delta")};
}

/// The example-level epsilon after a round; NaN, which equals nothing, if the line has none.
double epsilon_of(const Json& line) {
  const Json* spent = member_of(line, "example_privacy");
  return spent == nullptr ? std::numeric_limits<double>::quiet_NaN() : spent_in(*spent).epsilon;
}

/// The fields of a round's line that a summary repeats from the last round, and the fields that it sums over the rounds.
constexpr std::string_view kRepeated[] = {"test_accuracy", "test_r2", "test_loss"};
constexpr std::string_view kAddedUp[] = {"examples", "uplink_bytes", "downlink_bytes", "wasted_bytes"};

std::string shortened(const std::string& text) { return text.size() <= 80 ? text : text.substr(0, 77) + "..."; }

/// Describes the first wrong value: "privacy[0].epsilon 0.01; the ledger gives 2.92".
std::string difference(const std::string& name, const Json& told, const Json& right, const std::string& by) {
  if (told.is_array() && right.is_array() && told.size() == right.size())
    for (std::size_t i = 0; i < told.size(); ++i)
      if (told[i] != right[i]) return difference(name + '[' + std::to_string(i) + ']', told[i], right[i], by);
  if (told.is_object() && right.is_object() && told.size() == right.size())
    for (const auto& [key, value] : told.items())
      if (const Json* same = member_of(right, key); same != nullptr && value != *same)
        return difference(name + '.' + key, value, *same, by);
  return name + ' ' + shortened(dump_json(told)) + "; " + by + ' ' + shortened(right.is_null() ? "none" : dump_json(right));
}

/// Statements without their wording.
Json facts_of(const Json& statements) {
  Json facts = Json::array();
  if (!statements.is_array()) return statements;
  for (const Json& one : statements) {
    facts.push_back(one);
    for (const char* wording : {"who", "warning", "assumptions"}) facts.back().erase(wording);
  }
  return facts;
}

/// The numbers of the ledger lines that reserve and close a round; 0: none.
struct RoundLines {
  std::uint64_t reserved = 0;
  std::uint64_t closed = 0;
};

struct LedgerLines {
  std::map<std::uint64_t, RoundLines> rounds;
  LedgerBook book;  ///< the entries up to a mark

  LedgerLines(const fs::path& path, std::string_view key, std::uint64_t marked) : LedgerLines(LedgerReader(path, key), marked) {}

  LedgerLines(LedgerReader reader, std::uint64_t marked) : book(read_header(reader.next())) {
    for (std::string_view text = reader.next(); !text.empty(); text = reader.next()) {
      const LedgerEntry entry = read_entry(text, book.header());
      if (reader.mark().lines <= marked) book.add(entry);
      RoundLines& round = rounds[entry.round];
      std::uint64_t& line = entry.closes ? round.closed : round.reserved;
      if (line == 0) line = reader.mark().lines;
    }
  }
};

std::string of_round(std::uint64_t round) { return " for round " + std::to_string(round); }

std::string mark_text(const LedgerMark& mark) { return counted(mark.lines, "line") + " of the ledger"; }

}  // namespace

RunRecords::RunRecords(const fs::path& run) {
  if (const fs::path path = run / "summary.json"; is_there(path)) {
    constexpr std::uint64_t kMaxSummaryBytes = std::uint64_t{64} << 20;
    const std::string text = read_file(path, kMaxSummaryBytes);
    const Json json = parse_json(text);
    const auto rounds = whole_member(json, "rounds");
    Summary summary{.json = json,
                    .is_as_written = text == dump_json(json, 2) + "\n",
                    .is_of_this_version = text_member(json, "version") == build_info().version,
                    .rounds = rounds.value_or(0),
                    .model_hash = text_member(json, "model_hash"),
                    .ledger = {text_member(json, "ledger_head"), whole_member(json, "ledger_lines").value_or(0)}};
    if (summary.ledger.head.empty() || summary.ledger.lines == 0)
      throw failure("'" + path.string() + "' lacks 'ledger_head' or 'ledger_lines', which every run with privacy has");
    if (!rounds || summary.model_hash.empty())
      throw failure("'" + path.string() + "' lacks 'rounds' or 'model_hash', which every run has");
    summary_ = std::move(summary);
  }
  if (const fs::path path = run / "model.safetensors"; is_there(path)) {
    SafeTensors file = read_safetensors(path);
    const Model model = model_of(file);
    const Vector weights = exact(model, file);
    std::map<std::string, std::string> about;
    for (const char* name : {"dataset", "rounds", "model_hash", kSchemaKey})
      if (const auto found = file.metadata.find(name); found != file.metadata.end()) about.insert(*found);
    if (write_safetensors(model, weights, about) != read_file(path, size_of_file(path)))
      throw failure("'" + path.string() +
                    "' is not in the form that a private run writes; its metadata must be the model's, dataset, "
                    "rounds, model_hash and the schema");
    model_ = SavedModel{.line = model.line(),
                        .parameters = model.parameter_count(),
                        .rounds = 0,
                        .model_hash = file.metadata["model_hash"],
                        .hash = fedstride::model_hash(weights),
                        .schema = file.metadata[kSchemaKey],
                        .dataset = file.metadata["dataset"]};
    const std::string& rounds = file.metadata["rounds"];
    if (std::from_chars(rounds.data(), rounds.data() + rounds.size(), model_->rounds).ec != std::errc())
      throw failure("'" + path.string() + "' has no 'rounds' in its metadata, which every run's model has");
  }
  if (const fs::path path = run / "schema.json"; is_there(path)) {
    schema_ = read_file(path, size_of_file(path));
    if (model_) model_->has_schema = model_->schema + "\n" == schema_;
  }
  std::uint64_t results_bytes = 0;
  std::string results_hash;
  if (const fs::path path = run / "checkpoint"; is_there(path)) {
    const Checkpoint saved = load_checkpoint(path);
    if (saved.ledger.lines == 0)
      throw failure("'" + path.string() + "' records no ledger; the checkpoint of every run with privacy does");
    checkpoint_ = Position{.round = saved.round, .model_hash = fedstride::model_hash(saved.model), .ledger = saved.ledger};
    results_bytes = saved.results_bytes;
    results_hash = saved.results_hash;
  }
  if (const fs::path path = run / "rounds.jsonl"; is_there(path)) read_results(path, results_bytes, results_hash);
  if (checkpoint_) checkpoint_->later_round = load_checkpoint(run / "checkpoint").round;
}

void RunRecords::read_results(const fs::path& path, std::uint64_t checkpointed_bytes, std::string_view checkpointed_hash) {
  std::vector<Result>& results = results_.emplace();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw failure("cannot read '" + path.string() + "'");
  std::uint64_t bytes = 0;
  std::string hash;
  double epsilon = 0;
  const auto look = [&] {
    if (checkpoint_ && bytes == checkpointed_bytes) checkpoint_->results_match = hash == checkpointed_hash;
  };
  look();
  // The last line may be incomplete.
  for (std::string line; std::getline(file, line) && !file.eof();) {
    bytes += line.size() + 1;
    hash = results_hash_after(hash, line);
    look();
    const Json json = parse_json(line);
    const auto round = whole_member(json, "round");
    const std::uint64_t expected = results.size() + 1;
    if (round != expected && order_error_.empty())
      order_error_ = "line " + std::to_string(expected) + " of rounds.jsonl is " +
                     (round ? "the result" + of_round(*round) : std::string("not the result of a round")) +
                     "; it must be the result" + of_round(expected);
    const double before = std::exchange(epsilon, epsilon_of(json));
    // The first epsilon may include private components.
    results.push_back({text_member(json, "model_hash"), shows_release(json, results.empty() ? epsilon : before, epsilon)});
    for (const std::span<const std::string_view> names :
         {std::span<const std::string_view>(kRepeated), std::span<const std::string_view>(kAddedUp)})
      for (const std::string_view name : names)
        if (const Json* number = member_of(json, name)) results.back().numbers.emplace(name, *number);
    if (dump_json(json) != line && order_error_.empty())
      order_error_ = "line " + std::to_string(expected) + " of rounds.jsonl is not in the form that a run writes";
    for (const auto& [level, name] : {std::pair(Level::example, "example_privacy"), std::pair(Level::client, "client_privacy")})
      if (const Json* spent = member_of(json, name)) results.back().spent[level] = spent_in(*spent);
    for (const auto& [name, value] : json.items()) result_keys_.insert(name);
    if (const Json* clients = member_of(json, "clients"))
      for (const Json& client : *clients)
        for (const auto& [name, value] : client.items()) result_keys_.insert("clients." + name);
  }
}

std::vector<LedgerMark> RunRecords::marks() const {
  std::vector<LedgerMark> marks;
  if (summary_) marks.push_back(summary_->ledger);
  if (checkpoint_) marks.push_back(checkpoint_->ledger);
  return marks;
}

/// The model hash in the round's line; empty if there is no such line.
std::string RunRecords::result_of(std::uint64_t round) const {
  return results_ && round > 0 && round <= results_->size() ? (*results_)[round - 1].model_hash : std::string();
}

void RunRecords::compare_checkpoint(std::vector<std::string>& failures) const {
  if (!checkpoint_ || !results_) return;
  if (results_->size() < checkpoint_->round)
    failures.push_back("rounds.jsonl has " + counted(results_->size(), "round") + "; the checkpoint is" +
                       of_round(checkpoint_->round));
  else if (!checkpoint_->results_match)
    failures.push_back("rounds.jsonl was altered: its first " + counted(checkpoint_->round, "line") +
                       " do not match the checkpoint");
  else if (results_->size() > checkpoint_->later_round + 1)  // under privacy each round has a checkpoint, written after its line
    failures.push_back("rounds.jsonl has " + counted(results_->size(), "round") + "; the checkpoint is" +
                       of_round(checkpoint_->later_round) + ", which may be at most one round behind");
  else if (checkpoint_->round > 0 && result_of(checkpoint_->round) != checkpoint_->model_hash)
    failures.push_back("the checkpoint has the model " + checkpoint_->model_hash + "; rounds.jsonl has " +
                       result_of(checkpoint_->round) + " after round " + std::to_string(checkpoint_->round));
}

void RunRecords::compare_summary(bool saves_rounds, std::vector<std::string>& failures) const {
  if (!summary_ || !results_) return;
  const std::string result = result_of(summary_->rounds);
  if (summary_->rounds > results_->size())
    failures.push_back("summary.json is" + of_round(summary_->rounds) + "; rounds.jsonl has " +
                       counted(results_->size(), "round"));
  else if (saves_rounds && summary_->rounds > 0 && result != summary_->model_hash)
    failures.push_back("summary.json has the model " + summary_->model_hash + "; rounds.jsonl has " + result + " after round " +
                       std::to_string(summary_->rounds));
}

void RunRecords::compare_model(bool saves_rounds, std::vector<std::string>& failures) const {
  if (!model_) return;
  if (model_->hash != model_->model_hash)
    failures.push_back("model.safetensors has weights with the hash " + model_->hash + "; its metadata have " +
                       model_->model_hash);
  if (!model_->has_schema) failures.push_back("model.safetensors and schema.json have different schemas");
  const std::string result = result_of(model_->rounds);
  // The model is written before the summary, and a run may be killed in between.
  const bool is_ahead = summary_ && checkpoint_ && model_->rounds > summary_->rounds && model_->rounds == checkpoint_->round;
  if (summary_ && model_->rounds != summary_->rounds && !is_ahead)
    failures.push_back("model.safetensors is" + of_round(model_->rounds) + "; summary.json is" + of_round(summary_->rounds));
  else if (summary_ && !is_ahead && model_->model_hash != summary_->model_hash)
    failures.push_back("model.safetensors has the model " + model_->model_hash + "; summary.json has " + summary_->model_hash);
  else if (results_ && model_->rounds > results_->size())
    failures.push_back("model.safetensors is" + of_round(model_->rounds) + "; rounds.jsonl has " +
                       counted(results_->size(), "round"));
  else if (saves_rounds && !result.empty() && result != model_->model_hash)
    failures.push_back("model.safetensors has the model " + model_->model_hash + "; rounds.jsonl has " + result +
                       " after round " + std::to_string(model_->rounds));
}

void RunRecords::compare_claims(const LedgerBook& book, const std::optional<Configuration>& settings, Audit& audit) const {
  if (!summary_) return;
  const Json& json = summary_->json;
  const auto claims = [&](std::string_view name, const Json& right, const std::string& by) {
    const Json* told = member_of(json, name);
    if (told == nullptr)
      audit.failures.push_back("summary.json lacks '" + std::string(name) + "'; " + by + " " + shortened(dump_json(right)));
    else if (*told != right)
      audit.failures.push_back("summary.json has " + difference(std::string(name), *told, right, by));
  };
  try {
    const Json right = parse_json(statements_json(model_statements(book)));
    const Json* told = member_of(json, "privacy");
    // Other versions may have worded the statements differently; what they say in numbers and names is the same.
    if (summary_->is_of_this_version || told == nullptr || facts_of(*told) != facts_of(right))
      claims("privacy", right, "the ledger gives");
    else if (*told != right)
      audit.unchecked.emplace_back("summary.json: the wording of 'privacy', by version " + text_member(json, "version"));
  } catch (const Error& error) {
    audit.failures.push_back("no statement follows from the ledger: " + std::string(error.what()));
  }
  claims("randomness", book.header().source, "the ledger has");
  if (!schema_.empty())
    claims("metric", std::string(metric_of(read_schema(trimmed(schema_), "schema.json").form.targets)),
           "the schema's targets have");
  const Json* uncovered = member_of(json, "not_covered");
  if (settings && settings->publishable != (uncovered == nullptr))
    audit.failures.push_back(std::string("summary.json ") + (uncovered == nullptr ? "lacks" : "has") +
                             " 'not_covered'; publishable is " + (settings->publishable ? "true" : "false") + " in config.toml");
  if (uncovered != nullptr) {
    Json others = json;
    others.erase("not_covered");
    const bool test_is_covered = dump_json(*uncovered).find("\"test_loss\"") == std::string::npos;
    claims("not_covered", uncovered_of_summary(others, test_is_covered), "its uncovered fields are");
  }
  if (model_ && model_->rounds == summary_->rounds) {
    claims("model", model_->line, "model.safetensors has");
    claims("parameters", model_->parameters, "model.safetensors has");
  }
  if (!results_ || summary_->rounds == 0 || summary_->rounds > results_->size()) return;
  const auto rounds = std::span(*results_).first(summary_->rounds);
  for (const std::string_view name : kRepeated) {
    const auto found = rounds.back().numbers.find(name);
    const bool is_known = found != rounds.back().numbers.end();
    if (is_known && !found->second.is_null()) claims(name, found->second, "rounds.jsonl has");
    if (!is_known && member_of(json, name) != nullptr) claims(name, Json(), "rounds.jsonl has");
  }
  for (const std::string_view name : kAddedUp) {
    const auto is_counted = [&](const Result& one) {
      const auto found = one.numbers.find(name);
      return found != one.numbers.end() && found->second.is_number_unsigned();
    };
    if (!std::ranges::all_of(rounds, is_counted)) continue;
    std::uint64_t sum = 0;
    for (const Result& one : rounds) sum += one.numbers.find(name)->second.get<std::uint64_t>();
    claims(name, sum, "rounds.jsonl adds up to");
  }
}

void RunRecords::compare_spent(const fs::path& ledger, std::string_view key, Audit& audit) const {
  if (!results_ || results_->empty()) return;
  constexpr std::size_t kMostComputed = 100;  // accountants are slow
  const std::size_t step = (results_->size() + kMostComputed - 1) / kMostComputed;
  LedgerReader reader(ledger, key);
  LedgerBook book(read_header(reader.next()));
  std::map<std::uint64_t, std::map<Level, double>> right;  // by round
  for (std::string_view text = reader.next(); !text.empty(); text = reader.next()) {
    const LedgerEntry entry = read_entry(text, book.header());
    book.add(entry);
    const bool is_compared = entry.closes && entry.round > 0 && entry.round <= results_->size() &&
                             (entry.round % step == 0 || entry.round == results_->size());
    if (!is_compared) continue;
    const SpendingTotals totals = book.totals();
    for (const LedgerStatement& promised : book.header().statements) try {
        const auto accountant = make_part<Accountant>("accountant", promised.accountant);
        right[entry.round][promised.level] = promised.level == Level::client
                                                 ? epsilon_by(accountant, totals.updates(), promised.delta).value
                                                 : std::ranges::max(history_epsilons(totals, accountant, promised.delta, true));
      } catch (const Error& error) {
        audit.failures.push_back("no spending follows from the ledger: " + std::string(error.what()));
        return;
      }
  }
  for (std::uint64_t round = 1; round <= results_->size(); ++round) {
    const auto wrong = [&](const std::string& what) {
      audit.failures.push_back("rounds.jsonl, round " + std::to_string(round) + ": " + what);
    };
    const auto& told = (*results_)[round - 1].spent;
    for (const LedgerStatement& promised : book.header().statements) {
      const std::string name = std::string(name_of(promised.level)) + "_privacy";
      const auto found = told.find(promised.level);
      if (found == told.end()) return wrong("it lacks '" + name + "'");
      if (found->second.delta != promised.delta)
        return wrong(name + " has delta " + number_text(found->second.delta) + "; the ledger has " + number_text(promised.delta));
      if (const auto computed = right.find(round); computed != right.end()) {
        const double epsilon = computed->second.at(promised.level);
        if (!(std::abs(found->second.epsilon - epsilon) <= 1e-9 * std::max(1.0, epsilon)))
          return wrong(name + " has epsilon " + number_text(found->second.epsilon) + "; the ledger gives " +
                       number_text(epsilon));
      }
      if (round == 1) continue;
      if (!(found->second.epsilon >= (*results_)[round - 2].spent.at(promised.level).epsilon))
        return wrong(name + " has a smaller epsilon than the round before");
    }
    if (told.size() > book.header().statements.size())
      return wrong("it has spending at a level that the ledger does not protect");
  }
}

void RunRecords::compare_schema(const LedgerHeader& header, const std::optional<Configuration>& settings, Audit& audit) const {
  if (header.schema.empty()) {
    audit.unchecked.emplace_back("schema.json, which this ledger does not record");
    return;
  }
  const bool without_moments = settings && settings->normalize == Normalize::privately;
  const auto differs = [&](std::string_view text, const std::string& where) {
    try {
      if (schema_seal(read_schema(trimmed(text), where), without_moments) != header.schema)
        audit.failures.push_back(where + " has another schema than the ledger records");
    } catch (const Error& error) {
      audit.failures.push_back(error.what());
    }
  };
  const bool is_of_client = !summary_ && !model_ && !checkpoint_ && !results_;
  if (schema_.empty() && is_of_client)
    audit.unchecked.emplace_back("the schema that the ledger records: a client's folder has no schema.json");
  else if (schema_.empty())
    audit.failures.emplace_back("schema.json is missing; the ledger records its contents");
  else
    differs(schema_, "schema.json");
  if (model_) differs(model_->schema, "model.safetensors");
  if (model_ && settings && model_->dataset != settings->dataset)
    audit.failures.push_back("model.safetensors has the data set '" + model_->dataset + "'; config.toml has '" +
                             settings->dataset + "'");
  if (without_moments) audit.unchecked.emplace_back("schema.json: mean and deviation, which were released");
}

// Lists every key that nothing else in the folder confirms.
void RunRecords::list_unchecked(Audit& audit) const {
  const auto list = [&](const std::string& file, const std::set<std::string>& keys) {
    if (!keys.empty()) audit.unchecked.push_back(file + ": " + joined(std::vector(keys.begin(), keys.end())));
  };
  if (summary_) {
    std::set<std::string> keys;
    constexpr std::string_view kChecked[] = {"rounds",     "metric",      "model_hash",   "model",   "parameters",
                                             "randomness", "ledger_head", "ledger_lines", "privacy", "not_covered"};
    for (const auto& [name, value] : summary_->json.items()) {
      if (summary_->is_of_this_version && std::ranges::find(summary_keys(), name) == summary_keys().end())
        audit.failures.push_back("summary.json has '" + shortened(one_line(name)) + "', which no run writes");
      if (std::ranges::find(kChecked, name) == std::end(kChecked)) keys.insert(name);
    }
    if (!summary_->is_as_written)
      audit.failures.emplace_back("summary.json is not in the form that a run writes (a key twice, or other numbers or blanks)");
    list("summary.json", keys);
  }
  std::set<std::string> keys = result_keys_;
  for (const char* name : {"round", "model_hash", "example_privacy", "client_privacy"}) keys.erase(name);
  list("rounds.jsonl", keys);
}

void RunRecords::compare(const fs::path& ledger, std::string_view key, const std::optional<Configuration>& settings,
                         Audit& audit) const {
  std::vector<std::string>& failures = audit.failures;
  if (!order_error_.empty()) failures.push_back(order_error_);
  const bool saves_rounds = settings && !settings->server->answers();
  compare_checkpoint(failures);
  compare_summary(saves_rounds, failures);
  compare_model(saves_rounds, failures);

  const LedgerLines lines(ledger, key, summary_ ? summary_->ledger.lines : 0);
  const auto line_of = [&](std::uint64_t round) {
    const auto at = lines.rounds.find(round);
    return at == lines.rounds.end() ? RoundLines{} : at->second;
  };
  const auto first_of = [&](std::uint64_t rounds, const auto& is_wrong) {
    for (std::uint64_t round = 1; round <= rounds; ++round)
      if (is_wrong(round)) return round;
    return std::uint64_t{0};
  };
  const std::uint64_t told = std::max(summary_ ? summary_->rounds : 0, checkpoint_ ? checkpoint_->round : 0);
  const std::uint64_t rounds = results_ ? results_->size() : lines.book.header().at(Level::client) != nullptr ? told : 0;
  const auto is_unreserved = [&](std::uint64_t round) {
    return line_of(round).reserved == 0 && (!results_ || (*results_)[round - 1].released);
  };
  if (const std::uint64_t round = first_of(rounds, is_unreserved); round > 0)
    failures.push_back("the ledger has no reservation" + of_round(round) + "; " +
                       (results_ ? "rounds.jsonl has results up to round " : "the run has reached round ") +
                       std::to_string(rounds));
  if (settings && !lines.rounds.empty() && lines.rounds.rbegin()->first > static_cast<std::uint64_t>(settings->rounds))
    failures.push_back("the ledger has round " + std::to_string(lines.rounds.rbegin()->first) + "; rounds is " +
                       std::to_string(settings->rounds) + " in config.toml");
  if (summary_) {
    const auto is_beyond = [&](std::uint64_t round) {
      const RoundLines at = line_of(round);
      return at.reserved > 0 && (at.closed == 0 || std::max(at.reserved, at.closed) > summary_->ledger.lines);
    };
    if (const std::uint64_t round = first_of(summary_->rounds, is_beyond); round > 0)
      failures.push_back("summary.json is" + of_round(summary_->rounds) + " and records " + mark_text(summary_->ledger) +
                         ", which do not close round " + std::to_string(round));
  }
  if (checkpoint_) {
    const auto is_beyond = [&](std::uint64_t round) { return line_of(round).reserved > checkpoint_->ledger.lines; };
    if (const std::uint64_t round = first_of(checkpoint_->round, is_beyond); round > 0)
      failures.push_back("the checkpoint is" + of_round(checkpoint_->round) + " and records " + mark_text(checkpoint_->ledger) +
                         ", which do not reserve round " + std::to_string(round));
  }
  compare_spent(ledger, key, audit);
  compare_schema(lines.book.header(), settings, audit);
  compare_claims(lines.book, settings, audit);
  list_unchecked(audit);
  std::vector<std::string> missing;
  for (const auto& [is_missing, name] : {std::pair{!summary_, "summary.json"},
                                         {!model_, "model.safetensors"},
                                         {!checkpoint_, "checkpoint"},
                                         {!results_, "rounds.jsonl"}})
    if (is_missing) missing.emplace_back(name);
  if (!missing.empty()) audit.notes.push_back("missing, and so not compared with the ledger: " + joined(missing));
}

}  // namespace fedstride
