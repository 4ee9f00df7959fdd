#include "client/report.hpp"

#include <cmath>

#include "core/text.hpp"

namespace fedstride {
namespace {

/// One number of a report; it must be from 0 to `most`.
struct BoundedNumber {
  double ClientReport::*number;
  const char* name;
  double most;
};
constexpr BoundedNumber kBoundedNumbers[] = {{&ClientReport::loss, "loss", kMaxLoss},
                                             {&ClientReport::learning_rate, "learning rate", kMaxRate},
                                             {&ClientReport::gradient_norm, "gradient norm", kMaxRate},
                                             {&ClientReport::clipped_share, "clipped share", 1},
                                             {&ClientReport::personal_loss, "personal model's loss", kMaxLoss}};

bool in_range(double number, double most) { return number >= 0 && number <= most; }

}  // namespace

ClientReport sendable(ClientReport report) {
  for (const BoundedNumber& bounded : kBoundedNumbers)
    if (double& number = report.*bounded.number; !in_range(number, bounded.most))
      number = std::numeric_limits<double>::quiet_NaN();
  if (!in_range(report.statistic, kMaxStatistic)) report.statistic = 0, report.statistics = 0;
  if (!in_range(report.alignment, static_cast<double>(report.pairs))) report.alignment = 0, report.pairs = 0;
  if (!in_range(report.measure, kMaxRate)) report.measure = 0;
  if (!in_range(std::abs(report.within), kMaxRate)) report.within = 0;
  return report;
}

std::string impossible(const ClientReport& report) {
  for (const BoundedNumber& bounded : kBoundedNumbers) {
    const double number = report.*bounded.number;
    if (std::isinf(number)) return "its report has numbers that are not finite";
    if (!std::isnan(number) && !in_range(number, bounded.most))
      return std::string("its report says that its ") + bounded.name + " is " + number_text(number) + "; it must be from 0 to " +
             number_text(bounded.most);
  }
  if (!in_range(report.statistic, kMaxStatistic) || (report.statistics == 0 && report.statistic != 0))
    return "its report says that the sum of " + std::to_string(report.statistics) + " statistics is " +
           number_text(report.statistic) + "; it must be from 0 to " + number_text(report.statistics == 0 ? 0 : kMaxStatistic);
  if (!in_range(report.measure, kMaxRate))
    return "its report says that the measure of its local objective is " + number_text(report.measure) +
           "; it must be from 0 to " + number_text(kMaxRate);
  if (!in_range(std::abs(report.within), kMaxRate) || !in_range(report.expected, kMaxRate) ||
      (report.expected == 0 && report.within != 0))
    return "its report says that the count of gradients within the bound is " + number_text(report.within) + " of " +
           number_text(report.expected) + "; they must be finite, and 0 without lots";
  if (report.statistics > report.steps)
    return "its report has statistics of " + std::to_string(report.statistics) + " steps; it took only " +
           std::to_string(report.steps);
  if (report.pairs > report.steps || !in_range(report.alignment, static_cast<double>(report.pairs)))
    return "its report says that the squared cosines of " + std::to_string(report.pairs) + " pairs of its " +
           counted(report.steps, "step") + " add up to " + number_text(report.alignment) +
           "; at most as many pairs as steps, and a sum from 0 to their number are possible";
  if (report.rejected > report.steps)
    return "its report says that it undid " + std::to_string(report.rejected) + " of " + std::to_string(report.steps) + " steps";
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
