#include "dp/ledger/audit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"

namespace fedstride {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Accountants whose values are bounds, tightest first.
constexpr std::string_view kBounds[] = {Tight::kName, Rdp::kName, Zcdp::kName, Strong::kName, Basic::kName};

std::optional<Accountant> second_accountant(std::string_view first, const Spending& spending) {
  for (const std::string_view name : kBounds) {
    const auto accountant = make_part<Accountant>("accountant", name);
    if (name != first && unsound_by(accountant, spending).empty()) return accountant;
  }
  return std::nullopt;
}

bool passes(const Accountant& accountant, const Spending& spending, const PrivacyStatement& statement) {
  constexpr double kSlack = 1e-9;  // for rounding
  return statement.epsilon > statement.budget * (1 + kSlack) && !meets(accountant, spending, statement.budget, statement.delta);
}

// Both epsilons are upper bounds on the same number, which `tight` exceeds only slightly, so no other bound can be much lower.
bool contradict(const AuditedStatement& audited) {
  const double own = audited.statement.epsilon;
  const double other = audited.second_epsilon;
  if (audited.second.empty() || audited.statement.accountant == AsInPaper::kName) return false;
  const auto below = [](double bound, double tight) { return bound < tight - 1e-3 * std::max(1.0, tight); };
  return (audited.second == Tight::kName && below(own, other)) ||
         (audited.statement.accountant == Tight::kName && below(other, own));
}

bool is_of_client(const AuditedStatement& audited) { return audited.statement.who.starts_with("client "); }

/// The levels' statements in plain words; none if the audit failed.
std::vector<std::string> plain_texts(const Audit& audit) {
  std::vector<std::string> texts;
  for (const AuditedStatement& one : audit.statements)
    if (audit.failures.empty() && !is_of_client(one)) texts.push_back(plain_text(one.statement, audit.source));
  return texts;
}

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

class Auditor {
 public:
  Auditor(const LedgerBook& book, Audit& audit) : header_(book.header()), totals_(book.totals()), audit_(audit) {}

  void level(const LedgerStatement& promised, bool each_client) {
    const auto names = part_names<Accountant>();
    if (std::ranges::find(names, promised.accountant) == names.end()) {
      audit_.failures.push_back(unknown_name("accountant", promised.accountant, names) + " (named in the ledger)");
      return;
    }
    const auto accountant = make_part<Accountant>("accountant", promised.accountant);
    if (promised.level == Level::client) {
      add(promised, "every client", totals_.updates(), totals_.updates(), accountant);
      return;
    }
    // If the accountant has no bound for a client, there is no largest epsilon; that client is audited instead.
    std::vector<ClientId> first_of(totals_.histories(), totals_.clients());
    for (ClientId client = totals_.clients(); client-- > 0;) first_of[totals_.history_of(client)] = client;
    ClientId worst = first_of.front();
    for (const ClientId client : first_of)
      if (!unsound_by(accountant, totals_.examples(client)).empty()) worst = client;
    if (unsound_by(accountant, totals_.examples(worst)).empty()) {
      const auto epsilons = history_epsilons(totals_, accountant, promised.delta, true);
      worst = first_of[static_cast<std::size_t>(std::ranges::max_element(epsilons) - epsilons.begin())];
    }
    add(promised, "the released model (largest: client " + std::to_string(worst) + ")", totals_.examples(worst),
        totals_.examples_as_in_papers(worst), accountant);
    if (!each_client) return;
    std::vector<std::optional<AuditedStatement>> of_history(totals_.histories());
    for (ClientId client = 0; client < totals_.clients(); ++client) {
      auto& known = of_history[totals_.history_of(client)];
      if (!known)
        known = computed("", promised.level, totals_.examples(client), totals_.examples_as_in_papers(client), accountant);
      audit_.statements.push_back(*known);
      audit_.statements.back().statement.who = "client " + std::to_string(client);
    }
  }

 private:
  AuditedStatement computed(const std::string& who, Level level, const Spending& spending, const Spending& papers,
                            const Accountant& accountant) const {
    AuditedStatement audited;
    const bool fits = unsound_by(accountant, spending).empty();
    audited.statement = make_statement(header_, level, who, fits ? spending : Spending{}, fits ? papers : Spending{}, accountant);
    if (!fits) audited.statement.epsilon = kInfinite;
    if (const auto second = second_accountant(part_name(accountant), spending)) {
      audited.second = part_name(*second);
      audited.second_epsilon = spending.empty() ? 0 : epsilon_by(*second, spending, audited.statement.delta).value;
    }
    return audited;
  }

  void add(const LedgerStatement& promised, const std::string& who, const Spending& spending, const Spending& papers,
           const Accountant& accountant) {
    const AuditedStatement audited = computed(who, promised.level, spending, papers, accountant);
    const PrivacyStatement& statement = audited.statement;
    const std::string where = std::string(name_of(promised.level)) + " level, " + who + ": ";
    const std::string unsound = unsound_by(accountant, spending);
    if (!unsound.empty())
      audit_.failures.push_back(where + "accountant '" + statement.accountant + "' gives no bound: " + unsound);
    else if (passes(accountant, spending, statement))
      audit_.failures.push_back(where + "epsilon " + epsilon_text(statement.epsilon) + " at delta " +
                                number_text(statement.delta) + " exceeds the budget of " + number_text(statement.budget));
    else if (contradict(audited))
      audit_.failures.push_back(where + "'" + statement.accountant + "' gives epsilon " + epsilon_text(statement.epsilon) +
                                " and '" + audited.second + "' gives " + epsilon_text(audited.second_epsilon) +
                                "; they cannot both be right");
    if (audited.second.empty()) audit_.notes.push_back(where + "no second accountant has a bound");
    if (!statement.warning.empty()) audit_.notes.push_back(where + statement.warning);
    audit_.statements.push_back(audited);
  }

  const LedgerHeader& header_;
  SpendingTotals totals_;
  Audit& audit_;
};

}  // namespace

Audit audit_book(const LedgerBook& book, bool each_client) {
  Audit audit;
  audit.clients = book.header().clients;
  audit.source = book.header().source;
  audit.rounds = book.rounds();
  audit.failures = book.problems();
  Auditor auditor(book, audit);
  for (const LedgerStatement& promised : book.header().statements) auditor.level(promised, each_client);
  if (book.header().source == "secret") {
    audit.depends_on.emplace_back(
        "the chain is an HMAC under the run's secret key: only someone with the key can write a line that passes");
    audit.depends_on.emplace_back(
        "the noise is drawn under the same key: anyone with it can subtract the noise, and then no epsilon holds");
  } else {
    audit.depends_on.emplace_back("the chain depends on no secret: anyone who can write the file can forge one that passes");
    audit.depends_on.emplace_back(
        "the noise is drawn from the seed in config.toml: no epsilon holds against anyone who knows the seed");
  }
  for (const auto& [round, groups] : book.open())
    audit.notes.push_back("round " + std::to_string(round) + " was reserved but never closed; it counts in full");
  return audit;
}

Audit audit_ledger(const std::filesystem::path& path, const std::vector<LedgerMark>& marks, std::string_view key,
                   bool each_client) {
  for (std::size_t i = 1; i < marks.size(); ++i) read_ledger(path, marks[i], key);
  const LedgerReading reading = read_ledger(path, marks.empty() ? LedgerMark{} : marks.front(), key);
  Audit audit = audit_book(reading.book, each_client);
  audit.lines = reading.mark.lines;
  if (marks.empty())
    audit.notes.emplace_back("nothing records the length of the ledger, so a truncated end would not be noticed");
  if (reading.torn > 0)
    audit.notes.push_back("the ledger's last " + std::to_string(reading.torn) + " bytes are an unfinished line");
  return audit;
}

std::string audit_text(const Audit& audit) {
  std::vector<std::vector<std::string>> rows{
      {"level", "for whom", "epsilon", "delta", "budget", "accountant", "second epsilon", "second accountant"}};
  for (const auto& [statement, second, second_epsilon] : audit.statements)
    rows.push_back({std::string(name_of(statement.level)), statement.who, epsilon_text(statement.epsilon),
                    number_text(statement.delta), std::isfinite(statement.budget) ? number_text(statement.budget) : "none",
                    statement.accountant, second.empty() ? "-" : epsilon_text(second_epsilon), second.empty() ? "-" : second});
  std::string text = audit.failures.empty() ? "PASSED\n\n" : "FAILED: " + counted(audit.failures.size(), "fault") + "\n\n";
  for (const std::string& plain : plain_texts(audit)) text += plain + "\n\n";
  text += table(rows);
  for (const auto& audited : audit.statements) {
    if (is_of_client(audited)) continue;
    text += '\n' + statement_text(audited.statement);
  }
  text += '\n' + counted(audit.lines, "line") + ", " + counted(audit.rounds, "round") + " reserved, " +
          counted(audit.clients, "client") + "\n";
  for (const auto& secret : audit.depends_on) text += "depends on: " + secret + '\n';
  for (const auto& one : audit.unchecked) text += "not checked: " + one + '\n';
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
  json["verdict"] = audit.failures.empty() ? "PASSED" : "FAILED";
  json["plain"] = plain_texts(audit);
  json["not_checked"] = audit.unchecked;
  json["depends_on"] = audit.depends_on;
  json["notes"] = audit.notes;
  json["failures"] = audit.failures;
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
