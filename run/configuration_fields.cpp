#include "run/configuration.hpp"

namespace fedstride {
namespace {

struct ConfigurationFields {
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
      Field{"classes", &Configuration::classes, "your own data: number of classes; 0: as the labels say, which dp does not allow",
            Valid{.low = 0, .high = 65535}},
      Field{"class-names", &Configuration::class_names,
            "your own data: the labels in the order of their classes, with commas between; words or numbers"},
      Field{"vocabulary", &Configuration::vocabulary,
            "your own data: number of tokens; 0: as the rows say, which dp does not allow", Valid{.low = 0, .high = 65535}},
      Field{
          "words", &Configuration::words,
          "your own data: file of the words of sentences, one a line (default: the most frequent ones, which dp does not allow)",
          kFile},
      Field{"shape", &Configuration::shape,
            "your own data: shape of an example, as in 28x28x1 (default: its dimensions in the file)"},
      Field{"normalise", &Configuration::normalise,
            "source of the inputs' mean and deviation; auto: named, published, public-data, else the training rows, or under dp "
            "the "
            "range; private: an accounted release"},
      Field{"mean", &Configuration::mean, "mean of the inputs: one number, or one a channel or column with commas between"},
      Field{"deviation", &Configuration::deviation, "deviation of the inputs, likewise"},
      Field{"range", &Configuration::range,
            "LOW,HIGH: inputs that are numbers are clipped to it; normalised by it they are in [-1, 1]"},
      Field{
          "public-data", &Configuration::public_data,
          "file of public rows, like your own data, from which facts about the data are taken that dp does not let be taken from "
          "the protected rows",
          kFile},
      Field{"public-test", &Configuration::public_test,
            "the test part of your own data is public: under dp its accuracy may be published"},
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
            "server-schedule linear: the round, from 1, that is the first with the final factor", Valid{.low = 1, .high = 2e9}},
      Field{"server-decay", &Configuration::server_decay, "server-schedule inverse: 1 / (1 + rounds before x decay)",
            kNonNegative},
      Field{
          "randomness", &Configuration::randomness,
          "source of noise and private sampling: repeatable from the seed, or secret (ChaCha20 under a key in the run's folder)"},
      Field{"publishable", &Configuration::publishable, "leave out results that no privacy guarantee covers"},
      Field{"rounds", &Configuration::rounds, "number of rounds", Valid{.low = 1, .high = 2e9}},
      Field{"evaluate", &Configuration::evaluate,
            "how test rows are evaluated: plain, or private: under dp, on protected rows, with noise that the ledger counts"},
      Field{"evaluate-noise", &Configuration::evaluate_noise,
            "evaluate private: noise multiplier of each round's accuracy and loss", kNonNegative},
      Field{"evaluate-loss-bound", &Configuration::evaluate_loss_bound, "evaluate private: losses above it count as this much",
            kPositive},
      Field{"normalise-noise", &Configuration::normalise_noise, "normalise private: noise multiplier of the release",
            kNonNegative},
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

}  // namespace

template <>
std::span<const SettingInfo> settings_of<Configuration>() {
  return detail::setting_list<Configuration, ConfigurationFields>();
}

}  // namespace fedstride
