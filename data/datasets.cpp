#include "data/datasets.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "data/features/feature_map.hpp"
#include "data/files/readers.hpp"
#include "data/missing.hpp"
#include "data/named_facts.hpp"
#include "data/normalization.hpp"
#include "data/official.hpp"
#include "data/public_facts.hpp"
#include "data/shared_datasets.hpp"
#include "data/split.hpp"

namespace fedstride {
namespace {

std::vector<DatasetSource>& registry() {
  static std::vector<DatasetSource> sources = shipped_datasets();
  return sources;
}

DataPair read_source(const DatasetSource& source, const DataOptions& options, bool own_rows) {
  const bool is_brought = source.name == kOwnFile && options.brought;
  const std::filesystem::path folder = is_brought ? std::filesystem::path() : dataset_folder(source, options);
  if (!is_brought && !source.read) return source.load(folder);
  const auto read = [&](const ReadSettings& settings) {
    return is_brought ? options.brought(settings) : source.read(folder, settings, own_rows);
  };
  ReadSettings settings = options.read;
  // Offsets are found only if the training rows determine the normalization; other normalizations refer to the original numbers.
  settings.finds_offsets = settings.finds_offsets && !own_rows && settings.mean.empty() && settings.range.empty() &&
                           settings.public_data.empty() &&
                           (settings.normalize == Normalize::automatic || settings.normalize == Normalize::rows);
  DataPair pair = read(settings);
  if (settings.offsets.empty() && !pair.offsets.empty() && pair.train.mean.empty()) {
    settings.offsets = pair.offsets;
    pair = read(settings);
    pair.notes.push_back(
        auto_note("offsets", "single precision would lose digits, so offsets are subtracted: " + pair.offsets, "--offsets"));
  }
  settle_missing(pair, options.read);
  return pair;
}

void hold_out_test_part(DataPair& pair) {
  const std::size_t all = pair.train.size();
  std::vector<std::size_t> rows(pair.train.client_names.size());
  for (const std::uint32_t client : pair.train.clients) ++rows[client];
  const bool by_client = std::ranges::any_of(rows, [](std::size_t count) { return count >= 6; });
  std::tie(pair.train, pair.test) = split_test_part(std::move(pair.train));
  pair.notes.push_back("the file has no test set: " + std::to_string(pair.test.size()) + " of its " + counted(all, "row") +
                       (by_client ? ", about a sixth of each client's," : ", about a sixth,") +
                       " are held out for testing, the same in every run");
}

/// Adds a note on the source of mean and deviation, unless they were specified.
void note_normalization(DataPair& pair) {
  if (!pair.normalized_by.ends_with("named"))
    pair.notes.push_back(auto_note("normalize", "by mean and deviation " + pair.normalized_by, "--normalize"));
}

/// Makes the training part the test part.
void test_every_row(DataPair& pair) {
  pair.test = std::exchange(pair.train, {});
  pair.train.shape = pair.test.shape;
  pair.train.classes = pair.test.classes;
  pair.train.targets = pair.test.targets;
  pair.train.vocabulary = pair.test.vocabulary;
  pair.train.class_names = pair.test.class_names;
  pair.train.class_order = pair.test.class_order;
  pair.train.client_names = pair.test.client_names;
  pair.train.binary_columns = pair.test.binary_columns;
}

/// If rows are protected and the facts of a loader are not published, discards its normalization and refuses a number of classes
/// that differs from the setting, since both may be derived from the rows.
void check_loader(DataPair& pair, const DatasetSource& source, const ReadSettings& settings) {
  if (!settings.rows_are_protected || source.is_published || source.read) return;
  pair.train.mean.clear();
  pair.train.deviation.clear();
  if (pair.train.targets == Targets::classes && settings.classes != pair.train.classes)
    throw usage_error("classes is " + std::to_string(settings.classes) + "; data set '" + std::string(source.name) + "' has " +
                      std::to_string(pair.train.classes) +
                      ", which may depend on its rows: under dp set classes to that number, or set DatasetSource::is_published");
}

/// The data set's hash, combined with the hash of its names if it has any.
std::string with_names(std::string hash, const DataPair& pair) {
  const std::string names = names_hash(schema_of(pair));
  return names.empty() ? hash : Hash().text(hash).text(names).hex();
}

/// Checks that the two parts match and copies the shared properties from the training part to the test part.
void finish(DataPair& pair, std::string_view name) {
  Dataset& train = pair.train;
  Dataset& test = pair.test;
  if (train.shape != test.shape)
    throw failure("data set '" + std::string(name) + "': training examples are " + train.shape.text() + ", test examples " +
                  test.shape.text());
  train.name = test.name = name;
  if (train.targets == Targets::classes && train.classes < 2 && test.classes < 2)
    throw failure("data set '" + std::string(name) + "': every label is '" +
                  (train.class_names.empty() ? "0" : train.class_names.front()) + "'; at least two classes are needed");
  train.classes = test.classes = std::max(train.classes, test.classes);
  if (train.class_order.empty()) {
    train.class_order.resize(static_cast<std::size_t>(train.label_classes()));
    std::iota(train.class_order.begin(), train.class_order.end(), 0);
  }
  test.class_names = train.class_names;
  test.class_order = train.class_order;
  test.mean = train.mean;
  test.deviation = train.deviation;
}

}  // namespace

std::span<const DatasetSource> dataset_sources() { return registry(); }

void add_dataset(DatasetSource source) {
  const std::string what = "dataset '" + std::string(source.name) + "'";
  if (source.name.empty() || (!source.load && !source.make && !source.read))
    throw usage_error(what + " cannot be added; it needs a name and a load function");
  for (const DatasetSource& other : registry())
    if (other.name == source.name) throw usage_error(what + " already exists; each data set needs a unique name");
  registry().push_back(std::move(source));
}

const DatasetSource& dataset_source(std::string_view name) {
  std::vector<std::string> names;
  const std::string_view base = name.substr(0, name.find(':'));
  for (const auto& source : registry()) {
    if (source.name == name || (source.name == base && source.make)) return source;
    if (source.name == base)
      throw usage_error("dataset is '" + std::string(name) + "'; '" + std::string(base) +
                        "' takes no parameters; use the plain name");
    names.emplace_back(source.name);
  }
  if (name.find_first_of("/.") != name.npos)
    throw usage_error("dataset '" + std::string(name) +
                      "' is unknown; for your own file, use --data FILE; valid: " + joined(names));
  throw usage_error(unknown_name("dataset", name, names));
}

std::filesystem::path dataset_folder(const DatasetSource& source, const DataOptions& options) {
  if (source.name == kOwnFile) {
    if (options.data.empty()) throw usage_error("data set 'file' needs --data FILE or FOLDER; see docs/data.md for file formats");
    return options.data;
  }
  return source.place.file.empty() ? std::filesystem::path() : find_dataset(options, source.place);
}

namespace {

/// Notes which files of a published data set differ from its authors' files.
void note_unofficial(DataPair& pair, std::string_view name, const DatasetSource& source, const DataOptions& options) {
  const OfficialSet* set = official_set(name);
  if (set == nullptr) return;
  const std::filesystem::path folder = dataset_folder(source, options);
  std::vector<std::string> others;
  for (const auto& file : unofficial_files(*set, folder)) others.push_back(file.filename().string());
  if (!others.empty())
    pair.notes.push_back("'" + folder.string() + "' differs from the published " + std::string(name) + " (" + joined(others) +
                         "); 'fedstride data get " + std::string(name) + " --replace' replaces it");
}

DataPair read_dataset(std::string_view name, const DataOptions& options) {
  const DatasetSource& source = dataset_source(name);
  DataOptions known = options;
  known.read = read_through(options.read);
  std::optional<DataPair> from = known.read.keeps_constants ? std::nullopt : public_rows_of(known.read);
  known.read = with_public_facts(known.read, from);
  DataPair pair =
      source.make ? source.make(name.substr(std::min(name.size(), source.name.size() + 1))) : read_source(source, known, false);
  pair.train.name = name;
  note_unofficial(pair, name, source, options);
  check_loader(pair, source, known.read);
  if (pair.train.targets == Targets::classes && source.is_published)
    pair.facts.push_back("classes " + std::to_string(pair.train.classes) + " (published with data set '" + std::string(name) +
                         "')");
  if (pair.test.size() == 0 && known.read.is_test_part) {
    test_every_row(pair);
  } else if (pair.test.size() == 0) {
    if (options.read.public_test)
      throw usage_error("public-test is true; data set '" + std::string(name) +
                        "' has no test set, and rows held out from protected rows are not public");
    hold_out_test_part(pair);
  } else {
    pair.has_public_test = names_public_test(name, options.read);
  }
  std::string pictures_hash;
  if (feature_map(known.read.features)) {
    pictures_hash = content_hash(pair.train, pair.test);
    map_pictures(pair, known.read.features);
    pair.facts.push_back("features " + pair.features + " (named)");
  }
  fill_in_means(pair, known.read);
  const bool says_normalization = source.read && !pair.train.mean.empty();
  normalize(pair, known.read,
            source.is_published ? "published with data set '" + std::string(name) + "'" : "the file's keys, taken as public",
            from ? &from->train : nullptr);
  if (source.read && known.read.normalize == Normalize::automatic && !known.read.keeps_constants && !pair.train.mean.empty())
    note_normalization(pair);
  finish(pair, name);
  const std::uint64_t replaced =
      make_valid(pair.train, known.read, pair.columns) + make_valid(pair.test, known.read, pair.columns);
  if (replaced > 0)
    pair.notes.push_back(counted(replaced, "value") +
                         " of examples and labels outside the named range or classes, or not finite, " +
                         (replaced == 1 ? "was" : "were") + " replaced");
  pair.hash = pair.features.empty() ? content_hash(pair.train, pair.test) : Hash().text(pictures_hash).text(pair.features).hex();
  normalize_by_client(pair);
  if (source.read) pair.hash = with_names(std::move(pair.hash), pair);
  // Constants from another file or from keys in the data's own file follow from neither rows nor settings, so they are hashed,
  // too.
  if (from || says_normalization)
    pair.hash = Hash()
                    .text(pair.hash)
                    .values(std::span<const float>(pair.train.mean))
                    .values(std::span<const float>(pair.train.deviation))
                    .hex();
  return pair;
}

// --- shared data sets ---

/// A request for a data set: everything that determines its contents.
struct Asked {
  std::string name, data_dir, data;
  ReadSettings read;

  bool operator==(const Asked&) const = default;
};

struct SharedDataset {
  Asked asked;
  std::shared_future<std::shared_ptr<const DataPair>> pair;
};

struct Shared {
  std::mutex mutex;
  int scopes = 0;
  std::list<SharedDataset> datasets;  ///< most recently requested first
};

Shared& shared() {
  static Shared all;
  return all;
}

void lend(Dataset& rows) {
  const auto lend_list = [](auto& list) {
    if (list.empty() || list.is_lent()) return;
    auto owner = std::make_shared<const std::remove_reference_t<decltype(list.edit())>>(std::move(list.edit()));
    const std::span lent(*owner);
    list = {lent, std::move(owner)};
  };
  lend_list(rows.pixels);
  lend_list(rows.features);
}

std::shared_ptr<const DataPair> read_to_share(std::string_view name, const DataOptions& options) {
  auto pair = std::make_shared<DataPair>(read_dataset(name, options));
  lend(pair->train);
  lend(pair->test);
  return pair;
}

/// Returns another caller's future for this data set and true; if there is none, the future of `promise` and false, and this
/// caller must fulfill the promise.
auto found_or_promised(const Asked& asked, std::promise<std::shared_ptr<const DataPair>>& promise)
    -> std::pair<std::shared_future<std::shared_ptr<const DataPair>>, bool> {
  auto& all = shared();
  const std::lock_guard lock(all.mutex);
  const auto found = std::ranges::find(all.datasets, asked, &SharedDataset::asked);
  if (found != all.datasets.end()) {
    all.datasets.splice(all.datasets.begin(), all.datasets, found);
    return {found->pair, true};
  }
  all.datasets.push_front({asked, promise.get_future().share()});
  if (all.datasets.size() > SharedDatasets::kSharedDatasets) all.datasets.pop_back();
  return {all.datasets.front().pair, false};
}

bool is_shared(const DataOptions& options) {
  if (options.brought) return false;
  const std::lock_guard lock(shared().mutex);
  return shared().scopes > 0;
}

}  // namespace

SharedDatasets::SharedDatasets() {
  const std::lock_guard lock(shared().mutex);
  ++shared().scopes;
}

SharedDatasets::~SharedDatasets() {
  const std::lock_guard lock(shared().mutex);
  if (--shared().scopes == 0) shared().datasets.clear();
}

DataPair load_dataset(std::string_view name, const DataOptions& options) {
  if (!is_shared(options)) return read_dataset(name, options);
  Asked asked{std::string(name), options.data_dir, options.data, options.read};
  asked.read.threads = 0;  // the contents do not depend on it
  std::promise<std::shared_ptr<const DataPair>> promise;
  const auto [pair, is_found] = found_or_promised(asked, promise);
  if (!is_found) {
    try {
      promise.set_value(read_to_share(name, options));
    } catch (...) {
      promise.set_exception(std::current_exception());  // for callers already waiting; the next caller tries to read again
      const std::lock_guard lock(shared().mutex);
      std::erase_if(shared().datasets, [&](const SharedDataset& one) { return one.asked == asked; });
    }
  }
  return *pair.get();
}

bool names_public_test(std::string_view name, const ReadSettings& settings) {
  const DatasetSource& source = dataset_source(name);
  return settings.public_test || (source.has_public_test);
}

DataPair load_own_rows(std::string_view name, const DataOptions& options) {
  const DatasetSource& source = dataset_source(name);
  if (source.place.file.empty() && !source.read)
    throw usage_error("dataset is '" + std::string(name) +
                      "', which is built in and the same for every client; a client's own rows come from files: use --data FILE");
  DataOptions known = options;
  known.read = read_through(options.read);
  DataPair pair = read_source(source, known, true);
  pair.train.name = name;
  pair.test = {};
  pair.hash = with_names(content_hash(pair.train, pair.test), pair);
  map_pictures(pair, known.read.features);
  return pair;
}

std::string told_hash(std::string_view name, const DataOptions& options, const std::string& hash) {
  std::filesystem::path path = std::filesystem::absolute(dataset_folder(dataset_source(name), options)).lexically_normal();
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    path /= "roster.key";
  else
    path += ".roster.key";
  return keyed_hash(load_or_create_key(path), "fedstride: rows of " + hash);
}

namespace {

/// Refuses labels or tokens that are out of the form's range. Errors begin with `set`.
void check_answers(const Dataset& rows, const ExampleForm& form, const std::string& set) {
  const auto check_below = [&](const auto& numbers, int limit, const std::string& what) {
    int largest = 0;
    for (const auto number : numbers)
      if (form.targets != Targets::positions || number != kNoLabel) largest = std::max<int>(largest, number);
    if (largest >= limit)
      throw failure(set + what + " " + std::to_string(largest) + " is out of range; the experiment has " + what + "s 0 to " +
                    std::to_string(limit - 1));
  };
  if (form.targets == Targets::classes) check_below(rows.labels, form.outputs, "label");
  if (form.targets == Targets::positions) check_below(rows.position_labels, form.outputs, "label");
  if (form.vocabulary > 0) check_below(rows.tokens, form.vocabulary, "token");
}

/// Refuses a number of classes that labels cannot represent and, for other answers, a number of outputs that differs from the
/// rows'.
void check_outputs(const Dataset& rows, const ExampleForm& form, const std::string& set) {
  constexpr int kMaxClasses = 1 + std::numeric_limits<Label>::max();
  const bool labelled = form.targets == Targets::classes || form.targets == Targets::positions;
  if (labelled && (form.outputs < 2 || form.outputs > kMaxClasses))
    throw failure(set + "the experiment has " + std::to_string(form.outputs) + " classes; it must have 2 to " +
                  std::to_string(kMaxClasses));
  if (!labelled && form.outputs != rows.classes)
    throw failure(set + "its examples have " + std::to_string(rows.classes) + " " + std::string(choice_name(form.targets)) +
                  ", the experiment's " + std::to_string(form.outputs));
}

}  // namespace

void fit(Dataset& rows, const Schema& schema, const ReadSettings& settings) {
  const std::string set = "data set '" + rows.name + "': ";
  const ExampleForm& wanted = schema.form;
  if (rows.shape != wanted.shape)
    throw failure(set + "its examples are " + rows.shape.text() + ", the experiment's " + wanted.shape.text());
  if (rows.targets != wanted.targets || (rows.vocabulary > 0) != (wanted.vocabulary > 0))
    throw failure(set + "it has " + rows.form().text() + "; the experiment has " + wanted.text());
  check_outputs(rows, wanted, set);
  if (!settings.rows_are_protected) check_answers(rows, wanted, set);
  check_normalization(wanted, schema.mean, schema.deviation, set, "the experiment's");
  rows.classes = wanted.outputs;
  rows.vocabulary = wanted.vocabulary;
  rows.mean = schema.mean;
  rows.deviation = schema.deviation;
  if (!settings.rows_are_protected && !schema.fill.empty()) fill_gaps(rows, schema.fill);
  make_valid(rows, settings, schema.columns);
}

std::string content_hash(const Dataset& train, const Dataset& test) {
  Hash hash;
  for (const Dataset* part : {&train, &test}) {
    hash.text(part->shape.text()).value(static_cast<std::int32_t>(part->classes));
    hash.value(static_cast<std::uint64_t>(part->size()));
    hash.values(std::span<const Label>(part->labels));
    hash.values(std::span<const std::uint8_t>(part->pixels));
    hash.values(std::span<const float>(part->features));
    if (part->targets == Targets::classes && part->vocabulary == 0 && part->user_of_row().empty()) continue;
    hash.text(choice_name(part->targets)).value(static_cast<std::int32_t>(part->vocabulary));
    hash.values(std::span<const std::uint16_t>(part->tokens)).values(std::span<const Label>(part->position_labels));
    hash.values(std::span<const float>(part->values)).values(std::span<const std::uint32_t>(part->clients));
    for (const std::string& name : part->client_names) hash.text(name);
    if (!part->users.empty()) hash.text("users").values(std::span<const std::uint32_t>(part->users));
  }
  return hash.hex();
}

}  // namespace fedstride
