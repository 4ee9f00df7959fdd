#include "client/report.hpp"

#include <cmath>

#include "core/text.hpp"

namespace fedstride {
namespace {

/// One number of a report, from 0 to `most`.
struct Told {
  double ClientReport::*number;
  const char* name;
  double most;
};
constexpr Told kTold[] = {{&ClientReport::loss, "loss", kMaxLoss},
                          {&ClientReport::learning_rate, "learning rate", kMaxRate},
                          {&ClientReport::gradient_norm, "gradient norm", kMaxRate},
                          {&ClientReport::clipped_share, "clipped share", 1},
                          {&ClientReport::personal_loss, "personal model's loss", kMaxLoss}};

bool in_range(double number, double most) { return number >= 0 && number <= most; }

}  // namespace

ClientReport sendable(ClientReport report) {
  for (const Told& told : kTold)
    if (double& number = report.*told.number; !in_range(number, told.most)) number = std::numeric_limits<double>::quiet_NaN();
  if (!in_range(report.statistic, kMaxStatistic)) report.statistic = 0, report.statistics = 0;
  if (!in_range(report.measure, kMaxRate)) report.measure = 0;
  return report;
}

std::string impossible(const ClientReport& report) {
  for (const Told& told : kTold) {
    const double number = report.*told.number;
    if (std::isinf(number)) return "its report has numbers that are not finite";
    if (!std::isnan(number) && !in_range(number, told.most))
      return std::string("its report says that its ") + told.name + " is " + number_text(number) + "; possible is 0 to " +
             number_text(told.most);
  }
  if (!in_range(report.statistic, kMaxStatistic) || (report.statistics == 0 && report.statistic != 0))
    return "its report says that the sum of " + std::to_string(report.statistics) + " statistics is " +
           number_text(report.statistic) + "; possible is 0 to " + number_text(report.statistics == 0 ? 0 : kMaxStatistic);
  if (!in_range(report.measure, kMaxRate))
    return "its report says that the measure of its local objective is " + number_text(report.measure) + "; possible is 0 to " +
           number_text(kMaxRate);
  if (report.statistics > report.steps)
    return "its report has statistics of " + std::to_string(report.statistics) + " steps; it took " +
           std::to_string(report.steps);
  if (report.rejected > report.steps) return "its report says that it undid more steps than it took";
  if (report.personal_correct > report.personal_examples || (report.personal_examples == 0 && report.personal_loss > 0))
    return "its report says that its personal model is right on " + std::to_string(report.personal_correct) + " of " +
           std::to_string(report.personal_examples) + " examples" +
           (report.personal_examples == 0 ? ", with a loss of " + number_text(report.personal_loss) : std::string());
  if (report.nonfinite > report.examples)
    return "its report says that it left out " + std::to_string(report.nonfinite) + " of " + std::to_string(report.examples) +
           " examples";
  return {};
}

}  // namespace fedstride
