// A program outside the tree: installed from this build, compiled against the package, run with its own parts.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/files.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::own_parts_test {
namespace {

namespace fs = std::filesystem;

struct OwnParts {
  TemporaryFolder folder;

  /// Exit status of a shell command in the folder; what it prints goes to output.txt.
  int shell(const std::string& command) const {
    const int status = std::system(("cd '" + folder.path().string() + "' && " + command + " > output.txt 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string output() const { return read_file(folder.path() / "output.txt"); }
  std::string last_hash(const std::string& run) const {
    const std::string lines = read_file(folder.path() / run / "rounds.jsonl");
    const auto at = lines.rfind("\"model_hash\":\"");
    return lines.substr(at + 14, 64);
  }
};

/// A test of an author's own: without doctest, against the installed headers alone.
constexpr const char* kOwnTest = R"(#include <cstdio>
#include <fedstride/conformance.hpp>
#include <fedstride/fedstride.hpp>
#include <fedstride/reference.hpp>
#include <string>

struct ToTheFirst final : fedstride::PartBase<fedstride::PartitionPart, ToTheFirst> {  // leaves every other client empty
  static constexpr std::string_view kName = "to-the-first";
  static constexpr std::string_view kSummary = "all rows to client 0";

  fedstride::Dealing dealing() const override { return fedstride::Dealing::counts; }
  fedstride::ClientRows assign(const fedstride::PartitionInput& input) const override {
    fedstride::check_input(input);
    fedstride::Assignment assignment(static_cast<std::size_t>(input.clients));
    assignment[0].assign(input.rows.begin(), input.rows.end());
    return assignment;
  }
};

std::string choose_them();  // parts of all other families

int main() {
  std::printf("chosen: %s\n", choose_them().c_str());
  for (const auto& complaint : complaints(fedstride::Partitioner(ToTheFirst{}))) std::puts(complaint.c_str());
  for (const auto& complaint : complaints(fedstride::Optimizer{})) std::puts(complaint.c_str());
  const auto model = fedstride::Model::parse("dense 2", {.shape = {1, 1, 1}, .outputs = 2});
  const double weights[64] = {}, inputs[] = {1};
  const fedstride::Label labels[] = {1};
  const fedstride::Row rows[] = {0};
  const auto result = fedstride::reference_gradient<double>(model, weights, inputs, {labels, rows, {}, {}});
  std::printf("loss %.6f\n", result.loss_sum);
}
)";

/// Parts of families that examples/own-parts does not show.
constexpr const char* kOthersParts = R"(
using namespace fedstride;
struct MyObjective final : ObjectiveBase<MyObjective> {
  static constexpr std::string_view kName = "my-objective", kSummary = "my-objective";
};
struct MyAttack final : AttackBase<MyAttack> {
  static constexpr std::string_view kName = "my-attack", kSummary = "my-attack";
};
struct MyPersonal final : PartBase<PersonalPart, MyPersonal> {
  static constexpr std::string_view kName = "my-personal", kSummary = "my-personal";
};
struct MySkew final : PartBase<FeatureSkewPart, MySkew> {
  static constexpr std::string_view kName = "my-skew", kSummary = "my-skew";
};
struct MyDevices final : DrawnDevices<MyDevices> {
  static constexpr std::string_view kName = "my-devices", kSummary = "my-devices";
  static constexpr bool kLinkIsApart = false;
  double factor(RandomStream&) const { return 2; }
};
struct MyHours final : SometimesThere<MyHours, AwaySettings> {
  static constexpr std::string_view kName = "my-hours", kSummary = "my-hours";
  Presence at(ClientId, Nanoseconds, std::uint64_t) const override { return {}; }
};
struct MyCohort final : PartBase<CohortPart, MyCohort> {
  static constexpr std::string_view kName = "my-cohort", kSummary = "my-cohort";
  std::vector<ClientId> sample(const CohortQuestion&) const override { return {0}; }
  double rate(std::size_t clients) const override { return 1.0 / static_cast<double>(clients); }
  bool is_independent() const override { return false; }
};
template <class Way>
struct MyCode final : PartBase<Way, MyCode<Way>> {
  static constexpr std::string_view kName = "my-code", kSummary = "my-code";
  std::uint64_t most_bytes(std::size_t) const override { return 0; }
  void encode(std::span<const float>, const CodeAddress&, std::string&) const override {}
  bool decode(std::string_view, const CodeAddress&, std::span<float>) const override { return true; }
};
struct MyMode final : PartBase<ModePart, MyMode> {
  static constexpr std::string_view kName = "my-mode", kSummary = "my-mode";
  std::unique_ptr<TimedRun> begin(const TimeTerms&) const override { return nullptr; }
};
std::string choose_them() {
  add_part<LocalObjective>(MyObjective{});
  add_part<Attack>(MyAttack{});
  add_part<Personal>(MyPersonal{});
  add_part<FeatureSkew>(MySkew{});
  add_part<Devices>(MyDevices{});
  add_part<Availability>(MyHours{});
  add_part<Cohort>(MyCohort{});
  add_part<UpCompression>(MyCode<UpCompressor>{});
  add_part<DownCompression>(MyCode<DownCompressor>{});
  add_part<Mode>(MyMode{});
  const Configuration chosen = resolve(parse_settings("local-objective = 'my-objective'\nfeature-skew = 'my-skew'", "mine"));
  return std::string(chosen.objective.name()) + ", " + std::string(chosen.feature_skew.name());
}
)";

const std::string kFederation =
    "--dataset spirals --optimizer sign --partition staircase --clients 4 --batch 16 --learning-rate 0.01 "
    "--model 'dense 16 | tanh | dense classes' --quiet";

}  // namespace

TEST_CASE("an optimizer, a partition and a data set of one's own: installed, compiled, run, resumed, launched") {
  const OwnParts own;
  REQUIRE(own.shell("cmake --install '" FEDSTRIDE_BUILD_DIR "' --prefix installed --component development") == 0);
  CHECK(fs::exists(own.folder.path() / "installed/include/fedstride/fedstride.hpp"));
  INFO(own.output());
  const int built = own.shell("cmake -S '" FEDSTRIDE_SOURCE_DIR
                              "/examples/own-parts' -B built -G Ninja -DCMAKE_BUILD_TYPE=Release "
                              "-DCMAKE_PREFIX_PATH=$PWD/installed && cmake --build built");
  if (built != 0) FAIL(own.output());

  REQUIRE(own.shell("built/federation") == 0);
  CHECK(own.output().find("round 3: accuracy 0.") != std::string::npos);
  REQUIRE(own.shell("built/own-parts run " + kFederation + " --rounds 4 --out whole") == 0);
  REQUIRE(own.shell("built/own-parts run " + kFederation + " --rounds 2 --out parts") == 0);
  CHECK(own.last_hash("parts") != own.last_hash("whole"));
  REQUIRE(own.shell("built/own-parts run " + kFederation.substr(0, kFederation.rfind(" --quiet")) + " --rounds 1 --out hints") ==
          0);
  CHECK(own.output().find("next: built/own-parts run --resume hints --rounds 2\n") != std::string::npos);
  CHECK(own.shell("built/own-parts run --oops") == 2);
  CHECK(names(own.output(), {"'built/own-parts run --help' lists them"}));
  REQUIRE(own.shell("built/own-parts run --resume parts --rounds 4 --quiet --threads 1") == 0);
  CHECK(own.last_hash("parts") == own.last_hash("whole"));
  REQUIRE(own.shell("built/own-parts run --config whole/config.toml --out again --quiet") == 0);
  CHECK(own.last_hash("again") == own.last_hash("whole"));
  REQUIRE(own.shell("built/own-parts launch " + kFederation + " --rounds 4 --out launched") == 0);
  CHECK(own.last_hash("launched") == own.last_hash("whole"));

  const std::string settings = read_file(own.folder.path() / "whole/config.toml");
  CHECK(settings.find("optimizer = 'sign'") != std::string::npos);
  CHECK(settings.find("sign-beta = 0.9") != std::string::npos);
  REQUIRE(own.shell("built/own-parts run --help-all") == 0);
  CHECK(own.output().find("--sign-beta") != std::string::npos);
  CHECK(own.output().find("\n      sign ") != std::string::npos);  // among the choices of --optimizer
  CHECK(own.shell("built/own-parts run " + kFederation + " --sign-beta 1 --out bad") == 2);
  CHECK(names(own.output(), {"sign-beta", "0", "1"}));
  CHECK(own.shell("built/own-parts run --optimizer sgd --sign-beta 0.5 --out bad") == 2);
  CHECK(names(own.output(), {"sign-beta", "optimizer", "'sgd'"}));
}

TEST_CASE("a test of one's own and parts of all families are built against the installed headers") {
  const OwnParts own;
  REQUIRE(own.shell("cmake --install '" FEDSTRIDE_BUILD_DIR "' --prefix installed --component development") == 0);
  std::ofstream(own.folder.path() / "own_test.cpp") << kOwnTest;
  std::ofstream every(own.folder.path() / "every_header.cpp");
  for (const auto& header : fs::directory_iterator(own.folder.path() / "installed/include/fedstride"))
    if (header.is_regular_file()) every << "#include <fedstride/" << header.path().filename().string() << ">\n";
  every << kOthersParts << std::flush;
  std::ofstream(own.folder.path() / "CMakeLists.txt") << "cmake_minimum_required(VERSION 3.25)\n"
                                                         "project(own_test LANGUAGES CXX)\n"
                                                         "find_package(fedstride REQUIRED)\n"
                                                         "add_executable(own-test own_test.cpp every_header.cpp)\n"
                                                         "target_link_libraries(own-test PRIVATE fedstride::fedstride)\n";
  const int built = own.shell(
      "cmake -S . -B built -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$PWD/installed && "
      "cmake --build built");
  if (built != 0) FAIL(own.output());
  REQUIRE(own.shell("built/own-test") == 0);
  CHECK(own.output().find("chosen: my-objective, my-skew\n") != std::string::npos);
  CHECK(own.output().find("'to-the-first'") != std::string::npos);
  CHECK(own.output().ends_with("\nloss 0.693147\n"));
}

}  // namespace fedstride::test::own_parts_test
