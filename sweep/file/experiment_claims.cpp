#include "sweep/file/experiment_draft.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxExpectations = 10'000;  // from one for-each

// Common wrong names for a run's metrics, each with the right name. Other names are not checked, since parts may report metrics
// of their own.
constexpr std::pair<std::string_view, std::string_view> kMisnamed[] = {{"accuracy", "test_accuracy"},
                                                                       {"acc", "test_accuracy"},
                                                                       {"test_acc", "test_accuracy"},
                                                                       {"test-accuracy", "test_accuracy"},
                                                                       {"val_acc", "validation_accuracy"},
                                                                       {"val_accuracy", "validation_accuracy"},
                                                                       {"loss", "test_loss"},
                                                                       {"test-loss", "test_loss"},
                                                                       {"val_loss", "validation_loss"},
                                                                       {"r2", "test_r2"},
                                                                       {"epsilon", "epsilon_spent"},
                                                                       {"rounds", "round"},
                                                                       {"epoch", "round"},
                                                                       {"epochs", "round"}};

// Reads and checks the entries of one table.
class TableReader {
 public:
  TableReader(const Document& document, const DocumentNode& node, std::string name, const std::vector<std::string>& keys)
      : document_(document), node_(node), name_(std::move(name)) {
    if (node.table() == nullptr) throw document.wrong(node, name_ + " must be a table with " + joined(keys));
    require_known(document, *node.table(), name_, keys);
  }

  const DocumentNode* find(const std::string& key) const { return find_entry(*node_.table(), key); }

  std::string text(const std::string& key, const std::vector<std::string>& choices = {}) const {
    const DocumentNode* node = find(key);
    if (node == nullptr) return {};
    if (node->text() == nullptr || node->text()->empty()) throw wrong(key, "a string");
    if (!choices.empty() && std::ranges::find(choices, *node->text()) == choices.end())
      throw document_.wrong(*node, unknown_name(key + " of " + name_, *node->text(), choices));
    return *node->text();
  }
  std::string required_text(const std::string& key, const std::vector<std::string>& choices = {}) const {
    if (find(key) == nullptr) throw document_.wrong(node_, name_ + " has no " + key + "; add " + key + " = \"...\"");
    return text(key, choices);
  }
  // Refuses a common wrong name for a run's metric (kMisnamed), unless it is a swept key.
  void check_number_name(const std::string& key, const ExperimentDraft& draft) const {
    const std::string name = text(key);
    const auto* const misnamed = std::ranges::find(kMisnamed, name, [](const auto& names) { return names.first; });
    if (misnamed != std::end(kMisnamed) && draft.is_run && !draft.axis_keys().contains(name) && !draft.overridden.contains(name))
      throw document_.wrong(
          *find(key), key + " of " + name_ + " '" + name + "' is unknown; did you mean '" + std::string(misnamed->second) + "'?");
  }
  double non_negative(const std::string& key) const {
    const DocumentNode* node = find(key);
    if (node == nullptr) return 0;
    const auto value = number(*node);
    if (!value || !(*value >= 0)) throw wrong(key, "a number, 0 or more");
    return *value;
  }
  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least = 1) const {
    const DocumentNode* node = find(key);
    if (node == nullptr) return {};
    const auto* value = std::get_if<std::int64_t>(&node->value);
    if (value == nullptr || *value < least || *value > 2'000'000'000)
      throw wrong(key, "a whole number, " + std::to_string(least) + " or more");
    return *value;
  }
  std::optional<bool> flag(const std::string& key) const {
    const DocumentNode* node = find(key);
    if (node == nullptr) return {};
    const auto* value = std::get_if<bool>(&node->value);
    if (value == nullptr) throw wrong(key, "true or false");
    return *value;
  }
  const DocumentNode::List& list(const std::string& key) const {
    static const DocumentNode::List kNone;
    const DocumentNode* node = find(key);
    if (node == nullptr) return kNone;
    if (node->list() == nullptr) throw wrong(key, "a list");
    return *node->list();
  }
  static std::optional<double> number(const DocumentNode& node) {
    if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return static_cast<double>(*whole);
    const auto* value = std::get_if<double>(&node.value);
    return value != nullptr && std::isfinite(*value) ? std::optional(*value) : std::nullopt;
  }
  Error wrong(const std::string& key, const std::string& what) const {
    return document_.wrong(*find(key), key + " of " + name_ + " must be " + what);
  }

 private:
  const Document& document_;
  const DocumentNode& node_;
  std::string name_;
};

Error not_swept(const Document& document, const DocumentNode& at, const std::string& key, const ExperimentDraft& draft) {
  const auto axes = draft.axis_keys();
  std::vector<std::string> names(axes.begin(), axes.end());
  std::erase(names, "seed");
  if (key == "seed") return document.wrong(at, "seed cannot be used here, because results are means over seeds");
  return document.wrong(at, key + " is not swept; swept keys: " + (names.empty() ? "none" : joined(names)));
}

// Returns the swept keys in a list, except keys fixed by the scale or the command line.
std::vector<std::string> swept_keys(const Document& document, const DocumentNode::List& list, const ExperimentDraft& draft) {
  std::vector<std::string> keys;
  for (const DocumentNode& node : list) {
    if (node.text() == nullptr) throw document.wrong(node, "keys must be strings");
    if (*node.text() != "seed" && draft.axis_keys().contains(*node.text()))
      keys.push_back(*node.text());
    else if (!draft.overridden.contains(*node.text()))
      throw not_swept(document, node, *node.text(), draft);
  }
  return keys;
}

// Reads a condition on swept keys. Drops keys that are fixed to the required value, since every cell has that value.
std::map<std::string, std::string> swept_where(const Document& document, const DocumentNode* node, const std::string& name,
                                               const ExperimentDraft& draft) {
  if (node == nullptr) return {};
  auto where = read_where(document, *node, name);
  const auto axes = draft.axis_keys();
  for (const auto& [key, value_node] : *node->table()) {
    if (key != "seed" && axes.contains(key)) continue;
    if (key == "seed" || !draft.overridden.contains(key)) throw not_swept(document, value_node, key, draft);
    const DocumentNode* plain = find_entry(draft.plain, key);
    const auto given = draft.fixed.find(key);
    const bool is_met = given != draft.fixed.end()
                            ? same_value(value_text(given->second.value), where[key])
                            : plain != nullptr && same_value(value_text(plain->setting().value), where[key]);
    if (is_met) where.erase(key);
  }
  return where;
}

ResultQuantity read_quantity(const Document& document, const DocumentNode& node, const std::string& name,
                             const ExperimentDraft& draft) {
  const TableReader table(document, node, name, {"metric", "where", "pick", "pick-where", "round", "client", "minus", "over"});
  ResultQuantity quantity{.metric = table.required_text("metric")};
  table.check_number_name("metric", draft);
  quantity.where = swept_where(document, table.find("where"), "where of " + name, draft);
  quantity.pick = table.text("pick", {"best", "second", "worst", "mean", "lowest", "highest"});
  quantity.pick_where = swept_where(document, table.find("pick-where"), "pick-where of " + name, draft);
  if (!quantity.pick_where.empty() && quantity.pick.empty())
    throw document.wrong(node, name + " has pick-where but no pick; set pick to best, second, worst, mean, lowest or highest");
  if (const auto round = table.whole("round")) quantity.round = static_cast<std::uint32_t>(*round);
  if (const auto client = table.whole("client", 0)) quantity.client = static_cast<std::uint32_t>(*client);
  if (quantity.client && quantity.round)
    throw document.wrong(node, name + " has both client and round; a client's metrics are those after the last round");
  if (const DocumentNode* minus = table.find("minus"))
    quantity.minus = {read_quantity(document, *minus, "minus of " + name, draft)};
  if (const DocumentNode* over = table.find("over")) quantity.over = {read_quantity(document, *over, "over of " + name, draft)};
  return quantity;
}

Expectation read_expectation(const Document& document, const DocumentNode& node, const ExperimentDraft& draft) {
  const TableReader table(document, node, "[[expect]]",
                          {"claim", "for-each", "value", "above", "below", "equals", "within", "margin", "scale", "reason"});
  Expectation result{.claim = table.required_text("claim"), .value = {}, .relation = {}};
  const DocumentNode* value = table.find("value");
  if (value == nullptr) throw document.wrong(node, "[[expect]] has no value; add value = { metric = \"...\" }");
  result.value = read_quantity(document, *value, "value", draft);
  for (const std::string relation : {"above", "below", "equals"}) {
    const DocumentNode* other = table.find(relation);
    if (other == nullptr) continue;
    if (!result.relation.empty())
      throw document.wrong(*other, "[[expect]] has both " + result.relation + " and " + relation + "; keep one of them");
    result.relation = relation;
    result.number = TableReader::number(*other);
    if (other->table() != nullptr)
      result.other = read_quantity(document, *other, relation, draft);
    else if (!result.number)
      throw table.wrong(relation, "a number or { metric = \"...\" }");
    const bool is_share = result.value.metric.ends_with("accuracy") && result.value.minus.empty() && result.value.over.empty();
    if (draft.is_run && is_share && result.number && !(*result.number >= 0 && *result.number <= 1))
      throw document.wrong(*other, relation + " is " + number_text(*result.number) + "; an accuracy is a share from 0 to 1");
  }
  if (result.relation.empty()) throw document.wrong(node, "[[expect]] has no comparison; add one of above, below, equals");
  if (table.find("within") != nullptr && result.relation != "equals")
    throw document.wrong(*table.find("within"), "within goes with equals; margin goes with " + result.relation);
  if (table.find("margin") != nullptr && result.relation == "equals")
    throw document.wrong(*table.find("margin"), "margin goes with above and below; within goes with equals");
  result.within = table.non_negative("within");
  result.margin = table.non_negative("margin");
  if (const auto scale = table.text("scale", {"full", "quick", "both"}); !scale.empty()) result.scale = scale;
  result.reason = table.text("reason");
  return result;
}

// Adds a condition to a quantity, its `minus` and its `over`, unless that key is already set there.
void narrow(ResultQuantity& quantity, const std::string& key, const std::string& value) {
  quantity.where.try_emplace(key, value);
  for (ResultQuantity& minus : quantity.minus) narrow(minus, key, value);
  for (ResultQuantity& over : quantity.over) narrow(over, key, value);
}

// Returns a key's values in [sweep] as text; for "variant", the variants' names.
std::vector<std::string> swept_values(const Document& document, const DocumentNode& at, const std::string& key,
                                      const ExperimentDraft& draft) {
  if (key == "variant") return draft.variants();
  const DocumentNode* node = find_entry(draft.swept, key);
  if (node == nullptr)
    throw document.wrong(at, key + " is not a list in [sweep]; for-each takes variant and keys with such a list");
  std::vector<std::string> values;
  for (const DocumentNode& value : *node->list()) {
    std::string text = value_text(value.setting().value);
    if (std::ranges::find(values, text) == values.end()) values.push_back(std::move(text));  // zipped lists may repeat values
  }
  return values;
}

// Returns the expectation in one table or, with for-each, one expectation for every combination of the listed keys' values.
std::vector<Expectation> read_expectations_of(const Document& document, const DocumentNode& node, const ExperimentDraft& draft) {
  std::vector<Expectation> all{read_expectation(document, node, draft)};
  const DocumentNode* each = find_entry(*node.table(), "for-each");
  if (each == nullptr) return all;
  if (each->list() == nullptr || each->list()->empty())
    throw document.wrong(*each, "for-each of [[expect]] must be a list of swept keys");
  const std::string claim = all.front().claim;
  all.front().claim.clear();
  std::set<std::string> seen;
  for (const std::string& key : swept_keys(document, *each->list(), draft)) {
    if (!seen.insert(key).second) throw document.wrong(*each, "for-each of [[expect]] names " + key + " twice");
    const std::vector<std::string> values = swept_values(document, *each, key, draft);
    if (values.size() > kMaxExpectations / all.size())
      throw document.wrong(*each, "for-each makes more than " + std::to_string(kMaxExpectations) + " claims");
    std::vector<Expectation> narrower;
    for (const Expectation& wide : all)
      for (const std::string& value : values) {
        Expectation& one = narrower.emplace_back(wide);
        one.claim += (one.claim.empty() ? "" : ", ") + key + " " + value;
        narrow(one.value, key, value);
        if (one.other) narrow(*one.other, key, value);
      }
    all = std::move(narrower);
  }
  for (Expectation& one : all) one.claim = one.claim.empty() ? claim : one.claim + ": " + claim;
  return all;
}

FigureRequest read_figure(const Document& document, const DocumentNode& node, const ExperimentDraft& draft) {
  const TableReader table(document, node, "[[figure]]",
                          {"kind", "title", "x", "y", "lines", "where", "ranks", "log-x", "log-y", "by"});
  const std::vector<std::string> kinds(std::begin(kFigureKinds), std::end(kFigureKinds));
  FigureRequest figure{.kind = table.required_text("kind", kinds),
                       .title = table.text("title"),
                       .x = table.text("x"),
                       .y = table.text("y"),
                       .lines = swept_keys(document, table.list("lines"), draft)};
  for (const char* key : {"x", "y"}) table.check_number_name(key, draft);
  figure.where = swept_where(document, table.find("where"), "where of [[figure]]", draft);
  if (table.find("ranks") != nullptr) figure.ranks.clear();
  for (const DocumentNode& rank : table.list("ranks")) {
    const auto* whole = std::get_if<std::int64_t>(&rank.value);
    if (whole == nullptr || *whole < 1 || *whole > 1000)
      throw document.wrong(rank, "ranks must be whole numbers from 1 to 1000; [1, 2] draws the best and the second best");
    figure.ranks.push_back(static_cast<int>(*whole));
  }
  figure.by = find_choice<Cost>(table.text("by", {"rounds", "time", "bytes"}));
  figure.log_x = table.flag("log-x");
  figure.log_y = table.flag("log-y");
  return figure;
}

auto each_table(const Document& document, const char* name, auto read) {
  std::vector<decltype(read(document.root))> results;
  const DocumentNode* node = find_entry(*document.root.table(), name);
  if (node == nullptr) return results;
  if (node->list() == nullptr) throw document.wrong(*node, std::string(name) + " must be an array of tables: [[" + name + "]]");
  for (const DocumentNode& table : *node->list()) results.push_back(read(table));
  return results;
}

}  // namespace

std::map<std::string, std::string> read_where(const Document& document, const DocumentNode& node, const std::string& name) {
  if (node.table() == nullptr) throw document.wrong(node, name + " must be a table: { optimizer = \"sgd\" }");
  std::map<std::string, std::string> where;
  for (const auto& [key, value] : *node.table()) {
    if (!value.is_scalar()) throw document.wrong(value, key + " must be a single value here: a number, a string, true or false");
    where[key] = value_text(value.setting().value);
  }
  return where;
}

void read_target(const Document& document, Target& target, Cost& by) {
  const DocumentNode* node = find_entry(*document.root.table(), "target");
  if (node == nullptr) return;
  const TableReader table(document, *node, "[target]", {"metric", "at", "by"});
  const std::string metric = table.text("metric", {"accuracy", "r2", "loss"});
  target.metric = metric.empty() ? "accuracy" : metric;
  const DocumentNode* at = table.find("at");
  if (at == nullptr) throw document.wrong(*node, "[target] has no level; add at = 0.6");
  const std::optional<double> level = TableReader::number(*at);
  const bool is_share = target.metric == "accuracy";
  if (!level || (is_share && !(*level > 0 && *level <= 1)))
    throw table.wrong("at", is_share ? "above 0 and at most 1" : "a number");
  target.at = *level;
  if (const auto named = find_choice<Cost>(table.text("by", {"rounds", "time", "bytes"}))) by = *named;
}

Tuning read_tuning(const Document& document, const ExperimentDraft& draft) {
  const DocumentNode* node = find_entry(*document.root.table(), "tune");
  if (node == nullptr) return {};
  const TableReader table(document, *node, "[tune]", {"keys", "on", "metric", "why"});
  if (table.list("keys").empty()) throw document.wrong(*node, "[tune] has no keys; add keys = [\"learning-rate\"]");
  Tuning tuning{.keys = swept_keys(document, table.list("keys"), draft)};
  if (const auto on = table.text("on", {"validation", "test"}); !on.empty()) tuning.on = on;
  if (const auto metric =
          table.text("metric", {"accuracy", "r2", "loss", "rounds_to_target", "seconds_to_target", "megabytes_to_target"});
      !metric.empty())
    tuning.metric = metric;
  if (is_to_target(tuning.metric) && find_entry(*document.root.table(), "target") == nullptr)
    throw table.wrong("metric", "accuracy, r2 or loss, because the file declares no [target]");
  tuning.why = table.text("why");
  if (tuning.on == "test" && tuning.why.empty())
    throw document.wrong(*node, "[tune] chooses on the test set without a reason; add why = \"as in the paper\"");
  return tuning;
}

TableRequest read_table(const Document& document, const ExperimentDraft& draft) {
  const DocumentNode* node = find_entry(*document.root.table(), "table");
  if (node == nullptr) return {};
  const TableReader reader(document, *node, "[table]", {"rows", "columns"});
  TableRequest table;
  const std::vector<std::string> tuned = read_tuning(document, draft).keys;
  for (const auto& [name, keys] : {std::pair{"rows", &table.rows}, std::pair{"columns", &table.columns}})
    for (const std::string& key : swept_keys(document, reader.list(name), draft)) {
      if (std::ranges::find(tuned, key) != tuned.end())
        throw document.wrong(*reader.find(name), key + " is in " + name + " of [table], but [tune] chooses its value");
      if (std::ranges::find(table.rows, key) != table.rows.end() || std::ranges::find(*keys, key) != keys->end())
        throw document.wrong(*reader.find(name), "[table] names " + key + " twice");
      keys->push_back(key);
    }
  return table;
}

std::vector<Expectation> read_expectations(const Document& document, const ExperimentDraft& draft) {
  std::vector<Expectation> all;
  for (auto& some :
       each_table(document, "expect", [&](const DocumentNode& node) { return read_expectations_of(document, node, draft); }))
    std::ranges::move(some, std::back_inserter(all));
  return all;
}

std::vector<FigureRequest> read_figures(const Document& document, const ExperimentDraft& draft) {
  return each_table(document, "figure", [&](const DocumentNode& node) { return read_figure(document, node, draft); });
}

}  // namespace fedstride
