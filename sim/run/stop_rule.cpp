#include "sim/run/stop_rule.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <optional>

#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double number_in(const Json& line, const std::string& key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : kUnknown;
}

}  // namespace

StopRule::StopRule(const Setup& setup) : configuration_(setup.configuration), validates_(!setup.data.validation_rows.empty()) {}

std::string StopRule::read(const std::filesystem::path& rounds) {
  const StopAt& stop = configuration_.stop_at;
  if (!stop.is_set() && configuration_.patience == 0) return {};
  std::string why;
  std::ifstream file(rounds);
  for (std::string text; std::getline(file, text) && !file.eof();) {
    const Json line = parse_json(text);
    why = after(static_cast<std::uint32_t>(number_in(line, "round")), number_in(line, stop.part + "_" + stop.measure),
                number_in(line, validates_ ? "validation_loss" : "test_loss"));
  }
  return why;
}

std::string StopRule::after(const RoundRecord& record) {
  const StopAt& stop = configuration_.stop_at;
  const std::optional<Evaluation>& asked = stop.part == "validation" ? record.validation : record.test;
  const std::optional<Evaluation>& watched = validates_ ? record.validation : record.test;
  return after(record.round,
               !asked                   ? kUnknown
               : stop.measure == "loss" ? asked->loss
                                        : asked->accuracy,
               watched ? watched->loss : kUnknown);
}

std::string StopRule::after(std::uint32_t round, double value, double loss) {
  const StopAt& stop = configuration_.stop_at;
  if (stop.is_set() && (stop.at_least ? value >= stop.level : value <= stop.level))
    return "in round " + std::to_string(round) + " " + stop.part + " " + stop.measure + " was " + number_text(value) +
           " (stop-at " + stop.text() + ")";
  if (loss < least_) least_ = loss, round_of_least_ = round;
  if (configuration_.patience == 0 || round_of_least_ == 0 ||
      round < round_of_least_ + static_cast<std::uint32_t>(configuration_.patience))
    return {};
  return std::string(validates_ ? "validation" : "test") + " loss has not fallen since round " + std::to_string(round_of_least_) +
         " (patience " + std::to_string(configuration_.patience) + ")";
}

}  // namespace fedstride
