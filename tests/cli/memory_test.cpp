// Takes 15 s of processor time: what a process holds is known only after hundreds of rounds.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <span>
#include <sstream>
#include <thread>

#include "tests/cli/program.hpp"

namespace fedstride::test::memory_test {
namespace {

using namespace std::chrono_literals;

// What a process held after a round, and the processor time it had used by then.
struct Sample {
  double round = 0;
  double bytes = 0;
  double seconds = 0;
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Sample sample_of(const std::string& process, double round) {
  std::istringstream memory(first_line("/proc/" + process + "/statm"));
  double pages = 0, resident = 0;
  memory >> pages >> resident;
  const std::string stat = first_line("/proc/" + process + "/stat");
  std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string word;
  double user = 0, kernel = 0;
  for (int field = 3; field < 14; ++field) rest >> word;
  rest >> user >> kernel;
  return {round, resident * static_cast<double>(::sysconf(_SC_PAGESIZE)),
          (user + kernel) / static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

// The slope of a line through them.
double slope(std::span<const Sample> samples, double Sample::*of) {
  double round = 0, value = 0, above = 0, below = 0;
  for (const Sample& sample : samples) round += sample.round, value += sample.*of;
  round /= static_cast<double>(samples.size()), value /= static_cast<double>(samples.size());
  for (const Sample& sample : samples) {
    above += (sample.round - round) * (sample.*of - value);
    below += (sample.round - round) * (sample.round - round);
  }
  return above / below;
}

// Samples of the process and its children, by process, from a tenth of the rounds on.
std::map<std::string, std::vector<Sample>> samples_of(const Words& words, const TemporaryFolder& folder, int rounds) {
  std::map<std::string, std::vector<Sample>> samples;
  const TemporaryFolder output;
  const Process process(words, output);
  const std::string id = std::to_string(process.id());
  std::ifstream lines;
  int round = 0;
  std::atomic<bool> is_done = false;
  std::thread waits([&] {
    CHECK_MESSAGE(process.wait() == 0, process.err());
    is_done = true;
  });
  while (!is_done) {
    std::this_thread::sleep_for(5ms);
    if (!lines.is_open()) lines.open(folder / "out/rounds.jsonl");
    lines.clear();
    for (std::string line; std::getline(lines, line);) ++round;
    if (round < rounds / 10 || round > rounds - 3) continue;
    std::string all = id;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + id + "/task", error))
      all += " " + first_line(thread.path() / "children");
    std::istringstream processes(all);
    for (std::string one; processes >> one;)
      if (const Sample sample = sample_of(one, round); sample.bytes > 0) samples[one].push_back(sample);
  }
  waits.join();
  return samples;
}

}  // namespace

TEST_CASE("what a process holds does not grow with rounds, on any level of privacy, nor does a round's time") {
  const std::vector<Words> levels{{}, {"--dp", "example"}, {"--dp", "client"}};
  const Words models{"logistic", "dense 64 | dense classes", "dense 256 | dense classes"};
  const int rounds = every_check() ? 5000 : 300;
  for (std::size_t level = 0; level < levels.size(); ++level)
    for (std::size_t model = 0; model < models.size(); ++model)
      for (const char* command : {"run", "launch"}) {
        if (!every_check() && !(level == 1 && model == 0) && !(level == 2 && model == 1)) continue;
        const TemporaryFolder folder;
        Words words{command,
                    "--dataset",
                    "synthetic",
                    "--clients",
                    "2",
                    "--limit-per-client",
                    "20",
                    "--optimizer",
                    "sgd",
                    "--threads",
                    "1",
                    "--evaluate-every",
                    "100000",
                    "--model",
                    models[model],
                    "--rounds",
                    std::to_string(rounds),
                    "--quiet",
                    "--out",
                    folder / "out"};
        words.insert(words.end(), levels[level].begin(), levels[level].end());
        if (!levels[level].empty()) words.insert(words.end(), {"--clip", "0.5", "--noise-multiplier", "1"});
        const std::string cell =
            std::string(command) + ", " + models[model] + (levels[level].empty() ? "" : ", " + levels[level].back());
        CAPTURE(cell);
        const auto samples = samples_of(words, folder, rounds);
        CHECK(samples.size() == (*command == 'r' ? 1 : 3));
        for (const auto& [process, all] : samples) {
          CAPTURE(process);
          REQUIRE(all.size() > 10);
          // A heap grows by steps, each of which is a large part of a short run.
          const double steps = 3e6 / rounds;
          CHECK(slope(all, &Sample::bytes) < 1024 + steps);
          if (!every_check()) continue;
          const std::span halves(all);
          const double first = slope(halves.first(all.size() / 2), &Sample::seconds);
          CHECK(slope(halves.last(all.size() / 2), &Sample::seconds) < 1.3 * first);
        }
      }
}

}  // namespace fedstride::test::memory_test
