#pragma once

#include <optional>
#include <string>

#include "cli/privacy/privacy_question.hpp"
#include "run/compositions/composition.hpp"

namespace fedstride {

class Json;

// The commands on composition files (docs/compositions.md). All of them answer every case that can be answered, then
// throw Error (failure) that counts the others and names the first; failure, too, for a file that cannot be read.

/// Prints a line of JSON a case: {"id", "ask", "accountant", "value", "accepted", "warning"} or {"id", "error"}; "case",
/// its number, in place of an id that it has not. An answer out of its case's bounds counts as one that is missing.
void evaluate_compositions(const std::string& path);

/// `ask` (epsilon or delta) of every case. Flags come before the case.
void answer_compositions(const PrivacyQuestion& question, CompositionAsk ask);

/// Prints the answers of all accountants to every case: epsilon if a delta is given, by the flags or else by the case, and delta if an
/// epsilon is.
void compare_on_compositions(const PrivacyQuestion& question);

/// A row for each accountant, with what it proves or why it can say nothing; adds the same to `text`, as a table. Settings
/// go to those accountants that have them. One of epsilon and delta is given.
Json compare_accountants(std::span<const Releases> spending, const AccountantWords& settings,
                         const std::optional<double>& epsilon, const std::optional<double>& delta, std::string& text);

/// JSON has no infinity.
Json finite_json(double number);

}  // namespace fedstride
