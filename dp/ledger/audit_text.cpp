#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/ledger/audit.hpp"

namespace fedstride {
namespace {

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string audit_text(const Audit& audit) {
  std::vector<std::vector<std::string>> rows{
      {"level", "of whom", "epsilon", "delta", "budget", "accountant", "second epsilon", "second accountant"}};
  for (const auto& [statement, second, second_epsilon] : audit.statements)
    rows.push_back({std::string(name_of(statement.level)), statement.who, epsilon_text(statement.epsilon),
                    number_text(statement.delta), std::isfinite(statement.budget) ? number_text(statement.budget) : "none",
                    statement.accountant, second.empty() ? "-" : epsilon_text(second_epsilon), second.empty() ? "-" : second});
  std::string text = table(rows);
  for (const auto& audited : audit.statements) {
    if (audited.statement.who.starts_with("client ")) continue;
    text += '\n' + statement_text(audited.statement);
  }
  text += '\n' + counted(audit.lines, "line") + ", " + counted(audit.rounds, "round") + " reserved, " +
          counted(audit.clients, "client") + "\n";
  for (const auto& secret : audit.depends_on) text += "depends on: " + secret + '\n';
  for (const auto& note : audit.notes) text += "note: " + note + '\n';
  for (const auto& failure : audit.failures) text += "FAILED: " + failure + '\n';
  return text;
}

std::string audit_json(const Audit& audit) {
  Json json{{"lines", audit.lines}, {"rounds", audit.rounds}, {"clients", audit.clients}};
  Json& statements = json["statements"] = Json::array();
  for (const auto& [statement, second, second_epsilon] : audit.statements) {
    Json row = parse_json(statement_json(statement));
    row["second_accountant"] = second.empty() ? Json(nullptr) : Json(second);
    row["second_epsilon"] = second.empty() ? Json(nullptr) : number_or_null(second_epsilon);
    statements.push_back(std::move(row));
  }
  json["depends_on"] = audit.depends_on;
  json["notes"] = audit.notes;
  json["failures"] = audit.failures;
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
