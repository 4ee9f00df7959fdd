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
struct Configuration {
  std::string dataset = "synthetic";
  std::string data;
  std::string data_dir;
  FileForm format = FileForm::automatic;
  std::string label;
  std::string client_column;
  TargetsAre targets = TargetsAre::automatic;
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

  static constexpr auto kFields = std::tuple{
      Field{"dataset", &Configuration::dataset, "data set; 'fedstride data list' shows them", Valid{.known = known_datasets}},
      Field{
          "data", &Configuration::data,
          "your own data: a file, or a folder with train and test files (NumPy .npz, HDF5, LEAF's JSON, CSV, idx, CIFAR's form); "
          "data set 'file'",
          kFile},
      Field{"data-dir", &Configuration::data_dir,
            "folder of the data sets (default: $FEDSTRIDE_DATA, else $XDG_CACHE_HOME/fedstride, else ~/.cache/fedstride)",
            kFolder},
      Field{"format", &Configuration::format, "form of your own data; auto: as the file's first bytes or names say"},
      Field{"label", &Configuration::label,
            "your own data: column or key of the answers, by name or by number from 1; several with commas between (default: the "
            "last column, or y)"},
      Field{"client-column", &Configuration::client_column,
            "your own data: column or key of the clients that --partition natural deals rows out by (default: none, or client)"},
      Field{"targets", &Configuration::targets, "your own data: the kind of answers; auto: as their type says"},
      Field{"augment", &Configuration::augment, "augmentation of training pictures"},
      Field{"validation-fraction", &Configuration::validation_fraction,
            "share of the training rows set aside for validation, before partitioning",
            Valid{.low = 0, .high = 1, .high_included = false}},
      Field{"clients", &Configuration::clients, "number of clients; 0, with partition natural: all that the data name",
            Valid{.low = 0, .high = 1e7}},
      Field{"limit-per-client", &Configuration::limit_per_client, "keep at most this many rows of each client; 0: all",
            Valid{.low = 0, .high = 1e9}},
      Field{"client-test", &Configuration::client_test, "share of each client's rows that it is tested on and does not train on",
            Valid{.low = 0, .high = 1, .high_included = false}},
      Field{"model", &Configuration::model,
            "a named model, or its layers (docs/models.md), with blocks: "
            "\"conv 64 3 | relu | maxpool 3 2 | dense classes\"",
            Valid{.known = known_models}},
      Field{"initialisation", &Configuration::initialisation,
            "starting weights: uniform in +-1/sqrt(fan-in) or +-1/sqrt(fan-out), or Glorot uniform; auto: what the named model's "
            "source uses, or the optimizer's preset"},
      Field{"init", &Configuration::init, "start from the tensors of this .safetensors file whose names and shapes match", kFile},
      Field{"freeze", &Configuration::freeze, "layers that are not trained: \"conv1,conv2\""},
      Field{"local-epochs", &Configuration::local_epochs, "epochs a client trains in a round", Valid{.low = 1, .high = 1e6}},
      Field{"batch", &Configuration::batch, "examples a batch", Valid{.low = 1, .high = 1e6}},
      Field{"client-state", &Configuration::client_state,
            "whether a client keeps its optimiser's state from round to round; auto: adadp keeps its rate if every client takes "
            "part in every round, and a single client keeps everything"},
      Field{"weights", &Configuration::weights,
            "weight of a client in the mean: its number of examples, or the same for all; auto: examples, and equal where "
            "clients are protected"},
      Field{"max-update-norm", &Configuration::max_update_norm,
            "largest L2 norm of a client's update, which bounds what one false client can do; 0: none", kNonNegative},
      Field{"over-norm", &Configuration::over_norm, "a longer update is refused (left out of the sum), or clipped to that norm"},
      Field{"update-memory", &Configuration::update_memory,
            "MiB of memory for a round's updates where the aggregation reads them one by one; those beyond are in a file in "
            "$TMPDIR. The result does not depend on it",
            Valid{.low = 1, .high = 1e9}},
      Field{"server-schedule", &Configuration::server_schedule,
            "the server's rate over the rounds: a factor on every step of the server optimizer"},
      Field{"server-final-factor", &Configuration::server_final_factor, "server-schedule linear: the factor at its end",
            Valid{.low = 0, .high = 1e6}},
      Field{"server-schedule-rounds", &Configuration::server_schedule_rounds,
            "server-schedule linear: rounds until the final factor is reached", Valid{.low = 1, .high = 2e9}},
      Field{"server-decay", &Configuration::server_decay, "server-schedule inverse: 1 / (1 + rounds before x decay)",
            kNonNegative},
      Field{
          "randomness", &Configuration::randomness,
          "source of noise and private sampling: repeatable from the seed, or secret (ChaCha20 under a key in the run's folder)"},
      Field{"publishable", &Configuration::publishable, "leave out results that no privacy guarantee covers"},
      Field{"rounds", &Configuration::rounds, "number of rounds", Valid{.low = 1, .high = 2e9}},
      Field{"evaluate-every", &Configuration::evaluate_every,
            "evaluate the model after every this many rounds, and after the last", Valid{.low = 1, .high = 1e9}},
      Field{"evaluate-rows", &Configuration::evaluate_rows,
            "evaluate rounds on this many rows of the test part, drawn by the seed and the same in every round; 0: all. The "
            "result at the end is always on all",
            Valid{.low = 0, .high = 1e9}},
      Field{"checkpoint-every", &Configuration::checkpoint_every,
            "write a checkpoint after every this many rounds, and where the run ends; a run that is killed repeats the rounds "
            "since",
            Valid{.low = 1, .high = 1e9}},
      Field{"client-reports", &Configuration::client_reports,
            "clients with numbers of their own in a round's line of rounds.jsonl: all, none, or so many, drawn by the seed and "
            "the same in every round they take part in",
            Valid{.known = known_client_reports}},
      Field{"seed", &Configuration::seed, "seed of all randomness", Valid{.low = 0, .high = 0x1p62}},
      Field{"threads", &Configuration::threads, "threads; 0: one for each processor. The result does not depend on it",
            Valid{.low = 0, .high = 1024}},
      Field{"quiet", &Configuration::quiet, "print nothing but errors"},
      Field{"out", &Configuration::out, "folder for the results (default: a new one under runs/)", kFolder},
      Field{"code", &Configuration::code,
            "code of your own that takes part, by name and version, as Python's functions write it (docs/python.md): part of "
            "what the "
            "run is"}};
};

/// The parts a configuration has chosen, one of each family, in the order of their keys in a file.
std::array<ChosenPart*, 10> chosen_parts(Configuration& configuration);
std::array<const ChosenPart*, 10> chosen_parts(const Configuration& configuration);

/// True if the clients are those that the data name, or groups of them.
bool is_by_natural_clients(const Configuration& configuration);

/// Throws Error (usage) for a configuration whose clients only its data number: over a network the number is said.
void require_client_count(const Configuration& configuration);

/// The options by which a configuration's data set is read.
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
