#include "sim/settings/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text.hpp"
#include "sim/settings/code_names.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::rules_test {
namespace {

constexpr RuleScope kEverywhere[] = {RuleScope::anywhere, RuleScope::own_code, RuleScope::no_code, RuleScope::rows_here,
                                     RuleScope::network};

Settings settings_of(const std::string& toml) { return parse_settings(toml, "test.toml"); }
Refusal refused(const std::string& toml) {
  try {
    resolve(settings_of(toml));
  } catch (const RefusedByRule& error) {
    CHECK(error.kind() == Error::Kind::usage);
    return error.refusal;
  }
  return {};
}
std::string text_of(const std::string& toml) {
  const Refusal refusal = refused(toml);
  return refusal.subject.empty() ? "" : refusal.text();
}

bool is_key(std::string_view name) {
  const auto keys = all_keys();
  const auto known = [&](std::string_view key) { return std::ranges::find(keys, key, &KeyInfo::name) != keys.end(); };
  return known(name) || (name.starts_with("client-") && known(name.substr(7)));
}

/// Settings that break a rule each.
constexpr const char* kBroken[] = {
    "local-objective = 'nova'\noptimizer = 'adam'",
    "local-objective = 'nova'\noptimizer = 'heavy-ball'\nclient-state = 'keep'",
    "local-objective = 'scaffold'\noptimizer = 'adam'",
    "local-objective = 'fair'\noptimizer = 'sgd'\ndp = 'client'\nnoise-multiplier = 1.0",
    "local-objective = 'fair'\noptimizer = 'sgd'\ndp = 'example'\nnoise-multiplier = 1.0",
    "aggregation = 'median'\noptimizer = 'sgd'\nserver-optimizer = 'fedexp'",
    "aggregation = 'median'\nserver-optimizer = 'restore'",
    "local-objective = 'dyn'\noptimizer = 'sgd'\nserver-optimizer = 'adam'",
    "local-objective = 'dyn'\noptimizer = 'sgd'\nserver-schedule = 'linear'",
    "local-objective = 'scaffold'\noptimizer = 'sgd'\nscaffold-controls = 'equal'\naggregation = 'median'",
    "personal = 'local-layers'\nlocal-objective = 'prox'",
    "aggregation = 'krum'\nbyzantine = 3",
    "aggregation = 'median'\ndp = 'client'\nnoise-multiplier = 1.0",
    "attack = 'alie'\nattackers = 1.0\ndp = 'client'\nnoise-multiplier = 1.0",
    "cohort = 'power-of-choice'\ncohort-size = 2\ncandidates = 3\ndp = 'client'\nnoise-multiplier = 1.0",
    "optimizer = 'pooled'\ndp = 'client'\nclient-noise = 'local'\nnoise-multiplier = 1.0",
    "server-optimizer = 'fedexp'\noptimizer = 'sgd'\ndp = 'client'\nclient-noise = 'local'\nnoise-multiplier = 1.0",
    "optimizer = 'fedsps'\ndp = 'example'\nnoise-multiplier = 1.0",
    "optimizer = 'fedsps'\nlocal-objective = 'prox'",
    "optimizer = 'fedsps'\nlocal-objective = 'scaffold'",
    "optimizer = 'fedsps'\npersonal = 'ditto'",
    "max-update-norm = 2.0\ndp = 'client'\nnoise-multiplier = 1.0",
    "checkpoint-every = 2\ndp = 'client'\nnoise-multiplier = 1.0",
    "publishable = true\ndp = 'client'\nnoise-multiplier = 1.0",
    "evaluate = 'private'\nevaluate-noise = 1.0",
    "dp = 'example'\nnoise-multiplier = 1.0\nneighbours = 'add-remove'",
    "dp = 'example'\nnoise-multiplier = 1.0\nneighbours = 'replace-one'",
    "dp = 'client'\nnoise-multiplier = 1.0\nneighbours = 'add-remove'\ncohort = 'fixed'\ncohort-size = 2",
    "dp = 'example'\nnoise-multiplier = 1.0\nprivate-components = 5\ncomponents-noise = 1.0",
    "partition = 'own'\nlimit-per-client = 3",
    "partition = 'own'\nnormalize = 'client'",
    "local-steps = 5\nlocal-epochs = 2",
    "local-steps = 5\ndp = 'example'\nnoise-multiplier = 1.0\nsampling = 'shuffle'",
    "secure-aggregation = 'ring'\naggregation = 'median'",
    "secure-aggregation = 'real'\nlocal-objective = 'fair'\noptimizer = 'sgd'",
    "secure-aggregation = 'ring'\nmax-update-norm = 2.0",
    "secure-aggregation = 'ring'\nsecure-grid = '1,2^-20,32'\ndp = 'client'\nnoise-multiplier = 1.0",
    "mode = 'fedbuff'\nconcurrency = 4\nbuffer = 4",
    "availability = 'markov'",
    "deadline = 3.0",
    "over-selection = 1.3\ncohort = 'fixed'\ncohort-size = 2",
    "devices = 'equal'\nover-selection = 1.3",
    "devices = 'equal'\navailability = 'markov'\nwhen-away = 'deadline'",
    "devices = 'equal'\navailability = 'markov'\ncohort = 'trace'",
    "devices = 'equal'\nmode = 'fedbuff'\nconcurrency = 4\nbuffer = 4\ncohort = 'fixed'\ncohort-size = 2",
    "devices = 'equal'\nmode = 'fedbuff'\nconcurrency = 4\nbuffer = 5",
    "devices = 'equal'\nmode = 'fedasync'\nconcurrency = 9",
    "devices = 'equal'\nmode = 'fedbuff'\nconcurrency = 5\nbuffer = 5\nnormalized-staleness = true\naggregation = 'median'",
    "devices = 'equal'\nmode = 'fedasync'\nconcurrency = 4\noptimizer = 'sgd'\nlocal-objective = 'scaffold'",
    "devices = 'equal'\nmode = 'fedasync'\nconcurrency = 4\nserver-optimizer = 'fedexp'",
    "devices = 'equal'\nmode = 'fedasync'\nconcurrency = 4\ndp = 'client'\nnoise-multiplier = 1.0",
    "devices = 'equal'\ndp = 'client'\nnoise-multiplier = 1.0\nminimum-separation = 2",
    "dp = 'client'\nnoise-multiplier = 1.0\nclient-noise = 'distributed'",
    "dp = 'client'\nnoise-multiplier = 1.0\nclient-noise = 'distributed'\nsecure-aggregation = 'ring'\nweights = 'examples'",
    "dp = 'client'\nnoise-multiplier = 1.0\nclient-noise = 'distributed'\nsecure-aggregation = 'ring'\ncohort = 'poisson'",
    "dp = 'client'\nnoise-multiplier = 1.0\nclient-noise = 'distributed'\nsecure-aggregation = 'ring'\nneighbours = 'add-remove'",
};

}  // namespace

TEST_CASE("a refusal is one line with the value, what it cannot be combined with, and the names that are valid instead") {
  CHECK(names(text_of("local-objective = 'nova'\noptimizer = 'adam'"),
              {"local-objective", "'nova'", "optimizer 'adam'", "optimizer adadp, sgd, heavy-ball, ema, pooled",
               "local-objective plain, prox, dyn, fair"}));
  CHECK(names(text_of("aggregation = 'median'\noptimizer = 'sgd'\nserver-optimizer = 'fedexp'"),
              {"server-optimizer", "'fedexp'", "aggregation 'median'", "aggregation mean",
               "server-optimizer average, momentum, adagrad, adam, yogi"}));
  CHECK(names(text_of("optimizer = 'fedsps'\ndp = 'example'\nnoise-multiplier = 1.0"),
              {"optimizer", "'fedsps'", "loss", "dp 'example'", "delta-sgd, dog, prodigy, schedule-free"}));
  CHECK(text_of("optimizer = 'fedsps'\ndp = 'client'\nnoise-multiplier = 1.0").empty());
  CHECK(text_of("optimizer = 'fedsps'\nlocal-objective = 'nova'").empty());
  CHECK(names(text_of("optimizer = 'fedsps'\npersonal = 'ditto'"), {"'fedsps'", "personal 'ditto'", "personal none, fine-tune"}));
  CHECK(names(text_of("max-update-norm = 2.0\ndp = 'client'\nnoise-multiplier = 1.0"),
              {"max-update-norm", "2", "dp 'client'", "max-update-norm 0"}));
}

TEST_CASE("in one process secure rounds that may have fewer than three clients are refused before the first") {
  const auto text_here = [](int clients, const std::string& cohort) -> std::string {
    const std::string toml = "secure-aggregation = 'ring'\nclients = " + std::to_string(clients) + "\ncohort = " + cohort;
    try {
      check_rules(resolve(settings_of(toml)), RuleScope::rows_here);
    } catch (const RefusedByRule& error) {
      return error.refusal.text();
    }
    return "";
  };
  CHECK(names(text_here(20, "'poisson'\ncohort-rate = 0.3"),
              {"cohort", "'poisson'", "3 clients", "secure-aggregation 'ring'", "more clients", "'fixed'"}));
  CHECK(text_here(200, "'poisson'\ncohort-rate = 0.3").empty());
  CHECK(text_here(3, "'poisson'\ncohort-rate = 1.0").empty());
  CHECK(text_here(5, "'fixed'\ncohort-size = 3").empty());
}

TEST_CASE("every value that a refusal calls valid is valid") {
  for (const std::string broken : kBroken) {
    CAPTURE(broken);
    const Refusal found = refused(broken);
    REQUIRE_FALSE(found.subject.empty());
    CHECK(found.text().find_first_of("{}\n") == std::string::npos);
    if (found.remedy.empty()) continue;
    CAPTURE(found.remedy);
    REQUIRE(found.remedy.starts_with("valid: "));
    const std::string list = found.remedy.substr(7);
    std::string key;
    for (std::string_view word : split(list, ',')) {
      word = trimmed(word);
      if (word.starts_with("or ")) word.remove_prefix(3);
      if (const auto space = word.find(' '); space != word.npos) {
        key = word.substr(0, space);
        word.remove_prefix(space + 1);
      }
      REQUIRE(is_key(key));
      CAPTURE(word);
      Settings settings = settings_of(broken);
      settings[key] = {std::string(word), true};
      // Settings of a part that is replaced go with it.
      for (auto& [name, setting] : settings) setting.from_command_line = name == key;
      CHECK_FALSE(refusal(resolve_unchecked(settings)).has_value());
    }
  }
}

TEST_CASE("every word of the table is a key") {
  for (const RuleScope scope : kEverywhere)
    for (const Rule& rule : rules(scope)) {
      CAPTURE(rule.subject);
      CHECK(is_key(rule.subject));
      for (const std::string_view key : split(rule.remedies, ' ')) CHECK((key.empty() || is_key(key)));
      for (std::size_t open = rule.reason.find('{'); open != rule.reason.npos; open = rule.reason.find('{', open + 1)) {
        const std::string_view word = rule.reason.substr(open + 1, rule.reason.find('}', open) - open - 1);
        CAPTURE(word);
        CHECK((word.find(' ') != word.npos || is_key(word)));
      }
    }
}

TEST_CASE("rules need no data: a missing data set hides no refusal") {
  for (const std::string broken : kBroken) {
    if (broken.starts_with("partition")) continue;
    CHECK_FALSE(text_of("data = '/nowhere/data.csv'\n" + broken).empty());
  }
}

TEST_CASE("the settings of a run that has begun can be read whatever the rules are now") {
  CHECK(resolve_unchecked(settings_of(kBroken[0])).objective.name() == "nova");
}

TEST_CASE("any text of the setting code is written as it was read") {
  for (const std::string text :
       {"", "train=mover 1", "aggregation=median 1; train=? (clipped sum)", "x", "a; ", "; ", "train=a=b"})
    CHECK(CodeNames::read(text).text() == text);
  const CodeNames code = CodeNames::read("aggregation=median 1; train=mover 2 (clipped sum)");
  REQUIRE(code.of("train") != nullptr);
  CHECK(code.of("train")->name == "mover 2");
  CHECK(code.of("train")->clips);
  CHECK_FALSE(code.of("aggregation")->clips);
  CHECK(code.of("cohort") == nullptr);
  CHECK(code.unnamed().empty());
  CHECK(CodeNames::read("cohort=turns 1; train=? (clipped sum)").unnamed() == "train");
}

}  // namespace fedstride::test::rules_test
