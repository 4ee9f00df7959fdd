#include "cli/data_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/data_show.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/download.hpp"
#include "data/official.hpp"
#include "partitions/own_rows.hpp"

namespace fedstride {
namespace {

struct DataFlags {
  std::string name;
  std::string path;
  std::string sheet;
  std::string url;
  Settings settings;  ///< of how files of the user's own are read
  int client = 0;
  bool json = false;
  DataOptions options;
};

void print_json(const Json& json) { std::cout << dump_json(json, 2) << "\n"; }

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
      where = official_set(source.name) != nullptr ? "not here; fedstride data get " + std::string(source.name)
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

/// The options with those of how files are read.
DataOptions options_of(const DataFlags& flags) {
  DataOptions options = flags.options;
  options.read = reading_settings(flags.settings);
  return options;
}

void show(const DataFlags& flags) { show_data(flags.path, flags.name, options_of(flags), flags.sheet, flags.json); }

void verify(const DataFlags& flags) {
  const std::string found = verify_dataset(flags.name, options_of(flags));
  if (flags.json) return print_json({{"name", flags.name}, {"found", found}});
  std::cout << flags.name << ": " << found << "\n";
}

void roster(const DataFlags& flags) {
  const DataPair own = load_own_rows(flags.name, options_of(flags));
  std::cout << roster_line(static_cast<std::uint32_t>(flags.client),
                           {own.train.size(), told_hash(flags.name, options_of(flags), own.hash)})
            << "\n";
}

/// "cifar-10-binary.tar.gz  [=====>    ]  52 %  88.4 of 170.1 MB", drawn over itself.
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
    throw usage_error("data set '" + flags.name + "' is not to be downloaded (" + std::string(source.summary) +
                      "); valid: " + joined(names));
  }
  const auto folder = data_folder(flags.options);
  const std::string place = (folder / set->name).string();
  if (is_official(*set, place)) {
    if (flags.json) return print_json({{"name", flags.name}, {"folder", place}, {"found", "official"}});
    std::cout << flags.name << ": already in " << place << ", official\n";
    return;
  }
  {
    Bar bar;
    get_dataset(*set, folder, flags.url, bar);
  }
  const std::string found = verify_dataset(flags.name, {.data_dir = folder.string()});
  if (flags.json) return print_json({{"name", flags.name}, {"folder", place}, {"found", found}});
  std::cout << flags.name << ": in " << place << ", " << found << "\n";
}

}  // namespace

void add_data_command(CLI::App& app) {
  auto flags = std::make_shared<DataFlags>();
  CLI::App& data = *app.add_subcommand("data", "Data sets: list them, verify or download one.");
  data.require_subcommand(1);
  data.footer("Example: fedstride data get cifar10");
  const auto add = [&data, flags](const std::string& name, const std::string& what, const std::string& example,
                                  const std::vector<KnownName>& known, void (*carry_out)(const DataFlags&)) {
    CLI::App* command = data.add_subcommand(name, what);
    command->footer("Example: fedstride data " + example);
    command->allow_extras();
    if (name == "show") {
      takes(*command->add_option("PATH", flags->path, "a file, or a folder with train and test files"), Place::file);
      takes(*command->add_option("--dataset", flags->name, "a data set of 'fedstride data list' instead"),
            {.word = "NAME", .known = known});
    } else if (!known.empty())
      takes(*command->add_option("NAME", flags->name, "data set, as 'fedstride data list' names it")->required(),
            {.word = "NAME", .known = known});
    if (name == "verify" || name == "roster") add_data_flag(*command, flags->options.data);
    if (name != "get" && name != "list") add_reading_flags(*command, flags->settings);
    add_data_folder_flag(*command, flags->options.data_dir);
    add_json_switch(*command, flags->json);
    when_called(*command, [flags, carry_out] { carry_out(*flags); });
    return command;
  };
  CLI::App* show_command =
      add("show", "What a file of your own, or a data set, holds: shape, answers, clients, notes; its pictures on a sheet.",
          "show pictures.npz --png sheet.png", known_datasets(), show);
  takes(*show_command->add_option("--png", flags->sheet, "also write a sheet of pictures, a dozen a class, to this PNG file"),
        Place::file);
  add("list", "What data sets there are, what lies where.", "list", {}, list);
  add("verify", "Read a data set and say whether it is the official one.", "verify cifar10 --data-dir ~/data", known_datasets(),
      verify);
  CLI::App* line =
      add("roster",
          "One client's line of the roster of a federation whose clients bring their own rows: how many, and their keyed hash.",
          "roster csv --client 2 --data-dir ~/mine >> roster.jsonl", known_datasets(), roster);
  add_number_flag(*line, "--client", flags->client, Valid{.low = 0, .high = 1e6}, "which client this is, from 0");
  line->get_option("--client")->required();
  add("get", "Download a data set, check its SHA-256, put it in place; goes on where it was broken off.", "get cifar10",
      downloadable_datasets(), get)
      ->add_option("--url", flags->url, "mirror: address of the archive, or of the folder that holds the files");
}

}  // namespace fedstride
