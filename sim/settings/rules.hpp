#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

/// The circumstances of a run in which a rule applies.
enum class RuleScope {
  anywhere,
  own_code,   ///< user code trains the clients
  no_code,    ///< this process has no user code
  rows_here,  ///< the clients' rows are in this process or its ranks
  network     ///< clients run in other processes
};

/// A constraint on the settings of a configuration, which can be checked without data.
struct Rule {
  std::string_view subject;              ///< the key to refuse; "client-clip" means "clip" if dp is 'client'
  bool (*breaks)(const Configuration&);  ///< true if a configuration breaks the rule
  std::string_view reason;  ///< continues "SUBJECT is VALUE"; {key} becomes a key with its value, such as "optimizer 'adam'"
  /// Keys whose other values may help, separated by spaces; a subject that chooses among names is always tried. The valid values
  /// are found by trying every name, or the default of a number or text.
  std::string_view remedies = {};
};
std::span<const Rule> rules(RuleScope scope);

/// A placeholder in braces that reasons may use in addition to keys.
struct Fact {
  std::string_view name;
  std::string (*text)(const Configuration&);
};
std::span<const Fact> rule_facts();

/// A rule that a configuration breaks.
struct Refusal {
  std::string subject = {};  ///< "local-objective"
  std::string value = {};    ///< "'nova'"
  std::string reason = {};   ///< ", which ..."
  std::string remedy = {};   ///< "valid: optimizer sgd, ema, or local-objective plain"; empty if changing one key does not help
  std::vector<std::string> keys = {};  ///< the rule's keys, as named in this configuration
  std::string text() const { return subject + " is " + value + reason + (remedy.empty() ? "" : "; " + remedy); }
};
/// The error for a configuration that breaks a rule.
class RefusedByRule : public Error {
 public:
  explicit RefusedByRule(Refusal why) : Error(Kind::usage, why.text()), refusal(std::move(why)) {}
  Refusal refusal;
};

/// Returns the refusal for the first rule in this scope that the configuration breaks; empty if it breaks none.
std::optional<Refusal> refusal(const Configuration& configuration, RuleScope scope = RuleScope::anywhere);
/// Returns "SUBJECT is VALUE, which ...", without a remedy, for the first rule of scope `anywhere` that is broken; or nothing.
std::optional<std::string> broken_rule(const Configuration& configuration);
/// Throws RefusedByRule if refusal() returns a refusal.
void check_rules(const Configuration& configuration, RuleScope scope = RuleScope::anywhere);

/// Returns "valid: optimizer sgd, ema, or scaffold-option one": other values of these keys for which `holds` is true. Empty if
/// none.
std::string valid_values(const Configuration& configuration, std::span<const std::string_view> keys,
                         const std::function<bool(const Configuration&)>& holds);

}  // namespace fedstride
