#include <doctest/doctest.h>

#include "core/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::explain_test {

TEST_CASE("a run's rates are explained from its rounds: the numbers are those by which it moved") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  Words words = federation(folder, {"--optimizer", "pooled", "--server-optimizer", "restore", "--rounds", "4", "--clients", "3",
                                    "--out", folder / "run"});
  REQUIRE(run_program(words).code == 0);
  const Outcome page = run_program({"explain", folder / "run"});
  REQUIRE(page.code == 0);
  for (const char* part : {"tolerance", "gamma", "cosine", "The bound on the tolerance", "Averaging left"})
    CHECK_MESSAGE(page.out.find(part) != std::string::npos, part << " in " << page.out);

  const Outcome machine = run_program({"explain", folder / "run", "--json"});
  REQUIRE(machine.code == 0);
  const auto json = Json::parse(machine.out);
  REQUIRE(json["rounds"].size() == 4);
  for (const Json& round : json["rounds"]) {
    const double q = std::pow(round["client_length"].get<double>() / round["mean_length"].get<double>(), 2);
    CHECK(round["server_rate"].get<double>() == doctest::Approx(std::max(1.0, std::min(q / 2, std::sqrt(q)))));
    CHECK(std::abs(round["change_cosine"].get<double>()) <= 1 + 1e-6);
  }
  CHECK(json["rounds"][0]["change_cosine"].get<double>() == 0);
}

TEST_CASE("an ADADP run is explained by its undone steps and the clients' rates, however its clients are reported") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  for (const char* reports : {"all", "none"}) {
    CAPTURE(reports);
    const std::string run = folder / reports;
    REQUIRE(run_program(federation(folder, {"--optimizer", "adadp", "--tolerance", "0.02", "--rounds", "3", "--client-reports",
                                            reports, "--out", run}))
                .code == 0);
    const Outcome page = run_program({"explain", run});
    REQUIRE(page.code == 0);
    CHECK(page.out.find("evenly spaced") == std::string::npos);
    const auto json = Json::parse(run_program({"explain", run, "--json"}).out);
    const std::string lines = read_file(run + "/rounds.jsonl");
    double steps = 0, undone = 0;
    std::size_t begin = 0;
    for (const Json& round : json["rounds"]) {
      const std::size_t end = lines.find('\n', begin);
      const Json line = Json::parse(lines.substr(begin, end - begin));
      begin = end + 1;
      double of_round = line.value("steps", 0.0), rejected = line.value("rejected_steps", 0.0);
      for (const Json& client : line["clients"]) {
        of_round += client["steps"].get<double>();
        rejected += client["rejected"].get<double>();
        CHECK(round["lowest_rate"].get<double>() <= client["learning_rate"].get<double>());
        CHECK(round["highest_rate"].get<double>() >= client["learning_rate"].get<double>());
      }
      CHECK(round["undone_share"].get<double>() == doctest::Approx(rejected / of_round));
      steps += of_round;
      undone += rejected;
    }
    CHECK(undone > 0);
    CHECK(page.out.find("Of " + std::to_string(static_cast<int>(steps)) + " steps, ") != std::string::npos);
    CHECK(page.out.find("after round 3") != std::string::npos);
  }
}

TEST_CASE("a long run is shown in 16 rounds, and says so; as JSON it is whole") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--optimizer", "adadp", "--rounds", "20", "--out", folder / "run"})).code == 0);
  const std::string page = run_program({"explain", folder / "run"}).out;
  CHECK(page.find("16 of 20 rounds, evenly spaced; --json lists all\n") != std::string::npos);
  CHECK(Json::parse(run_program({"explain", folder / "run", "--json"}).out)["rounds"].size() == 20);
}

TEST_CASE("a run without adaptive rates says so; what is no run is refused in one line") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(
      run_program(federation(folder, {"--optimizer", "sgd", "--rounds", "1", "--clients", "3", "--out", folder / "run"})).code ==
      0);
  const Outcome plain = run_program({"explain", folder / "run"});
  CHECK(plain.code == 0);
  CHECK(plain.out.find("'pooled'") != std::string::npos);
  const Outcome missing = run_program({"explain", folder / "none"});
  CHECK(missing.code == 1);
  CHECK(names(missing.err, {folder / "none"}));
  write_file(folder / "run/rounds.jsonl", "{\"round\": 1\n");
  CHECK(names(run_program({"explain", folder / "run"}).err, {"rounds.jsonl", "round 1"}));
  write_file(folder / "run/rounds.jsonl", "");
  CHECK(run_program({"explain", folder / "run"}).code == 1);
}

}  // namespace fedstride::test::explain_test
