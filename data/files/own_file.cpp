#include <algorithm>
#include <array>
#include <list>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/files/convert.hpp"
#include "data/files/readers.hpp"
#include "data/input_file.hpp"
#include "data/named_facts.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

struct Ending {
  std::string_view text;
  FileForm form;
};
constexpr std::array kEndings{Ending{".npz", FileForm::npz},
                              Ending{".h5", FileForm::hdf5},
                              Ending{".hdf5", FileForm::hdf5},
                              Ending{".json", FileForm::leaf},
                              Ending{".csv", FileForm::csv},
                              Ending{".csv.gz", FileForm::csv},
                              Ending{".tsv", FileForm::csv},
                              Ending{".tsv.gz", FileForm::csv},
                              Ending{".bin", FileForm::cifar},
                              Ending{"-images-idx3-ubyte", FileForm::idx},
                              Ending{"-images-idx3-ubyte.gz", FileForm::idx},
                              Ending{"-images-idx4-ubyte", FileForm::idx},
                              Ending{"-images-idx4-ubyte.gz", FileForm::idx}};

constexpr std::string_view kNamesOfFolders =
    "valid: train.npz, train.h5, train.csv, train.bin, train.json or train-images-idx3-ubyte, optionally with test.* beside it; "
    "NAME_train.h5 and NAME_test.h5; train/*.json and test/*.json; or images in train/CLASS and test/CLASS";

std::vector<fs::path> sorted_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// The stem of a file name in this format: "train" for "train.csv.gz"; nothing for another format.
std::optional<std::string> stem_of(const std::string& name, FileForm asked, FileForm& form) {
  for (const Ending& ending : kEndings)
    if (name.ends_with(ending.text) && (asked == FileForm::automatic || asked == ending.form)) {
      form = ending.form;
      return name.substr(0, name.size() - ending.text.size());
    }
  return std::nullopt;
}

bool is_part(const std::string& stem, std::string_view part) {
  return stem == part || stem.ends_with("_" + std::string(part)) || stem.ends_with("-" + std::string(part));
}

OwnFiles found_by_name(const fs::path& folder, FileForm asked) {
  OwnFiles found{.form = FileForm::automatic, .train = {}, .test = {}};
  for (const fs::path& file : sorted_files(folder)) {
    FileForm form = FileForm::automatic;
    const auto stem = stem_of(file.filename().string(), asked, form);
    if (!stem) continue;
    const bool is_train = is_part(*stem, "train");
    if (!is_train && !is_part(*stem, "test") && !(form == FileForm::idx && *stem == "t10k")) continue;
    if (found.form != FileForm::automatic && found.form != form)
      throw failure("'" + folder.string() + "' has files in several formats, such as " + file.filename().string() +
                    "; choose one with --format, or give the file");
    found.form = form;
    std::vector<fs::path>& part = is_train ? found.train : found.test;
    if (!part.empty())
      throw failure("'" + folder.string() + "' has " + part.front().filename().string() + " and " + file.filename().string() +
                    "; there must be one for training and one for testing, or give the file");
    part.push_back(file);
  }
  return found;
}

bool has_folders(const fs::path& folder) {
  std::error_code error;
  return std::any_of(fs::directory_iterator(folder, error), {}, [&](const auto& entry) { return entry.is_directory(error); });
}

OwnFiles found_in_folder(const fs::path& folder, FileForm asked) {
  OwnFiles found = found_by_name(folder, asked);
  if (found.train.empty() && (asked == FileForm::automatic || asked == FileForm::leaf))
    for (const fs::path& base : {folder, folder / "data"}) {
      found = {.form = FileForm::leaf, .train = sorted_files(base / "train"), .test = sorted_files(base / "test")};
      for (auto* part : {&found.train, &found.test})
        std::erase_if(*part, [](const fs::path& file) { return file.extension() != ".json"; });
      if (!found.train.empty()) break;
    }
  if (asked == FileForm::pictures || (found.train.empty() && asked == FileForm::automatic && has_folders(folder))) {
    found = {.form = FileForm::pictures, .train = {folder}, .test = {}};
    std::error_code error;
    for (const char* name : {"test", "val", "valid", "validation"})
      if (found.test.empty() && fs::is_directory(folder / name, error)) found.test = {folder / name};
    if (fs::is_directory(folder / "train", error))
      found.train = {folder / "train"};
    else if (!found.test.empty())
      throw failure("'" + folder.string() + "' has a folder '" + found.test.front().filename().string() +
                    "' but none called 'train'");
  }
  if (found.train.empty())
    throw failure("'" + folder.string() + "' has no training file" +
                  (asked == FileForm::automatic ? "" : " in the format " + std::string(choice_name(asked))) + "; " +
                  std::string(kNamesOfFolders));
  return found;
}

/// The file next to `images` whose name has "labels" instead of "images" and "idx1" instead of "idx3", gzipped or not.
fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  const std::size_t at = name.rfind("images");
  if (at == name.npos)
    throw failure("'" + images.string() + "' has no \"images\" in its name, which is needed to find the label file");
  name.replace(at, 6, "labels");
  for (const char* number : {"idx3", "idx4", "idx2"})
    if (const std::size_t place = name.rfind(number); place != name.npos) name.replace(place, 4, "idx1");
  const fs::path beside = images.parent_path() / name;
  if (is_there(beside)) return beside;
  fs::path other = beside.extension() == ".gz" ? fs::path(beside).replace_extension() : fs::path(beside.string() + ".gz");
  if (is_there(other)) return other;
  throw failure("'" + beside.string() + "' is missing; it should have the labels of '" + images.string() + "'");
}

/// Determines a file's format from its first bytes, or from the ending ".bin".
FileForm form_of_bytes(const fs::path& file) {
  if (file.extension() == ".bin") return FileForm::cifar;  // its first bytes could look like another format's
  InputFile input(file);
  std::array<std::uint8_t, 512> bytes{};
  const std::size_t count = input.read(bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), count);
  using namespace std::string_view_literals;
  if (text.starts_with("PK\x03\x04")) {  // the first member's name, after its length and 30 bytes in all
    const std::size_t length = text.size() > 30 ? bytes[26] + 256U * bytes[27] : 0;
    return text.substr(std::min<std::size_t>(30, text.size()), length).ends_with(".npy") ? FileForm::npz : FileForm::other;
  }
  if (text.starts_with("\x89HDF\r\n\x1a\n"sv)) return FileForm::hdf5;
  if (text.starts_with("\0\0\x08"sv)) return FileForm::idx;
  const std::string ending = lower_case(file.extension().string());
  const bool is_text = std::ranges::find(text, '\0') == text.end();
  if (is_text && (ending == ".csv" || ending == ".tsv")) return FileForm::csv;
  if (trimmed(without_byte_order_mark(text, input.name())).starts_with('{')) return FileForm::leaf;
  if (trimmed(without_byte_order_mark(text, input.name())).starts_with('[') || ending == ".arff" || ending == ".svm" ||
      ending == ".libsvm")
    return FileForm::other;
  return is_text ? FileForm::csv : FileForm::other;
}

}  // namespace

std::vector<fs::path> listed_paths(const fs::path& path) {
  std::error_code error;
  const std::string list = path.string();
  if (list.find(',') == list.npos || fs::exists(path, error)) return {path};
  std::vector<fs::path> paths;
  for (const std::string_view piece : split(list, ',')) paths.emplace_back(trimmed(piece));
  return paths;
}

namespace {

/// The name of a file as a client: without its ending.
std::string client_of(const fs::path& file) {
  FileForm form = FileForm::automatic;
  return stem_of(file.filename().string(), FileForm::automatic, form).value_or(file.stem().string());
}

/// Files of which each is a client's: those that `path` lists, or with client-column 'file' those in a folder, or in its folders
/// train and test; none if `path` is something else.
OwnFiles found_by_client(const fs::path& path, const ReadSettings& settings) {
  OwnFiles found{.form = settings.format, .train = {}, .test = {}};
  std::error_code error;
  if (const auto listed = listed_paths(path); listed.size() > 1) {
    found.train = listed;
  } else if (settings.client_column == kFileColumn && fs::is_directory(path, error)) {
    const bool has_parts = fs::is_directory(path / "train", error);
    found.train = sorted_files(has_parts ? path / "train" : path);
    if (has_parts) found.test = sorted_files(path / "test");
    const auto is_other = [](const fs::path& file) {  // keys, budgets, notes
      constexpr std::string_view kEndingsOfRows[] = {".csv",  ".tsv",  ".gz",  ".npz",    ".json", ".jsonl",
                                                     ".xlsx", ".arff", ".svm", ".libsvm", ".mat"};
      return std::ranges::find(kEndingsOfRows, lower_case(file.extension().string())) == std::end(kEndingsOfRows);
    };
    std::erase_if(found.train, is_other);
    std::erase_if(found.test, is_other);
    for (const fs::path& file : found.train)
      if (!has_parts && (client_of(file) == "train" || client_of(file) == "test"))
        throw failure("'" + file.string() +
                      "' looks like a part, but with client-column 'file' each file is a client's; put the "
                      "clients' files into folders called train and test");
    if (found.train.empty()) throw failure("'" + path.string() + "' has no files; with client-column 'file', each is a client's");
  }
  for (const auto* part : {&found.train, &found.test}) {
    std::set<std::string> clients;
    for (const fs::path& file : *part) {
      if (!fs::is_regular_file(file, error)) throw failure("data '" + file.string() + "' does not exist, or is not a file");
      const FileForm form = settings.format == FileForm::automatic ? form_of_bytes(file) : settings.format;
      if (form != FileForm::csv && form != FileForm::npz && form != FileForm::other)
        throw failure("'" + file.string() + "' is " + std::string(choice_name(form)) +
                      "; of several files each must be a table, or each a NumPy archive");
      if (found.form == FileForm::automatic) found.form = form;
      if (found.form != form)
        throw failure("'" + file.string() + "' has another format than '" + found.train.front().string() + "'");
      if (!clients.insert(client_of(file)).second)
        throw failure("'" + file.string() + "' is a second file of client '" + client_of(file) +
                      "'; files are named after clients");
    }
  }
  return found;
}

}  // namespace

OwnFiles find_own_files(const fs::path& path, const ReadSettings& settings) {
  const FileForm asked = settings.format;
  std::error_code error;
  OwnFiles found = found_by_client(path, settings);
  found.are_clients = !found.train.empty() && (settings.client_column.empty() || settings.client_column == kFileColumn);
  if (!found.train.empty()) return found;
  found = {.form = asked, .train = {path}, .test = {}};
  if (fs::is_directory(path, error))
    found = found_in_folder(path, asked);
  else if (!fs::exists(path, error))
    throw failure("data '" + path.string() + "' does not exist; " +
                  (std::ranges::find(dataset_sources(), path.string(), &DatasetSource::name) != dataset_sources().end()
                       ? "did you mean --dataset " + path.string() + "?"
                       : "give a file or a folder (known data sets: --dataset NAME)"));
  else if (asked == FileForm::automatic)
    found.form = form_of_bytes(path);
  const bool names_users = found.form == FileForm::leaf;
  if (!settings.client_column.empty() && (names_users || found.form == FileForm::idx || found.form == FileForm::cifar))
    throw usage_error("client-column (or user-column) is '" + settings.client_column + "'; " +
                      std::string(choice_name(found.form)) + " files have no columns" +
                      (names_users ? ", and their users are the clients" : "") + ": leave it out");
  if (found.form == FileForm::idx)
    for (auto* part : {&found.train, &found.test})
      if (!part->empty()) part->push_back(labels_beside(part->front()));
  return found;
}

DataPair load_own_files(const fs::path& path, const ReadSettings& settings, bool own_rows) {
  OwnFiles files = find_own_files(path, settings);
  const auto refuse_test = [&](const std::string& why) {
    return usage_error("test-data is '" + settings.test + "', but " + why);
  };
  if (!settings.test.empty()) {
    if (!files.test.empty()) throw refuse_test("'" + path.string() + "' has its own test part; give only one");
    const OwnFiles tested = find_own_files(settings.test, settings);
    if (tested.form != files.form || !tested.test.empty())
      throw refuse_test(!tested.test.empty() ? "it has parts of its own; give the file or folder of test rows"
                                             : "it is " + std::string(choice_name(tested.form)) + " and the data are " +
                                                   std::string(choice_name(files.form)));
    files.test = tested.train;
  }
  const std::string name = "'" + files.train.front().string() + "'";
  if (!settings.resize.empty() && (files.form == FileForm::npz || files.form == FileForm::csv))
    throw usage_error("resize is '" + settings.resize + "'; it applies to a folder of images, and " + name + " is " +
                      std::string(choice_name(files.form)));
  Assembly both(name, files.test.empty() ? name : "'" + files.test.front().string() + "'", settings);
  if (settings.format == FileForm::automatic && !settings.schema)
    both.notes.push_back(auto_note("format", "read as " + std::string(choice_name(files.form)), "--format"));
  both.shared.needs_constants = settings.rows_are_protected && !own_rows && !settings.schema;
  const bool is_own = files.form == FileForm::npz || files.form == FileForm::csv;
  std::list<Converted> archives;
  for (const bool as_test : {false, true}) {
    std::vector<TableFile> tables;
    const std::vector<fs::path>& part = as_test ? files.test : files.train;
    if (as_test && !settings.test.empty() && both.test.examples() > 0)
      throw refuse_test("'" + path.string() + "' has its own test part; give only one");
    // Read from one archive, with its test part.
    const bool is_whole = !is_own && !files.are_clients && files.form != FileForm::other;
    if (is_whole && as_test) continue;
    for (const fs::path& file : is_whole ? std::vector{part.front()} : part) {
      TableFile one{.path = file, .client = files.are_clients ? client_of(file) : std::string()};
      if (!is_own) {
        one.name = "'" + file.string() + "'";
        archives.push_back(converted(is_whole ? files : OwnFiles{files.form, {file}, {}}, settings, both.shared.words,
                                     settings.rows_are_protected || own_rows));
        one.path = archives.back().path;
      }
      if (files.form == FileForm::csv || (!is_own && form_of_bytes(one.path) == FileForm::csv)) {
        tables.push_back(std::move(one));
        continue;
      }
      const std::size_t rows[] = {both.train.examples(), both.test.examples()};
      read_npz(one.path, settings, both, as_test, one.name);
      if (one.client.empty()) continue;
      both.train.add_client(one.client, both.train.examples() - rows[0]);
      both.test.add_client(one.client, both.test.examples() - rows[1]);
    }
    if (!tables.empty()) read_csv(tables, settings, both, as_test);
  }
  return both.finish(own_rows);
}

}  // namespace fedstride
