#include <regex>

#include "tests/cli/refusal.hpp"

namespace fedstride::test::report_test {
namespace {

constexpr const char* kExperiment = R"(
model = "logistic"
clients = 3
rounds = 2
threads = 1

[experiment]
title = "Three <classes>"

[sweep]
optimizer = ["adadp", "sgd"]
seed = [1, 2]

[[expect]]
claim = "adadp learns something"
value = { metric = "test_accuracy", where = { optimizer = "adadp" } }
above = 0
)";

/// folder/sweep, a finished one.
void sweep_in(const TemporaryFolder& folder) {
  write_table(folder.path() / "data");
  fedstride::write_file(folder / "experiment.toml", kExperiment);
  const Outcome outcome =
      run_program({"sweep", folder / "experiment.toml", "--data", folder / "data", "--out", folder / "sweep"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
}

std::vector<std::string> cell_folders(const std::string& sweep) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(sweep + "/cells")) folders.push_back(entry.path().string());
  return folders;
}

bool is_there(const std::string& path) { return std::filesystem::exists(path); }

}  // namespace

TEST_CASE("the example of a comparison ends in a page and a LaTeX table with each method's settings and chance level") {
  const TemporaryFolder folder;
  const Outcome swept = run_program({"sweep", FEDSTRIDE_SOURCE_DIR "/examples/comparison.toml", "--rounds", "2",
                                     "--limit-per-client", "20", "--out", folder / "sweep", "--quiet"});
  REQUIRE_MESSAGE(swept.code == 0, swept.err);
  const Outcome outcome = run_program({"report", folder / "sweep", "--latex"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  const std::string page = fedstride::read_file(folder / "sweep/report.html");
  const std::string table =
      std::regex_replace(fedstride::read_file(folder / "sweep/report.tex"), std::regex(R"(\\allowbreak\{\})"), "");
  const Json summary = parse_json(fedstride::read_file(cell_folders(folder / "sweep").front() + "/summary.json"));
  const double chance = summary["chance_accuracy"].get<double>();
  CHECK((chance >= 0.1 && chance < 0.12));  // of 2,000 rows in ten classes
  for (const std::string& text : {page, table}) {
    CHECK((text.find("24 of 24 cells") != text.npos || text == table));
    // What the names of methods and conditions resolve to.
    for (const char* one : {"FedProx", "FedAdam", "local-objective", "prox", "mu", "server-learning-rate", "0.01", "alpha", "0.1",
                            "server-optimizer", "commonest class"})
      CHECK_MESSAGE(text.find(one) != text.npos, one);
  }
  CHECK(table.find("in all cells") != table.npos);
}

TEST_CASE("a sweep's page stands in its folder, with pictures and tables beside it") {
  const TemporaryFolder folder;
  sweep_in(folder);
  // A sweep that was killed may not have got to its tables.
  std::filesystem::remove(folder / "sweep/summary.csv");
  const Outcome outcome = run_program({"report", folder / "sweep"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.starts_with("mean             seeds  test accuracy      test loss\noptimizer adadp      2"));
  CHECK(outcome.out.ends_with("\n" + (folder / "sweep/report.html") + "\n"));
  const std::string page = fedstride::read_file(folder / "sweep/report.html");
  CHECK(page.find("<h1>Three &lt;classes&gt;</h1>") != std::string::npos);
  CHECK(page.find("4 of 4 cells") != std::string::npos);
  CHECK(page.find("✓") != std::string::npos);
  CHECK(page.find("href=\"summary.csv\"") != std::string::npos);
  CHECK(is_there(folder / "sweep/report-figures/figure1.png"));

  // Every number of the first picture is in the table.
  const std::string summary = fedstride::read_file(folder / "sweep/summary.csv");
  const std::string svg = page.substr(0, page.find("</svg>"));
  std::size_t numbers = 0;
  for (std::size_t at = 0; (at = svg.find("data-y=\"", at)) != std::string::npos; ++numbers) {
    at += 8;
    const std::string value = svg.substr(at, svg.find('"', at) - at);
    CAPTURE(value);
    CHECK(summary.find("," + value + ",") != std::string::npos);
  }
  CHECK(numbers == 2 * 2);
}

TEST_CASE("a run has a page too, and several runs stand on common axes") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  for (const char* optimizer : {"adadp", "sgd"})
    for (const char* seed : {"1", "2"})
      REQUIRE(run_program(federation(folder, {"--optimizer", optimizer, "--seed", seed, "--out",
                                              folder / (std::string(optimizer) + seed)}))
                  .code == 0);
  CHECK(run_program({"report", folder / "sgd1"}).code == 0);
  const Outcome outcome = run_program({"report", folder / "adadp1", folder / "adadp2", folder / "sgd1", folder / "sgd2", "--out",
                                       folder / "all.html", "--latex"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.out.ends_with("\n" + (folder / "all.html") + "\n" + (folder / "all.tex") + "\n"));
  const std::string page = fedstride::read_file(folder / "all.html");
  CHECK(page.find("<h1>4 runs</h1>") != std::string::npos);
  CHECK(page.find("<section id=\"sweep2\">") == std::string::npos);
  CHECK(page.find("2 seeds") != std::string::npos);
  CHECK(page.find("<li><span>optimizer</span> adadp, sgd</li>") != std::string::npos);
  CHECK(page.find("<li><span>rounds</span> 2</li>") != std::string::npos);
  const std::string svg = fedstride::read_file(folder / "all-figures/figure1.svg");
  for (const char* name : {">adadp<", ">sgd<"}) CHECK(svg.find(name) != std::string::npos);
  CHECK(fedstride::read_file(folder / "all.tex").find("\\begin{tabular}") != std::string::npos);
  CHECK(!is_there(folder / "adadp1/report.html"));
}

TEST_CASE("a run and a sweep each have a part of the page") {
  const TemporaryFolder folder;
  sweep_in(folder);
  REQUIRE(run_program(federation(folder, {"--out", folder / "one"})).code == 0);
  CHECK(run_program({"report", folder / "one", folder / "sweep", "--out", folder / "both.html"}).code == 0);
  CHECK(fedstride::read_file(folder / "both.html").find("<section id=\"sweep2\">") != std::string::npos);
  CHECK(is_there(folder / "both-figures/sweep2-figure1.svg"));
}

TEST_CASE("what makes no page is refused in one line, and nothing is left behind") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  REQUIRE(run_program(federation(folder, {"--out", folder / "run"})).code == 0);
  const Refusal rows[] = {
      {{"report"}, 2, {"DIR", "fedstride report --help"}},
      {{"report", "@/run", "--ouf", "x"}, 2, {"flag", "--ouf", "--out"}},
      {{"report", "@/run", "--out", ""}, 2, {"out", "''"}},
      {{"report", "@/run", "@/run"}, 2, {"--out", "2"}},
      {{"report", ""}, 2, {"DIR", "''"}},
      {{"report", "@/data"}, 2, {"@/data"}},
      {{"report", "@/none"}, 2, {"@/none"}},
      {{"report", "@/run", "--out", "@/run"}, 1, {"@/run"}},
      {{"report", "@/run", "--out", "@/data/train.csv/page.html"}, 1, {"@/data/train.csv"}},
  };
  for (const auto& row : rows) check_refused(row, folder);
}

}  // namespace fedstride::test::report_test
