// A federation from code: the run's settings, a look at each round, and its result.
#include <cstdio>
#include <fedstride/fedstride.hpp>
#include <string>

int main() {
  const fedstride::Settings settings{{"model", {std::string("logistic")}}, {"rounds", {std::int64_t{3}}}, {"quiet", {true}}};
  const fedstride::RunObserver observer{.round = [](const fedstride::RoundRecord& record) {
    std::printf("round %u: accuracy %.4f\n", record.round, record.test->accuracy);
  }};
  const fedstride::RunSummary summary = fedstride::run(settings, observer);
  std::printf("accuracy %.4f, in %s\n", summary.test.accuracy, summary.folder.c_str());
}
