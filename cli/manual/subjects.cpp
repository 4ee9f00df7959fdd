
#include <algorithm>

#include "cli/manual/manual.hpp"
#include "cli/terminal/columns.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {
namespace {

struct Subject {
  std::string_view name;
  std::string_view text;
  std::vector<std::string_view> choices = {};   ///< settings whose choices are listed with their summaries
  std::vector<std::string_view> families = {};  ///< families whose remaining flags are shown
  std::vector<std::string_view> settings = {};  ///< other settings to show
  std::string_view command = {};                ///< the command that `flags` belong to
  std::vector<std::string_view> flags = {};     ///< shown first
  std::string_view example;
  std::string_view more;          ///< further documents and commands
  bool shows_exit_codes = false;  ///< in place of flags
};

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all{
      {.name = "data",
       .text = "--dataset names a known data set: 'fedstride data list' shows which are on this machine, and 'fedstride data "
               "get' downloads one. --data reads your own file, or a folder with a train file and a test file: NumPy (.npz), "
               "HDF5, LEAF JSON, CSV, idx, or CIFAR's binary format. The types in the file decide whether an example is an "
               "image, numbers or tokens; the flags below override that. 'fedstride data show' prints how the data were read.",
       .choices = {"dataset"},
       .settings = {"data", "label", "client-column", "targets", "classes", "shape", "normalize", "validation-fraction"},
       .example = "fedstride run --dataset synthetic --validation-fraction 0.1 --rounds 3",
       .more = "docs/data.md, fedstride data --help"},
      {.name = "partitions",
       .text = "A partition assigns the training rows to clients. 'fedstride partition' shows which client gets what, without "
               "training. --seed draws another assignment; --limit-per-client keeps a trial run small.",
       .choices = {"partition"},
       .families = {"partition"},
       .settings = {"clients"},
       .example = "fedstride partition --dataset synthetic --partition dirichlet --alpha 0.3 --clients 10",
       .more = "docs/partitions.md, fedstride partition --help"},
      {.name = "models",
       .text = "--model takes the name of a model, or a line of layers from input to output: 'classes' is replaced by the "
               "number of classes, and ( ... ) * 3 repeats a block. PyTorch and JAX models train through Python: "
               "fedstride.run(train=...).",
       .choices = {"model"},
       .settings = {"initialization", "init", "freeze"},
       .example = "fedstride run --dataset synthetic --model \"dense 32 | relu | dense classes\" --rounds 3",
       .more = "docs/models.md, docs/python.md"},
      {.name = "optimizers",
       .text = "In each round a client trains for --local-epochs epochs of minibatches and sends the change of its model. "
               "'pooled', the default, finds one rate for the whole federation; 'adadp' compares one full step with two half "
               "steps and adapts each client's learning rate; 'sgd', 'heavy-ball', 'ema' and 'adam' follow --schedule. "
               "--local-objective changes what a client minimizes: 'prox' is FedProx, 'scaffold' SCAFFOLD.",
       .choices = {"optimizer", "local-objective"},
       .families = {"optimizer", "local-objective"},
       .settings = {"local-epochs", "batch"},
       .example = "fedstride run --optimizer sgd --learning-rate 0.05 --local-objective prox --mu 0.01 --rounds 3",
       .more = "docs/algorithms.md, docs/adaptive.md"},
      {.name = "aggregation",
       .text = "A cohort of clients trains in each round. The aggregation combines their changes into one, and the server "
               "optimizer applies it to the model. Naming an --optimizer and nothing else gives FedAvg; --server-optimizer adam "
               "gives FedAdam. Median, "
               "trimmed mean, Krum and others tolerate malicious clients, which --attack simulates.",
       .choices = {"cohort", "aggregation", "server-optimizer"},
       .families = {"cohort", "aggregation", "server-optimizer"},
       .example = "fedstride run --aggregation median --server-optimizer momentum --clients 10 --rounds 3",
       .more = "docs/algorithms.md"},
      {.name = "privacy",
       .text = "--dp example protects each row of a client from everyone who sees the model; --dp client protects all of a "
               "client's data. Contributions are clipped, Gaussian noise is added, and the run's ledger accounts for epsilon "
               "at the given delta. With --epsilon, the noise is calibrated for the planned rounds; with --noise-multiplier, "
               "epsilon is reported. 'fedstride privacy' computes the noise, steps or epsilon of a plan before any training.",
       .choices = {"dp"},
       .families = {"dp"},
       .settings = {"randomness", "publishable"},
       .example = "fedstride run --dp example --epsilon 3 --delta 1e-4 --clip 1 --optimizer sgd --partition iid --rounds 3",
       .more = "docs/privacy.md, fedstride privacy --help"},
      {.name = "network",
       .text = "The same run over TLS, with one process for each client: 'certificates' makes the certificates, 'serve' "
               "coordinates, and 'join' takes part as one client; 'launch' starts them all on this machine. The model has the "
               "same bits as that of 'run'. A client that loses its connection may return; --round-deadline and "
               "--minimum-clients let a round end without it. A coordinator that was killed resumes when it is started with "
               "the same command. --status HOST:PORT serves a status page.",
       .settings = {"max-update-norm"},
       .command = "serve",
       .flags = {"--listen", "--certificates", "--round-deadline", "--minimum-clients", "--status"},
       .example = "fedstride launch --dataset synthetic --clients 3 --rounds 3",
       .more = "docs/network.md, fedstride serve --help, fedstride join --help"},
      {.name = "sweeps",
       .text = "An experiment file is a run's settings in TOML plus a [sweep] table of lists. 'sweep' trains every "
               "combination, resumes where it was stopped, and never repeats a finished cell. --dry-run estimates the time "
               "and rejects invalid combinations before any data are read. 'tune' finds the best combination on validation rows "
               "with less work. 'report' turns the results into a page of figures, tables and tests.",
       .command = "sweep",
       .flags = {"--out", "--jobs", "--scale", "--dry-run", "--report", "--shard"},
       .example = "fedstride sweep experiments/field/checks/experiment.toml --scale quick --dry-run",
       .more = "docs/sweeps.md, fedstride sweep --help, fedstride tune --help, fedstride report --help"},
      {.name = "exit-codes",
       .text = "Every command ends with one of these codes, after one line on standard error unless it is done. A program that "
               "starts fedstride again, such as systemd, should not after 1, 2 and 3.",
       .example = "fedstride run --dataset synthetic --rounds 1",
       .more = "docs/network.md, examples/systemd",
       .shows_exit_codes = true},
  };
  return all;
}

const Subject* find_subject(std::string_view name) {
  const auto found = std::ranges::find(subjects(), name, &Subject::name);
  return found == subjects().end() ? nullptr : &*found;
}

std::string first_line(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : text.substr(0, text.rfind(' ', columns - 4)) + " ...";
}

std::string choices_text(const KeyInfo& key, std::size_t columns) {
  const std::string standard = key.default_text.empty() ? "" : " [" + key.default_text + "]";
  std::string text = "\n" + wrapped("--" + key.name + ", " + key.help + standard + ":", columns, 0, 0) + "\n";
  for (const KnownName& one : key.known) {
    const std::string head = "  " + one.name;
    const std::size_t gap = head.size() < 22 ? 22 - head.size() : 2;
    text += first_line(head + std::string(gap, ' ') + one.summary, columns) + "\n";
  }
  return text;
}

const FlagInfo* flag_of(const CommandInfo& program, std::string_view command, std::string_view name) {
  const CommandInfo& found = *std::ranges::find(program.commands, command, &CommandInfo::name);
  return &*std::ranges::find_if(found.flags, [&](const FlagInfo& flag) { return flag.names.back() == name; });
}

std::string flag_text(const KeyInfo& key, std::size_t columns) {
  std::string text = key.help + (key.parts.empty() || key.parts.size() > 4 ? "" : " (" + joined(key.parts) + ")");
  if (!key.default_text.empty() && !key.is_flag) text += " [" + key.default_text + "]";
  return help_entry("--" + key.name, text, columns);
}

}  // namespace

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (const Subject& subject : subjects()) names.emplace_back(subject.name);
  return names;
}

std::string subject_example(std::string_view name) { return std::string(find_subject(name)->example); }

std::string subject_of(const KeyInfo& key) {
  const auto found = std::ranges::find_if(subjects(), [&](const Subject& subject) {
    const auto has = [](const auto& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); };
    return has(subject.choices, key.name) || has(subject.settings, key.name) || has(subject.families, key.group);
  });
  return found == subjects().end() ? "" : std::string(found->name);
}

std::string subject_page(std::string_view name, const CommandInfo& program, std::size_t columns) {
  const Subject* subject = find_subject(name);
  if (subject == nullptr) return {};
  std::string page = wrapped(subject->text, columns, 0, 0) + "\n";
  for (const auto choice : subject->choices) page += choices_text(*find_key(choice), columns);
  std::string flags, others;
  for (const auto flag : subject->flags) flags += help_entry(*flag_of(program, subject->command, flag), Extent::usual, columns);
  for (const auto setting : subject->settings) flags += flag_text(*find_key(setting), columns);
  for (const KeyInfo& key : all_keys()) {
    if (key.name == key.group || std::ranges::find(subject->families, key.group) == subject->families.end()) continue;
    if (key.shown == Shown::seldom)
      others += (others.empty() ? "" : ", ") + ("--" + key.name);
    else
      flags += flag_text(key, columns);
  }
  if (subject->shows_exit_codes) {
    page += "\nCodes:\n";
    for (const ExitCode& one : kExitCodes) page += help_entry(std::to_string(one.code), std::string(one.text), columns);
  } else {
    page += "\nFlags:\n" + flags;
  }
  if (!others.empty()) page += "  " + wrapped("and " + others + " (fedstride run --help-all)", columns, 6, 2) + "\n";
  return page + "\nExample: " + std::string(subject->example) + "\nMore: " + std::string(subject->more) + "\n";
}

}  // namespace fedstride
