#include "cli/privacy/privacy.hpp"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <new>
#include <span>

#include "core/error.hpp"
#include "core/family.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/run/compositions/composition.hpp"

namespace fedstride {
namespace {

/// Counts the failed cases and keeps the first error.
class Complaints {
 public:
  void add(const std::string& complaint) {
    if (count_++ == 0) first_ = complaint;
  }
  /// Throws Error (failure) if any case failed.
  void report(std::size_t cases) const {
    if (count_ == 0) return;
    throw failure(std::to_string(count_) + " of " + counted(cases, "case") + " failed: " + first_ +
                  (count_ == 1 ? "" : "; and " + std::to_string(count_ - 1) + " more"));
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

Json begun(const CompositionCase& one) { return one.id.empty() ? Json{{"case", one.number}} : Json{{"id", one.id}}; }

/// Prints a line and flushes it before the next case.
void print_line(const Json& json) { std::cout << dump_json(json) << std::endl; }
void print_line(const std::string& text) { std::cout << one_line(text) << std::endl; }

Json described_answer(const CompositionCase& one, const PrivacyBound& bound) {
  Json json = begun(one);
  json["ask"] = row_of(*one.ask).name;
  if (!one.accountant.name.empty()) json["accountant"] = one.accountant.name;
  json["value"] = finite_json(bound.value);
  if (!bound.warning.empty()) json["warning"] = bound.warning;
  return json;
}

/// "3 events, 25000 releases"
std::string size_text(const CompositionCase& one) {
  std::uint64_t releases = 0;
  for (const CompositionEvent& event : one.events)
    releases += event.noise_multipliers.empty() ? event.count.value_or(0) : event.noise_multipliers.size();
  return counted(one.events.size(), "event") + ", " + counted(releases, "release");
}

std::string answer_text(const CompositionCase& one, const PrivacyBound& bound) {
  const bool asks_epsilon = *one.ask == CompositionAsk::epsilon;
  return name_of(one) + ": " + (asks_epsilon ? "epsilon " : "delta ") + rounded_up(bound.value) + " at " +
         (asks_epsilon ? "delta " + number_text(*one.delta) : "epsilon " + number_text(*one.epsilon)) + " (" +
         one.accountant.name + "; " + std::string(name_of(one.neighbours)) + " neighbors, " + size_text(one) + ")";
}

/// The case, overridden by flags. An accountant given by a flag does not inherit the case's settings.
CompositionCase with_flags(CompositionCase one, const PrivacyQuestion& question) {
  const AccountantWords& flags = question.accountant;
  if (!flags.name.empty()) one.accountant = {.name = flags.name};
  if (one.accountant.name.empty()) one.accountant.name = part_names<Accountant>().front();
  if (!flags.conversion.empty()) one.accountant.conversion = flags.conversion;
  if (!flags.orders.empty()) one.accountant.orders = flags.orders;
  if (question.epsilon) one.epsilon = question.epsilon;
  if (question.delta) one.delta = question.delta;
  return one;
}

/// Calls answer(case), which prints the answer, for each case. An error affects only its case.
void for_each_case(const std::string& path, bool json, Complaints& complaints, const auto& answer) {
  const auto cases = read_compositions(path);
  for (const CompositionCase& one : cases) {
    std::string error;
    try {
      if (!one.error.empty()) throw usage_error(one.error);
      answer(one);
      continue;
    } catch (const Error& refused) {
      error = refused.what();
    } catch (const std::bad_alloc&) {
      error = "out of memory; use more noise or smaller orders";
    }
    complaints.add(name_of(one) + ": " + error);
    if (json) {
      Json line = begun(one);
      line["error"] = one_line(error);
      print_line(line);
    } else {
      print_line(name_of(one) + ": no answer: " + error);
    }
  }
  complaints.report(cases.size());
}

}  // namespace

Json finite_json(double number) { return std::isfinite(number) ? Json(number) : Json("infinite"); }

void evaluate_compositions(const std::string& path) {
  Complaints complaints;
  for_each_case(path, true, complaints, [&](const CompositionCase& one) {
    const PrivacyBound bound = answer(one);
    Json json = described_answer(one, bound);
    if (one.bounded()) json["accepted"] = one.accepts(bound.value);
    print_line(json);
    if (one.accepts(bound.value)) return;
    complaints.add(name_of(one) + " is " + number_text(bound.value) + "; it must be from " + number_text(one.accept_min) +
                   " to " + number_text(one.accept_max));
  });
}

void answer_compositions(const PrivacyQuestion& question, CompositionAsk ask) {
  Complaints complaints;
  for_each_case(question.composition, question.json, complaints, [&](const CompositionCase& as_read) {
    CompositionCase one = with_flags(as_read, question);
    one.ask = ask;
    const PrivacyBound bound = answer(one);
    if (question.json) return print_line(described_answer(one, bound));
    print_line(answer_text(one, bound));
    if (!bound.warning.empty()) std::cerr << "fedstride: note: " << one_line(name_of(one) + ": " + bound.warning) << "\n";
  });
}

void compare_on_compositions(const PrivacyQuestion& question) {
  if (question.epsilon && question.delta)
    throw usage_error("compare takes only one of --delta (to show epsilon) and --epsilon (to show delta)");
  Complaints complaints;
  for_each_case(question.composition, question.json, complaints, [&](const CompositionCase& one) {
    const bool by_flags = question.epsilon || question.delta;
    const std::optional<double> epsilon = by_flags ? question.epsilon : one.epsilon;
    const std::optional<double> delta = by_flags ? question.delta : one.delta;
    if (epsilon.has_value() == delta.has_value())
      throw usage_error("compare needs exactly one of epsilon and delta, as a flag or in the case");
    AccountantWords settings = question.accountant;
    if (settings.conversion.empty()) settings.conversion = one.accountant.conversion;
    if (settings.orders.empty()) settings.orders = one.accountant.orders;
    std::string text = one_line(name_of(one)) + ": " +
                       (delta ? "delta " + number_text(*delta) : "epsilon " + number_text(*epsilon)) + "; " +
                       std::string(name_of(one.neighbours)) + " neighbors, " + size_text(one);
    Json json = begun(one);
    json[delta ? "delta" : "epsilon"] = delta ? *delta : *epsilon;
    json["accountants"] = compare_accountants(spending_of(one), settings, epsilon, delta, text);
    if (question.json) return print_line(json);
    std::cout << text << std::endl;
  });
}

Json compare_accountants(std::span<const Releases> spending, const AccountantWords& settings,
                         const std::optional<double>& epsilon, const std::optional<double>& delta, std::string& text) {
  Json rows = Json::array();
  text += std::string("\naccountant    ") + (delta ? "epsilon" : "delta");
  for (const auto& name : part_names<Accountant>()) {
    const Accountant accountant = make_accountant({.name = name,
                                                   .conversion = has_setting(name, "conversion") ? settings.conversion : "",
                                                   .orders = has_setting(name, "orders") ? settings.orders : ""});
    std::string value = "-";
    std::string remark = unsound_by(accountant, spending);
    Json row{{"accountant", name}};
    if (remark.empty()) {
      const auto bound = delta ? epsilon_by(accountant, spending, *delta) : delta_by(accountant, spending, *epsilon);
      value = rounded_up(bound.value);
      remark = bound.warning;
      row[delta ? "epsilon" : "delta"] = finite_json(bound.value);
      if (!remark.empty()) row["warning"] = remark;
    } else {
      row["unsound"] = remark;
    }
    char line[64];
    std::snprintf(line, sizeof line, "\n%-13s %-10s", name.c_str(), value.c_str());
    text += line + (remark.empty() ? "" : " " + remark);
    while (text.ends_with(' ')) text.pop_back();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace fedstride
