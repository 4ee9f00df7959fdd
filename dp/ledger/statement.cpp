#include "dp/ledger/statement.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/json.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "dp/correlations/correlation.hpp"

namespace fedstride {
namespace {

bool any(const Spending& spending, Sampling sampling) {
  return std::ranges::any_of(spending, [&](const Releases& some) { return some.sampling == sampling; });
}

std::string neighbours_text(Neighbours neighbours) {
  switch (neighbours) {
    case Neighbours::add_remove:
      return "present or absent, with the others' numbers unchanged (add-remove neighbors)";
    case Neighbours::replace_one:
      return "replaced by any other (replace-one neighbors)";
    case Neighbours::zero_out:
      break;
  }
  return "contributing or not, with its position public (zero-out neighbors)";
}

/// The total number of passes of each draw in a spending, in the order of DrawList.
std::map<Sampling, std::uint64_t> draws_in(const Spending& spending) {
  std::map<Sampling, std::uint64_t> passes;
  for (const Releases& some : spending) passes[some.sampling] += some.passes;
  return passes;
}

void add_example_assumptions(std::vector<std::string>& list, const Spending& spending, const LedgerStatement& promised,
                             bool clients_too) {
  if (promised.users) {
    list.push_back("the protected record is all data of one user inside one client, " +
                   neighbours_text(promised.each.neighbours));
    list.emplace_back(
        "the number of users of each client, how many examples each has, and who holds which, are public and fixed beforehand");
    list.emplace_back("a user with examples at several clients is protected at each separately");
  } else {
    list.push_back("the protected record is one example of one client, " + neighbours_text(promised.each.neighbours));
    list.emplace_back("the number of examples of each client, and who holds which, are public and fixed beforehand");
  }
  if (promised.own_code)
    list.emplace_back(
        "your own code computed the gradients and declares that a client's examples affect its weights in no other way; this has "
        "not been checked");
  if (promised.clip_rule != ClipRule{})
    list.emplace_back(
        "from round to round, the bound on a gradient follows noisy counts of the gradients within it; each lot's count is "
        "released together with its sum, and both are charged as one release");
  if (clients_too) list.emplace_back("every client is charged as if it took part in every round, drawn or not");
  std::uint64_t rows = 1;
  for (const Releases& some : spending) rows = std::max(rows, some.rows);
  if (promised.users && rows > 1)
    list.push_back("at most " + counted(rows, "example") + " of a user are used, each drawn and clipped separately");
  else if (promised.users)
    list.emplace_back("a user contributes once to a lot, with a norm of at most one clip bound");
  for (const auto& [sampling, passes] : draws_in(spending))
    if (std::string text = draw_of(sampling).assumption(promised.users ? "each" : "each example", passes); !text.empty())
      list.push_back(std::move(text));
}

void add_correlation(std::vector<std::string>& list, const Spending& spending, const LedgerStatement& statement) {
  const Correlation& noise = statement.each.correlation;
  if (noise.separation > 1 && statement.participations)
    list.push_back("any two sums that include the same client are at least " + std::to_string(noise.separation) +
                   " versions apart, since the coordinator lets a client start again only then, " +
                   (statement.own_tasks ? "and this ledger charges the costliest ones, since it does not know which they are"
                                        : "and the ledger names the clients of each"));
  else if (noise.separation > 1)
    list.push_back("any two rounds of a client are at least " + std::to_string(noise.separation) +
                   " apart, counted from when it was asked: the coordinator asks each of " + std::to_string(noise.separation) +
                   " groups in turn, and each client's group was drawn from its number alone");
  if (noise.is_independent()) return;
  std::uint64_t rounds = 0, most = 0;
  for (const Releases& some : spending)
    if (some.correlation.on()) rounds = std::max(rounds, some.rounds), most = std::max(most, some.most);
  list.push_back("a round's noise is correlated with that of earlier rounds ('" + std::string(choice_name(noise.mechanism)) +
                 "', planned in advance for " + counted(noise.horizon, "round") + "): " +
                 (any(spending, Sampling::poisson)
                      ? std::string("each of a client's rounds is one release of its columns of the matrix")
                      : "all rounds so far together cost as much as one release of sensitivity " +
                            rounded_up(correlated_sensitivity(noise, rounds, most))));
}

void add_client_assumptions(std::vector<std::string>& list, const Spending& spending, const LedgerStatement& statement) {
  list.push_back("the protected record is one client with all its data, " + neighbours_text(statement.each.neighbours));
  list.emplace_back("an update has norm at most " + number_text(statement.bound) + " and weight at most " +
                    number_text(statement.largest_weight) +
                    (statement.clip_rule != ClipRule{}
                         ? " in the first round; from then on the bound follows the count of updates within it, which is part of "
                           "the same release"
                         : ""));
  std::string amplification;
  for (const auto& [sampling, passes] : draws_in(spending))
    if (amplification.empty()) amplification = draw_of(sampling).cohort_assumption(passes);
  list.push_back(amplification.empty() ? "no amplification by client sampling is claimed" : amplification);
  list.emplace_back(
      statement.participations
          ? "which clients are in which sum is public, by a schedule fixed in advance: every client is charged for the largest "
            "number of sums that one client is in"
          : "clients that were not drawn are charged too");
  if (statement.each.correlation.on()) add_correlation(list, spending, statement);
  const NoisePlace& place = statement.place();
  if (!place.assumption.empty()) list.emplace_back(place.assumption);
  if (place.is_trusted && place.is_on_integers)
    list.emplace_back("the noise is a discrete Gaussian on the integers of the exact sum");
}

// The same spending with a different number of shares, each with the same noise.
Spending with_shares(Spending spending, std::uint64_t shares) {
  for (Releases& some : spending) {
    if (some.law == NoiseLaw::gaussian) continue;
    some.noise_multiplier *= std::sqrt(static_cast<double>(shares) / static_cast<double>(some.shares.count));
    some.shares.count = shares;
  }
  return spending;
}

// States whom noise in clients' shares protects against, and how well.
void add_shares(std::vector<std::string>& list, const Spending& spending, const LedgerStatement& statement,
                const Accountant& accountant) {
  const std::uint64_t guaranteed = statement.survivors - std::min(statement.survivors, statement.colluders);
  const auto epsilon_with = [&](std::uint64_t shares) {
    const Spending others = with_shares(spending, shares);
    if (shares == 0 || !unsound_by(accountant, others).empty()) return std::string("no bound");
    return "epsilon " + epsilon_text(others.empty() ? 0 : epsilon_by(accountant, others, statement.delta).value);
  };
  list.push_back("each client adds a share of the noise before its update is masked; a round with fewer than " +
                 counted(statement.survivors, "survivor") + " is refused, so that with " +
                 counted(statement.colluders, "colluder") + " the shares of " + std::to_string(guaranteed) + " count");
  list.push_back("against the coordinator, who sees sums alone, and " + counted(statement.colluders, "client") +
                 " on its side, who know their shares: the epsilon above; clients that it invents count among these");
  if (statement.colluders == 0)
    list.push_back("against one client that takes part and knows its own share: " +
                   epsilon_with(guaranteed > 0 ? guaranteed - 1 : 0));
  else
    list.push_back("against readers of the models who took no part: " + epsilon_with(statement.survivors));
  list.emplace_back("who takes part and who drops out is assumed public; it must not depend on the protected data");
  list.emplace_back("the noise is discrete and drawn on integers");
}

}  // namespace

PrivacyStatement make_statement(const LedgerHeader& header, Level level, const std::string& who, const Spending& spending,
                                const Spending& papers, const Accountant& accountant) {
  const LedgerStatement& promised = *header.at(level);
  PrivacyStatement statement{.level = level, .who = who, .delta = promised.delta, .budget = promised.epsilon};
  statement.users = promised.users;
  statement.accountant = part_name(accountant);
  if (!spending.empty()) {
    const PrivacyBound bound = epsilon_by(accountant, spending, promised.delta);
    statement.epsilon = bound.value;
    statement.warning = bound.warning;
  }
  if (any(spending, Sampling::shuffle) && unsound_by(accountant, papers).empty())
    statement.as_in_papers = epsilon_by(accountant, papers, promised.delta).value;
  auto& list = statement.assumptions;
  if (level == Level::example)
    add_example_assumptions(list, spending, promised, header.at(Level::client) != nullptr);
  else
    add_client_assumptions(list, spending, promised);
  if (level == Level::client && promised.place().has_shares) add_shares(list, spending, promised, accountant);
  for (const std::string& constant : header.constants) list.push_back("assumed public: " + constant);
  const bool adaptive = std::ranges::any_of(spending, [](const Releases& some) { return some.adaptive; });
  if (!adaptive) list.emplace_back("noise, rates and the schedule of steps were fixed before training");
  const bool is_seeded = header.source == "seeded";
  if (is_seeded)
    list.insert(list.begin(), "holds only for someone who does not know the seed: whoever has it can reproduce the noise");
  else
    list.emplace_back("attacks that time the program are not covered");
  list.emplace_back("choices made by looking at private data, for example by a sweep, are not charged");
  list.emplace_back("losses, counts and label histograms of individual clients are not covered");
  if (header.statements.size() > 1) list.emplace_back("the other level has its own statement; the two are not added");
  return statement;
}

std::vector<double> history_epsilons(const SpendingTotals& totals, const Accountant& accountant, double delta,
                                     bool only_largest) {
  std::vector<const Spending*> histories(totals.histories());
  for (ClientId client = 0; client < totals.clients(); ++client) histories[totals.history_of(client)] = &totals.examples(client);
  std::vector<double> epsilons(histories.size(), 0);
  std::vector<std::size_t> computed;
  std::vector<std::size_t> order(histories.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto weight = [&](std::size_t i) {
    double sum = 0;
    for (const Releases& some : *histories[i]) sum += static_cast<double>(some.count) * some.rate * some.rate;
    return sum;
  };
  if (only_largest) std::ranges::stable_sort(order, std::greater{}, weight);
  for (const std::size_t i : order) {
    check_stop();
    const auto larger = [&](std::size_t j) { return costs_no_less(*histories[j], *histories[i]); };
    if (only_largest && std::ranges::any_of(computed, larger)) continue;
    epsilons[i] = histories[i]->empty() ? 0 : epsilon_by(accountant, *histories[i], delta).value;
    computed.push_back(i);
  }
  return epsilons;
}

std::vector<PrivacyStatement> model_statements(const LedgerBook& book) {
  const LedgerHeader& header = book.header();
  const SpendingTotals totals = book.totals();
  std::vector<PrivacyStatement> statements;
  for (const LedgerStatement& promised : header.statements) {
    const auto accountant = make_part<Accountant>("accountant", promised.accountant);
    if (promised.level == Level::client) {
      statements.push_back(make_statement(header, Level::client, "every client", totals.updates(), totals.updates(), accountant));
      continue;
    }
    const auto epsilons = history_epsilons(totals, accountant, promised.delta, true);
    const auto worst = static_cast<std::uint32_t>(std::ranges::max_element(epsilons) - epsilons.begin());
    ClientId client = 0;
    while (totals.history_of(client) != worst) ++client;
    statements.push_back(
        make_statement(header, Level::example,
                       promised.users ? "every user of a client in the released model" : "every example in the released model",
                       totals.examples(client), totals.examples_as_in_papers(client), accountant));
    auto& list = statements.back().assumptions;
    list.insert(list.begin() + 1,
                promised.users ? "the largest of the clients' epsilons, not their sum: the protected record is inside one client"
                               : "the largest of the clients' epsilons, not their sum: an example belongs to only one client");
  }
  return statements;
}

std::string epsilon_text(double epsilon) { return rounded_up(epsilon); }

std::string statement_text(const PrivacyStatement& statement) {
  std::string text = std::string(statement.users ? "user" : name_of(statement.level)) + " level, " + statement.who +
                     ": epsilon " + epsilon_text(statement.epsilon) + " at delta " + number_text(statement.delta) + " (" +
                     statement.accountant + ")";
  if (std::isfinite(statement.budget)) text += ", budget " + number_text(statement.budget);
  if (statement.as_in_papers)
    text += "\n  as in the papers, assuming Poisson sampling: epsilon " + epsilon_text(*statement.as_in_papers) +
            "; it does not hold for shuffled lots";
  if (!statement.warning.empty()) text += "\n  warning: " + statement.warning;
  for (const auto& assumption : statement.assumptions) text += "\n  - " + assumption;
  return text + "\n";
}

std::string plain_text(const PrivacyStatement& statement, std::string_view source) {
  const std::string record = statement.users                     ? "all rows of one user at one client"
                             : statement.level == Level::example ? "one row"
                                                                 : "everything that one client did";
  std::string text = source == "seeded"
                         ? "The noise follows from the seed in config.toml: against whoever knows it, nothing is protected. "
                           "Against everybody else, "
                         : "Against everybody who does not have the run's secret key, ";
  if (!std::isfinite(statement.epsilon)) return text + "no accountant has a bound: nothing is claimed.";
  // The two error rates of any test add up to at least 2 (1 - delta) / (1 + exp(epsilon)) (Kairouz, Oh & Viswanath 2015, eq. 3).
  const double right = (std::exp(statement.epsilon) + statement.delta) / (1 + std::exp(statement.epsilon));
  const double percent = std::min(100.0, std::ceil(1000 * right) / 10);
  text += "the released model protects " + record + ": epsilon " + epsilon_text(statement.epsilon) + " at delta " +
          number_text(statement.delta) +
          ". Whoever sees the model and guesses, at even odds, whether it was used is right with probability at most " +
          number_text(percent) + " %. ";
  return text + "Other runs on the same rows add to this. The statement lists what is assumed public and what is not covered.";
}

std::string statement_json(const PrivacyStatement& statement) {
  Json json{{"level", statement.users ? "user" : name_of(statement.level)},
            {"who", statement.who},
            {"epsilon", number_or_null(statement.epsilon)},
            {"delta", statement.delta},
            {"budget", number_or_null(statement.budget)},
            {"accountant", statement.accountant}};
  if (statement.as_in_papers)
    json["epsilon_as_in_the_papers_assuming_poisson_sampling"] = number_or_null(*statement.as_in_papers);
  if (!statement.warning.empty()) json["warning"] = statement.warning;
  json["assumptions"] = statement.assumptions;
  return dump_json(json);
}

std::string statements_json(const std::vector<PrivacyStatement>& statements) {
  std::string text = "[";
  for (const PrivacyStatement& statement : statements) text += (text.size() > 1 ? "," : "") + statement_json(statement);
  return text + ']';
}

}  // namespace fedstride
