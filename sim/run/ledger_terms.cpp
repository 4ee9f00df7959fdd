#include "sim/run/ledger_terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/ledger/ledger_entry.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "server/cohorts.hpp"
#include "sim/prepare/privacy_setup.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/settings/neighbours.hpp"

namespace fedstride {
namespace {

// The settings of one level, whose flags begin with `prefix`.
struct LevelTerms {
  Level level;
  std::string prefix;
  const LevelSettings& set;
  std::string neighbours;
};

// The neighbor relation that follows from the settings; the value as set, if the relation cannot be resolved.
std::string neighbours_of(const Configuration& configuration, Neighbours (*resolved)(const Configuration&),
                          NeighboursChoice named) {
  try {
    return std::string(name_of(resolved(configuration)));
  } catch (const Error&) {
    return std::string(choice_name(named));
  }
}

std::vector<LevelTerms> terms_of(const Configuration& configuration) {
  const Privacy& privacy = configuration.privacy;
  std::vector<LevelTerms> all;
  if (const auto* example = example_level(privacy))
    all.push_back({Level::example, "", *example, neighbours_of(configuration, example_neighbours, example->neighbours)});
  if (const auto* client = client_level(privacy))
    all.push_back({Level::client, example_level(privacy) != nullptr ? "client-" : "", *client,
                   neighbours_of(configuration, client_neighbours, client->neighbours)});
  return all;
}

class LedgerComparer {
 public:
  explicit LedgerComparer(const Configuration& configuration) : configuration_(configuration), terms_(terms_of(configuration)) {}

  void header(const LedgerHeader& header) {
    differs("randomness", choice_name(configuration_.randomness), header.source);
    if (clients_ == 0) {
      clients_ = header.clients;
      not_compared("the number of clients, which comes from the data");
    }
    differs("clients", number_text(clients_), number_text(header.clients));
    for (const LedgerStatement& statement : header.statements)
      if (of(statement.level) == nullptr)
        contradiction("dp '" + std::string(configuration_.privacy.name()) + "' protects no " +
                      std::string(name_of(statement.level)) + "s; the ledger has a statement for them");
    for (const LevelTerms& terms : terms_) {
      const LedgerStatement* statement = header.at(terms.level);
      if (statement == nullptr) {
        contradiction("dp '" + std::string(configuration_.privacy.name()) + "' protects " + std::string(name_of(terms.level)) +
                      "s; the ledger has no statement for them");
        continue;
      }
      differs(terms.prefix + "delta", number_text(terms.set.delta), number_text(statement->delta));
      const double budget = terms.set.epsilon > 0 ? terms.set.epsilon : std::numeric_limits<double>::infinity();
      differs(terms.prefix + "epsilon", budget_text(budget), budget_text(statement->epsilon));
      differs(terms.prefix + "neighbours", terms.neighbours, name_of(statement->each.neighbours));
      if (terms.level == Level::example)
        differs("dp", user_level(configuration_.privacy) != nullptr ? "user" : "example", statement->users ? "user" : "example");
      if (terms.set.accountant != AccountantChoice::automatic)
        differs(terms.prefix + "accountant", choice_name(terms.set.accountant), statement->accountant);
      differs("clip-rule", choice_name(stated_rule(bound_of(terms.level))), choice_name(statement->clip_rule));
      if (terms.level != Level::client) continue;
      differs(terms.prefix + "clip", number_text(terms.set.clip), number_text(statement->bound));
      const ClientSettings& settings = *client_level(configuration_.privacy);
      const Correlation& noise = statement->each.correlation;
      const Chosen<MechanismPart> mechanism = settings.mechanism();
      differs("noise-mechanism", choice_name(settings.unplanned().mechanism), choice_name(noise.mechanism));
      differs("minimum-separation", std::to_string(settings.minimum_separation), std::to_string(noise.separation));
      if (noise.on()) differs("rounds", std::to_string(configuration_.rounds), std::to_string(noise.horizon));
      for (const auto& [key, value] : mechanism->stated(noise))
        differs(std::string(key), value_text(mechanism.part().get(*mechanism->find(key))), std::to_string(value));
      if (!noise.coefficients.empty()) not_compared("the coefficients of the noise, which were optimized for these rounds");
      differs("client-noise", choice_name(client_level(configuration_.privacy)->client_noise), statement->noise_at);
      if (configuration_.minimum_survivors > 0 && client_level(configuration_.privacy)->has_shares())
        differs("minimum-survivors", std::to_string(configuration_.minimum_survivors), std::to_string(statement->survivors));
    }
  }

  void entry(const LedgerEntry& entry) {
    for (const LedgerGroup& group : entry.groups) {
      const LevelTerms* terms = of(group.level);
      if (terms == nullptr) continue;
      const std::string round = "round " + std::to_string(entry.round) + ": ";
      if (group.quantity != Quantity::sums) {
        noisy(round, group);
        continue;
      }
      if (group.level == Level::example)
        example(round, *terms, group);
      else
        client(round, group);
      const auto* settings = group.level == Level::example ? example_level(configuration_.privacy) : nullptr;
      const bool constant = settings == nullptr || (settings->clip_schedule == ClipSchedule::constant &&
                                                    settings->noise_schedule == NoiseSchedule::constant);
      if (!constant) not_compared("the clip and noise of each release, which follow a schedule");
      const bool follows = bound_of(group.level)->counts() && entry.round > 1;
      if (follows) not_compared("the clip of each release, which follows the count released before it");
      for (const ReleaseRun& run : constant ? group.runs : std::vector<ReleaseRun>{}) {
        if (!follows) differs(round + terms->prefix + "clip", number_text(terms->set.clip), number_text(run.clip));
        if (terms->set.noise_multiplier > 0)
          differs(round + terms->prefix + "noise-multiplier", number_text(terms->set.noise_multiplier),
                  number_text(run.noise_multiplier));
        else
          not_compared(terms->prefix + "noise-multiplier, which was calibrated for the budget");
      }
    }
  }

  /// Compares the recorded settings that have not been compared yet. Call it last.
  void recorded(const LedgerHeader& header) {
    if (header.settings.empty()) return not_compared("settings, which the ledger does not record");
    const auto compare = [&](const std::string& key, const std::string& own, const std::string& other) {
      const auto names_it = [&](const std::string& line) { return (" " + line).find(" " + key + " is ") != std::string::npos; };
      // For settings that config.toml leaves to the program, such as the model, the ledger records what was chosen.
      if (own == "auto" && own != other) return not_compared(key + ", which was chosen automatically");
      if (std::ranges::none_of(result_.contradictions, names_it)) differs(key, own, other);
    };
    const std::map<std::string, std::string> here = recorded_settings(configuration_);
    for (const auto& [key, other] : header.settings) compare(key, here.contains(key) ? here.at(key) : "not set", other);
    // An older program's ledger lacks newer settings, whose defaults do what that program did.
    const std::map<std::string, std::string> defaults = recorded_settings(Configuration{});
    std::string newer;
    for (const auto& [key, own] : here) {
      if (header.settings.contains(key)) continue;
      if (defaults.contains(key) && defaults.at(key) == own)
        newer += (newer.empty() ? "" : ", ") + key;
      else
        compare(key, own, "not set");
    }
    if (!newer.empty()) not_compared(newer + ": at the default, and unknown to the program that wrote the ledger");
  }

  LedgerComparison take() && { return std::move(result_); }

 private:
  static std::string budget_text(double budget) { return std::isfinite(budget) ? number_text(budget) : "none"; }

  Bound bound_of(Level level) const {
    return level == Level::example ? bound_of_lots(configuration_.privacy) : bound_of_updates(configuration_.privacy);
  }

  const LevelTerms* of(Level level) const {
    const auto found = std::ranges::find(terms_, level, &LevelTerms::level);
    return found == terms_.end() ? nullptr : &*found;
  }

  // Compares releases other than sums.
  void noisy(const std::string& round, const LedgerGroup& group) {
    const auto* settings = example_level(configuration_.privacy);
    const auto [name, noise] = group.quantity == Quantity::components
                                   ? std::pair("components-noise", settings != nullptr ? settings->components_noise : 0)
                               : group.quantity == Quantity::moments
                                   ? std::pair("normalize-noise", configuration_.normalize_noise)
                                   : std::pair("evaluate-noise", configuration_.evaluate_noise);
    for (const ReleaseRun& run : group.runs) differs(round + name, number_text(noise), number_text(run.noise_multiplier));
  }

  void example(const std::string& round, const LevelTerms& terms, const LedgerGroup& group) {
    const auto* settings = example_level(configuration_.privacy);
    differs(round + terms.prefix + "neighbours", terms.neighbours, name_of(group.each.neighbours));
    if (group.each.sampling != Sampling::full)
      differs(round + "sampling", choice_name(settings->sampling), name_of(group.each.sampling));
    if (const UserSettings* users = user_level(configuration_.privacy)) {
      const bool by_users = users->user_sampling == UserSampling::users ||
                            (users->user_sampling == UserSampling::automatic && group.each.rows == 1);
      differs(round + "user-examples", std::to_string(by_users ? 1 : users->user_examples), std::to_string(group.each.rows));
    }
    if (settings->sampling_rate > 0 && sampling_of(settings->sampling) == Sampling::poisson)
      differs(round + "sampling-rate", number_text(settings->sampling_rate), number_text(group.each.rate));
    else
      not_compared("sampling-rate, which follows from the clients' sizes");
  }

  void client(const std::string& round, const LedgerGroup& group) {
    const ClientSettings& settings = *client_level(configuration_.privacy);
    if (settings.has_shares()) differs(round + "noise-law", choice_name(settings.noise_law), choice_name(group.each.law));
    const double rate = configuration_.cohort->rate(clients_);
    const Sampling sampling = rate < 1 ? cohort_sampling(configuration_) : Sampling::full;
    differs(round + "the cohort's sampling", name_of(sampling), name_of(group.each.sampling));
    differs(round + "the cohort's rate", number_text(sampling == Sampling::full ? 1 : rate), number_text(group.each.rate));
  }

  void differs(const std::string& what, std::string_view settings, std::string_view ledger) {
    if (settings != ledger)
      contradiction(what + " is " + std::string(settings) + " in config.toml, " + std::string(ledger) + " in the ledger");
  }
  void contradiction(const std::string& line) {
    constexpr std::size_t kMaxContradictions = 100;  // later rounds repeat the first round's
    if (result_.contradictions.size() < kMaxContradictions) result_.contradictions.push_back(line);
  }
  void not_compared(const std::string& line) {
    if (noted_.insert(line).second) result_.not_compared.push_back(line);
  }

  const Configuration& configuration_;
  std::size_t clients_ = static_cast<std::size_t>(configuration_.clients);  ///< 0: from the data, as recorded in the ledger
  std::vector<LevelTerms> terms_;
  std::set<std::string> noted_;
  LedgerComparison result_;
};

}  // namespace

std::map<std::string, std::string> recorded_settings(const Configuration& configuration) {
  Configuration lasting = lasting_configuration(configuration);
  std::map<std::string, std::string> settings;
  for_each_setting(lasting, [&](const SettingInfo& info, const void* owner) {
    // Readers of a ledger must not learn the seed, from which noise may be drawn. The header has the number of clients.
    if (may_change(info.shapes) || shapes_output(info.shapes) || info.name == "seed" || info.name == "clients") return;
    const std::string value = value_text(info.get(owner));
    settings.emplace(info.name, info.valid.place == Place::none ? value : std::filesystem::path(value).filename().string());
  });
  for (const ChosenPart* chosen : chosen_parts(lasting)) settings.emplace(chosen->family().key(), chosen->name());
  return settings;
}

LedgerComparison compare_with_settings(const std::filesystem::path& ledger, std::string_view key,
                                       const Configuration& configuration) {
  LedgerReader reader(ledger, key);
  LedgerComparer comparer(configuration);
  const LedgerHeader header = read_header(reader.next());
  comparer.header(header);
  for (std::string_view text = reader.next(); !text.empty(); text = reader.next()) comparer.entry(read_entry(text, header));
  comparer.recorded(header);
  return std::move(comparer).take();
}

}  // namespace fedstride
