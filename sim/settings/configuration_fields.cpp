#include "sim/settings/configuration.hpp"
#include "sim/settings/methods.hpp"

namespace fedstride {
namespace {

struct ConfigurationFields {
  static constexpr auto kFields = fields(
      about(
          Question::data,
          Field{"dataset", &Configuration::dataset, "data set (see 'fedstride data list')", Valid{.known = known_datasets}}
              .first(),
          Field{"data", &Configuration::data,
                "your own data: a file, files separated by commas, each a client's, or a folder with train and test files (NumPy "
                ".npz, HDF5, LEAF JSON, CSV, idx or CIFAR format)",
                kFile, Shapes::work}
              .first(),
          Field{"data-dir", &Configuration::data_dir,
                "folder of the data sets (default: $FEDSTRIDE_DATA, else $XDG_CACHE_HOME/fedstride, else ~/.cache/fedstride)",
                kFolder, Shapes::work},
          Field{"test-data", &Configuration::test,
                "own data: a file with the test rows (default: the data's own, or a sixth of the rows)", kFile, Shapes::work},
          Field{"format", &Configuration::format, "format of your own data; auto: by the file's first bytes or name"},
          Field{"label", &Configuration::label,
                "own data: target columns or keys, by name or number from 1, separated by commas (default: by its name, else the "
                "last; or y)"}
              .often(),
          Field{"inputs", &Configuration::inputs,
                "own data: key of the inputs, or a table's input columns, separated by commas (default: x, or all others)"},
          Field{"drop-columns", &Configuration::drop_columns,
                "own table: columns to leave out, by name or number from 1, separated by commas"},
          Field{"categories", &Configuration::categories,
                "own table: words that become columns of 0 and 1, such as \"city=Rome,Oslo;color=red,green\" (default: "
                "those in the rows; required under dp)"},
          Field{"missing", &Configuration::missing,
                "own data: treatment of missing inputs (docs/data.md); auto: an error, under dp the mean"},
          Field{"header", &Configuration::header,
                "own table: whether its first line is a header; auto: by its contents (docs/data.md)"},
          Field{"encoding", &Configuration::encoding, "own table: encoding of its text"},
          Field{"decimal-mark", &Configuration::decimal_mark, "own table: decimal mark; auto: the table's, under dp a point"},
          Field{"numbers", &Configuration::numbers,
                "own table: other forms of numbers that are read: currency (\"$1,234.50\", \"12 EUR\"), percent (\"12.3 %\"), or "
                "both, separated by a comma"},
          Field{"dates", &Configuration::dates,
                "own table: read dates (2024-03-01, 2024-03-01T12:30) as numbers, the days since 1970"},
          Field{"offsets", &Configuration::offsets,
                "own data: constants subtracted from columns, such as \"time=1700000000\" (default: where floats would lose "
                "digits)"},
          Field{"client-column", &Configuration::client_column,
                "own data: column or key that names each row's client, for --partition natural (default: none, or client); file: "
                "each file is a client's"},
          Field{"targets", &Configuration::targets,
                "own data: kind of targets; auto: from their type and values, under dp from their type and --classes"},
          Field{"classes", &Configuration::classes, "own data: number of classes; 0: from the labels (not under dp)",
                Valid{.low = 0, .high = 65535}},
          Field{"class-names", &Configuration::class_names,
                "own data: the labels, words or numbers, in class order, separated by commas"},
          Field{"vocabulary", &Configuration::vocabulary, "own data: vocabulary size; 0: from the rows (not under dp)",
                Valid{.low = 0, .high = 65535}},
          Field{"words", &Configuration::words,
                "own data: file with one vocabulary word per line (default: the most frequent ones; required under dp)", kFile},
          Field{"shape", &Configuration::shape,
                "own data: shape of an example, such as 28x28x1 (default: its dimensions in the file)"},
          Field{"resize", &Configuration::resize, "folder of images: size that each image gets, WIDTHxHEIGHT, such as 32x32"},
          Field{"features", &Configuration::features,
                "fixed features that replace images: \"scattering SCALES ORIENTATIONS\" (2 and 8), or none (docs/data.md)"},
          Field{"normalize", &Configuration::normalize,
                "source of the inputs' mean and deviation; auto: given, published, public-data, else training rows (dp: range); "
                "client: each natural client's own; private: a release"},
          Field{"mean", &Configuration::mean,
                "mean of the inputs: one number, or one per channel or column, separated by commas, or by a table's columns: "
                "\"age=55,chol=240\""},
          Field{"deviation", &Configuration::deviation, "standard deviation of the inputs, in the same form as mean"},
          Field{"range", &Configuration::range,
                "LOW,HIGH, or by a table's columns \"age=20..90,chol=100..600\": bounds to which numeric inputs are clipped; "
                "normalized by them, inputs are in [-1, 1]"},
          Field{"normalize-clip", &Configuration::normalize_clip,
                "normalize private: MEAN,SQUARE: norms to which each record's vectors of channel means, and of mean squares, are "
                "clipped (default: inputs in [-1, 1])"},
          Field{"public-data", &Configuration::public_data,
                "file of public rows for facts that under dp must not be read from protected rows", kFile},
          Field{"public-test", &Configuration::public_test,
                "declare the test part of your own data public: under dp its accuracy may be published"},
          Field{"augment", &Configuration::augment, "augmentation of training images"},
          Field{"validation-fraction", &Configuration::validation_fraction,
                "share of the training rows set aside for validation, before partitioning",
                Valid{.low = 0, .high = 1, .high_included = false}}),
      about(Question::clients,
            Field{"clients", &Configuration::clients, "number of clients; 0, with partition natural: all in the data",
                  Valid{.low = 0, .high = 1e7}}
                .first(),
            Field{"limit-per-client", &Configuration::limit_per_client, "keep at most this many rows of each client; 0: all",
                  Valid{.low = 0, .high = 1e9}},
            Field{"client-test", &Configuration::client_test, "share of each client's rows held out to test on",
                  Valid{.low = 0, .high = 1, .high_included = false}}),
      about(Question::model,
            Field{"model", &Configuration::model,
                  "a named model, or a line of layers and blocks (docs/models.md): "
                  "\"conv 64 3 | relu | maxpool 3 2 | dense classes\"; auto: one that fits the examples",
                  Valid{.known = known_models}}
                .first(),
            Field{"initialization", &Configuration::initialization,
                  "initial weights: uniform in +-1/sqrt(fan-in) or +-1/sqrt(fan-out), or Glorot uniform; auto: as in the model's "
                  "source or the optimizer's preset"},
            Field{"init", &Configuration::init, "start from the tensors of this .safetensors file whose names and shapes match",
                  kFile},
            Field{"start",
                  &Configuration::start,
                  "what init holds: drawn weights, or learned ones, from which server-schedule noise takes a third of the steps",
                  {},
                  Shapes::model,
                  &Configuration::reads_start},
            Field{"freeze", &Configuration::freeze, "layers that are not trained, such as \"conv1,conv2\""}),
      about(
          Question::training,
          Field{
              "method", &Configuration::method,
              "a published algorithm, by its pieces: sets optimizer, local-objective, aggregation, server-optimizer, and others",
              Valid{.known = known_methods}, Shapes::folder}
              .often(),
          Field{"local-epochs", &Configuration::local_epochs, "local epochs per round", Valid{.low = 1, .high = 1e6}}.often(),
          Field{"local-steps", &Configuration::local_steps,
                "steps of each client per round, in as many passes over its rows as these take; 0: local-epochs instead",
                Valid{.low = 0, .high = 1e6}},
          Field{"batch", &Configuration::batch, "batch size", Valid{.low = 1, .high = 1e6}}.often(),
          Field{
              "client-state", &Configuration::client_state,
              "whether clients keep optimizer state between rounds; auto: adadp keeps its rate if all take part in every round, "
              "and a single client keeps all"}),
      about(
          Question::federation,
          Field{"weights", &Configuration::weights,
                "client weights in the mean: number of examples, or equal; auto: examples, or equal if clients are protected"},
          Field{
              "leave-out", &Configuration::leave_out,
              "clients that are drawn but not asked, such as 3,7@11: client 3, and client 7 from round 11 on; all else stays as "
              "with them"},
          Field{"max-update-norm", &Configuration::max_update_norm,
                "largest L2 norm of a client's update, which bounds the effect of a malicious client; 0: none", kNonNegative},
          Field{"over-norm",
                &Configuration::over_norm,
                "refuse a longer update (leave it out of the sum), or clip it to that norm",
                {},
                Shapes::model,
                &Configuration::bounds_updates},
          Field{"accept-failures",
                &Configuration::accept_failures,
                "which clients may fail in a round without ending the run; sweeps: all",
                {},
                Shapes::work},
          Field{"update-memory", &Configuration::update_memory,
                "MiB of memory for updates that the aggregation reads one by one; the rest go to a file in $TMPDIR; does not "
                "affect "
                "the result",
                Valid{.low = 1, .high = 1e9}, Shapes::work},
          Field{"error-feedback", &Configuration::error_feedback,
                "handling of what compress-up loses of an update: none, clients add it to their next update (ef), or clients "
                "code the difference from what they have sent so far (ef21)"},
          Field{"server-schedule", &Configuration::server_schedule,
                "schedule of the server's learning rate: a factor on every server step; noise: what noise allows, falling to 0"},
          Field{"server-final-factor", &Configuration::server_final_factor, "server-schedule linear: the final factor",
                Valid{.low = 0, .high = 1e6}, Shapes::model, &Configuration::has_linear_server},
          Field{"server-schedule-rounds", &Configuration::server_schedule_rounds,
                "server-schedule linear: the first round with the final factor, counted from 1", Valid{.low = 1, .high = 2e9},
                Shapes::model, &Configuration::has_linear_server},
          Field{"server-decay", &Configuration::server_decay,
                "server-schedule inverse: decay in 1 / (1 + decay x previous rounds)", kNonNegative, Shapes::model,
                &Configuration::has_inverse_server},
          Field{"server-noise-factor", &Configuration::server_noise_factor, "server-schedule noise: factor on its rate",
                kPositive, Shapes::model, &Configuration::has_noise_server}),
      about(Question::privacy,
            Field{"secure-aggregation", &Configuration::secure_aggregation,
                  "sum updates so that nobody sees a single one (docs/secure-aggregation.md): real: with all keys, masks and "
                  "messages; ring: the same sum without them"},
            Field{"secure-grid",
                  &Configuration::secure_grid,
                  "RANGE,STEP,BITS: add multiples of a step modulo 2^32 or 2^64, such as 1,2^-20,32 (default: the exact sum's, "
                  "modulo 2^128)",
                  {},
                  Shapes::model,
                  &Configuration::is_secure},
            Field{"secure-dropouts", &Configuration::secure_dropouts,
                  "largest share of a round's clients that may drop out of secure aggregation; auto: 0.2, in large rounds 0.1",
                  Valid{.low = 0, .high = 0.5, .high_included = false}, Shapes::model, &Configuration::is_secure},
            Field{"secure-colluders", &Configuration::secure_colluders,
                  "largest share of a round's clients that may collude with the coordinator; auto: 0.1, in large rounds 0.05",
                  Valid{.low = 0, .high = 1, .high_included = false}, Shapes::model, &Configuration::is_secure},
            Field{"secure-degree", &Configuration::secure_degree,
                  "number of neighbors with which a client exchanges masks; 0: the fewest for a failure probability below 2^-40",
                  Valid{.low = 0, .high = 65536}, Shapes::model, &Configuration::is_secure},
            Field{"secure-leaving", &Configuration::secure_leaving,
                  "probability that a simulated client drops out before each of its five messages",
                  Valid{.low = 0, .high = 1, .high_included = false}, Shapes::model, &Configuration::is_secure},
            Field{"minimum-survivors", &Configuration::minimum_survivors,
                  "number of clients that must survive a round of secure aggregation, or nothing is released, and whose noise "
                  "counts; 0: all but secure-dropouts",
                  Valid{.low = 0, .high = 1e7}, Shapes::model, &Configuration::is_secure},
            Field{"randomness", &Configuration::randomness,
                  "source of noise and private sampling: repeatable from the seed, or secret (ChaCha20 with a key in the run's "
                  "folder)"},
            Field{"publishable", &Configuration::publishable, "leave out results that no privacy guarantee covers"}),
      about(Question::federation,
            Field{"deadline", &Configuration::deadline,
                  "virtual seconds after which a round closes, or an asynchronous task is given up; 0: none",
                  Valid{.low = 0, .high = 1e8}},
            Field{"rounds", &Configuration::rounds, "number of rounds, or of the server's versions in an asynchronous run",
                  Valid{.low = 1, .high = 2e9}, Shapes::length}
                .first(),
            Field{"stop-at",
                  &Configuration::stop_at,
                  "end after a round with this result, such as 'validation accuracy >= 0.6' (or test; r2, loss; <=)",
                  {},
                  Shapes::reports},
            Field{"patience", &Configuration::patience,
                  "end after this many rounds without a lower loss on validation rows, or test rows if there are none; 0: never",
                  Valid{.low = 0, .high = 2e9}, Shapes::reports}),
      about(
          Question::privacy,
          Field{"evaluate", &Configuration::evaluate,
                "evaluation of test rows: plain, or private: under dp, on protected rows, with noise counted in the ledger"},
          Field{"evaluate-noise", &Configuration::evaluate_noise,
                "evaluate private: noise multiplier of each round's accuracy and loss", kNonNegative, Shapes::model,
                &Configuration::is_evaluated_privately},
          Field{"evaluate-loss-bound", &Configuration::evaluate_loss_bound, "evaluate private: bound to which losses are clipped",
                kPositive, Shapes::model, &Configuration::is_evaluated_privately},
          Field{"budget", &Configuration::budget,
                "dp: record of everything that the rows were spent on (default: beside --data; none for a named data set)", kFile,
                Shapes::work},
          Field{"max-epsilon", &Configuration::max_epsilon,
                "dp: end before these rows are spent beyond this epsilon by all runs in the record together; 0: no limit",
                kNonNegative, Shapes::reports},
          Field{"normalize-noise", &Configuration::normalize_noise, "normalize private: noise multiplier of the release",
                kNonNegative, Shapes::model, &Configuration::is_normalized_privately}),
      about(Question::output,
            Field{"evaluate-every", &Configuration::evaluate_every, "evaluate the model every N rounds and after the last",
                  Valid{.low = 1, .high = 1e9}, Shapes::reports}
                .often(),
            Field{"evaluate-rows", &Configuration::evaluate_rows,
                  "evaluate rounds on this many test rows, drawn once from the seed; 0: all. The final result always uses all",
                  Valid{.low = 0, .high = 1e9}, Shapes::reports},
            Field{"metrics",
                  &Configuration::metrics,
                  "add balanced accuracy, F1, AUC, log loss, or R2 and mean absolute error, to each evaluated round",
                  {},
                  Shapes::reports},
            Field{"checkpoint-every", &Configuration::checkpoint_every,
                  "write a checkpoint every N rounds and at the end; a killed run repeats the rounds since the last one; 0: "
                  "about once a second, but every round under dp, over a network or with your own training code",
                  Valid{.low = 0, .high = 1e9}, Shapes::work},
            Field{"keep-checkpoints", &Configuration::keep_checkpoints,
                  "keep the checkpoint of every Nth round, from which replay and verify can begin; 0: none",
                  Valid{.low = 0, .high = 1e9}, Shapes::work},
            Field{"client-reports", &Configuration::client_reports,
                  "clients reported individually in rounds.jsonl: all, none, or a number of them, drawn once from the seed",
                  Valid{.known = known_client_reports}, Shapes::reports},
            Field{"seed", &Configuration::seed, "seed of all randomness", Valid{.low = 0, .high = 0x1p62}}.often(),
            Field{"threads", &Configuration::threads, "threads; 0: one per processor; does not affect the result",
                  Valid{.low = 0, .high = 1024}, Shapes::work}
                .often(),
            Field{"timeline", &Configuration::timeline,
                  "write the run's tasks in virtual time to this file, in Chrome's trace format", kOutput, Shapes::screen},
            Field{"quiet", &Configuration::quiet, "print errors only", {}, Shapes::screen},
            Field{"out", &Configuration::out, "folder for the results (default: a new one under runs/)", kFolder, Shapes::folder}
                .first()),
      about(
          Question::training,
          Field{
              "code", &Configuration::code,
              "names and versions of your own code, set by the Python functions (docs/python.md); part of the run's identity"}));
};

}  // namespace

template <>
std::span<const SettingInfo> settings_of<Configuration>() {
  return settings_of<Configuration, ConfigurationFields>();
}

}  // namespace fedstride
