#include "data/files/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/text.hpp"
#include "data/named_facts.hpp"

namespace fedstride {
namespace {

constexpr std::int64_t kMaxFileLabel = kNoLabel - 1;

constexpr int kMaxPictureChannels = 8;  // as in data/batch.cpp

/// The shape that an example's dimensions in a file represent.
struct Layout {
  Shape shape;
  bool channels_first = false;  ///< in the file
  bool is_picture() const { return shape.height * shape.width > 1; }
};

bool is_channel_count(std::size_t size) { return size == 1 || size == 3 || size == 4; }

/// Transposes, in place, each of the consecutive rows x columns matrices in `values`.
template <class Value>
void transpose_each(std::vector<Value>& values, std::size_t rows, std::size_t columns) {
  if (rows == 1 || columns == 1) return;
  std::vector<Value> one(rows * columns);
  for (std::size_t begin = 0; begin < values.size(); begin += one.size()) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), one.size(), one.begin());
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) values[begin + column * rows + row] = one[row * columns + column];
  }
}

/// The layout for each number of dimensions. None: one number. One: columns. Two: height x width. Three: height x width x
/// channels, as in Keras, or, if the first is 1, 3 or 4 and the last is not, channels x height x width, as in PyTorch.
Layout layout_of(const std::vector<std::size_t>& dimensions) {
  const auto at = [&](std::size_t i) { return static_cast<int>(dimensions[i]); };
  if (dimensions.size() < 2) return {.shape = {1, 1, dimensions.empty() ? 1 : at(0)}};
  if (dimensions.size() == 2) return {.shape = {at(0), at(1), 1}};
  if (is_channel_count(dimensions[0]) && !is_channel_count(dimensions[2]))
    return {.shape = {at(1), at(2), at(0)}, .channels_first = true};
  return {.shape = {at(0), at(1), at(2)}};
}

/// The side of a square of this many pixels; 0 if the side is below 8 or the pixels do not form a square.
int side_of_square(std::size_t pixels) {
  constexpr int kLeastSide = 8;
  const auto side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(pixels))));
  return side >= kLeastSide && static_cast<std::size_t>(side) * static_cast<std::size_t>(side) == pixels ? side : 0;
}

/// Converts images with channels innermost to planes, in place.
void to_planes(std::vector<std::uint8_t>& pixels, const Shape& shape) {
  transpose_each(pixels, static_cast<std::size_t>(shape.height) * shape.width, static_cast<std::size_t>(shape.channels));
}

/// Converts planar examples to channels innermost, in place.
void channels_innermost(std::vector<float>& numbers, const Shape& shape) {
  transpose_each(numbers, static_cast<std::size_t>(shape.channels), static_cast<std::size_t>(shape.height) * shape.width);
}

/// Appends label(number) for each number.
void append_labels(std::vector<Label>& labels, Blocks<std::int64_t>& numbers, auto label) {
  labels.reserve(numbers.size());
  numbers.drain([&](std::span<const std::int64_t> some) {
    for (const std::int64_t number : some) labels.push_back(label(number));
  });
}

}  // namespace

Assembly::Assembly(std::string train_file, std::string test_file, const ReadSettings& settings)
    : train(std::move(train_file), shared), test(std::move(test_file), shared), settings_(settings) {
  shared.rows_are_protected = settings.rows_are_protected;
  shared.missing = settings.missing_rule();
  shared.decimal_mark = settings.decimal_mark;
  shared.offsets = named_offsets(settings.offsets);
  shared.finds_offsets = settings.finds_offsets && settings.offsets.empty() && !settings.rows_are_protected;
  shared.kept_by_types = settings.rows_are_protected || settings.kept_by_types;
  if (settings.classes > 0) shared.classes = settings.classes;
  if (settings.vocabulary > 0) shared.vocabulary = settings.vocabulary;
  if (!settings.shape.empty()) shared.shape = named_shape(settings.shape);
  if (settings.schema) shared.words = settings.schema->words;
  if (!settings.words.empty()) shared.words = named_words(settings.words);
  if (!settings.class_names.empty())
    shared.class_names = named_classes(settings.class_names);
  else if (settings.schema && settings.schema->labels_are_names)
    shared.class_names = settings.schema->classes;
  if (shared.class_names.empty()) return;
  for (const std::string& name : shared.class_names) shared.named_classes.number(name);
  const auto count = static_cast<int>(shared.class_names.size());
  if (settings.classes > 0 && settings.classes != count)
    throw usage_error("classes is " + std::to_string(settings.classes) + " and class-names has " + std::to_string(count) +
                      " names; they must agree, or set only one of them");
  shared.classes = count;
}

// Gives rows to predict an answer that nobody reads.
void Assembly::add_blank_answers() {
  for (PartBuilder* part : {&train, &test}) {
    if (part->rows_ == 0) continue;
    const auto rows = static_cast<std::size_t>(part->rows_), outputs = settings_.schema->form.answers();
    const std::vector<std::size_t> shape = outputs > 1 ? std::vector{rows, outputs} : std::vector{rows};
    if (!shared.class_names.empty())
      part->add_words("answers", std::vector<std::string>(rows, shared.class_names.front()));
    else if (settings_.schema->form.targets == Targets::values)
      part->add_answers(array_of<double>("answers", std::vector<double>(rows * outputs), shape));
    else
      part->add_answers(array_of<std::int64_t>("answers", std::vector<std::int64_t>(rows * outputs), shape));
  }
}

DataPair Assembly::finish(bool own_rows) {
  if (settings_.without_answers) add_blank_answers();
  check_counts();
  if (own_rows && shared.category_names.size() > shared.named_categories)
    throw failure(train.file_ + " has words in column '" + shared.category_names[shared.named_categories].column +
                  "'; rows that clients supply must have the experiment's categories: list them with --categories");
  DataPair pair;
  finish_examples(pair);
  order_columns(pair);
  train.find_offsets();
  finish_answers(pair, own_rows);
  finish_clients(pair);
  finish_facts(pair);
  pair.notes = std::move(notes);
  return pair;
}

void Assembly::check_counts() const {
  if (train.rows_ == 0) throw failure(train.file_ + " has no training examples");
  for (const PartBuilder* part : {&train, &test}) {
    if (part->answered_ != part->rows_)
      throw failure(part->file_ + ": " + counted(part->rows_, "example") + " and " + counted(part->answered_, "answer") +
                    "; each example needs one");
    for (const auto& [named, what] : {std::pair(&part->clients_, "clients"), std::pair(&part->users_, "users")})
      if (!named->empty() && named->size() != part->rows_)
        throw failure(part->file_ + ": " + counted(part->rows_, "example") + " and " + what + " for " +
                      std::to_string(named->size()) + "; each example needs one");
  }
  if (test.rows_ == 0) return;
  if (train.clients_.empty() && !test.clients_.empty())
    throw failure(test.file_ + " names clients, but " + train.file_ + " does not; the training set must name them too");
  const auto check_shape = [&](const std::vector<std::size_t>& tested, const std::string& key,
                               const std::vector<std::size_t>& trained, const std::string& train_key) {
    if (tested != trained)
      throw test.wrong(key, "rows of " + dimensions_text(tested) + " numbers, but of " + dimensions_text(trained) + " in " +
                                train.file_ + ", key '" + train_key + "'");
  };
  check_shape(test.each_, test.examples_key_, train.each_, train.examples_key_);
  check_shape(test.answers_each_, test.answers_key_, train.answers_each_, train.answers_key_);
  const bool tokens = train.kind_ == PartBuilder::Examples::tokens;
  if (tokens != (test.kind_ == PartBuilder::Examples::tokens) || (!tokens && train.unit_ != test.unit_))
    throw test.wrong(test.examples_key_, "a type different from that of '" + train.examples_key_ + "' in " + train.file_);
  if (train.answering_ != test.answering_)
    throw test.wrong_answers("a type different from that of '" + train.answers_key_ + "' in " + train.file_);
}

void Assembly::finish_examples(DataPair& pair) {
  const bool has_test = test.rows_ > 0;
  Layout layout = layout_of(train.each_);
  const bool bytes = train.kind_ == PartBuilder::Examples::bytes && (!has_test || test.kind_ == PartBuilder::Examples::bytes);
  if (bytes && train.each_.size() == 1 && train.between_)
    if (const int side = side_of_square(train.each_.front()); side > 0) {
      layout = {.shape = {side, side, 1}};
      notes.push_back("rows of " + std::to_string(train.each_.front()) + " 8-bit numbers are read as images of " +
                      layout.shape.text() + "; to change it: --shape " + std::to_string(train.each_.front()));
    }
  if (shared.shape && *shared.shape != layout.shape) {
    if (shared.shape->size() != layout.shape.size())
      throw failure(train.file_ + ": its examples are " + layout.shape.text() + ", which do not fit the shape " +
                    shared.shape->text());
    layout = {.shape = *shared.shape};
  }
  const bool pictures = bytes && layout.is_picture() && layout.shape.channels <= kMaxPictureChannels;
  if (layout.channels_first && !shared.planes_are_known)
    notes.push_back("examples are read as " + layout.shape.text() +
                    ", channels first in the file; to change it: --shape HEIGHTxWIDTHxCHANNELS");
  if (pictures && train.unit_ != 1) notes.emplace_back("all pixel values are multiples of 1/255, so they are stored in 8 bits");
  for (auto [part, data] : {std::pair(&train, &pair.train), std::pair(&test, &pair.test)}) {
    data->shape = layout.shape;
    if (part->rows_ == 0) continue;
    if (!pictures && part->kind_ == PartBuilder::Examples::bytes) part->bytes_to_numbers();
    const bool turned = layout.shape.channels > 1 && pictures != layout.channels_first;
    if (turned) part->keep_lent();
    data->pixels = part->lent_bytes_.is_lent() ? part->lent_bytes_ : part->bytes_.take();
    data->features = part->lent_numbers_.is_lent() ? part->lent_numbers_ : part->numbers_.take();
    data->tokens = part->tokens_.take();
    if (turned && pictures) to_planes(data->pixels.edit(), layout.shape);
    if (turned && !pictures) channels_innermost(data->features.edit(), layout.shape);
  }
  if (train.kind_ != PartBuilder::Examples::tokens) {
    const bool has_words = !settings_.words.empty();
    if (has_words || settings_.vocabulary > 0)
      throw usage_error((has_words ? "words is '" + settings_.words : "vocabulary is '" + std::to_string(settings_.vocabulary)) +
                        "'; the inputs of " + train.file_ + " are not tokens");
    return;
  }
  const int largest = 1 + std::max(train.largest_token_, test.largest_token_);
  pair.train.shape = pair.test.shape = {static_cast<int>(train.each_.front()), 1, 1};
  if (shared.rows_are_protected && !shared.vocabulary)
    throw failure(train.file_ + ": under dp the vocabulary size must not be inferred from the rows; give --vocabulary N");
  pair.train.vocabulary = pair.test.vocabulary = shared.vocabulary.value_or(largest);
  if (!shared.vocabulary)
    notes.push_back(auto_note("vocabulary",
                              "inputs are tokens; a vocabulary of " + std::to_string(largest) + " follows from the largest",
                              "--vocabulary N, or floating-point inputs for plain numbers"));
  const PartBuilder& holder = train.largest_token_ + 1 == largest ? train : test;
  if (largest > pair.train.vocabulary)
    throw holder.wrong(holder.examples_key_, "the token " + std::to_string(largest - 1) +
                                                 ", which is outside the vocabulary of " + std::to_string(pair.train.vocabulary));
}

/// Puts the named columns of an archive in the schema's order and omits all others.
void Assembly::order_columns(DataPair& pair) {
  TableColumns& table = shared.table;
  const Shape& shape = pair.train.shape;
  const bool is_archive = table.are_named && shared.header.empty();
  if (is_archive && (pair.train.features.empty() || shape.height * shape.width > 1 || table.inputs.size() != shape.size()))
    throw failure(train.file_ + ", key 'columns': " + counted(table.inputs.size(), "name") + "; the inputs are " + shape.text());
  if (!settings_.schema || !settings_.schema->columns.are_named) return;
  const std::vector<std::string>& wanted = settings_.schema->columns.inputs;
  if (!table.are_named)
    return notes.push_back(train.file_ + " names no columns; they are taken to be, in this order: " + joined(wanted));
  if (table.inputs == wanted) return;
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(table.inputs, name) - table.inputs.begin()));
    if (places.back() == table.inputs.size())
      throw failure(train.file_ + " has no column '" + name + "'; the run's columns are " + joined(wanted) +
                    ", and the file's are " + joined(table.inputs));
  }
  for (Dataset* part : {&pair.train, &pair.test}) {
    const Borrowable<float>& features = part->features;
    std::vector<float> ordered;
    ordered.reserve(features.size() / table.inputs.size() * places.size());
    for (std::size_t row = 0; row < features.size(); row += table.inputs.size())
      for (const std::size_t place : places) ordered.push_back(features[row + place]);
    part->features = std::move(ordered);
    part->shape.channels = static_cast<int>(places.size());
  }
  table.inputs = wanted;
}

Assembly::Answers Assembly::answers() const {
  if (train.answering_ == PartBuilder::Answering::words) return Answers::words;
  const bool are_whole = train.answering_ == PartBuilder::Answering::whole;
  if (train.answers_each_.empty()) return are_whole ? Answers::whole : Answers::numbers;
  const bool per_token = train.kind_ == PartBuilder::Examples::tokens && train.answers_each_ == train.each_;
  return are_whole && per_token ? Answers::whole_per_token : Answers::lists;
}

/// True if a setting says that answers are classes, or under protection how many.
bool Assembly::are_named_classes() const {
  return settings_.targets == TargetsAre::classes || (shared.rows_are_protected && shared.classes);
}

/// True for floating-point numbers and lists that stand for classes: as specified or, without protection, because whole numbers
/// repeat or lists are one-hot.
bool Assembly::stand_for_classes(Answers answers) const {
  const bool may = settings_.targets == TargetsAre::classes || settings_.targets == TargetsAre::automatic;
  if (!may || (answers != Answers::numbers && answers != Answers::lists)) return false;
  if (shared.rows_are_protected) return are_named_classes();
  if (answers == Answers::lists) return train.one_hot_ && test.one_hot_;
  if (are_named_classes()) return true;
  if (!train.are_classes_ || !test.are_classes_) return false;
  std::set<double> all = train.distinct_;
  all.insert(test.distinct_.begin(), test.distinct_.end());
  const bool repeat = all.size() <= kMaxFloatClasses && 2 * all.size() <= train.rows_ + test.rows_;
  return repeat && (!all.contains(-1) || all == std::set<double>{-1, 1});
}

void Assembly::make_classes() {
  const bool lists = !train.answers_each_.empty();
  if (lists) {
    const auto width = static_cast<int>(train.answers_each_.front());
    if (shared.classes && *shared.classes != width)
      throw failure(train.file_ + ", key '" + train.answers_key_ + "': lists of " + std::to_string(width) +
                    " numbers, one per class, but classes is " + std::to_string(*shared.classes) + "; they must agree");
    if (!shared.classes) said_.push_back("classes " + std::to_string(width) + " (the length of a list of targets)");
    shared.classes = width;
  }
  for (PartBuilder* part : {&train, &test}) lists ? part->make_classes_of_lists() : part->make_classes_of_numbers();
}

/// Notes what answers of this form became, and how to change it.
void Assembly::note_targets(Targets targets, Answers answers, int outputs) {
  std::string from = "whole numbers", change = "--targets values";
  std::string into = counted(static_cast<std::uint64_t>(outputs), "class", "classes");
  if (targets == Targets::values || targets == Targets::flags) into = choice_name(targets);
  if (targets == Targets::positions) into += " per position";
  if (targets == Targets::values) {
    from = "floating-point numbers";
    change = "--targets classes";
  } else if (answers == Answers::words) {
    from = "strings";
    change = "--class-names A,B,... for another order";
  } else if (answers == Answers::numbers) {
    from = are_named_classes() ? "floating-point numbers" : "floating-point whole numbers";
  } else if (answers == Answers::lists && targets == Targets::classes) {
    from = "one-hot lists of " + std::to_string(outputs);
    change = "--targets flags";
  }
  notes.push_back(auto_note("targets", from + " are " + into + (shared.rows_are_protected ? ", as specified" : ""), change));
}

Targets Assembly::targets_of(TargetsAre asked) const {
  const Answers form = answers();
  const bool zero_or_one = train.zero_or_one_ && test.zero_or_one_;
  const PartBuilder& other = train.zero_or_one_ ? test : train;  // the part with an answer that is not a flag
  const auto check = [&](bool fits, std::string_view valid, const PartBuilder& part) {
    if (!fits)
      throw part.wrong_answers("targets is '" + std::string(choice_name(asked)) +
                               "', which does not fit these answers; they must be " + std::string(valid));
  };
  switch (asked) {
    case TargetsAre::classes:
      check(form == Answers::whole || form == Answers::words,
            "one whole number or string per example, or lists of zeros with a single 1", train);
      return Targets::classes;
    case TargetsAre::positions:
      check(form == Answers::whole_per_token, "one whole number per token", train);
      return Targets::positions;
    case TargetsAre::values:
      check(form != Answers::words, "numbers", train);
      return Targets::values;
    case TargetsAre::flags:
      check(form != Answers::words && (zero_or_one || shared.rows_are_protected), "numbers that are 0 or 1", other);
      return Targets::flags;
    case TargetsAre::automatic:
      break;
  }
  if (shared.rows_are_protected && (!shared.classes || form == Answers::lists))
    throw failure(train.file_ + ", key '" + train.answers_key_ +
                  "': under dp the kind of answers must not be inferred from the rows; give --classes N (or --class-names), or "
                  "--targets values or flags");
  if (form == Answers::whole_per_token) return Targets::positions;
  if (form == Answers::whole || form == Answers::words) return Targets::classes;
  if (form == Answers::lists && zero_or_one) return Targets::flags;
  if (train.answering_ == PartBuilder::Answering::numbers) return Targets::values;
  throw other.wrong_answers(
      std::to_string(train.answers_each_.front()) +
      " whole numbers per example; valid: one class, one per token, or all 0 or 1 (flags); for numbers to predict use a "
      "floating-point type or --targets values");
}

void Assembly::finish_answers(DataPair& pair, bool own_rows) {
  const Answers in_file = answers();
  if (stand_for_classes(in_file)) make_classes();
  const Targets targets = targets_of(settings_.targets);
  finish_targets(pair, targets, own_rows);
  if (settings_.targets == TargetsAre::automatic) note_targets(targets, in_file, pair.train.classes);
}

void Assembly::finish_targets(DataPair& pair, Targets targets, bool own_rows) {
  pair.train.targets = pair.test.targets = targets;
  if (targets == Targets::classes)
    return shared.rows_are_protected ? finish_protected_classes(pair, own_rows) : finish_classes(pair, own_rows);
  pair.train.labels.assign(train.rows_, 0);
  pair.test.labels.assign(test.rows_, 0);
  if (targets == Targets::positions) return finish_positions(pair);
  const int each = train.answers_each_.empty() ? 1 : static_cast<int>(train.answers_each_.front());
  for (auto [part, data] : {std::pair(&train, &pair.train), std::pair(&test, &pair.test)}) {
    data->classes = each;
    data->values = part->values_.take();
    part->whole_.drain([values = &data->values, part](std::span<const std::int64_t> some) {
      for (const std::int64_t number : some)
        values->push_back(part->answers_offset_ == 0 ? static_cast<float>(number)
                                                     : static_cast<float>(static_cast<double>(number) - part->answers_offset_));
    });
    if (targets == Targets::flags && shared.rows_are_protected)
      for (float& flag : data->values) flag = flag > 0.5F ? 1 : 0;
  }
  if (const auto offset = train.answers_span_.offset();
      offset && shared.finds_offsets && targets == Targets::values && each == 1 && !train.columns_)
    shared.offsets.push_back({train.answers_key_, *offset});
  pair.train.class_names = shared.class_names;
}

// If rows are protected, classes must be specified, and a label without a class counts as class 0.
void Assembly::finish_protected_classes(DataPair& pair, bool own_rows) {
  if (!shared.classes && !own_rows)
    throw failure(train.file_ + ", key '" + train.answers_key_ +
                  "': under dp the number of classes must not be inferred from the rows; give --classes N (or --class-names)");
  const std::int64_t classes = shared.classes.value_or(static_cast<int>(kMaxFileLabel) + 1);
  const auto label = [&](std::int64_t number) {
    const bool valid = number >= 0 && number < classes;
    shared.replaced += valid ? 0 : 1;
    return valid ? static_cast<Label>(number) : Label{0};
  };
  append_labels(pair.train.labels, train.whole_, label);
  append_labels(pair.test.labels, test.whole_, label);
  pair.train.classes = pair.test.classes = static_cast<int>(classes);
  pair.train.class_names = shared.class_names;
  pair.labels_are_names = !shared.named_classes.empty();
}

void Assembly::finish_classes(DataPair& pair, bool own_rows) {
  std::vector<std::int64_t> numbers[2] = {train.whole_.take(), test.whole_.take()};
  // The part that has this label.
  const auto holder = [&](std::int64_t number) -> const PartBuilder& {
    return std::ranges::find(numbers[0], number) == numbers[0].end() ? test : train;
  };
  const bool are_words = train.answering_ == PartBuilder::Answering::words;
  if (are_words && settings_.schema && !settings_.schema->labels_are_names && shared.named_classes.empty())
    throw train.wrong_answers("labels are names (" + joined(shared.labels.all()) + "); the run's are whole numbers, 0 to " +
                              std::to_string(settings_.schema->form.outputs - 1) +
                              "; --class-names says which names stand for them, in order");
  pair.labels_are_names = are_words || !shared.named_classes.empty();
  if (are_words && !shared.named_classes.empty()) {
    pair.train.class_names = shared.class_names;
  } else if (are_words) {
    if (own_rows)
      throw train.wrong_answers(
          "labels are strings; rows that clients supply must use the experiment's class numbers, from 0, or --class-names with "
          "its "
          "classes in order");
    const auto places = shared.labels.sort();
    for (auto& some : numbers)
      for (std::int64_t& number : some) number = places[static_cast<std::size_t>(number)];
    pair.train.class_names = shared.labels.all();
  } else {
    std::set<std::int64_t> distinct;
    for (const auto& some : numbers)
      for (const std::int64_t number : some)
        if (distinct.size() <= kMaxFileLabel + 1) distinct.insert(number);
    const std::vector<std::int64_t> all(distinct.begin(), distinct.end());
    if (all.front() < 0 && own_rows)
      throw holder(all.front())
          .wrong_answers("label " + std::to_string(all.front()) +
                         " is negative; rows that clients supply must use the experiment's "
                         "class numbers, from 0, or --class-names with its classes in order");
    if (all.front() < 0 && std::ranges::find(numbers[0], all.front()) == numbers[0].end())
      throw test.wrong_answers("label " + std::to_string(all.front()) + " is negative, and no training row has it");
    if (shared.classes && all.back() >= *shared.classes)
      throw holder(all.back())
          .wrong_answers("label " + std::to_string(all.back()) + " is out of range; valid: 0 to " +
                         std::to_string(*shared.classes - 1));
    if (all.front() == 0 || own_rows || shared.classes) {
      if (all.back() > kMaxFileLabel)
        throw holder(all.back())
            .wrong_answers("label " + std::to_string(all.back()) + " is out of range; valid: 0 to " +
                           std::to_string(kMaxFileLabel) + ", or --targets values for numbers to predict");
      pair.train.class_names = shared.class_names;
    } else {
      if (all.size() > kMaxFileLabel + 1)
        throw train.wrong_answers("more than " + std::to_string(kMaxFileLabel + 1) +
                                  " classes; say --targets values for numbers to predict");
      for (auto& some : numbers)
        for (std::int64_t& number : some) number = std::ranges::lower_bound(all, number) - all.begin();
      for (const std::int64_t number : all) pair.train.class_names.push_back(std::to_string(number));
      pair.labels_are_names = true;
      notes.push_back("labels are " + std::to_string(all.front()) + " to " + std::to_string(all.back()) +
                      " in the file and become classes 0 to " + std::to_string(all.size() - 1) + ", in this order");
    }
  }
  std::int64_t largest = 0;
  for (const auto& some : numbers)
    if (!some.empty()) largest = std::max(largest, *std::ranges::max_element(some));
  if (largest > kMaxFileLabel)
    throw train.wrong_answers("more than " + std::to_string(kMaxFileLabel + 1) +
                              " classes; say --targets values for numbers to predict");
  pair.train.classes = pair.test.classes = shared.classes.value_or(static_cast<int>(largest) + 1);
  pair.train.labels.assign(numbers[0].begin(), numbers[0].end());
  pair.test.labels.assign(numbers[1].begin(), numbers[1].end());
}

void Assembly::finish_positions(DataPair& pair) {
  int classes = 0;
  const auto label = [&](std::int64_t number) {
    if (number < 0) return kNoLabel;
    const auto known = static_cast<Label>(number);
    if (known == kNoLabel || (shared.rows_are_protected && shared.classes && known >= *shared.classes)) return kNoLabel;
    classes = std::max(classes, known + 1);
    return known;
  };
  for (auto [part, data] : {std::pair(&train, &pair.train), std::pair(&test, &pair.test)}) {
    append_labels(data->position_labels, part->whole_, label);
    if (shared.classes && classes > *shared.classes)
      throw part->wrong_answers("label " + std::to_string(classes - 1) + " is out of range; valid: 0 to " +
                                std::to_string(*shared.classes - 1) + ", or negative to ignore a position");
  }
  pair.train.classes = pair.test.classes = shared.classes.value_or(classes);
  pair.train.class_names = shared.class_names;
}

void Assembly::finish_clients(DataPair& pair) {
  pair.train.clients = train.clients_.take();
  pair.test.clients = test.clients_.take();
  pair.train.users = train.users_.take();
  if (pair.train.clients.empty()) return;
  if (shared.clients.are_whole()) {
    const auto places = shared.clients.sort();
    for (Dataset* data : {&pair.train, &pair.test})
      for (std::uint32_t& client : data->clients) client = places[client];
  }
  pair.train.client_names = pair.test.client_names = shared.clients.all();
}

void Assembly::finish_facts(DataPair& pair) {
  pair.train.binary_columns = pair.test.binary_columns = static_cast<int>(shared.binary_columns);
  pair.columns = shared.table;
  pair.columns.categories = shared.category_names;
  pair.has_decimal_commas = shared.decimal_mark == DecimalMark::comma;
  pair.words = shared.words;
  pair.numbers = settings_.numbers + (settings_.dates ? (settings_.numbers.empty() ? "" : ",") + std::string(kDates) : "");
  for (std::size_t i = 0; i < shared.category_names.size(); ++i)
    pair.facts.push_back("categories of '" + shared.category_names[i].column + "': " + joined(shared.category_names[i].words) +
                         (i < shared.named_categories ? " (named)" : " (of the rows)"));
  pair.offsets = offsets_text(shared.offsets);
  if (!settings_.offsets.empty()) pair.facts.push_back("offsets " + pair.offsets + " (subtracted)");
  pair.train.mean = shared.mean;
  pair.train.deviation = shared.deviation;
  if (settings_.classes > 0 || !settings_.class_names.empty())
    pair.facts.push_back("classes " + std::to_string(*shared.classes) + " (named)");
  if (!settings_.shape.empty()) pair.facts.push_back("shape " + shared.shape->text() + " (named)");
  if (settings_.vocabulary > 0) pair.facts.push_back("vocabulary " + std::to_string(settings_.vocabulary) + " (named)");
  if (!settings_.words.empty()) pair.facts.push_back("words: " + std::to_string(shared.words.size()) + " (named)");
  pair.facts.insert(pair.facts.end(), said_.begin(), said_.end());
  if (shared.replaced > 0)
    notes.push_back(counted(shared.replaced, "answer") + " or token" + (shared.replaced == 1 ? "" : "s") +
                    " outside the named classes or vocabulary, or not finite, replaced by 0");
}

}  // namespace fedstride
