#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "client/attacks/attack.hpp"
#include "client/compression/compressor.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/optim/optimizer.hpp"
#include "client/personal/personal.hpp"
#include "client/update_coding.hpp"
#include "core/build_info.hpp"
#include "core/function_ref.hpp"
#include "core/setting.hpp"
#include "data/batch.hpp"
#include "data/data_folder.hpp"
#include "data/skew/feature_skew.hpp"
#include "partitions/partitions.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"
#include "server/failures.hpp"
#include "server/server_optimizer.hpp"
#include "sim/settings/code_names.hpp"
#include "sim/settings/leave_out.hpp"
#include "sim/settings/privacy_settings.hpp"
#include "sim/settings/stop_at.hpp"
#include "sim/time/availability.hpp"
#include "sim/time/devices.hpp"
#include "sim/time/mode.hpp"

namespace fedstride {

enum class InitializationRule { automatic, fan_in, fan_out, glorot };
constexpr auto choice_names(InitializationRule) { return names("auto", "fan-in", "fan-out", "glorot"); }
/// What `init` holds. Learned weights need smaller steps than drawn ones, however long they are.
enum class StartFrom { drawn, learned };
constexpr auto choice_names(StartFrom) { return names("drawn", "learned"); }
enum class ClientStateRule { automatic, keep, reset };
constexpr auto choice_names(ClientStateRule) { return names("auto", "keep", "reset"); }
enum class WeightRule { automatic, examples, equal };
constexpr auto choice_names(WeightRule) { return names("auto", "examples", "equal"); }
enum class OverNorm { refuse, clip };
constexpr auto choice_names(OverNorm) { return names("refuse", "clip"); }
/// How test rows are evaluated: plainly, or, if they are protected, by an accounted release.
enum class EvaluateRule { plain, privately };
constexpr auto choice_names(EvaluateRule) { return names("plain", "private"); }
/// Whether and how updates are summed without revealing individual ones. ring: the arithmetic of real, but without masks.
enum class SecureAggregation { none, ring, real };
constexpr auto choice_names(SecureAggregation) { return names("none", "ring", "real"); }
enum class Randomness { seeded, secret };
constexpr auto choice_names(Randomness) { return names("seeded", "secret"); }

/// The name of the data set if only the clients' own code knows the examples (partition outside).
inline constexpr std::string_view kNoDataset = "none";

/// Selects a model that fits the examples (sim/prepare/setup.cpp).
inline constexpr std::string_view kAutomaticModel = "auto";

/// The named values of dataset, model and client-reports, for completion and the manual.
std::vector<KnownName> known_datasets();
std::vector<KnownName> known_models();
std::vector<KnownName> known_client_reports();

/// Everything that determines a run, and the few settings that do not affect its results. The defaults are the pathological
/// federation of Koskela & Honkela (2020) on the built-in data set; resolve() chooses other optimizers if the user sets none
/// (sim/settings/automatic.cpp).
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

  std::string model = std::string(kAutomaticModel);
  InitializationRule initialization = InitializationRule::automatic;
  std::string init;
  StartFrom start = StartFrom::drawn;
  std::string freeze;

  std::string method;  ///< always empty: resolving replaces it by settings (sim/settings/methods.hpp)
  Optimizer optimizer;
  LocalObjective objective;
  Attack attack;
  Personal personal;
  int local_epochs = 1;
  int local_steps = 0;
  int batch = 10;
  ClientStateRule client_state = ClientStateRule::automatic;

  WeightRule weights = WeightRule::automatic;
  double max_update_norm = 0;
  OverNorm over_norm = OverNorm::refuse;
  Cohort cohort;
  LeaveOut leave_out;
  Aggregation aggregation;
  AcceptFailures accept_failures = AcceptFailures::some;
  int update_memory = 2048;
  UpCompression compress_up;
  DownCompression compress_down;
  ErrorFeedback error_feedback = ErrorFeedback::none;
  ServerOptimizer server;
  ServerScheduleShape server_schedule = ServerScheduleShape::constant;
  double server_final_factor = ServerSchedule().last;
  int server_schedule_rounds = ServerSchedule().rounds;
  double server_decay = ServerSchedule().decay;
  double server_noise_factor = 3;
  Privacy privacy;
  SecureAggregation secure_aggregation = SecureAggregation::none;
  std::string secure_grid;
  AutoNumber secure_dropouts = {.value = 0.2, .is_auto = true};
  AutoNumber secure_colluders = {.value = 0.1, .is_auto = true};
  int secure_degree = 0;
  double secure_leaving = 0;
  int minimum_survivors = 0;
  Devices devices;
  Availability availability;
  Mode mode;
  double deadline = 0;
  Randomness randomness = Randomness::seeded;
  bool publishable = false;
  int rounds = 20;
  StopAt stop_at;
  int patience = 0;
  EvaluateRule evaluate = EvaluateRule::plain;
  double evaluate_noise = 0;
  double evaluate_loss_bound = 5;
  double normalize_noise = 0;
  std::string budget;
  double max_epsilon = 0;
  int evaluate_every = 1;
  int evaluate_rows = 0;
  bool metrics = false;
  int checkpoint_every = 0;
  int keep_checkpoints = 0;
  std::string client_reports = "all";
  std::uint64_t seed = 1;

  bool quiet = false;
  std::string timeline;
  std::string out;
  CodeNames code;

  bool is_secure() const { return secure_aggregation != SecureAggregation::none; }
  bool bounds_updates() const { return max_update_norm > 0; }
  bool has_linear_server() const { return server_schedule == ServerScheduleShape::linear; }
  bool reads_start() const { return !init.empty() && has_noise_server(); }
  bool has_noise_server() const { return server_schedule == ServerScheduleShape::noise; }
  bool has_inverse_server() const { return server_schedule == ServerScheduleShape::inverse; }
  bool is_evaluated_privately() const { return evaluate == EvaluateRule::privately; }
  bool is_normalized_privately() const { return normalize == Normalize::privately; }

  /// True if the command line sets the partition. Not a key.
  bool partition_is_asked_for = false;
  /// Note on automatically chosen optimizers (sim/settings/automatic.cpp); usually empty. Not a key.
  std::string automatic_note = {};
  /// Data in a program's memory, for data set 'file' (DataOptions::brought). Not a key, since no file can hold it.
  std::function<DataPair(const ReadSettings&)> brought = {};
};

/// Defined in configuration_fields.cpp, so files that include this header do not compile the fields.
template <>
std::span<const SettingInfo> settings_of<Configuration>();

/// The chosen parts, one per family, in the order of their keys in a file.
std::array<ChosenPart*, 15> chosen_parts(Configuration& configuration);
std::array<const ChosenPart*, 15> chosen_parts(const Configuration& configuration);

/// Calls visit(setting, its owner) for each setting of the run and then of the chosen parts, in file order.
void for_each_setting(Configuration& configuration, function_ref<void(const SettingInfo&, void*)> visit);

/// True if the clients are the natural clients named in the data, or groups of them.
bool is_by_natural_clients(const Configuration& configuration);
/// True if examples or clients are protected.
bool is_private(const Configuration& configuration);
/// The version of everything that determines this configuration's results (core/build_info.hpp).
inline int numerics_version(const Configuration& configuration) {
  return is_private(configuration) ? kNumericsVersion : kOpenNumericsVersion;
}
/// True if the run has virtual time.
bool has_time(const Configuration& configuration);
/// The average share of clients that contribute an update to a round.
double participation_rate(const Configuration& configuration, std::size_t clients);
/// The minimum distance, in rounds, between two rounds of the same client.
std::uint64_t minimum_separation(const Configuration& configuration);
/// The maximum number of updates in a round: the largest cohort or, in asynchronous modes, the buffer.
std::size_t most_updates(const Configuration& configuration, std::size_t clients);
/// True if clients keep their optimizer's state between rounds.
bool keeps_state(const Configuration& configuration);
/// True if a client's weight is its number of examples.
bool weighs_examples(const Configuration& configuration);
/// The number of attackers: a setting below 1 is a share of the clients, whose number must then be known.
double attackers_among(const Configuration& configuration);
/// True if user code trains the clients of this process.
bool is_trained_outside(const Configuration& configuration);
/// True if that user code declares that it uses examples only through sums that fedstride clips and noises
/// (client/outside_lots.hpp).
bool is_clipped_outside(const Configuration& configuration);

/// Throws Error (usage) if the number of clients must be read from the data, which is impossible over a network.
void require_client_count(const Configuration& configuration);

/// True for settings that determine how the user's own files are read; `fedstride data` and `evaluate` also have flags for
/// them.
bool is_about_reading(std::string_view key);
/// True for settings that determine how inputs are normalized, which apply to any data set.
bool is_about_normalizing(std::string_view key);

/// The options for reading a configuration's data set. Under dp the rows are protected, unless the clients hold their own: the
/// coordinator's rows then belong to no client.
DataOptions data_options(const Configuration& configuration);

/// The configuration with every input path (not the output path) made absolute, so that it is valid from any folder.
Configuration with_absolute_paths(Configuration configuration);

/// Throws Error (usage) for settings that are valid separately but not together (sim/settings/rules.hpp). resolve() calls it.
void check_together(const Configuration& configuration);

/// Returns the configuration with every setting that does not count, or has no effect under the other settings, at its default,
/// so that configurations with the same results become equal. By default, a setting counts if it shapes the model or the number
/// of rounds.
Configuration determining(Configuration configuration, function_ref<bool(Shapes)> counts = shapes_rounds);

/// A key that the user can set.
struct KeyInfo {
  std::string name;
  std::string help;
  std::string default_text;  ///< one default per part that has the key, if they differ
  std::string valid_text;
  std::string group;               ///< "run", or the family whose part the key chooses or whose parts have the key
  std::vector<std::string> parts;  ///< the parts that have the key; empty for keys of the run and of families
  bool is_number = false;
  bool is_flag = false;       ///< needs no value, like --quiet
  Place place = Place::none;  ///< the kind of path, if the value is one
  Shapes shapes = Shapes::model;
  Question question = {};
  Shown shown = Shown::seldom;        ///< the most prominent value among the parts
  std::vector<KnownName> known = {};  ///< all valid values, or some of them (names of models)
};

/// The error "key 'runds' is unknown; did you mean 'rounds'? ..."
Error unknown_key(const std::string& key);

/// All keys of the run, the families and their parts. Spans returned earlier stay valid when parts are added. May be called from
/// any thread.
std::span<const KeyInfo> all_keys();
/// The key with this name, or nullptr.
const KeyInfo* find_key(std::string_view name);
/// What a key shapes. Throws Error (usage) for an unknown key.
Shapes shapes_of(std::string_view key);

/// The error for a setting of a part that was not chosen.
class NotOfChosenPart : public Error {
 public:
  NotOfChosenPart(const std::string& message, std::string family, std::vector<std::string> parts)
      : Error(Kind::usage, message), key(std::move(family)), has_it(std::move(parts)) {}
  std::string key;                  ///< the family's key, such as "partition"
  std::vector<std::string> has_it;  ///< the family's parts that have the setting
};

/// The configuration given by these settings; the command line overrides files. Throws Error (usage) for an unknown key, a value
/// of the wrong type or range, a key that the chosen part lacks or, like check_together, settings that are invalid together.
Configuration resolve(const Settings& settings);
/// Like resolve(), but accepts invalid combinations: for settings that were checked when a run or sweep began.
Configuration resolve_unchecked(const Settings& settings);

/// Reads a TOML file of keys. Throws Error: usage for bad syntax (with the line), tables or unknown keys; failure if unreadable.
Settings read_settings(const std::string& path);
Settings parse_settings(std::string_view toml, const std::string& name);

/// Every key with its value as TOML; parsing, resolving and writing it again yields the same text. Output settings such as `out`
/// and `quiet` are written only if a file set them in `settings`, from which the configuration was resolved.
std::string write_settings(const Configuration& configuration, const Settings& settings);
/// The keys with non-default values, as TOML. With numerics_version() they form the identities of runs and the keys of cells, so a
/// new setting changes neither while it has its default.
std::string identity_settings(const Configuration& configuration);

}  // namespace fedstride
