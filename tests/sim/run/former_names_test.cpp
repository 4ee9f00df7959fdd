#include <doctest/doctest.h>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/run/former_names.hpp"
#include "sim/run/run.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::former_names_test {
namespace {

Setting given(const char* text) { return {std::string(text), true}; }

std::string last_hash(const std::filesystem::path& run) {
  return parse_json(read_file(run / "summary.json"))["model_hash"].get<std::string>();
}

}  // namespace

TEST_CASE("every former name is none of today's, and leads to a key that there is") {
  const auto keys = all_keys();
  const auto is_key = [&](std::string_view name) { return std::ranges::find(keys, name, &KeyInfo::name) != keys.end(); };
  for (const FormerName& one : former_names()) {
    CAPTURE(one.former);
    CHECK(is_key(one.key));
    CHECK((one.former == one.key || !is_key(one.former)));
    for (const auto& [now, before] : one.values) {
      const auto& known = std::ranges::find(keys, one.key, &KeyInfo::name)->known;
      CHECK(std::ranges::find(known, now, &KnownName::name) != known.end());
      CHECK(std::ranges::find(known, before, &KnownName::name) == known.end());
    }
  }
}

TEST_CASE("settings under former names are the same run, with a note; both names together are refused") {
  const Settings now{{"optimizer", given("pooled")}, {"tolerance-schedule", given("linear")}, {"normalize", given("none")}};
  const Settings before{{"optimizer", given("pooled")}, {"course", given("falling")}, {"normalise", given("none")}};
  const Configuration one = resolve(now), other = resolve(before);
  CHECK(write_settings(one, {}) == write_settings(other, {}));
  CHECK(one.renamed.empty());
  REQUIRE(other.renamed.size() == 2);
  CHECK(names(other.renamed[0], {"'course'", "'tolerance-schedule'"}));
  CHECK_USAGE_ERROR(resolve({{"normalise", given("none")}, {"normalize", given("none")}}), "'normalize'");
}

TEST_CASE("a file of an earlier version is read, and identities are made of the names they were always made of") {
  const Settings settings =
      parse_settings("optimizer = 'adadp'\ncourse = 'falling'\ndiscard = 'off'\ninitialisation = 'fan-in'\n", "old.toml");
  CHECK(value_text(settings.at("tolerance-schedule").value) == "linear");
  CHECK(value_text(settings.at("too-long").value) == "keep");
  const std::string text = identity_settings(resolve(settings));
  for (const char* line :
       {"\ncourse = 'falling'\n", "\ntoo-long = 'keep'\n", "\ninitialisation = 'fan-in'\n", "\nnormalise = 'auto'\n"})
    CHECK_MESSAGE(text.find(line) != text.npos, line);
  CHECK(text.find("tolerance-schedule") == text.npos);
}

TEST_CASE("a run whose file has former names goes on to the model that it would have had") {
  const TemporaryFolder folder;
  const Settings start{{"model", given("logistic")},
                       {"limit-per-client", given("20")},
                       {"rounds", given("2")},
                       {"optimizer", given("pooled")},
                       {"out", given((folder / "whole").c_str())}};
  run(resolve(start), start);
  Settings part = start;
  part["rounds"] = given("1");
  part["out"] = given((folder / "part").c_str());
  run(resolve(part), part);
  std::string text = read_file(folder / "part/config.toml");
  for (const auto& [now, before] :
       {std::pair{"tolerance-schedule = 'linear'", "course = 'falling'"}, std::pair{"\nnormalize = ", "\nnormalise = "}}) {
    const auto at = text.find(now);
    REQUIRE(at != text.npos);
    text.replace(at, std::string_view(now).size(), before);
  }
  write_file(folder / "part/config.toml", text);
  resume(folder / "part", {{"rounds", given("2")}});
  CHECK(last_hash(folder / "part") == last_hash(folder / "whole"));
}

}  // namespace fedstride::test::former_names_test
