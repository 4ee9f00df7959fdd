#include "client/told_evaluation.hpp"

#include <cmath>

#include "client/report.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The lowest possible value of `accuracy`. R^2 has no lower bound, but a diverged model's R^2 is not reported.
double least(const Evaluation& told) { return told.metric == metric_of(Targets::values) ? -kMaxRate : 0; }

std::string outside(std::string_view name, double number, double least, double most) {
  if (std::isnan(number) || (number >= least && number <= most)) return {};
  return "says that the " + std::string(name) + " is " + number_text(number) + "; it must be from " + number_text(least) +
         " to " + number_text(most);
}

}  // namespace

std::string_view metric_of(Targets targets) { return targets == Targets::values ? "R2" : "accuracy"; }

Evaluation sendable(Evaluation told) {
  if (told.loss > kMaxLoss) told.loss = kNone;
  if (least(told) < 0 && told.accuracy < least(told)) told.accuracy = kNone;
  return told;
}

std::string impossible(const Evaluation& told) {
  if (std::string why = outside(told.metric, told.accuracy, least(told), 1); !why.empty()) return why;
  if (std::string why = outside("loss", told.loss, 0, kMaxLoss); !why.empty()) return why;
  if (told.examples > kMaxTestedExamples)
    return "says that the number of examples is " + std::to_string(told.examples) + "; it must be from 0 to " +
           std::to_string(kMaxTestedExamples);
  return {};
}

}  // namespace fedstride
