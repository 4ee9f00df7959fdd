#pragma once

#include <string>

namespace fedstride {

/// Answers every case of a file of known answers: {"cases": [{"id", "mechanism", "parameters", "quantity", "accept_min",
/// "accept_max"}, ...]}; other keys are not read, bounds may be left out.
struct CaseAnswers {
  std::string json;     ///< {"id": value, ...} in the file's order
  std::string outside;  ///< which answers are out of their bounds, one line; empty if none is
};

/// Throws Error: failure for a file that cannot be read or is no such JSON; usage for a case that cannot be answered, an
/// unknown quantity or parameter for one, naming the case and what is valid.
CaseAnswers answer_cases(const std::string& path);

}  // namespace fedstride
