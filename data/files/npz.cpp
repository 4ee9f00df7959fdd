#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "core/files.hpp"
#include "core/text.hpp"
#include "data/files/npz_arrays.hpp"
#include "data/files/readers.hpp"
#include "data/input_file.hpp"
#include "data/named_facts.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

using ArchiveReader = std::unique_ptr<struct archive, decltype(&archive_read_free)>;

constexpr std::size_t kMaxNames = 12;  // in a message
constexpr std::size_t kUnpackedAtOnce = std::size_t{1} << 20;

class NpzReader {
 public:
  NpzReader(struct archive* reader, std::string file, std::uint64_t size)
      : reader_(reader), file_(std::move(file)), size_(size) {}

  /// Returns the arrays with these names; `others` receives the other names present.
  std::map<std::string, Array> read(const std::vector<std::string>& wanted, std::vector<std::string>& others) {
    std::map<std::string, Array> arrays;
    archive_entry* entry = nullptr;
    int code = ARCHIVE_OK;
    while ((code = archive_read_next_header(reader_, &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
      const char* path = archive_entry_pathname(entry);
      std::string key = path == nullptr ? "" : path;
      if (!key.ends_with(".npy")) continue;
      key.resize(key.size() - 4);
      if (std::ranges::find(wanted, key) == wanted.end()) {
        if (others.size() < kMaxNames) others.push_back(one_line(key));
        continue;
      }
      if (arrays.contains(key)) throw failure(file_ + " has the array '" + key + "' twice");
      arrays.emplace(key, array(key));
    }
    if (code != ARCHIVE_EOF) throw broken();
    return arrays;
  }

 private:
  Error broken() const {
    const char* why = archive_error_string(reader_);
    return failure(file_ + " is not a complete NumPy archive (.npz): " +
                   (why == nullptr ? "it cannot be read" : one_line(std::string(trimmed(why)))));
  }

  // Appends up to `count` bytes of the entry; returns how many were available.
  std::size_t append(std::vector<std::uint8_t>& bytes, std::size_t count) {
    const std::size_t before = bytes.size();
    bytes.resize(before + count);
    std::size_t done = 0;
    while (done < count) {
      const la_ssize_t some = archive_read_data(reader_, bytes.data() + before + done, count - done);
      if (some < 0) throw broken();
      if (some == 0) break;
      done += static_cast<std::size_t>(some);
    }
    bytes.resize(before + done);
    return done;
  }

  Array array(const std::string& key) {
    const std::string where = file_ + ", key '" + key + "'";
    std::vector<std::uint8_t> beginning;
    std::size_t needed = 0;
    NpyHeader header;
    for (;;) {
      header = read_npy_header({reinterpret_cast<const char*>(beginning.data()), beginning.size()}, where, needed);
      if (beginning.size() >= needed) break;
      if (append(beginning, needed - beginning.size()) == 0) throw failure(where + " ends inside its header");
    }
    Array result = std::move(header.array);
    result.key = key;
    const std::uint64_t most = most_unpacked(size_);
    std::uint64_t total = result.item;
    for (const std::size_t size : result.shape)
      if (__builtin_mul_overflow(total, size, &total) || total > most)
        throw failure(where + " claims to be " + result.type_text() + "; a file of " + std::to_string(size_) +
                      " bytes may hold at most " + std::to_string(most));
    result.bytes.assign(beginning.begin() + static_cast<std::ptrdiff_t>(header.begin), beginning.end());
    // Memory grows as bytes arrive; it is reserved at once only if the file is long enough.
    if (total <= size_) result.bytes.reserve(total);
    while (result.bytes.size() < total) {
      const std::size_t count = std::min<std::uint64_t>(total - result.bytes.size(), kUnpackedAtOnce);
      if (append(result.bytes.edit(), count) < count)
        throw failure(where + " is truncated: " + result.type_text() + " needs " + std::to_string(total) + " bytes but has " +
                      std::to_string(result.bytes.size()));
    }
    std::vector<std::uint8_t> more;
    if (append(more, 1) != 0) throw failure(where + " has more bytes than " + result.type_text() + " needs");
    to_native(result, header.big_endian, header.fortran);
    return result;
  }

  struct archive* reader_;
  std::string file_;
  std::uint64_t size_;
};

// The names under which people store inputs and answers, the first one present in an archive counts.
constexpr std::string_view kInputNames[] = {"x", "X", "images", "data", "inputs"};
constexpr std::string_view kLabelNames[] = {"y", "Y", "labels", "label", "targets", "target"};

/// "images" for "train_images" and "images_train".
std::string without_part(std::string name) {
  if (name.starts_with("train_")) name.erase(0, 6);
  if (name.ends_with("_train")) name.erase(name.size() - 6);
  return name;
}

std::vector<std::string> names_of(const std::string& key) {
  return {key, key + "_train", "train_" + key, key + "_test", "test_" + key};
}

/// The key that a setting names, or the first of the usual ones of which the archive has an array.
std::string key_of(const std::string& named, std::span<const std::string_view> usual,
                   const std::map<std::string, Array>& arrays) {
  if (!named.empty()) return without_part(named);
  for (const std::string_view key : usual)
    for (const std::string& name : names_of(std::string(key)))
      if (arrays.contains(name)) return std::string(key);
  return std::string(usual.front());
}
constexpr const char* kClientKey = "client";
std::string client_key(const ReadSettings& settings) {
  return settings.client_column.empty() ? kClientKey : settings.client_column;
}
bool refuses_clients(const ReadSettings& settings) { return settings.users_are_clients && client_key(settings) != kClientKey; }

class NpzParts {
 public:
  NpzParts(std::map<std::string, Array> arrays, std::string file, const ReadSettings& settings, std::vector<std::string> others)
      : file_(std::move(file)),
        inputs_(key_of(settings.inputs, kInputNames, arrays)),
        label_(key_of(settings.label, kLabelNames, arrays)),
        client_(client_key(settings)),
        user_(settings.user_column),
        must_have_users_(!user_.empty() && !settings.may_lack_clients),
        refuses_clients_(refuses_clients(settings)),
        without_answers_(settings.without_answers),
        others_(std::move(others)),
        arrays_(std::move(arrays)) {}

  void give(Assembly& into, bool as_test) {
    into.file_says("vocabulary", said("vocabulary"), &SharedNames::vocabulary);
    into.file_says("classes", said("classes"), &SharedNames::classes);
    for (const auto& [key, said] : {std::pair("mean", &into.shared.mean), std::pair("deviation", &into.shared.deviation)}) {
      std::vector<float> own = said_numbers(key);
      if (!own.empty() && !said->empty() && own != *said)
        throw failure(file_ + ", key '" + key + "': other numbers than in the first file; all files must have the same");
      if (!own.empty()) *said = std::move(own);
    }
    if (into.shared.mean.size() != into.shared.deviation.size())
      throw failure(file_ + ": 'mean' has " + counted(into.shared.mean.size(), "number") + ", 'deviation' " +
                    std::to_string(into.shared.deviation.size()) + "; both are needed, one per channel or column");
    into.file_says("shape", said_shape(), &SharedNames::shape);
    take_columns(into);
    take_names(into);
    if (const std::optional<Array> clients = refuses_clients_ ? training(kClientKey) : std::nullopt; clients)
      throw usage_error("user-column is '" + client_ + "', but " + file_ + " names clients by '" + clients->key +
                        "'; valid: client-column '" + clients->key + "' as well, or client-column '" + client_ +
                        "', so that each user is a client, or users' rows dealt out to clients by --partition file");
    const std::optional<Array> x = training(inputs_);
    if (!x) throw missing(inputs_);
    if (without_answers_) return into.train.add_examples(*x);
    add(as_test ? into.test : into.train, *x, training(label_), label_, training(client_));
    const std::optional<Array> tested = testing(inputs_);
    for (const std::string& other : others_)
      if (other.find("test") != other.npos || other.find("val") != other.npos)
        into.notes.push_back("array '" + other + "' of " + file_ + " is not read; " + inputs_ + "_test or test_" + inputs_ +
                             " is the test part");
    if (tested) {
      if (as_test) throw failure(file_ + " has its own test set ('" + tested->key + "') but is itself the test file");
      add(into.test, *tested, testing(label_), label_ + "_test", testing(client_), true);
    }
  }

 private:
  Error missing(const std::string& key) const {
    return failure(file_ + " has no array '" + key + "'" + (others_.empty() ? "" : ", but " + joined(others_)) +
                   "; valid: x and y (or x_train and y_train), optionally client, x_test, y_test and client_test; --inputs and "
                   "--label give x and y other names");
  }

  std::optional<Array> array_of(const std::string& key) {
    auto found = arrays_.extract(key);
    return found ? std::optional(std::move(found.mapped())) : std::nullopt;
  }

  // The training array with this name.
  std::optional<Array> training(const std::string& key) {
    std::optional<Array> plain = array_of(key);
    std::optional<Array> train = either(key + "_train", "train_" + key);
    if (plain && train) throw failure(file_ + " has '" + key + "' and '" + train->key + "'; use only one of them");
    return plain ? std::move(plain) : std::move(train);
  }
  std::optional<Array> testing(const std::string& key) { return either(key + "_test", "test_" + key); }

  std::optional<Array> either(const std::string& one, const std::string& other) {
    std::optional<Array> first = array_of(one);
    std::optional<Array> second = array_of(other);
    if (first && second) throw failure(file_ + " has '" + one + "' and '" + other + "'; use only one of them");
    return first ? std::move(first) : std::move(second);
  }

  void add(PartBuilder& part, const Array& x, const std::optional<Array>& y, const std::string& key,
           const std::optional<Array>& client, bool as_test = false) {
    if (!y) throw missing(key);
    for (const Array* other : {&*y, client ? &*client : &*y})
      if (!x.shape.empty() && !other->shape.empty() && other->rows() != x.rows())
        throw failure(file_ + ": '" + x.key + "' has " + counted(x.rows(), "row") + ", '" + other->key + "' " +
                      std::to_string(other->rows()) + "; each example needs one");
    part.add_examples(x);
    part.add_answers(*y);
    if (client) part.add_clients(*client);
    if (user_.empty()) return;
    const std::optional<Array> user = as_test ? testing(user_) : training(user_);
    if (!user && must_have_users_) throw missing(as_test ? user_ + "_test" : user_);
    if (user) part.add_users(*user);
  }

  std::vector<float> said_numbers(const std::string& key) {
    const std::optional<Array> array = array_of(key);
    std::vector<float> numbers;
    if (!array) return numbers;
    const std::size_t count = array->is_text() ? 0 : array->rows() * array->row_size();
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(array->number(i)));
    if (count == 0 || !std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); }))
      throw failure(file_ + ", key '" + key + "': it must have finite numbers, one per channel or column");
    return numbers;
  }

  // A list of texts; empty if the array is something else, nothing if there is none.
  std::optional<std::vector<std::string>> said_texts(const std::string& key) {
    const std::optional<Array> array = array_of(key);
    if (!array) return std::nullopt;
    std::vector<std::string> texts;
    const std::size_t count = array->is_text() && array->shape.size() == 1 ? array->rows() : 0;
    for (std::size_t i = 0; i < count; ++i) texts.push_back(one_line(array->text(i)));
    return texts;
  }

  // Takes names of classes and words unless settings or another part specify them.
  void take_names(Assembly& into) {
    const std::vector<std::string> classes = said_texts("class_names").value_or(std::vector<std::string>());
    if (!classes.empty() && std::cmp_not_equal(classes.size(), into.shared.classes.value_or(0)))
      throw failure(file_ + ", key 'class_names': " + counted(classes.size(), "name") + "; classes is " +
                    std::to_string(into.shared.classes.value_or(0)) + "; they must agree");
    if (into.shared.class_names.empty()) into.shared.class_names = classes;
    if (auto words = said_texts("words"); words && into.shared.words.empty()) into.shared.words = std::move(*words);
    for (std::string& note : said_texts("notes").value_or(std::vector<std::string>())) into.notes.push_back(std::move(note));
  }

  // Takes the names of the input columns, which must be in the same order in both parts.
  void take_columns(Assembly& into) {
    const std::optional<std::vector<std::string>> said = said_texts("columns");
    if (!said) return;
    const std::vector<std::string>& names = *said;
    std::vector<std::string> sorted = names;
    std::ranges::sort(sorted);
    if (names.empty() || std::ranges::adjacent_find(sorted) != sorted.end())
      throw failure(file_ + ", key 'columns': it must have the names of the inputs' columns, none of them twice");
    if (into.shared.table.are_named && into.shared.table.inputs != names)
      throw failure(file_ + ", key 'columns': " + joined(names) + "; the training part's are " +
                    joined(into.shared.table.inputs));
    into.shared.table = {.are_named = true, .inputs = names};
  }

  std::optional<Shape> said_shape() {
    const std::optional<Array> array = array_of("shape");
    if (!array) return std::nullopt;
    std::string text;
    const std::size_t count = array->is_whole() ? array->rows() * array->row_size() : 0;
    for (std::size_t i = 0; i < count && i < 4; ++i) text += (i == 0 ? "" : "x") + std::to_string(array->whole(i));
    return named_shape(text);
  }

  std::optional<int> said(const std::string& key) {
    const std::optional<Array> array = array_of(key);
    if (!array) return std::nullopt;
    const bool one = array->is_whole() && array->rows() * array->row_size() == 1;
    const std::int64_t number = one ? array->whole(0) : 0;
    if (number < 1 || number > kNoLabel)
      throw failure(file_ + ", key '" + key + "': it must be one whole number from 1 to " + std::to_string(kNoLabel));
    return static_cast<int>(number);
  }

  std::string file_;
  std::string inputs_;
  std::string label_;
  std::string client_;
  std::string user_;  ///< empty: users are not named beside clients
  bool must_have_users_;
  bool refuses_clients_;
  bool without_answers_;
  std::vector<std::string> others_;
  std::map<std::string, Array> arrays_;
};

ArchiveReader zip_reader() {
  ArchiveReader reader(archive_read_new(), archive_read_free);
  if (!reader) throw failure("libarchive cannot be initialized");
  archive_read_support_format_zip_seekable(reader.get());  // reads the directory at the end, which a truncated file lacks
  return reader;
}

}  // namespace

std::vector<std::string> npz_keys(const ReadSettings& settings) {
  std::vector<std::string> keys{"classes", "vocabulary",  "mean",  "deviation", "shape",
                                "columns", "class_names", "words", "notes"};
  std::vector<std::string> names{client_key(settings)};
  for (const auto& [named, usual] : {std::pair(&settings.inputs, std::span<const std::string_view>(kInputNames)),
                                     std::pair(&settings.label, std::span<const std::string_view>(kLabelNames))})
    if (named->empty())
      names.insert(names.end(), usual.begin(), usual.end());
    else
      names.push_back(without_part(*named));
  if (!settings.user_column.empty()) names.push_back(settings.user_column);
  if (refuses_clients(settings)) names.push_back(kClientKey);
  for (const std::string& name : names) std::ranges::copy(names_of(name), std::back_inserter(keys));
  return keys;
}

namespace {

// A run's settings for its table may stand when other rows are read through its schema.
void refuse_table_settings(const ReadSettings& settings, const std::string& file) {
  if (settings.schema) return;
  const ReadSettings usual;
  const std::pair<const char*, bool> all[] = {{"drop-columns", !settings.drop_columns.empty()},
                                              {"categories", !settings.categories.empty()},
                                              {"header", settings.header != usual.header},
                                              {"decimal-mark", settings.decimal_mark != usual.decimal_mark},
                                              {"encoding", settings.encoding != usual.encoding},
                                              {"numbers", !settings.numbers.empty()},
                                              {"dates", settings.dates}};
  for (const auto& [setting, is_given] : all)
    if (is_given)
      throw usage_error(std::string(setting) + " is given; it applies to tables, and " + file + " has arrays: leave it out");
}

}  // namespace

void take_arrays(std::map<std::string, Array> arrays, const std::string& name, const ReadSettings& settings, Assembly& into,
                 bool as_test, std::vector<std::string> others) {
  refuse_table_settings(settings, name);
  NpzParts(std::move(arrays), name, settings, std::move(others)).give(into, as_test);
}

std::map<std::string, Array> npz_arrays(const fs::path& path, const std::vector<std::string>& wanted,
                                        std::vector<std::string>& others) {
  const std::string name = "'" + path.string() + "'";
  const std::uint64_t size = size_of_file(path);
  const ArchiveReader reader = zip_reader();
  if (archive_read_open_filename(reader.get(), path.c_str(), std::size_t{1} << 18) != ARCHIVE_OK)
    throw failure(name + " is not a complete NumPy archive (.npz): " + archive_error_string(reader.get()));
  return NpzReader(reader.get(), name, size).read(wanted, others);
}

void read_npz(const fs::path& path, const ReadSettings& settings, Assembly& into, bool as_test, const std::string& name) {
  std::vector<std::string> others;
  auto arrays = npz_arrays(path, npz_keys(settings), others);
  take_arrays(std::move(arrays), name.empty() ? "'" + path.string() + "'" : name, settings, into, as_test, std::move(others));
}

void read_npz(std::span<const std::uint8_t> bytes, const ReadSettings& settings, Assembly& into) {
  const ArchiveReader reader = zip_reader();
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
    throw failure("the bytes are not a complete NumPy archive");
  const std::string name = "the file";
  std::vector<std::string> others;
  take_arrays(NpzReader(reader.get(), name, bytes.size()).read(npz_keys(settings), others), name, settings, into);
}

}  // namespace fedstride
