#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include "tests/support/json.hpp"

#include "core/files.hpp"
#include "core/text.hpp"
#include "dp/noise/noise_plan.hpp"
#include "sim/run/compositions/composition.hpp"
#include "sim/run/compositions/composition_keys.hpp"

namespace fedstride::test::composition_schema_test {
namespace {

using Kind = CompositionKey::Kind;
using WordSet = std::set<std::string>;

nlohmann::json published_schema() {
  return nlohmann::json::parse(read_file(FEDSTRIDE_SOURCE_DIR "/docs/composition.schema.json"));
}

WordSet words_in(std::string_view list, char separator) {
  WordSet words;
  for (const auto word : split(list, separator))
    if (!word.empty()) words.emplace(word);
  return words;
}

/// Bounds of a number as a JSON Schema writes them.
nlohmann::json bounds_of(const Valid& valid) {
  nlohmann::json bounds = nlohmann::json::object();
  if (std::isfinite(valid.low)) bounds[valid.low_included ? "minimum" : "exclusiveMinimum"] = valid.low;
  if (std::isfinite(valid.high)) bounds[valid.high_included ? "maximum" : "exclusiveMaximum"] = valid.high;
  return bounds;
}

void check_bounds(const nlohmann::json& schema, const Valid& valid) {
  const nlohmann::json bounds = bounds_of(valid);
  for (const auto* name : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    CAPTURE(name);
    CHECK(schema.value(name, nlohmann::json()) == bounds.value(name, nlohmann::json()));
  }
}

void check_key(const nlohmann::json& schema, const CompositionKey& key) {
  CAPTURE(key.name);
  if (key.name == "version") {
    CHECK(schema == nlohmann::json{{"const", key.valid.low}});
    return;
  }
  switch (key.kind) {
    case Kind::text:
      if (key.name == "accountant") {
        CHECK(schema.at("enum") == part_names<Accountant>());
      } else if (key.choices.empty()) {
        CHECK(schema.at("type") == "string");
        CHECK(schema.at("minLength") == 1);
        CHECK(schema.at("maxLength") == kMaxCompositionText);
      } else {
        CHECK(schema.at("enum").get<WordSet>() == WordSet(key.choices.begin(), key.choices.end()));
      }
      break;
    case Kind::number:
    case Kind::whole:
      CHECK(schema.at("type") == (key.kind == Kind::whole ? "integer" : "number"));
      check_bounds(schema, key.valid);
      break;
    case Kind::truth:
      CHECK(schema.at("type") == "boolean");
      break;
    case Kind::list:
      CHECK(schema.at("type") == "array");
      CHECK(schema.at("minItems") == 1);
      CHECK(schema.at("maxItems") == key.most);
      if (!schema.at("items").contains("$ref")) check_bounds(schema.at("items"), key.valid);
      break;
    case Kind::object:
      CHECK(schema.at("$ref") == "#/$defs/" + std::string(key.name));
      break;
  }
}

/// The object has these keys, no other, and needs those that the reader needs.
void check_keys(const nlohmann::json& schema, std::span<const CompositionKey> keys) {
  CHECK(schema.at("type") == "object");
  CHECK(schema.at("additionalProperties") == false);
  WordSet names;
  WordSet needed;
  for (const CompositionKey& key : keys) {
    names.emplace(key.name);
    if (key.needed != CompositionKey::Needed::perhaps) needed.emplace(key.name);
    REQUIRE(schema.at("properties").contains(key.name));
    check_key(schema.at("properties").at(std::string(key.name)), key);
  }
  WordSet published;
  for (const auto& [name, property] : schema.at("properties").items()) published.insert(name);
  CHECK(published == names);
  CHECK(schema.value("required", WordSet{}) == needed);
}

/// The conditions of `allOf`: where `key` has a row's name, what the row needs is required and the rest is forbidden.
template <class Rows>
void check_conditions(const nlohmann::json& schema, const std::string& key, const Rows& rows, const WordSet& governed) {
  std::map<std::string, nlohmann::json> then;
  for (const auto& condition : schema.at("allOf"))
    then[condition.at("if").at("properties").at(key).at("const").get<std::string>()] = condition.at("then");
  CHECK(then.size() == std::size(rows));
  for (const auto& row : rows) {
    CAPTURE(row.name);
    REQUIRE(then.contains(std::string(row.name)));
    const nlohmann::json& found = then.at(std::string(row.name));
    const WordSet needs = words_in(row.needs, ' ');
    CHECK(found.value("required", WordSet{}) == needs);
    WordSet forbidden;
    for (const auto& word : governed)
      if (!needs.contains(word)) forbidden.insert(word);
    WordSet published;
    const auto properties = found.value("properties", nlohmann::json::object());
    for (const auto& [name, property] : properties.items()) {
      CHECK(property == false);
      published.insert(name);
    }
    CHECK(published == forbidden);
  }
}

TEST_CASE("The published schema has the reader's keys, words and bounds, and no others") {
  const nlohmann::json schema = published_schema();
  const nlohmann::json& parts = schema.at("$defs");
  check_keys(schema, composition_keys::kFile);
  check_keys(parts.at("case"), composition_keys::kCase);
  check_keys(parts.at("accept"), composition_keys::kAccept);
  check_keys(parts.at("event"), composition_keys::kEvent);
  check_keys(parts.at("schedule"), composition_keys::kSchedule);
  check_conditions(parts.at("case"), "ask", kCompositionAsks, {"accountant", "epsilon", "delta", "order"});
  check_conditions(parts.at("schedule"), "name", kCompositionSchedules, {"target", "gamma", "momentum"});
}

TEST_CASE("The form's words are those of the parts behind them") {
  const auto choices = [](std::span<const CompositionKey> keys, std::string_view name) {
    const auto words = std::ranges::find(keys, name, &CompositionKey::name)->choices;
    return WordSet(words.begin(), words.end());
  };
  WordSet asks;
  for (const auto& row : kCompositionAsks) asks.emplace(row.name);
  CHECK(choices(composition_keys::kCase, "ask") == asks);
  WordSet schedules;
  for (const auto& row : kCompositionSchedules) {
    schedules.emplace(row.name);
    CHECK((row.of_clip ? find_choice<ClipSchedule>(row.name).has_value() : find_choice<NoiseSchedule>(row.name).has_value()));
  }
  CHECK(choices(composition_keys::kSchedule, "name") == schedules);
  WordSet known(kChoiceNames<ClipSchedule>.begin(), kChoiceNames<ClipSchedule>.end());
  known.insert(kChoiceNames<NoiseSchedule>.begin(), kChoiceNames<NoiseSchedule>.end());
  known.erase("constant");
  CHECK(schedules == known);
  for (const auto& name : choices(composition_keys::kCase, "neighbours")) CHECK_NOTHROW((void)neighbours_named(name));
  for (const auto& name : choices(composition_keys::kEvent, "sampling"))
    if (name != "none") CHECK_NOTHROW((void)sampling_named(name));
}

TEST_CASE("The description in docs/compositions.md names every key and word") {
  const std::string text = read_file(FEDSTRIDE_SOURCE_DIR "/docs/compositions.md");
  const auto check_named = [&](std::string_view word) {
    CAPTURE(word);
    CHECK(text.find("`" + std::string(word) + "`") != std::string::npos);
  };
  const auto check_all = [&](std::span<const CompositionKey> keys) {
    for (const CompositionKey& key : keys) {
      check_named(key.name);
      for (const auto& word : WordSet(key.choices.begin(), key.choices.end())) check_named(word);
    }
  };
  check_all(composition_keys::kFile);
  check_all(composition_keys::kCase);
  check_all(composition_keys::kAccept);
  check_all(composition_keys::kEvent);
  check_all(composition_keys::kSchedule);
  for (const auto& name : part_names<Accountant>()) check_named(name);
}

}  // namespace
}  // namespace fedstride::test::composition_schema_test
