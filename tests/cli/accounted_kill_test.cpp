#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "core/json.hpp"
#include "core/secret_key.hpp"
#include "dp/accountants/selection.hpp"
#include "tests/cli/program.hpp"

namespace fedstride::test::accounted_kill_test {

namespace fs = std::filesystem;

namespace {

// The number of the run that is made; nothing is in its file while it is replaced.
std::uint64_t next_of(const fs::path& out) {
  std::error_code error;
  if (!fs::exists(out / "runs.json", error)) return 0;
  try {
    const Json json = parse_json(read_file(out / "runs.json"));
    return json.is_object() ? json.value("next", 0).get<std::uint64_t>() : 0;
  } catch (const std::exception&) {  // removed meanwhile
    return 0;
  }
}

}  // namespace

TEST_CASE("an accounted sweep that is killed makes the number of runs that was drawn, and leaves the winner alone") {
  const TemporaryFolder folder;
  write_table(folder / "data", 300);
  std::ofstream(folder / "choice.toml") << "data = '" << (folder / "data")
                                        << "'\nclasses = 3\nheader = 'no'\nmean = '0.67'\ndeviation = '1.2'\npublic-test = true\n"
                                           "model = 'logistic'\nclients = 3\nrounds = 40\noptimizer = 'sgd'\n"
                                           "dp = 'client'\nnoise-multiplier = 5\nclip = 0.5\nrandomness = 'secret'\n"
                                           "[sweep]\nlearning-rate = [0.02, 0.1]\n";
  const fs::path out = folder / "out";
  const Words sweeping{"sweep", folder / "choice.toml", "--out", out.string(), "--accounted", "--threads", "1"};
  // A key whose number of runs suits the test.
  fs::create_directories(out);
  SecretKey key{};
  std::uint64_t runs = 0;
  for (std::uint8_t first = 0; runs < 4 || runs > 6; key[0] = ++first) {
    key[0] = first;
    RandomStream random = RandomSource(key).at({Purpose::run_count});
    runs = draw_runs({}, random);
    if (runs >= 4 && runs <= 6) break;
  }
  const NewFile file{.name = "runs.key", .contents = std::string(bytes_of(key)), .mode = 0600};
  write_files(out, std::span(&file, 1));

  std::uint64_t last = 0;
  for (int session = 0; session < 3; ++session) {
    const TemporaryFolder output;
    const Process process(sweeping, output);
    const std::uint64_t before = next_of(out);
    if (session < 2) {
      for (int i = 0; i < 60'000 && next_of(out) <= before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      process.signal(SIGKILL);
      REQUIRE(process.wait() == -SIGKILL);
      CHECK(read_file(out / "runs.key") == std::string(bytes_of(key)));
      struct stat status {};
      REQUIRE(::stat((out / "runs.json").c_str(), &status) == 0);
      CHECK((status.st_mode & 0777) == 0600);
      last = next_of(out);
      CHECK(last > before);
      CHECK(last < runs);
      continue;
    }
    std::atomic<bool> ended = false;
    std::jthread watch([&] {
      while (!ended.load()) {
        last = std::max(last, next_of(out));
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    CHECK(process.wait() == 0);
    ended = true;
    watch.join();
    CHECK(last + 1 >= runs);
    CHECK(last <= runs);
    CHECK(process.out().find("including the choice") != std::string::npos);
    CHECK(process.err() == "");
  }
  for (const auto& entry : fs::directory_iterator(out))
    CHECK((entry.path().filename() == "winner" || entry.path().filename() == "statement.json"));
  CHECK(fs::exists(out / "winner/summary.json"));
  CHECK(run_program({"privacy", "audit", (out / "winner").string()}).code == 0);
}

}  // namespace fedstride::test::accounted_kill_test
