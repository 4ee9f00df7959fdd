#include "core/field_words.hpp"

#include <algorithm>
#include <vector>

#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kAlgorithmWords = "algorithm algo strategy fl_algorithm federated_optimizer";

constexpr FieldWord kFieldWords[] = {
    // Rounds, clients, cohorts.
    {"num_rounds n_rounds comm_round comm_rounds communication_rounds global_rounds global_epochs server_rounds "
     "central_num_iterations T r gr",
     "--rounds"},
    {"num_clients n_clients client_num_in_total n_parties num_parties num_users n_users num_supernodes num_partitions population "
     "K nc",
     "--clients"},
    {"clients_per_round client_num_per_round num_clients_per_round users_per_round sample_clients min_fit_clients "
     "min_train_nodes",
     "--cohort fixed --cohort-size"},
    {"fraction_fit fraction_train frac fraction client_fraction sample_fraction sampling_fraction sample_ratio join_ratio C",
     "--cohort fixed --cohort-size", "a number of clients; --cohort poisson --cohort-rate takes a share"},
    {"participation participation_rate participation_probability client_sampling_rate", "--cohort poisson --cohort-rate"},
    {"cohort=random", "--cohort fixed --cohort-size"},
    {"min_available_clients min_available_nodes min_clients", "--minimum-clients"},
    {"round_timeout timeout", "--round-deadline"},
    {"processes num_processes", "--clients", "each has a process"},
    {"async asynchronous", "--mode fedasync --devices exponential --concurrency 4", "or fedbuff"},
    {"drop_rate stragglers straggler_rate straggler_ratio", "",
     "clients can be late or unavailable in virtual time (--devices, --deadline, --availability)"},

    // Local training.
    {"lr eta client_lr local_lr local_learning_rate client_learning_rate init_lr initial_lr base_lr step_size",
     "--learning-rate"},
    {"server_lr global_lr global_learning_rate eta_g", "--server-learning-rate"},
    {"epochs epoch num_epochs n_epochs local_ep local_epoch num_local_epochs client_epochs inner_epochs E ls", "--local-epochs"},
    {"num_local_steps local_iterations local_iters num_updates local_updates tau", "--local-steps"},
    {"early_stopping", "--patience"},
    {"loss criterion loss_fn loss_function", "", "the loss follows from the targets; --targets values selects regression"},
    {"batch_size bs local_bs local_batch_size train_batch_size lot_size minibatch minibatch_size B lbs", "--batch"},
    {"client_optimizer client_optim local_optimizer optim opt", "--optimizer"},
    {"momentum SGDM SGD-momentum Polyak", "--optimizer heavy-ball"},
    {"Nesterov NAG", "--optimizer heavy-ball --nesterov"},
    {"AdamW", "--optimizer adam --weight-decay 0.01", "an L2 penalty"},
    {"wd l2 l2_reg l2_regularization regularization", "--optimizer sgd --weight-decay"},
    {"lr_schedule lr_scheduler scheduler learning_rate_schedule", "--optimizer sgd --schedule"},
    {"lr_decay learning_rate_decay", "--optimizer sgd --schedule inverse --decay"},

    // Data, partitions and models.
    {"data_path data_root root dataset_dir dataset_path", "--data-dir"},
    {"dataset_name", "--dataset"},
    {"num_classes n_classes", "--classes"},
    {"label_column label_col labels_column target target_column target_col y_column y_col class_column response outcome "
     "dependent",
     "--label"},
    {"feature_columns feature_cols input_columns x_columns x_cols predictors", "--inputs"},
    {"drop drop_cols dropped_columns exclude_columns ignore_columns", "--drop-columns"},
    {"user_col user_id patient_column patient_id client_col site_column", "--client-column"},
    {"image_size img_size input_size input_shape img_shape image_shape", "--shape"},
    {"resize_to img_resize crop center_crop", "--resize", "of a folder of images"},
    {"sep delimiter separator delim field_separator quotechar encoding", "",
     "a table's separator is found by itself (docs/data.md)"},
    {"na_values fillna impute imputation missing_values", "--missing"},
    {"standardize standardise scale scaler normalise normalization", "--normalize"},
    {"split_seed partition_seed data_seed", "--seed", "one seed for all"},
    {"val_split val_ratio validation_split validation_ratio val_fraction", "--validation-fraction"},
    {"test_split test_ratio train_test_split test_fraction test_size test_share holdout", "--client-test"},
    {"augmentation data_augmentation transform", "--augment"},
    {"partition_method partitioning partitioner partition_type distribution data_split split heterogeneity", "--partition"},
    {"niid non-iid hetero label_skew lda Dir hetero_dir noniid_labeldir", "--partition dirichlet --alpha 0.5"},
    {"dirichlet_alpha dir_alpha partition_alpha concentration beta dirichlet_beta dir_beta", "--partition dirichlet --alpha"},
    {"homo homogeneous uniform", "--partition iid"},
    {"quantity_skew iid_diff_quantity", "--partition dirichlet-sizes"},
    {"num_classes_per_client n_classes_per_client classes_per_partition class_per_client", "--classes-per-client"},
    {"by_user by_writer natural_partition", "--partition natural"},
    {"LEAF EMNIST FEMNIST Shakespeare", "--partition natural --data FOLDER", "see docs/data.md"},
    {"pretrained pretrained_model pretrained_weights weights_path init_from init_model initial_model start_from load_model "
     "warm_start "
     "state_dict",
     "--init"},
    {"arch architecture net network backbone model_name m", "--model"},
    {"lr LogisticRegression logreg softmax", "--model logistic"},
    {"CNN LeNet LeNet5", "--model simple-cnn"},
    {"MLP", "--model adadp-mlp"},
    {"dropout", "", "dropout is a layer of --model (docs/models.md)"},
    {"ResNet8", "--model resnet8-gn", "group normalization in place of batch normalization"},
    {"ResNet20", "--model resnet20"},
    {"ResNet ResNet18", "--model resnet18"},

    // Algorithms.
    {kAlgorithmWords, "--method", "its pieces: fedstride help aggregation"},
    {"FedAvg FederatedAveraging", "--method fedavg"},
    {"FedSGD", "--method fedavg --batch 1000000"},
    {"FedProx proximal", "--method fedprox"},
    {"proximal_mu prox_mu fedprox_mu mu_prox", "--local-objective prox --mu"},
    {"SCAFFOLD", "--method scaffold"},
    {"FedDyn", "--method feddyn"},
    {"FedNova", "--method fednova"},
    {"qFedAvg q-FFL AFL fairness", "--local-objective fair"},
    {"FedAvgM FedMom", "--method fedavgm"},
    {"server_momentum", "--server-optimizer momentum"},
    {"FedAdam FedOpt", "--method fedadam"},
    {"FedYogi", "--method fedyogi"},
    {"Yogi", "--server-optimizer yogi"},
    {"FedAdagrad", "--method fedadagrad"},
    {"Adagrad", "--server-optimizer adagrad"},
    {"FedExP", "--server-optimizer fedexp"},
    {"server_optim global_optimizer", "--server-optimizer"},
    {"Ditto", "--personal ditto"},
    {"FedPer FedRep LG-FedAvg", "--personal local-layers --model \"dense 8 | relu | dense classes\"",
     "any model with several layers"},
    {"finetuning personalization", "--personal fine-tune"},

    // Robustness.
    {"aggregator aggregation_rule agg defense defence", "--aggregation"},
    {"median FedMedian", "--aggregation median"},
    {"trimmed_mean FedTrimmedAvg", "--aggregation trimmed-mean"},
    {"trim_ratio trim_fraction", "--aggregation trimmed-mean --trim"},
    {"Krum", "--aggregation krum"},
    {"MultiKrum", "--aggregation multi-krum"},
    {"Bulyan", "--aggregation bulyan"},
    {"GeoMed geometric_median RFA", "--aggregation geometric-median"},
    {"norm_clipping norm_bounding", "--aggregation norm-bounded"},
    {"num_malicious_nodes num_malicious_clients num_malicious num_byzantine", "--aggregation krum --byzantine"},
    {"label_flipping labelflip poisoning data_poisoning", "--attack label-flip"},
    {"signflip sign_flipping", "--attack sign-flip"},
    {"LIE ALIE little_is_enough", "--attack alie"},
    {"IPM", "--attack inner-product"},
    {"num_attackers attacker_ratio poison_ratio malicious_fraction", "--attack label-flip --attackers"},
    {"accept_failure allow_failures ignore_failures", "--accept-failures all"},

    // Privacy.
    {"DP-SGD", "--method dp-sgd --noise-multiplier 1"},
    {"DP-FedAvg", "--method dp-fedavg --noise-multiplier 1"},
    {"record record_level sample sample_level example_level differential_privacy enable_dp use_dp",
     "--dp example --noise-multiplier 1"},
    {"user user_level client_level central_dp CDP dp=central", "--dp client --noise-multiplier 1"},
    {"LDP local_dp dp=local", "--dp client --client-noise local --noise-multiplier 1"},
    {"dp=example,client dp=client,example", "--dp both --noise-multiplier 1 --client-noise-multiplier 1"},
    {"target_epsilon eps max_epsilon privacy_budget", "--dp example --epsilon"},
    {"target_delta dp_delta", "--dp example --noise-multiplier 1 --delta"},
    {"noise noise_mult noise_std dp_noise sigma", "--dp example --noise-multiplier"},
    {"privacy privacy_level dp_level", "--dp"},
    {"mechanism", "", "the noise is Gaussian; --noise-mechanism correlates it across rounds"},
    {"poisson_sampling", "--dp example --noise-multiplier 1 --sampling poisson", "the default"},
    {"max_physical_batch_size virtual_batch_size num_microbatches microbatches", "",
     "a private step stores no per-example gradients, so lots need not be split into smaller batches"},
    {"l2_norm_clip max_grad_norm clip_norm clipping_norm clipping_bound clipping_threshold grad_clip grad_norm_clip dp_clip",
     "--dp example --noise-multiplier 1 --clip"},
    {"PRV PLD GDP FFT", "--dp example --noise-multiplier 1 --accountant tight"},
    {"secure_rng secure_mode", "--dp example --noise-multiplier 1 --randomness secret"},

    // Runs.
    {"device device_id did gpu cuda use_gpu num_gpus", "",
     "fedstride computes on the CPU only; --threads sets the number of threads"},
    {"n_jobs num_jobs parallel parallelism max_concurrent j", "--jobs"},
    {"workers num_workers n_jobs num_jobs num_cpus nproc parallel j cores cpus n_threads num_threads", "--threads"},
    {"log_level verbosity verbose", "", "--quiet prints errors only"},
    {"random_seed manual_seed rng_seed random_state", "--seed"},
    {"output output_dir save save_dir save_path save_model model_dir result_dir results_dir run_dir", "--out"},
    {"eval_every test_every eval_gap frequency_of_the_test evaluation_frequency", "--evaluate-every"},
    {"save_every checkpoint_freq checkpoint_frequency", "--checkpoint-every"},
    {"checkpoint checkpoint_path ckpt ckpt_path load_checkpoint restore restore_from", "",
     "--resume RUN continues a run, --init FILE starts from tensors, --checkpoint-every N writes checkpoints"},
    {"dry_run plan preview estimate", "",
     "sweep has --dry-run; 'fedstride partition' shows who holds what, 'fedstride privacy' what a plan costs"},
    {"resume_from from_checkpoint", "--resume"},
    {"exclude_clients skip_clients drop_clients unlearn forget_client", "--leave-out"},
    {"keep_checkpoint_every save_all_checkpoints", "--keep-checkpoints"},
    {"config_file conf yaml_config_file run_config", "--config"},
    {"wandb enable_wandb use_wandb tensorboard use_tensorboard log_dir mlflow",
     "fedstride export RUN --tensorboard FOLDER --follow", "after the run"},

    // Federations over a network.
    {"superlink server_address server_addr coordinator_address", "--connect"},
    {"partition_id client_id cid node_id", "--client"},
    {"insecure no_tls plaintext", "--insecure-loopback", "between processes on one machine"},

    // Sweeps and reports.
    {"n_trials num_trials max_trials trials n_iter", "--configurations"},
    {"format pdf png svg figure_format", "", "a report writes each figure as SVG, PNG and PDF; report --latex adds LaTeX tables"},
    {"grid param_grid search_space", "", kWhereListsGo},

    // Questions about privacy.
    {"q sample_rate", "--sampling-rate"},
    {"batch batch_size lot_size n dataset_size num_examples sample_size", "--sampling-rate", "batch / rows"},
    {"rounds num_rounds iterations num_steps", "--steps", "the number of lots or, at client level, of rounds"},
    {"noise_multiplier", "fedstride privacy epsilon", "calibrate finds the noise multiplier"},
    {"clip max_grad_norm l2_norm_clip", "fedstride help privacy", "epsilon does not depend on the clip bound"},

    // Commands.
    {"train fit simulate simulation start fl", "fedstride run"},
    {"eval test predict score", "fedstride evaluate RUN"},
    {"plot plots results summary compare", "fedstride report RUN"},
    {"show inspect why", "fedstride explain RUN"},
    {"resume continue restart", "fedstride run --resume RUN", "the same command resumes a sweep"},
    {"version", "fedstride --version"},
    {"models", "fedstride help models"},
    {"dp", "fedstride help privacy"},
    {"command=list ls", "fedstride data list"},
    {"remove rm delete uninstall", "fedstride data forget NAME"},
    {"command=epsilon command=compute command=budget", "fedstride privacy epsilon"},
    {"command=noise", "fedstride privacy calibrate"},
    {"server coordinator port bind address", "fedstride help network", "fedstride serve --listen, fedstride join --connect"},
    {"client worker party", "fedstride help network", "fedstride join"},
    {"download datasets", "fedstride help data", "fedstride data get"},
    {"account accountant", "fedstride help privacy", "fedstride privacy epsilon"},
    {"init config", "fedstride run --help"},
};

// The name in lower case without dashes, underscores and spaces: "Batch_Size" becomes "batchsize".
std::string comparable(std::string_view name) {
  std::string text;
  for (const char letter : name)
    if (letter != '-' && letter != '_' && letter != ' ') text += letter;
  return lower_case(text);
}

// The name as spelled in `word.words`; empty if it is not there.
std::string_view spelling(const FieldWord& word, std::string_view what, const std::string& name) {
  for (std::string_view one : split(word.words, ' ')) {
    if (const auto equals = one.find('='); equals != one.npos) {
      if (one.substr(0, equals) != what) continue;
      one.remove_prefix(equals + 1);
    }
    if (comparable(one) == name) return one;
  }
  return {};
}

bool is_command(const FieldWord& word) { return word.here.starts_with("fedstride"); }

bool is_in(std::span<const std::string> names, std::string_view flag) {
  return std::ranges::find(names, flag.substr(2)) != names.end();
}

// The part of the suggestion that applies if the flags or keys in `valid` exist and those in `given` are set; may be empty.
std::string_view suggestion(const FieldWord& word, std::span<const std::string> valid, std::span<const std::string> given) {
  const auto last = word.here.substr(std::min(word.here.rfind("--"), word.here.size()));
  const auto all = split(word.here, ' ');
  const auto is_valid = [&](std::string_view one) { return !one.starts_with("--") || is_in(valid, one); };
  if (std::ranges::all_of(all, is_valid) && !is_in(given, all.front())) return word.here;
  return is_valid(last.substr(0, last.find(' '))) ? last : std::string_view();
}

}  // namespace

std::span<const FieldWord> field_words() { return kFieldWords; }

std::string advice_on_algorithm(std::string_view name) { return advice("algorithm", name, {}); }

bool names_algorithms(std::string_view name) { return !spelling({kAlgorithmWords, {}}, "flag", comparable(name)).empty(); }

std::string advice(std::string_view what, std::string_view name, std::span<const std::string> valid,
                   std::span<const std::string> given) {
  const bool is_flag = what == "flag";
  const auto meant = [&](std::string_view one) {
    return "did you mean '" + std::string(is_flag ? "--" : "") + std::string(one) + "'? ";
  };
  const std::string compared = comparable(name);
  for (const std::string& one : valid)
    if (comparable(one) == compared) return meant(one);

  const FieldWord* found = nullptr;
  std::string_view here;
  for (const FieldWord& word : kFieldWords) {
    if (spelling(word, what, compared).empty() ||
        (is_command(word) ? !is_flag && what != "key" && what != "command" : what == "command"))
      continue;
    const bool is_as_it_stands = is_command(word) || word.here.empty() || !(is_flag || what == "key");
    const auto own = word.here.find("--" + std::string(what) + " ");
    const bool fits = own != word.here.npos;
    const std::string_view there = is_as_it_stands ? word.here.substr(fits ? own : 0) : suggestion(word, valid, given);
    if (!is_as_it_stands && there.empty()) continue;
    if (found == nullptr || fits) {
      found = &word;
      here = there;
    }
    if (fits) break;
  }
  if (found == nullptr) {
    const auto values = split(name, ',');
    if (values.size() > 1 && std::ranges::all_of(values, [&](auto one) { return std::ranges::find(valid, one) != valid.end(); }))
      return std::string(kWhereListsGo) + "; ";
    if (const std::string_view near = nearest(name, valid); !near.empty()) return meant(near);
    return what == "command" ? advice_on_algorithm(name) : "";
  }
  const std::string note(found->note);
  if (here.empty()) return note + "; ";
  const std::string in_brackets = note.empty() ? "" : " (" + note + ")";
  if (is_command(*found)) return "see '" + std::string(here) + "'" + in_brackets + "; ";
  const std::string_view flag = here.substr(2);
  if (note.empty() && std::ranges::find(valid, flag) != valid.end()) return meant(flag);
  return std::string(spelling(*found, what, compared)) + " is " + std::string(here) + in_brackets + "; ";
}

}  // namespace fedstride
