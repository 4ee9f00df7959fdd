#include "sim/run/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/passing_folder.hpp"
#include "core/secret_key.hpp"
#include "core/simd.hpp"
#include "core/text.hpp"
#include "data/schema.hpp"
#include "dp/ledger/audit.hpp"
#include "dp/ledger/ledger.hpp"
#include "partitions/own_rows.hpp"
#include "secagg/primitives.hpp"
#include "server/checkpoint.hpp"
#include "sim/fleet/dealt_states.hpp"
#include "sim/run/ledger_terms.hpp"
#include "sim/run/replay.hpp"
#include "sim/run/rerun.hpp"
#include "sim/run/run_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "fedstride_certificate";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kMaxLedgerText = std::size_t{512} << 10;
constexpr std::string_view kHash = "model_hash";

/// The numbers of a round's line that a repeated round has too.
bool is_certified(std::string_view name) {
  return name == kHash || name == "examples" || name == "train_loss" || name == "failed_clients" || name.starts_with("test_") ||
         name.starts_with("validation_") || name.starts_with("epsilon") || name.starts_with("client_epsilon");
}

/// Those numbers of a line, without what no guarantee covers, and the epsilons by flat names.
std::map<std::string, Json> certified_numbers(const Json& line) {
  std::set<std::string> uncovered;
  if (const Json* names = line.find("not_covered"); names != line.end())
    for (const Json& name : *names) uncovered.insert(name.text());
  std::map<std::string, Json> numbers;
  for (const auto& [name, value] : line.items())
    if (is_certified(name) && !uncovered.contains(name) && !value.is_structured()) numbers[name] = value;
  for (const auto& [level, name] : {std::pair("example_privacy", "epsilon"), std::pair("client_privacy", "client_epsilon")})
    if (const Json* spent = line.find(level); spent != line.end() && spent->is_object()) numbers[name] = spent->at("epsilon");
  return numbers;
}

/// The settings that shape models and results, with no path: nothing else may stand in a certificate, since whoever verifies it
/// reads the files that it names.
std::string certified_settings(const Configuration& configuration) {
  const auto counts = [](Shapes shapes) { return shapes_rounds(shapes) || shapes == Shapes::reports; };
  return write_settings(without_folders(determining(configuration, counts)), {});
}

/// Columns by name, with a value for each round: what a certificate has of rounds.jsonl.
struct Rounds {
  std::map<std::string, std::vector<Json>> columns = {};
  std::size_t count = 0;

  void add(const std::map<std::string, Json>& numbers) {
    for (const auto& [name, value] : numbers) columns[name].resize(count);
    for (auto& [name, values] : columns) {
      const auto found = numbers.find(name);
      values.push_back(found == numbers.end() ? Json() : found->second);
    }
    ++count;
  }
  Json at(const std::string& name, std::size_t round) const {
    const auto found = columns.find(name);
    return found == columns.end() ? Json() : found->second.at(round - 1);
  }
};

Rounds rounds_of(const fs::path& run) {
  Rounds rounds;
  std::ifstream file(run / "rounds.jsonl", std::ios::binary);
  for (std::string line; std::getline(file, line) && !file.eof();) rounds.add(certified_numbers(parse_json(line)));
  return rounds;
}

/// Digest of a state from which rounds can be repeated: model, server, fleet and clients. Without times.
std::string state_digest(const Checkpoint& state, const fs::path& states) {
  Hash hash;
  hash.text(model_hash(state.model)).value(state.server_state.size()).text(state.server_state).value(state.fleet_state.size());
  hash.text(state.fleet_state);
  std::error_code error;
  if (fs::exists(states / "states", error))
    for_each_state(
        states, state.configuration, state.round, [](ClientId) { return true; },
        [&](ClientId client, std::string_view bytes) { hash.value(client).value(bytes.size()).text(bytes); });
  return hash.hex();
}

/// Why the claim does not hold; empty if it does.
std::string objection(const Claim& claim, const Rounds& rounds) {
  const std::size_t round = claim.round > 0 ? claim.round : rounds.count;
  if (round < 1 || round > rounds.count) return "there is no round " + std::to_string(round);
  const Json value = rounds.at(claim.number, round);
  if (!value.is_number()) return "round " + std::to_string(round) + " has no " + claim.number + " that may be told";
  const double number = value.get<double>();
  if (claim.above ? number > claim.level : number < claim.level) return {};
  return claim.number + " after round " + std::to_string(round) + " is " + number_text(number);
}

/// The text that is signed: the certificate without its signature.
std::string signed_text(Json certificate) {
  certificate.erase("signature");
  return dump_json(certificate);
}

template <std::size_t Size>
std::array<std::uint8_t, Size> bytes_in(const std::string& hex, const std::string& what) {
  std::array<std::uint8_t, Size> bytes{};
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  bool is_hex = hex.size() == 2 * Size;
  for (std::size_t i = 0; is_hex && i < Size; ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    is_hex = high >= 0 && low >= 0;
    bytes[i] = static_cast<std::uint8_t>(16 * high + low);
  }
  if (!is_hex) throw failure(what + " must be " + std::to_string(2 * Size) + " hexadecimal digits");
  return bytes;
}

}  // namespace

Claim Claim::read(const std::string& text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string_view(); };
  Claim claim;
  std::size_t at = 2;
  if (word(0) == "epsilon") {
    claim.number = "epsilon";
    at = 1;
  } else if (word(0) == "client" && word(1) == "epsilon") {
    claim.number = "client_epsilon";
  } else if ((word(0) == "test" || word(0) == "validation") && (word(1) == "accuracy" || word(1) == "r2" || word(1) == "loss")) {
    claim.number = std::string(word(0)) + "_" + std::string(word(1));
  }
  claim.above = word(at) == "above";
  double round = 0;
  const bool has_round = words.size() == at + 5 && word(at + 2) == "after" && word(at + 3) == "round" &&
                         parse_number(word(at + 4), round) && round >= 1 && round <= 2e9 && round == std::floor(round);
  const bool is_valid = !claim.number.empty() && (claim.above || word(at) == "below") &&
                        parse_number(word(at + 1), claim.level) && std::isfinite(claim.level) &&
                        (words.size() == at + 2 || has_round);
  if (!is_valid)
    throw usage_error(
        "claim is '" + text + "'; it must be like 'test accuracy above 0.5 after round 60': test or validation, " +
        "accuracy, r2 or loss, or epsilon or client epsilon; above or below; a number; and, unless it is the last, a round");
  claim.round = static_cast<std::uint32_t>(round);
  return claim;
}

std::string certify(const fs::path& run, const CertifyOptions& options) {
  RunFolder::require(run.string());
  const auto text_of = [&](const char* name) {
    const fs::path path = run / name;
    return is_there(path) ? read_file(path, size_of_file(path)) : std::string();
  };
  const Json summary = parse_json(text_of("summary.json"));
  if (!summary.is_object())
    throw failure("'" + run.string() + "' has no summary.json; certify a run that has ended or was stopped");
  if (const Json changed = parse_json(text_of(kReplayFile.data())); changed.contains("set") && changed.at("from") != Json(1))
    throw usage_error("'" + run.string() + "' is a replay with a setting changed in round " + dump_json(changed.at("from")) +
                      ", which its settings do not tell; certify the run that it replays, or a replay from round 1");
  const Configuration configuration = resolve_unchecked(read_settings((run / "config.toml").string()));
  const Rounds rounds = rounds_of(run);
  for (const std::string& text : options.claims)
    if (const std::string why = objection(Claim::read(text), rounds); !why.empty())
      throw usage_error("claim '" + text + "' does not hold: " + why);

  Json certificate{{std::string(kFormat), kVersion}};
  Json& program = certificate["program"];
  for (const char* name : {"version", "commit", "numerics_version", "compiler", "instruction_set"})
    program[name] = summary.value(name, Json());
  certificate["settings"] = certified_settings(configuration);
  certificate["schema"] = std::string(trimmed(text_of("schema.json")));
  if (!is_private(configuration))
    certificate["data"] = {{"data", summary.value("data_hash", Json())}, {"partition", summary.value("partition_hash", Json())}};
  for (const auto& [name, values] : rounds.columns) certificate["rounds"][name] = values;
  if (is_private(configuration)) {
    Json& privacy = certificate["privacy"];
    privacy["statements"] = summary.value("privacy", Json());
    privacy["ledger_head"] = summary.value("ledger_head", Json());
    privacy["ledger_lines"] = summary.value("ledger_lines", Json());
    if (const std::string ledger = text_of("ledger.jsonl"); ledger.size() <= kMaxLedgerText) privacy["ledger"] = ledger;
  }
  certificate["claims"] = options.claims;
  Json& states = certificate["checkpoints"] = Json::object();
  for (std::uint32_t kept = last_kept(run, UINT32_MAX); kept > 0; kept = last_kept(run, kept - 1)) {
    const fs::path folder = kept_folder(run, kept);
    states[std::to_string(kept)] = state_digest(load_checkpoint(folder / "checkpoint"), folder);
  }
  if (!options.key.empty()) {
    const secagg::Secret key(load_or_create_key(options.key));
    certificate["signature"] = {{"key", hex_of(secagg::verifying_key(key))},
                                {"ed25519", hex_of(secagg::sign(key, signed_text(certificate)))}};
  }
  std::string text = dump_json(certificate) + "\n";
  if (text.size() > kMaxCertificateBytes)
    throw failure("the certificate of '" + run.string() + "' would have " + std::to_string(text.size()) + " bytes for " +
                  counted(rounds.count, "round") + "; at most " + std::to_string(kMaxCertificateBytes) + " are valid");
  return text;
}

bool is_certificate(const fs::path& file) {
  std::string begin(kFormat.size() + 2, ' ');
  std::ifstream stream(file, std::ios::binary);
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == "{\"" + std::string(kFormat);
}

namespace {

/// A certificate as read, with every field of the kind that certify writes.
struct Certificate {
  Json json = {};
  std::string name;
  Configuration configuration = {};
  Rounds rounds = {};

  const Json& member(const Json& of, const char* key, bool (Json::*is)() const) const {
    const Json* found = of.is_object() ? of.find(key) : nullptr;
    if (found == nullptr || found == of.end() || !(found->*is)())
      throw failure("'" + name + "' is damaged: it has no valid '" + key + "'");
    return *found;
  }
};

Certificate read_certificate(const fs::path& file) {
  Certificate read{.name = file.string()};
  const std::string text = read_file(file, kMaxCertificateBytes);
  read.json = parse_json(text);
  const auto damaged = [&](const std::string& why) { return failure("'" + read.name + "' is damaged: " + why); };
  const Json& version = read.member(read.json, kFormat.data(), &Json::is_number_unsigned);
  if (version != Json(kVersion))
    throw failure("'" + read.name + "' is a certificate of format " + dump_json(version) + "; this program reads format " +
                  std::to_string(kVersion));
  if (text != dump_json(read.json) + "\n") throw damaged("it is not in the form that certify writes");
  constexpr std::string_view kKeys[] = {kFormat,  "program", "settings", "schema",      "data",
                                        "rounds", "privacy", "claims",   "checkpoints", "signature"};
  for (const auto& [key, value] : read.json.items())
    if (std::ranges::find(kKeys, key) == std::end(kKeys)) throw damaged("it has '" + one_line(key.substr(0, 80)) + "'");
  read.configuration =
      resolve(parse_settings(read.member(read.json, "settings", &Json::is_string).text(), read.name + ": settings"));
  if (certified_settings(read.configuration) != read.json.at("settings").text())
    throw damaged("its settings are not in the form that certify writes");
  const Json& rounds = read.member(read.json, "rounds", &Json::is_object);
  for (const auto& [name, values] : rounds.items()) {
    if (!is_certified(name) || !values.is_array()) throw damaged("its rounds have '" + one_line(name.substr(0, 80)) + "'");
    std::vector<Json>& column = read.rounds.columns[name];
    for (const Json& value : values) {
      if (name == kHash ? !value.is_string() : !(value.is_number() || value.is_null()))
        throw damaged("its " + name + " are no " + (name == kHash ? "hashes" : "numbers"));
      column.push_back(value);
    }
    if (read.rounds.count != 0 && column.size() != read.rounds.count) throw damaged("its rounds differ in number");
    read.rounds.count = column.size();
  }
  if (!read.rounds.columns.contains(std::string(kHash))) throw damaged("its rounds have no '" + std::string(kHash) + "'");
  if (read.rounds.count > static_cast<std::size_t>(read.configuration.rounds))
    throw damaged("it has more rounds than its settings");
  read.member(read.json, "program", &Json::is_object);
  read.member(read.json, "schema", &Json::is_string);
  read.member(read.json, "checkpoints", &Json::is_object);
  for (const Json& claim : read.member(read.json, "claims", &Json::is_array))
    if (!claim.is_string()) throw damaged("a claim is no text");
  if (read.json.contains("privacy") != is_private(read.configuration) ||
      read.json.contains("data") == is_private(read.configuration))
    throw damaged("its settings are dp '" + std::string(read.configuration.privacy.name()) + "', but it has " +
                  (read.json.contains("privacy") ? "" : "no ") + "'privacy'");
  return read;
}

class Verifying {
 public:
  Verifying(const fs::path& file, const VerifyOptions& options, const FleetMaker& maker,
            const std::function<void(Configuration&)>& configure)
      : options_(options), maker_(maker), configure_(configure), file_(file), certificate_(read_certificate(file)) {}

  Verdict all() {
    signature();
    claims();
    if (is_private(certificate_.configuration)) privacy();
    repeat_rounds();
    verdict_.unchecked.emplace_back("the program's name, commit and compiler, which it only tells");
    return std::move(verdict_);
  }

 private:
  void signature() {
    const Json* signature = certificate_.json.find("signature");
    if (signature == certificate_.json.end()) {
      if (!options_.signer.empty())
        verdict_.broken.emplace_back("it is not signed");
      else
        verdict_.unchecked.emplace_back("who made it: it is not signed");
      return;
    }
    const std::string& key = certificate_.member(*signature, "key", &Json::is_string).text();
    const std::string& value = certificate_.member(*signature, "ed25519", &Json::is_string).text();
    const bool is_right = secagg::verifies(bytes_in<32>(key, "the signature's key"), signed_text(certificate_.json),
                                           bytes_in<64>(value, "the signature"));
    if (!is_right)
      verdict_.broken.emplace_back("the signature is not that of its contents");
    else if (!options_.signer.empty() && options_.signer != key)
      verdict_.broken.push_back("it is signed by " + key + ", not by " + options_.signer);
    else
      verdict_.held.push_back("the signature, by " + key);
    if (is_right && options_.signer.empty()) verdict_.unchecked.push_back("whose key that is (--signer)");
  }

  void claims() {
    for (const Json& text : certificate_.json.at("claims")) {
      const std::string why = objection(Claim::read(text.text()), certificate_.rounds);
      if (why.empty())
        verdict_.held.push_back("'" + text.text() + "', by the numbers told");
      else
        verdict_.broken.push_back("the claim '" + text.text() + "': " + why);
    }
  }

  // Statements against the ledger, and the ledger against the settings.
  void privacy() {
    const Json& privacy = certificate_.member(certificate_.json, "privacy", &Json::is_object);
    const Json& statements = certificate_.member(privacy, "statements", &Json::is_array);
    const LedgerMark mark{certificate_.member(privacy, "ledger_head", &Json::is_string).text(),
                          certificate_.member(privacy, "ledger_lines", &Json::is_number_unsigned).get<std::uint64_t>()};
    const Json* ledger = privacy.find("ledger");
    const bool is_secret = certificate_.configuration.randomness == Randomness::secret;
    if (ledger == privacy.end())
      return verdict_.unchecked.emplace_back("its ledger, which is too long for a certificate"), void();
    if (!ledger->is_string()) throw failure("'" + certificate_.name + "' is damaged: its ledger is no text");
    if (is_secret && options_.key.empty())
      return verdict_.unchecked.emplace_back("its ledger, which only the holder of the run's key can check (--key)"), void();
    const PassingFolder folder("certificate");
    const fs::path path = folder.path() / "ledger.jsonl";
    write_file(path, ledger->text());
    const std::string key = options_.key.empty() ? std::string() : ledger_key_in(options_.key);
    try {
      Audit audit = audit_ledger(path, {mark}, key, false);
      const LedgerComparison with_settings = compare_with_settings(path, key, certificate_.configuration);
      for (const std::string& why : audit.failures) verdict_.broken.push_back("its ledger: " + why);
      for (const std::string& why : with_settings.contradictions) verdict_.broken.push_back("its ledger: " + why);
      LedgerReader reader(path, key);
      LedgerBook book(read_header(reader.next()));
      for (std::string_view text = reader.next(); !text.empty(); text = reader.next())
        if (reader.mark().lines <= mark.lines) book.add(read_entry(text, book.header()));
      if (parse_json(statements_json(model_statements(book))) != statements)
        verdict_.broken.emplace_back("its statements are not those of its ledger");
      else
        verdict_.held.emplace_back("the ledger's chain, its agreement with the settings, and the statements that follow from it");
    } catch (const Error& error) {
      verdict_.broken.push_back("its ledger: " + std::string(error.what()));
    }
  }

  // Why the rounds cannot be repeated here; empty if they can.
  std::string obstacle(const Configuration& configuration) const {
    const Json& told = certificate_.json.at("program").value("numerics_version", Json());
    if (told != Json(numerics_version(configuration)))
      return "they were computed with numerics version " + dump_json(told) + ", and this program has " +
             std::to_string(numerics_version(configuration));
    if (!kFused) return "this build rounds each multiply-add twice";
    if (configuration.partition.as<OwnRows>() != nullptr) return "the clients brought their own rows";
    if (is_trained_outside(configuration) && !configure_)
      return "the clients were trained by other code (" + configuration.code.text() + "), which only its owner can run";
    if (is_private(configuration) && configuration.randomness == Randomness::secret && options_.key.empty())
      return "their noise and lots come from a secret key, without which nobody can draw them again (--key)";
    if (certificate_.rounds.count == 0) return "there are none";
    return {};
  }

  // The settings of the certificate on this machine: input files lie beside it.
  Configuration here() const {
    Settings settings = parse_settings(certificate_.json.at("settings").text(), certificate_.name);
    for (auto& [key, setting] : settings)
      if (const KeyInfo* info = find_key(key);
          info != nullptr && info->place == Place::file && !setting_text(settings, key).empty())
        setting = {(file_.parent_path() / setting_text(settings, key)).string()};
    for (const auto& [key, setting] : options_.here) settings[key] = setting;
    Configuration configuration = resolve(settings);
    if (const std::string& schema = certificate_.json.at("schema").text(); !schema.empty())
      configuration.schema = std::make_shared<const Schema>(read_schema(schema, certificate_.name + ": schema"));
    if (configure_) configure_(configuration);
    return configuration;
  }

  // The rounds to repeat, ascending: the first by SHA-256 of seed and number.
  std::vector<std::uint32_t> drawn_rounds() {
    const auto all = static_cast<std::uint32_t>(certificate_.rounds.count);
    const std::uint32_t wanted = std::min(all, options_.rounds.value_or(all));
    const std::string seed = options_.seed.empty() ? hex_of(new_secret_key()).substr(0, 16) : options_.seed;
    std::vector<std::pair<std::string, std::uint32_t>> order;
    for (std::uint32_t round = 1; round <= all; ++round) order.emplace_back(Hash().text(seed).value(round).hex(), round);
    std::ranges::sort(order);
    order.resize(wanted);
    std::vector<std::uint32_t> rounds;
    for (const auto& [hash, round] : order) rounds.push_back(round);
    std::ranges::sort(rounds);
    if (wanted < all)
      drawn_ = "drawn from seed '" + seed + "'; a single forged round escapes with probability " +
               number_text(1 - static_cast<double>(wanted) / all);
    return rounds;
  }

  void repeat_rounds() {
    Configuration configuration;
    try {
      configuration = here();
    } catch (const Error& error) {
      verdict_.broken.emplace_back(error.what());
      return;
    }
    if (const std::string why = obstacle(configuration); !why.empty()) {
      verdict_.unchecked.push_back("the rounds: " + why);
      return;
    }
    require_fleet(configuration, maker_);
    std::optional<SecretKey> key;
    if (!options_.key.empty() && is_private(configuration)) key = load_key(options_.key);
    const fs::path checkpoints =
        options_.checkpoints.empty() ? file_.parent_path() / "checkpoints" : fs::path(options_.checkpoints);
    const auto folder_of = [&](std::uint32_t kept) { return kept == 0 ? fs::path() : checkpoints / std::to_string(kept); };
    std::unique_ptr<Setup> setup;
    std::unique_ptr<Rerun> rerun;
    std::size_t repeated = 0;
    const std::vector<std::uint32_t> rounds = drawn_rounds();
    for (const std::uint32_t round : rounds) {
      const std::uint32_t nearest = published(checkpoints, round - 1);
      if (!rerun || rerun->round() < nearest) {
        rerun.reset();
        try {
          setup = std::make_unique<Setup>(prepare(configuration, nearest > 0 ? FirstWeights::continued : FirstWeights::drawn));
        } catch (const Error& error) {
          if (!options_.here.contains("data") && !options_.here.contains("data-dir") && setup == nullptr) {
            verdict_.unchecked.push_back("the rounds: the data are not here (" + std::string(error.what()) + ")");
            return;
          }
          throw;
        }
        if (!compare_data(*setup)) return;
        if (nearest > 0 && !compare_state(load_checkpoint(folder_of(nearest) / "checkpoint"), folder_of(nearest))) return;
        rerun = std::make_unique<Rerun>(*setup, maker_, options_.stop, key, folder_of(nearest));
      }
      while (rerun->round() < round) {
        if (!compare(*rerun)) return;
        ++repeated;
      }
    }
    if (is_private(configuration) && rerun && rerun->round() == certificate_.rounds.count) {
      if (rerun->ledger().head != certificate_.json.at("privacy").at("ledger_head").text())
        verdict_.broken.emplace_back("the repeated rounds leave another ledger");
      else
        verdict_.held.emplace_back("the ledger that the repeated rounds leave");
    }
    const std::string which = rounds.size() == certificate_.rounds.count ? "all " + counted(rounds.size(), "round")
                                                                         : counted(rounds.size(), "round") + " (" + drawn_ + ")";
    verdict_.held.push_back("models, losses and results of " + which + ", bit for bit" +
                            (repeated > rounds.size() ? ", " + std::to_string(repeated) + " in all on the way" : ""));
    const auto planned = static_cast<std::size_t>(certificate_.configuration.rounds);
    if (certificate_.rounds.count < planned)
      verdict_.unchecked.push_back("why the run has " + std::to_string(certificate_.rounds.count) + " of " +
                                   counted(planned, "round"));
    if (!uncompared_.empty())
      verdict_.unchecked.push_back("numbers of rounds that these settings do not give: " +
                                   joined(std::vector(uncompared_.begin(), uncompared_.end())));
  }

  // The last round up to `round` whose checkpoint is in the folder and in the certificate.
  std::uint32_t published(const fs::path& checkpoints, std::uint32_t round) const {
    std::uint32_t last = 0;
    std::error_code error;
    for (const auto& [name, digest] : certificate_.json.at("checkpoints").items()) {
      double kept = 0;
      if (parse_number(name, kept) && kept > last && kept <= round && fs::exists(checkpoints / name / "checkpoint", error))
        last = static_cast<std::uint32_t>(kept);
    }
    return last;
  }

  bool compare_data(const Setup& setup) {
    const Json* data = certificate_.json.find("data");
    if (data == certificate_.json.end()) return true;
    for (const auto& [name, hash] : {std::pair("data", setup.data.hash), std::pair("partition", setup.clients.partition_hash)})
      if (data->value(name, Json()) != Json(hash)) {
        verdict_.broken.push_back(
            std::string(name == std::string("data") ? "these are other data" : "the partition of these data is another one") +
            " (" + hash.substr(0, 16) + ", certified " + dump_json(data->value(name, Json())).substr(0, 18) + ")");
        return false;
      }
    return true;
  }

  bool compare_state(const Checkpoint& state, const fs::path& states) {
    const Json* digest = certificate_.json.at("checkpoints").find(std::to_string(state.round));
    if (digest == certificate_.json.at("checkpoints").end() || *digest == Json(state_digest(state, states))) return true;
    verdict_.broken.push_back("the state after round " + std::to_string(state.round) + ", of model, server and clients");
    return false;
  }

  // Repeats the next round and compares what it gives.
  bool compare(Rerun& rerun) {
    const std::uint32_t round = rerun.round() + 1;
    const std::optional<RoundRecord> record = rerun.next();
    if (!record) {
      verdict_.broken.push_back("round " + std::to_string(round) + ": a budget ends the run before it");
      return false;
    }
    const auto right = certified_numbers(parse_json(round_json(*record, certificate_.configuration.publishable)));
    for (const auto& [name, values] : certificate_.rounds.columns) {
      const Json& told = values.at(round - 1);
      const auto found = right.find(name);
      if (told.is_null()) continue;
      if (found == right.end() || found->second.is_null()) {
        uncompared_.insert(name);
        continue;
      }
      if (told == found->second) continue;
      verdict_.broken.push_back("round " + std::to_string(round) + ": " + name + " is " + dump_json(found->second) +
                                ", certified " + dump_json(told));
      return false;
    }
    if (certificate_.json.at("checkpoints").contains(std::to_string(round))) {
      const PassingFolder folder("state");
      rerun.keep_states(folder.path());
      return compare_state(rerun.state(), folder.path());
    }
    return true;
  }

  const VerifyOptions& options_;
  const FleetMaker& maker_;
  const std::function<void(Configuration&)>& configure_;
  fs::path file_;
  Certificate certificate_;
  std::string drawn_ = {};
  std::set<std::string> uncompared_ = {};
  Verdict verdict_ = {};
};

}  // namespace

Verdict verify_certificate(const fs::path& file, const VerifyOptions& options, const FleetMaker& maker,
                           const std::function<void(Configuration&)>& configure) {
  try {
    return Verifying(fs::absolute(file), options, maker, configure).all();
  } catch (const JsonError& error) {
    throw failure("'" + file.string() + "' is damaged: " + error.what());
  }
}

}  // namespace fedstride
