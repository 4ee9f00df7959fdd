#include <doctest/doctest.h>

#include <filesystem>

#include "core/json.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::privacy_cases_test {

TEST_CASE("Every case of accounting.json, where there is one, is answered inside its bounds") {
  const auto path = std::filesystem::path(FEDSTRIDE_SOURCE_DIR) / ".." / "shared" / "accounting.json";
  if (!std::filesystem::exists(path)) FEDSTRIDE_SKIP("no ../shared/accounting.json beside the sources");
  const Outcome outcome = run_program({"privacy", "evaluate", path.string()});
  INFO("standard error: ", outcome.err);
  CHECK(outcome.code == 0);
  const auto document = Json::parse(fedstride::read_file(path));
  const auto answers = Json::parse(outcome.out);
  CHECK(answers.size() == document.at("cases").size());
  for (const auto& one : document.at("cases")) {
    const auto id = one.at("id").get<std::string>();
    CAPTURE(id);
    CHECK(answers.at(id).get<double>() >= one.at("accept_min").get<double>());
    CHECK(answers.at(id).get<double>() <= one.at("accept_max").get<double>());
  }
}

}  // namespace fedstride::test::privacy_cases_test
