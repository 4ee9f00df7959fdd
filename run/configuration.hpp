#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "attacks/attack.hpp"
#include "core/setting.hpp"
#include "data/batch.hpp"
#include "data/data_folder.hpp"
#include "data/skew/feature_skew.hpp"
#include "objectives/local_objective.hpp"
#include "optim/optimizers.hpp"
#include "partitions/partitions.hpp"
#include "personal/personal.hpp"
#include "run/privacy_settings.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

enum class InitialisationRule { automatic, fan_in, fan_out, glorot };
constexpr auto choice_names(InitialisationRule) { return names("auto", "fan-in", "fan-out", "glorot"); }
enum class ClientStateRule { automatic, keep, reset };
constexpr auto choice_names(ClientStateRule) { return names("auto", "keep", "reset"); }
enum class WeightRule { automatic, examples, equal };
constexpr auto choice_names(WeightRule) { return names("auto", "examples", "equal"); }
enum class OverNorm { refuse, clip };
constexpr auto choice_names(OverNorm) { return names("refuse", "clip"); }
/// How test rows are evaluated: plainly, or, where they are protected, by an accounted release.
enum class EvaluateRule { plain, privately };
constexpr auto choice_names(EvaluateRule) { return names("plain", "private"); }
enum class Randomness { seeded, secret };
constexpr auto choice_names(Randomness) { return names("seeded", "secret"); }

/// The data set of a run whose examples only the clients' own code knows (partition outside).
inline constexpr std::string_view kNoDataset = "none";

/// The names of data sets and of models, for completion and the manual.
std::vector<KnownName> known_datasets();
std::vector<KnownName> known_models();
std::vector<KnownName> known_client_reports();

/// Everything that determines a run, and the few settings that do not affect its results. The defaults are the
/// pathological federation of Koskela & Honkela 2020 on the built-in data set.
struct Configuration : ReadSettings {
  std::string dataset = "synthetic";
  std::string data;
  std::string data_dir;
  Augmentation augment = Augmentation::none;
  FeatureSkew feature_skew;
  double validation_fraction = 0;

  Partitioner partition;
  int clients = 5;
  int limit_per_client = 0;
  double client_test = 0;

  std::string model = "adadp-cnn";
  InitialisationRule initialisation = InitialisationRule::automatic;
  std::string init;
  std::string freeze;

  Optimizer optimizer;
  LocalObjective objective;
  Attack attack;
  Personal personal;
  int local_epochs = 1;
  int batch = 10;
  ClientStateRule client_state = ClientStateRule::automatic;

  WeightRule weights = WeightRule::automatic;
  double max_update_norm = 0;
  OverNorm over_norm = OverNorm::refuse;
  Cohort cohort;
  Aggregation aggregation;
  int update_memory = 2048;
  ServerOptimizer server;
  ServerCourse server_schedule = ServerCourse::constant;
  double server_final_factor = ServerSchedule().last;
  int server_schedule_rounds = ServerSchedule().rounds;
  double server_decay = ServerSchedule().decay;
  Privacy privacy;
  Randomness randomness = Randomness::seeded;
  bool publishable = false;
  int rounds = 20;
  EvaluateRule evaluate = EvaluateRule::plain;
  double evaluate_noise = 0;
  double evaluate_loss_bound = 5;
  double normalise_noise = 0;
  int evaluate_every = 1;
  int evaluate_rows = 0;
  int checkpoint_every = 1;
  std::string client_reports = "all";
  std::uint64_t seed = 1;

  int threads = 0;
  bool quiet = false;
  std::string out;
  std::string code;

  /// The data of a program that has them in memory, for data set 'file' (DataOptions::brought). No key: no file can say it.
  std::function<DataPair(const ReadSettings&)> brought = {};
};

/// In configuration_fields.cpp: as a tuple of fields here, its fifty would be compiled by all who include this.
template <>
std::span<const SettingInfo> settings_of<Configuration>();

/// The parts a configuration has chosen, one of each family, in the order of their keys in a file.
std::array<ChosenPart*, 10> chosen_parts(Configuration& configuration);
std::array<const ChosenPart*, 10> chosen_parts(const Configuration& configuration);

/// True if the clients are those that the data name, or groups of them.
bool is_by_natural_clients(const Configuration& configuration);

/// Throws Error (usage) for a configuration whose clients only its data number: over a network the number is said.
void require_client_count(const Configuration& configuration);

/// The settings of how files of the user's own are read, of which `fedstride data` and `evaluate` have flags, too.
bool is_about_reading(std::string_view key);
/// The settings of how inputs are normalised, which go with any data set.
bool is_about_normalising(std::string_view key);

/// The options by which a configuration's data set is read: as rows that are protected under dp, but where clients bring their own and
/// the coordinator's are nobody's.
DataOptions data_options(const Configuration& configuration);

/// True for keys that set the place of the output: written only if a file set them.
bool is_about_output(std::string_view key);
/// True for keys that cannot change the model and may be given again with --resume.
bool is_free_on_resume(std::string_view key);

/// The configuration with every path of an input (not that of the output) made absolute: it means the same from any folder.
Configuration with_absolute_paths(Configuration configuration);

/// Throws Error (usage) for settings that are valid one by one and not together. resolve() has done it already.
void check_together(const Configuration& configuration);

/// The configuration with defaults for every key that cannot change the model: those free on resume, quiet and out; and the
/// roster, whose contents count, not its place.
Configuration determining(Configuration configuration);

/// A value as written in a file or on the command line. Text from the command line is converted to the key's type.
struct Setting {
  SettingValue value;
  bool from_command_line = false;
};
using Settings = std::map<std::string, Setting, std::less<>>;

/// One key that the user can set.
struct KeyInfo {
  std::string name;
  std::string help;
  std::string default_text;  ///< of each part that has it, if they differ
  std::string valid_text;
  std::string group;               ///< "run", or the family it chooses from or whose parts have it
  std::vector<std::string> parts;  ///< those that have it; empty for the run's own and for the families' names
  bool is_number = false;
  bool is_flag = false;               ///< a bool: --quiet needs no value
  Place place = Place::none;          ///< of a path
  std::vector<KnownName> known = {};  ///< all that is valid, or some of it (names of models)
};

/// "key 'runds' is unknown; did you mean 'rounds'? ..."
Error unknown_key(const std::string& key);

/// All keys: the run's own, the families', those of the parts.
std::vector<KeyInfo> all_keys();

/// The configuration that settings describe; those of the command line win. Throws Error (usage) for an unknown key, a
/// value of the wrong kind or range, or a key that the chosen part does not have.
Configuration resolve(const Settings& settings);

/// Reads a TOML file of keys. Throws Error (usage: syntax with line, tables, unknown keys; failure: unreadable).
Settings read_settings(const std::string& path);
Settings parse_settings(std::string_view toml, const std::string& name);

/// Every key with its value, in a form that can be read again: parse, resolve and write gives the same text. Digests are made
/// of it: the identity of a run, the names of a sweep's cells. `out`, `quiet` and the like only if `settings` (the source of the configuration) had them from a file.
std::string write_settings(const Configuration& configuration, const Settings& settings);

}  // namespace fedstride
