#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/terminal/host.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/download.hpp"
#include "data/files/convert.hpp"
#include "data/kept_objects.hpp"
#include "data/named_facts.hpp"
#include "data/official.hpp"
#include "data/png.hpp"
#include "data/public_facts.hpp"
#include "partitions/own_rows.hpp"

namespace fedstride {
namespace {

struct DataFlags {
  std::string name;
  std::string path;
  std::string sheet;
  std::string out;
  std::string url;
  std::string user_column;
  Settings settings;  ///< for reading the user's own files
  ClientId client = 0;
  bool json = false;
  bool replace = false;
  bool dry_run = false;
  DataOptions options;
};

void list(const DataFlags& flags) {
  Json json = Json::array();
  for (const auto& source : dataset_sources()) {
    std::string where = "built in";
    std::string folder;
    bool is_here = true;
    try {
      folder = dataset_folder(source, flags.options).string();
      if (!folder.empty()) where = "in " + folder;
    } catch (const Error&) {
      is_here = false;
      where = official_set(source.name) != nullptr ? "not on this machine; fedstride data get " + std::string(source.name)
              : source.name == kOwnFile            ? "name it with --data"
                                                   : "name its folder with --data-dir";
    }
    json.push_back(
        {{"name", source.name}, {"summary", source.summary}, {"files", source.files}, {"here", is_here}, {"folder", folder}});
    if (!flags.json)
      std::cout << source.name << std::string(15 - std::min<std::size_t>(14, source.name.size()), ' ') << source.summary
                << "\n               files: " << source.files << "\n               " << where << "\n";
  }
  if (flags.json) print_json(json);
}

/// Returns the options in `flags`, including those for reading files.
DataOptions options_of(const DataFlags& flags) {
  DataOptions options = flags.options;
  options.read = reading_settings(flags.settings);
  return options;
}

constexpr std::size_t kMaxShownClasses = 100;
constexpr std::size_t kMaxShownClients = 10;

std::string type_of(const Dataset& data) {
  if (data.vocabulary > 0) return "tokens";
  return data.is_pictures() ? "8-bit images" : "numbers";
}

std::vector<std::uint64_t> class_counts(const Dataset& data) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(std::max(data.classes, 0)), 0);
  if (data.targets == Targets::classes)
    for (const Label label : data.labels) ++counts[label];
  if (data.targets == Targets::positions)
    for (const Label label : data.position_labels)
      if (label != kNoLabel) ++counts[label];
  if (data.targets == Targets::flags)
    for (std::size_t i = 0; i < data.values.size(); ++i) counts[i % counts.size()] += data.values[i] == 1 ? 1 : 0;
  return counts;
}

std::vector<std::uint64_t> client_sizes(const Dataset& data) {
  std::vector<std::uint64_t> sizes(data.client_names.size(), 0);
  for (const std::uint32_t client : data.clients) ++sizes[client];
  return sizes;
}

std::string class_name(const Dataset& data, std::size_t label) {
  return label < data.class_names.size() ? one_line(data.class_names[label]) : "";
}

struct Clients {
  std::vector<std::uint64_t> train;
  std::vector<std::uint64_t> test;
  std::vector<std::uint64_t> sorted;  ///< numbers of training rows of the clients that have any, ascending
  std::size_t tested = 0;
};

Clients clients_of(const DataPair& pair) {
  Clients clients{client_sizes(pair.train), client_sizes(pair.test), {}, 0};
  for (std::size_t i = 0; i < clients.train.size(); ++i) {
    if (clients.train[i] == 0) continue;
    clients.sorted.push_back(clients.train[i]);
    if (clients.test[i] > 0) ++clients.tested;
  }
  std::ranges::sort(clients.sorted);
  return clients;
}

Json as_json(const DataPair& pair) {
  const Dataset& train = pair.train;
  Json json{{"form", train.form().text()},
            {"type", type_of(train)},
            {"shape", {train.shape.height, train.shape.width, train.shape.channels}},
            {"targets", choice_name(train.targets)},
            {"outputs", train.classes},
            {"vocabulary", train.vocabulary},
            {"training_rows", train.size()},
            {"test_rows", pair.test.size()},
            {"hash", pair.hash},
            {"class_names", train.class_names},
            {"class_rows", class_counts(train)},
            {"class_test_rows", class_counts(pair.test)},
            {"notes", pair.notes}};
  Json& clients = json["clients"] = Json::array();
  const Clients sizes = clients_of(pair);
  for (std::size_t i = 0; i < sizes.train.size(); ++i)
    clients.push_back({{"name", train.client_names[i]}, {"rows", sizes.train[i]}, {"test_rows", sizes.test[i]}});
  return json;
}

void print_classes(const DataPair& pair) {
  if (pair.train.targets == Targets::values) return;
  const std::vector<std::uint64_t> train = class_counts(pair.train);
  const std::vector<std::uint64_t> test = class_counts(pair.test);
  const std::size_t shown = std::min(train.size(), kMaxShownClasses);
  const char* what = pair.train.targets == Targets::flags ? "  flag " : "  class ";
  for (std::size_t label = 0; label < shown; ++label) {
    const std::string name = class_name(pair.train, label);
    std::cout << what << label << (name.empty() ? "" : " '" + name + "'") << ": " << train[label] << " training, " << test[label]
              << " test\n";
  }
  if (shown < train.size()) std::cout << "  and " << train.size() - shown << " more\n";
}

void print_clients(const DataPair& pair) {
  const Clients clients = clients_of(pair);
  if (clients.sorted.empty()) {
    std::cout << "clients: none named in the data\n";
    return;
  }
  const auto at = [&](std::size_t quarter) { return clients.sorted[(clients.sorted.size() - 1) * quarter / 4]; };
  std::cout << "clients: " << clients.sorted.size() << ", with " << at(0) << " to " << at(4) << " training rows (quartiles "
            << at(1) << ", " << at(2) << ", " << at(3) << "); " << clients.tested << " also have test rows\n";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < clients.train.size() && shown < kMaxShownClients; ++i) {
    if (clients.train[i] == 0) continue;
    ++shown;
    std::cout << "  '" << one_line(pair.train.client_names[i]) << "': " << clients.train[i] << " training, " << clients.test[i]
              << " test\n";
  }
  if (shown < clients.sorted.size()) std::cout << "  and " << clients.sorted.size() - shown << " more\n";
}

void show(const DataFlags& flags) {
  stop_on_signals();  // while data are converted
  const std::string& path = flags.path;
  const std::string& name = flags.name;
  const std::string& sheet = flags.sheet;
  DataOptions options = options_of(flags);
  if (!path.empty() && !name.empty())
    throw usage_error("dataset is '" + name + "' and data is '" + path + "'; give only one of them");
  if (path.empty() && name.empty()) throw usage_error("'fedstride data show' needs a file or a folder, or --dataset NAME");
  if (!path.empty()) options.data = path;
  const bool shows_gaps = options.read.missing == Missing::automatic;
  if (shows_gaps) options.read.missing = Missing::mean;
  DataPair pair = load_dataset(path.empty() ? std::string_view(name) : kOwnFile, options);
  for (std::string& note : pair.notes)
    if (shows_gaps && note.find("missing value") != note.npos)
      note += " here; to train, say --missing drop, mean, zero or indicator";
  if (!sheet.empty()) write_file(sheet, contact_sheet(pair.train));
  if (flags.json) return print_json(as_json(pair));
  std::cout << one_line(path.empty() ? name : path) << ": " << counted(pair.train.size(), "training row") << ", "
            << counted(pair.test.size(), "test row") << "\n"
            << "form: " << pair.train.form().text() << " (" << type_of(pair.train) << ")\n";
  print_classes(pair);
  print_clients(pair);
  for (const std::string& note : pair.notes) std::cout << "note: " << one_line(note) << "\n";
  if (!sheet.empty()) std::cout << "images: " << one_line(sheet) << "\n";
}

void convert(const DataFlags& flags) {
  stop_on_signals();
  const ReadSettings settings = reading_settings(flags.settings);
  const OwnFiles files = find_own_files(flags.path, settings);
  if (files.form == FileForm::npz || files.form == FileForm::csv)
    throw usage_error("'" + flags.path + "' is " + std::string(choice_name(files.form)) + ", which is read as it is");
  convert_data(files, settings, settings.words.empty() ? std::vector<std::string>() : named_words(settings.words), flags.out);
  if (flags.json)
    return print_json({{"format", choice_name(files.form)}, {"out", flags.out}, {"bytes", size_of_file(flags.out)}});
  std::cout << one_line(flags.path) << ": read as " << choice_name(files.form) << ", written to " << one_line(flags.out) << "\n";
}

/// Writes the flags that say the facts of a public file.
void constants(const DataFlags& flags) {
  stop_on_signals();
  ReadSettings settings = reading_settings(flags.settings);
  settings.public_data = flags.path;
  std::vector<std::string> words;
  Json json = Json::object();
  const auto add = [&](const std::string& name, const std::string& value) {
    if (json.contains(name)) return;
    json[name] = value;
    words.push_back("--" + name);
    if (value != "true") words.push_back(shell_quoted(value));
  };
  for (const auto& [name, value] : facts_as_settings(public_rows_of(settings).value())) add(name, value);
  // How fields are read here; which columns are read depends on the rows to come.
  for (const char* name : {"encoding", "numbers", "dates", "missing", "offsets", "shape", "features"})
    if (const auto given = flags.settings.find(name); given != flags.settings.end()) add(name, value_text(given->second.value));
  if (flags.json) return print_json(json);
  std::cout << joined(words, " ") << "\n";
}

/// Reads a file as a run under dp would, and says what is wrong with its rows.
void check(const DataFlags& flags) {
  stop_on_signals();
  DataOptions options = options_of(flags);
  options.data = flags.path;
  options.read.rows_are_protected = options.read.tells_owner = true;
  const DataPair pair = load_dataset(kOwnFile, options);
  if (flags.json) return print_json({{"rows", pair.train.size() + pair.test.size()}, {"notes", pair.notes}});
  std::cout << one_line(flags.path) << ": " << counted(pair.train.size() + pair.test.size(), "row") << " can be read under dp\n";
  for (const std::string& note : pair.notes) std::cout << "note: " << one_line(note) << "\n";
}

void verify(const DataFlags& flags) {
  const std::string found = verify_dataset(flags.name, options_of(flags));
  if (flags.json) return print_json({{"name", flags.name}, {"found", found}});
  std::cout << flags.name << ": " << found << "\n";
}

void roster(const DataFlags& flags) {
  DataOptions options = options_of(flags);
  options.read.user_column = flags.user_column;
  const DataPair own = load_own_rows(flags.name, options);
  RosterLine line{.rows = own.train.size(), .data_hash = told_hash(flags.name, options, own.hash)};
  if (own.columns.are_named) line.columns = own.columns.inputs;
  std::map<std::uint32_t, std::uint64_t> rows_of;
  for (const std::uint32_t user : own.train.users) ++rows_of[user];
  for (const auto& [user, rows] : rows_of) ++line.users[rows];
  std::cout << roster_line(flags.client, line) << "\n";
}

/// Draws "cifar-10-binary.tar.gz  [=====>    ]  52 %  88.4 of 170.1 MB" on standard error, in place.
class Bar {
 public:
  ~Bar() {
    if (drawn_) std::fputc('\n', stderr);
  }
  void operator()(std::string_view file, std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (isatty(STDERR_FILENO) == 0 || (done < total && now - last_ < std::chrono::milliseconds(100))) return;
    last_ = now;
    drawn_ = true;
    constexpr int kWidth = 30;
    const double megabytes = static_cast<double>(done) / 1e6;
    if (total == 0) {
      std::fprintf(stderr, "\r\033[K%.*s  %.1f MB", static_cast<int>(file.size()), file.data(), megabytes);
      return;
    }
    const int filled = static_cast<int>(done * kWidth / total);
    std::fprintf(stderr, "\r\033[K%.*s  [%s%s]  %3d %%  %.1f of %.1f MB", static_cast<int>(file.size()), file.data(),
                 std::string(static_cast<std::size_t>(filled), '=').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - filled), ' ').c_str(), static_cast<int>(done * 100 / total),
                 megabytes, static_cast<double>(total) / 1e6);
  }

 private:
  std::chrono::steady_clock::time_point last_{};
  bool drawn_ = false;
};

std::vector<KnownName> downloadable_datasets() {
  std::vector<KnownName> names = known_datasets();
  std::erase_if(names, [](const KnownName& one) { return official_set(one.name) == nullptr; });
  return names;
}

void get(const DataFlags& flags) {
  const auto& source = dataset_source(flags.name);
  const OfficialSet* set = official_set(flags.name);
  if (set == nullptr) {
    std::vector<std::string> names;
    for (const auto& candidate : downloadable_datasets()) names.push_back(candidate.name);
    throw usage_error("data set '" + flags.name + "' cannot be downloaded (" + std::string(source.summary) +
                      "); valid: " + joined(names));
  }
  const auto folder = data_folder(flags.options);
  const std::string place = (folder / set->name).string();
  if (is_official(*set, place)) {
    if (flags.json) return print_json({{"name", flags.name}, {"folder", place}, {"found", "official"}});
    std::cout << flags.name << ": already in " << place << ", official\n";
    return;
  }
  if (const auto others = unofficial_files(*set, place); !others.empty() && !flags.replace)
    throw failure("'" + others.front().string() + "'" + (others.size() > 1 ? " and " + counted(others.size() - 1, "other") : "") +
                  (others.size() > 1 ? " are" : " is") + " not as published; to download the published files in " +
                  (others.size() > 1 ? "their" : "its") + " place: fedstride data get " + flags.name +
                  " --replace; to keep what is there, choose another folder with --data-dir");
  {
    Bar bar;
    get_dataset(*set, folder, flags.url, bar);
  }
  const std::string found = verify_dataset(flags.name, {.data_dir = folder.string()});
  if (flags.json) return print_json({{"name", flags.name}, {"folder", place}, {"found", found}});
  std::cout << flags.name << ": in " << place << ", " << found << "\n";
}

void forget(const DataFlags& flags) {
  std::vector<KeptObject> chosen = kept_objects();
  if (flags.dry_run)
    std::erase_if(chosen, [&](const KeptObject& one) { return !one.name.starts_with(flags.name); });
  else if (!flags.name.empty())
    chosen = {forget_object(flags.name)};
  else
    forget_objects();
  std::uint64_t bytes = 0;
  Json files = Json::array();
  for (const KeptObject& one : chosen) {
    bytes += one.bytes;
    char day[32] = "";
    if (std::tm local{}; ::localtime_r(&one.last_used, &local) != nullptr)
      std::strftime(day, sizeof day, "%Y-%m-%d %H:%M", &local);
    files.push_back({{"name", one.name}, {"made_of", one.made_of}, {"bytes", one.bytes}, {"last_used", day}});
    if (!flags.json)
      std::printf("%s  %8.1f MB  last used %s  %s\n", one.name.c_str(), static_cast<double>(one.bytes) / 1e6, day,
                  one.made_of.empty() ? "damaged" : one.made_of.c_str());
  }
  if (flags.json) return print_json({{"forgotten", !flags.dry_run}, {"files", files}, {"bytes", bytes}});
  std::printf("%s, %.1f MB%s\n", counted(chosen.size(), "data set").c_str(), static_cast<double>(bytes) / 1e6,
              flags.dry_run ? "" : ", forgotten");
}

}  // namespace

void add_data_command(CLI::App& app) {
  const auto flags = std::make_shared<DataFlags>();
  CLI::App& data = add_command(app, "data", "List data sets; show, convert, verify, download or forget one.",
                               "Example: fedstride data get cifar10", {});
  data.require_subcommand(1);
  const auto add = [&data, flags](const std::string& name, const std::string& what, const std::string& example,
                                  const std::vector<KnownName>& known, void (*carry_out)(const DataFlags&)) -> CLI::App& {
    CLI::App& command =
        add_command(data, name, what, "Example: fedstride data " + example, [flags, carry_out](CLI::App&) { carry_out(*flags); });
    const FlagValue set{.word = "NAME", .known = known};
    if (name == "show") {
      add_flag(command, "PATH", flags->path, Place::file, "a file, or a folder with train and test files");
      add_flag(command, "--dataset", flags->name, set, "a data set from 'fedstride data list', instead of PATH");
    } else if (!known.empty())
      add_flag(command, "NAME", flags->name, set, "a data set from 'fedstride data list'", Needed::yes);
    if (name == "verify" || name == "roster") add_data_flag(command, flags->options.data);
    if (name == "constants") add_flag(command, "PATH", flags->path, Place::file, "a file of public rows", Needed::yes);
    if (name == "check") add_flag(command, "PATH", flags->path, Place::file, "a file of protected rows", Needed::yes);
    if (name == "convert") {
      add_flag(command, "IN", flags->path, Place::file, "a file, or a folder with train and test files or images", Needed::yes);
      add_settings_flags(command, flags->settings, [](const KeyInfo& key) {
        constexpr std::string_view kConverting[] = {"format", "inputs", "label", "client-column", "shape", "resize", "words"};
        return std::ranges::find(kConverting, key.name) != std::end(kConverting);
      });
    } else if (name != "get" && name != "list" && name != "forget") {
      add_reading_flags(command, flags->settings);
    }
    if (name != "forget" && name != "convert" && name != "constants") add_data_folder_flag(command, flags->options.data_dir);
    add_json_switch(command, flags->json);
    return command;
  };
  add_flag(add("show", "Show what a data set or your own file holds: shape, labels, clients, notes, and a sheet of its images.",
               "show pictures.npz --png sheet.png", known_datasets(), show),
           "--png", flags->sheet, Place::output, "also write a sheet of images, a dozen of each class, to this PNG file");
  add_flag(add("convert", "Convert HDF5, LEAF JSON, idx, CIFAR's binary form or a folder of images to a NumPy archive.",
               "convert photographs --out photographs.npz", {}, convert),
           "--out", flags->out, Place::output, "the archive to write, readable only by you", Needed::yes);
  add("constants",
      "Write the flags that say what a public file has: header, label, classes, words, mean and deviation. Under --dp nothing "
      "may "
      "be read off protected rows with the same columns.",
      "constants public.csv", {}, constants);
  add("check",
      "Read a file as a run under dp would, and show the owner of its rows which fields count as missing. What this prints is "
      "not "
      "protected.",
      "check mine.csv --header yes --classes 2 --range 0,1", {}, check);
  add("list", "List all data sets and where they are.", "list", {}, list);
  add("verify", "Read a data set and check whether it is the official one.", "verify cifar10 --data-dir ~/data", known_datasets(),
      verify);
  CLI::App& rostering =
      add("roster",
          "Print one client's line of the roster for a federation whose clients bring their own rows: row count and keyed hash.",
          "roster file --client 2 --data ~/mine >> roster.jsonl", known_datasets(), roster);
  add_flag(rostering, "--user-column", flags->user_column, FlagValue{.word = "NAME"},
           "column or key that names each row's user, for --dp user: the line then has the number of users by their rows");
  add_number_flag(rostering, "--client", flags->client, Valid{.low = 0, .high = 1e6}, "number of this client, counted from 0")
      .required();
  CLI::App& getting = add("get", "Download a data set and check its SHA-256; an interrupted download resumes.", "get cifar10",
                          downloadable_datasets(), get);
  getting.add_option("--url", flags->url, "mirror: URL of the archive, or of the folder that holds the files");
  add_switch(getting, "--replace", flags->replace, "replace existing files that differ from the published ones");
  CLI::App& forgetting =
      add("forget", "Remove data that were converted from other formats or Python objects and kept: all, or one.",
          "forget --dry-run", {}, forget);
  add_flag(forgetting, "NAME", flags->name, FlagValue{.word = "NAME"},
           "the start of the name of the one to remove (default: all)");
  add_switch(forgetting, "--dry-run", flags->dry_run, "list them and remove nothing");
}

}  // namespace fedstride
