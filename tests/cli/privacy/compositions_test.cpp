#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "core/text.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::compositions_test {
namespace {

const std::string kKnownAnswers = FEDSTRIDE_SOURCE_DIR "/tests/golden/compositions.json";

Json composition_case(const Json& more = Json::object()) {
  Json one = Json::parse(R"({"id": "one", "neighbours": "add-remove", "accountant": "tight",
      "ask": "epsilon", "delta": 1e-5, "events": [
        {"mechanism": "gaussian", "sampling": "poisson", "rate": 0.01, "noise_multiplier": 4, "count": 10000}]})");
  one.merge_patch(more);
  return one;
}

Json with_event(const Json& more) {
  Json one = composition_case();
  one["events"][0].merge_patch(more);
  return one;
}

Words evaluate(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder / "cases.json") << text;
  return {"privacy", "evaluate", folder / "cases.json"};
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

/// The case's line and standard error name the case and these parts; the case after it is answered.
void check_case_refused(const std::string& one, const Words& parts, bool named = true) {
  CAPTURE(one);
  const TemporaryFolder folder;
  const std::string next = composition_case({{"id", "next"}}).dump();
  const Outcome outcome = run_program(evaluate(folder, "{\"version\": 1, \"cases\": [" + one + "," + next + "]}"));
  CHECK(outcome.code == 1);
  INFO("standard error: ", outcome.err);
  CHECK(line_count(outcome.err) == 1);
  CHECK(names(outcome.err, {"1 of 2", named ? "case 'one'" : "case 1"}));
  CHECK(names(outcome.err, parts));
  const auto lines = json_lines(outcome.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].value("id", "") == (named ? "one" : ""));
  CHECK(lines[0].value("case", 0) == (named ? 0 : 1));
  CHECK(names(lines[0].at("error").get<std::string>(), parts));
  CHECK(lines[1].at("id") == "next");
  CHECK(lines[1].at("value").get<double>() == doctest::Approx(0.9468668).epsilon(2e-4));
}
void check_case_refused(const Json& one, const Words& parts) { check_case_refused(one.dump(), parts); }

}  // namespace

TEST_CASE("Every known answer is given inside its bounds") {
  const Outcome outcome = run_program({"privacy", "evaluate", kKnownAnswers});
  INFO("standard error: ", outcome.err);
  CHECK(outcome.code == 0);
  const auto cases = Json::parse(fedstride::read_file(kKnownAnswers)).at("cases");
  const auto lines = json_lines(outcome.out);
  CHECK(cases.size() == 101);
  REQUIRE(lines.size() == cases.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CAPTURE(lines[i].dump());
    CHECK(lines[i].at("id") == cases[i].at("id"));
    CHECK(lines[i].at("accepted") == true);
    CHECK(lines[i].at("value").get<double>() >= cases[i].at("accept").at("min").get<double>());
    CHECK(lines[i].at("value").get<double>() <= cases[i].at("accept").at("max").get<double>());
  }
}

TEST_CASE("Of the source of the known answers, where there is one, no case and no bound is lost") {
  const auto path = std::filesystem::path(FEDSTRIDE_SOURCE_DIR) / ".." / "shared" / "accounting.json";
  if (!std::filesystem::exists(path)) return;  // the file here is complete in itself
  std::map<std::string, Json> bounds;
  const Json of_kKnownAnswers = Json::parse(fedstride::read_file(kKnownAnswers));
  for (const auto& one : of_kKnownAnswers.at("cases")) bounds[one.at("id")] = one.at("accept");
  // No composition: two theorems and two steps of a schedule, in tests/dp (composition_test.cpp, noise_plan_test.cpp).
  const std::set<std::string> elsewhere{"drv-0.01-1000", "kov-0.01-1000", "hong-a-sigma_1", "hong-a-sigma_T"};
  const Json of_path = Json::parse(fedstride::read_file(path));
  for (const auto& one : of_path.at("cases")) {
    const auto id = one.at("id").get<std::string>();
    CAPTURE(id);
    if (elsewhere.contains(id)) continue;
    REQUIRE(bounds.contains(id));
    CHECK(bounds[id].at("min") == one.at("accept_min"));
    CHECK(bounds[id].at("max") == one.at("accept_max"));
  }
}

TEST_CASE("An answer out of its bounds fails, and says by how much") {
  const TemporaryFolder folder;
  const auto file = Json{{"version", 1}, {"cases", {composition_case({{"accept", {{"max", 0.9}}}})}}};
  const Outcome outcome = run_program(evaluate(folder, file.dump()));
  CHECK(outcome.code == 1);
  CHECK(json_lines(outcome.out).front().at("accepted") == false);
  CHECK(names(outcome.err, {"1 of 1", "case 'one'", "-inf", "0.9"}));
  CHECK(outcome.err.find("0.9468") != std::string::npos);
}

TEST_CASE("What is wrong with a case is an error of that case alone") {
  check_case_refused(composition_case({{"mechanism", "NOT Poisson, fixed batches in a public order"}}), {"'mechanism'"});
  check_case_refused(with_event({{"sampling", "NOT Poisson, fixed batches"}}),
                     {"event 1", "sampling", "'NOT Poisson, fixed batches'"});
  check_case_refused(with_event({{"sampling", "Poisson"}}), {"'Poisson'", "'poisson'", "none", "shuffle"});
  check_case_refused(with_event({{"mechanism", "laplace"}}), {"event 1", "mechanism", "'laplace'", "gaussian"});
  check_case_refused(with_event({{"sigma", 4}}), {"event 1", "'sigma'", "mechanism", "sampling"});
  for (const auto* key : {"neighbours", "ask", "accountant", "delta", "events"})
    check_case_refused(composition_case({{key, nullptr}}), {"'" + std::string(key) + "'"});
  for (const auto* key : {"mechanism", "sampling", "rate", "noise_multiplier", "count"})
    check_case_refused(with_event({{key, nullptr}}), {"event 1", "'" + std::string(key) + "'"});
  check_case_refused(composition_case({{"epsilon", 1}}), {"ask 'epsilon'"});
  check_case_refused(composition_case({{"conversion", "classical"}}), {"conversion", "accountant 'tight'"});
  check_case_refused(composition_case({{"accountant", "zcdp"}, {"orders", "wide"}}),
                     {"orders", "accountant 'zcdp'", "conversion"});
  check_case_refused(composition_case({{"accountant", "rdp"}, {"conversion", "classic"}}),
                     {"'classic'", "improved", "classical"});
  check_case_refused(composition_case({{"accountant", "zcdp"}}), {"zcdp", "sampling"});
  check_case_refused(with_event({{"sampling", "none"}}), {"event 1", "'rate'", "sampling 'none'"});
  check_case_refused(with_event({{"schedule", {{"name", "linear"}}}}), {"event 1", "schedule", "'target'"});
  check_case_refused(with_event({{"schedule", {{"name", "linear"}, {"target", 9}, {"gamma", 0.5}}}}),
                     {"'gamma'", "schedule 'linear'"});
  check_case_refused(with_event({{"noise_multipliers", {1, 2}}}), {"'noise_multipliers'"});
  check_case_refused(composition_case({{"accept", {{"min", 2}, {"max", 1}}}}), {"accept", "min", "2", "max", "1"});
  check_case_refused(composition_case({{"events", Json::array()}}), {"events"});
}

TEST_CASE("Adaptive events are accounted by a filter, whose budget was fixed beforehand") {
  // rho = 1 / 2 sigma^2 each: 10 x 0.005 + 0.02 of the rho that means epsilon 1.8 at delta 1e-5 by rho + 2 sqrt(rho ln 1e5), which is
  // (sqrt(ln 1e5 + 1.8) - sqrt(ln 1e5))^2 = 0.0655.
  Json one = composition_case({{"accountant", "zcdp"}, {"conversion", "classical"}, {"ask", "filter"}, {"epsilon", 1.8}});
  one["events"] = Json::array({{{"mechanism", "gaussian"}, {"sampling", "none"}, {"noise_multiplier", 10}, {"count", 10}}});
  const auto value_of = [&](const Json& asked) {
    const TemporaryFolder folder;
    const Outcome outcome = run_program(evaluate(folder, Json{{"version", 1}, {"cases", {asked}}}.dump()));
    INFO("standard error: ", outcome.err);
    REQUIRE(outcome.code == 0);
    return json_lines(outcome.out).front().at("value").get<double>();
  };
  const double rho = std::pow(std::sqrt(std::log(1e5) + 1.8) - std::sqrt(std::log(1e5)), 2);
  CHECK(value_of(one) == doctest::Approx(0.05 / rho));
  one["events"].push_back(
      {{"mechanism", "gaussian"}, {"sampling", "none"}, {"noise_multiplier", 20}, {"count", 4}, {"adaptive", true}});
  CHECK(value_of(one) == doctest::Approx(0.055 / rho));
  one["ask"] = "steps";
  one["events"][1].erase("count");
  CHECK(value_of(one) == std::floor((rho - 0.05) * (1 - 1e-9) * 800));
  one["ask"] = "filter";
  one["events"][1]["count"] = 400;
  check_case_refused(one, {"event 2", "zcdp", "0.5000000000000001"});

  // By rdp, the first event chooses the order; sampling is amplified.
  Json rdp = composition_case({{"accountant", "rdp"}, {"ask", "filter"}, {"epsilon", 1.1}});
  rdp["events"].push_back(rdp["events"][0]);
  rdp["events"][1].merge_patch({{"noise_multiplier", 6}, {"count", 100}, {"adaptive", true}});
  CHECK(value_of(rdp) < 1);
  CHECK(value_of(rdp) > 0.8);
  rdp["events"][0]["adaptive"] = true;
  check_case_refused(rdp, {"event 1", "'adaptive'", "true"});
  rdp["events"][0].erase("adaptive");
  rdp["accountant"] = "tight";
  check_case_refused(rdp, {"tight", "filter", "rdp", "zcdp"});
  rdp.merge_patch({{"ask", "epsilon"}, {"epsilon", nullptr}});
  check_case_refused(rdp, {"tight", "filter"});
  check_case_refused(with_event({{"adaptive", "yes"}}), {"event 1", "adaptive", "'yes'", "true", "false"});
}

TEST_CASE("Numbers that are none, or out of range, are refused by name") {
  const auto with_count = [](const std::string& count) {
    std::string text = with_event({{"count", 4711}}).dump();
    return text.replace(text.find("4711"), 4, count);
  };
  for (const auto* count : {"NaN", "-Infinity", "1e999", "-1", "0", "1.5", "1e16", "\"9\"", "true", "[9]", "{}"})
    check_case_refused(with_count(count), {"count", "1", "1000000000000000"});
  check_case_refused(with_event({{"rate", 2}}), {"event 1", "rate", "'2'"});
  check_case_refused(with_event({{"noise_multiplier", 0}}), {"event 1", "noise_multiplier", "'0'"});
  check_case_refused(composition_case({{"delta", 1}}), {"delta", "'1'", "0", "1"});
  check_case_refused(with_event({{"count", 2000000}, {"schedule", {{"name", "dynamic"}, {"target", 1000001}, {"gamma", 0.99}}}}),
                     {"event 1", "schedule", "target", "'1000001'", "1000000"});
  Json much = with_event({{"schedule", {{"name", "linear"}, {"target", 1000000}}}, {"count", 1000000}});
  much["events"].push_back(much["events"][0]);
  check_case_refused(much, {"events", "1000000"});
}

TEST_CASE("A case without an id of its own is named by its number") {
  check_case_refused("7", {"'7'"}, false);
  check_case_refused(composition_case({{"id", nullptr}}).dump(), {"'id'"}, false);
  check_case_refused(composition_case({{"id", 3}}).dump(), {"id", "'3'"}, false);
  std::string twice = composition_case().dump();
  check_case_refused(twice.insert(1, "\"delta\": 0.1, "), {"'delta'"});
  const TemporaryFolder folder;
  const std::string one = composition_case().dump();
  const Outcome outcome = run_program(evaluate(folder, "{\"version\": 1, \"cases\": [" + one + "," + one + "]}"));
  CHECK(outcome.code == 1);
  CHECK(names(outcome.err, {"case 2", "case 1", "'one'"}));
}

TEST_CASE("A file that is none is refused as a whole") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const Words& parts) {
    check_refused({evaluate(folder, text), 1, parts}, folder);
  };
  const std::string one = composition_case().dump();
  refused("{\"cases\": [", {"@/cases.json"});
  refused("[]", {"@/cases.json"});
  refused("{\"version\": 2, \"cases\": [" + one + "]}", {"version", "'2'", "1"});
  refused("{\"cases\": [" + one + "]}", {"'version'"});
  refused("{\"version\": 1}", {"'cases'"});
  refused("{\"version\": 1, \"cases\": []}", {"cases"});
  refused("{\"version\": 1, \"version\": 1, \"cases\": [" + one + "]}", {"'version'"});
  refused("{\"version\": 1, \"cases\": [" + one + "], \"note\": 1}", {"'note'"});
  refused("{\"cases\": " + std::string(100000, '[') + std::string(100000, ']') + "}", {"8"});
  refused("{\"cases\": \"" + std::string(std::size_t{17} << 20, 'x') + "\"}", {"@/cases.json"});
  std::string many = "{\"version\": 1, \"cases\": [0";
  for (int i = 0; i < 10000; ++i) many += ",0";
  refused(many + "]}", {"cases", "10001", "10000"});
}

TEST_CASE("Phases add up: a file's epsilon and delta are those of the same releases by flags") {
  const TemporaryFolder folder;
  Json halves = with_event({{"count", 5000}});
  halves["events"].push_back(halves["events"][0]);
  std::ofstream(folder / "cases.json") << Json{{"version", 1}, {"cases", {halves}}};
  const Words by_file{"--composition", folder / "cases.json"};
  const auto ask = [&](Words words) {
    words.insert(words.end(), by_file.begin(), by_file.end());
    const Outcome outcome = run_program(words);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  CHECK(names(ask({"privacy", "epsilon"}), {"'one'", "epsilon 0.9469", "delta 1e-05", "tight", "add-remove", "2", "10000"}));
  CHECK(names(ask({"privacy", "epsilon", "--accountant", "rdp", "--orders", "ma32", "--conversion", "classical"}),
              {"'one'", "epsilon 1.259", "delta 1e-05", "rdp"}));
  CHECK(names(ask({"privacy", "delta", "--epsilon", "1"}), {"'one'", "delta 4.244e-06", "epsilon 1", "tight"}));
  const auto json = Json::parse(ask({"privacy", "epsilon", "--json"}));
  CHECK(json.at("value").get<double>() == doctest::Approx(0.9468668).epsilon(2e-4));
  const std::string table = ask({"privacy", "compare"});
  for (const auto* row : {"\ntight         0.9469\n", "\nrdp           1.036\n", "\nmoments       1.259\n", "\nzcdp          - "})
    CHECK(table.find(row) != std::string::npos);
}

TEST_CASE("A case that a command cannot answer is named, and the others are answered") {
  const TemporaryFolder folder;
  std::ofstream(folder / "cases.json") << Json{{"version", 1},
                                               {"cases", {with_event({{"rate", 2}}), composition_case({{"id", "next"}})}}};
  const Outcome outcome = run_program({"privacy", "epsilon", "--composition", folder / "cases.json"});
  CHECK(outcome.code == 1);
  const auto lines = split(outcome.out, '\n');
  REQUIRE(lines.size() >= 2);
  CHECK(names(lines[0], {"case 'one'", "event 1", "rate", "'2'"}));
  CHECK(names(lines[1], {"case 'next'", "epsilon", "0.9469"}));
  CHECK(names(outcome.err, {"1 of 2", "case 'one'", "event 1", "rate", "'2'"}));
}

}  // namespace fedstride::test::compositions_test
