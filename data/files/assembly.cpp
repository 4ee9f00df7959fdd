#include "data/files/assembly.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "data/files/layout.hpp"
#include "data/named_facts.hpp"

namespace fedstride {
namespace {

constexpr std::int64_t kMaxFileLabel = kNoLabel - 1;

std::vector<Label> as_labels(Blocks<std::int64_t>& numbers) {
  std::vector<Label> labels;
  labels.reserve(numbers.size());
  numbers.drain([&](std::span<const std::int64_t> some) {
    for (const std::int64_t number : some) labels.push_back(number < 0 ? kNoLabel : static_cast<Label>(number));
  });
  return labels;
}

}  // namespace

Assembly::Assembly(std::string train_file, std::string test_file, const ReadSettings& settings)
    : train(std::move(train_file), shared), test(std::move(test_file), shared), settings_(settings) {
  shared.rows_are_protected = settings.rows_are_protected;
  if (settings.classes > 0) shared.classes = settings.classes;
  if (settings.vocabulary > 0) shared.vocabulary = settings.vocabulary;
  if (!settings.shape.empty()) shared.shape = named_shape(settings.shape);
  if (!settings.words.empty()) shared.words = named_words(settings.words);
  if (settings.class_names.empty()) return;
  shared.class_names = named_classes(settings.class_names);
  for (const std::string& name : shared.class_names) shared.named_classes.number(name);
  const auto count = static_cast<int>(shared.class_names.size());
  if (settings.classes > 0 && settings.classes != count)
    throw usage_error("classes is " + std::to_string(settings.classes) + " and class-names has " + std::to_string(count) +
                      " names; they must agree, or name one of them");
  shared.classes = count;
}

void Assembly::file_says(const char* fact, std::optional<int> number, std::optional<int> SharedNames::*member) {
  if (!number || shared.*member) return;
  shared.*member = number;
  said_.push_back(std::string(fact) + " " + std::to_string(*number) + " (the file's key, taken as public)");
}

DataPair Assembly::finish(bool own_rows) {
  check_counts();
  DataPair pair;
  finish_examples(pair);
  finish_answers(pair, settings_.targets, own_rows);
  finish_clients(pair);
  finish_facts(pair);
  pair.notes = std::move(notes);
  return pair;
}

void Assembly::check_counts() const {
  if (train.rows_ == 0) throw failure(train.file_ + " holds no training example");
  for (const PartBuilder* part : {&train, &test}) {
    if (part->answered_ != part->rows_)
      throw failure(part->file_ + ": " + counted(part->rows_, "example") + " and " + counted(part->answered_, "answer") +
                    "; each example needs one");
    if (!part->clients_.empty() && part->clients_.size() != part->rows_)
      throw failure(part->file_ + ": " + counted(part->rows_, "example") + " and the clients of " +
                    std::to_string(part->clients_.size()) + "; each example needs one");
  }
  if (test.rows_ == 0) return;
  if (train.clients_.empty() && !test.clients_.empty())
    throw failure(test.file_ + " names clients, and " + train.file_ + " none; the training part must name them too");
  if (train.each_ != test.each_ || train.answers_each_ != test.answers_each_)
    throw failure(test.file_ + ": its examples and answers are of another shape than those of " + train.file_);
  const bool tokens = train.kind_ == PartBuilder::Examples::tokens;
  if (tokens != (test.kind_ == PartBuilder::Examples::tokens) || (!tokens && train.unit_ != test.unit_))
    throw failure(test.file_ + ": its examples are of another type than those of " + train.file_);
  if (train.answering_ != test.answering_)
    throw failure(test.file_ + ": its answers are of another type than those of " + train.file_);
}

void Assembly::finish_examples(DataPair& pair) {
  const bool has_test = test.rows_ > 0;
  Layout layout = layout_of(train.each_);
  const bool bytes = train.kind_ == PartBuilder::Examples::bytes && (!has_test || test.kind_ == PartBuilder::Examples::bytes);
  if (bytes && train.each_.size() == 1 && train.between_)
    if (const int side = side_of_square(train.each_.front()); side > 0) {
      layout = {.shape = {side, side, 1}};
      notes.push_back("rows of " + std::to_string(train.each_.front()) + " numbers of 8 bits are read as pictures of " +
                      layout.shape.text());
    }
  if (shared.shape && *shared.shape != layout.shape) {
    if (shared.shape->size() != layout.shape.size())
      throw failure(train.file_ + ": its examples are " + layout.shape.text() + ", which cannot have the shape " +
                    shared.shape->text());
    layout = {.shape = *shared.shape};
  }
  const bool pictures = bytes && layout.is_picture() && layout.shape.channels <= kMaxPictureChannels;
  if (layout.channels_first && !shared.planes_are_known)
    notes.push_back("examples are read as " + layout.shape.text() + ", channels first in the file");
  if (pictures && train.unit_ != 1) notes.emplace_back("all numbers of the pictures are whole 255ths: they are kept in 8 bits");
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
  if (train.kind_ != PartBuilder::Examples::tokens) return;
  const int largest = 1 + std::max(train.largest_token_, test.largest_token_);
  pair.train.shape = pair.test.shape = {static_cast<int>(train.each_.front()), 1, 1};
  if (shared.rows_are_protected && !shared.vocabulary)
    throw failure(train.file_ + ": the size of the vocabulary must not be read off the rows under dp; name it: --vocabulary N");
  pair.train.vocabulary = pair.test.vocabulary = shared.vocabulary.value_or(largest);
  if (largest > pair.train.vocabulary)
    throw failure(train.file_ + " has the token " + std::to_string(largest - 1) + "; its vocabulary has " +
                  std::to_string(pair.train.vocabulary));
}

Targets Assembly::targets_of(TargetsAre asked) const {
  using Answering = PartBuilder::Answering;
  const Answering kind = train.answering_;
  const std::vector<std::size_t>& each = train.answers_each_;
  const bool zero_or_one = train.zero_or_one_ && test.zero_or_one_;
  const bool by_position =
      kind == Answering::whole && train.kind_ == PartBuilder::Examples::tokens && each.size() == 1 && each == train.each_;
  const auto refused = [&](std::string_view valid) {
    return failure(train.file_ + ", key '" + train.answers_key_ + "': targets is '" + std::string(choice_name(asked)) +
                   "', which these answers cannot be; valid: " + std::string(valid));
  };
  switch (asked) {
    case TargetsAre::classes:
      if (!each.empty() || kind == Answering::numbers) throw refused("a whole number or a text an example");
      return Targets::classes;
    case TargetsAre::positions:
      if (!by_position) throw refused("as many whole numbers an example as it has tokens");
      return Targets::positions;
    case TargetsAre::values:
      if (kind == Answering::words) throw refused("numbers");
      return Targets::values;
    case TargetsAre::flags:
      if (kind == Answering::words || (!zero_or_one && !shared.rows_are_protected)) throw refused("numbers that are 0 or 1");
      return Targets::flags;
    case TargetsAre::automatic:
      break;
  }
  if (shared.rows_are_protected) {
    if (by_position && shared.classes) return Targets::positions;
    if (each.empty() && shared.classes) return Targets::classes;
    throw failure(train.file_ + ", key '" + train.answers_key_ +
                  "': the kind of answers must not be read off the rows under dp; name it: --classes N (or --class-names), or "
                  "--targets values or flags");
  }
  if (kind == Answering::numbers) return Targets::values;
  if (each.empty()) return Targets::classes;
  if (by_position) return Targets::positions;
  if (zero_or_one) return Targets::flags;
  throw failure(
      train.file_ + ", key '" + train.answers_key_ + "': " + std::to_string(each.front()) +
      " whole numbers an example; valid: one class, as many as an example has tokens, or all 0 or 1 (flags). Numbers to "
      "predict have a floating type, or --targets values");
}

void Assembly::finish_answers(DataPair& pair, TargetsAre asked, bool own_rows) {
  const bool as_classes =
      asked == TargetsAre::classes || (asked == TargetsAre::automatic && shared.rows_are_protected && shared.classes);
  if (as_classes && train.answering_ == PartBuilder::Answering::numbers) {
    for (PartBuilder* part : {&train, &test}) {
      part->values_.drain([&](std::span<const float> some) {
        for (float value : some) {
          if (shared.rows_are_protected && !(value == std::floor(value) && std::abs(value) <= 1e9F)) value = -1;
          if (value != std::floor(value) || std::abs(value) > 1e9F)
            throw failure(part->file_ + ", key '" + part->answers_key_ + "': " + number_text(value) +
                          " is no class; valid are whole numbers");
          part->whole_.push(static_cast<std::int64_t>(value));
        }
      });
      if (part->rows_ > 0) part->answering_ = PartBuilder::Answering::whole;
    }
  }
  const Targets targets = targets_of(asked);
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
    part->whole_.drain([values = &data->values](std::span<const std::int64_t> some) {
      for (const std::int64_t number : some) values->push_back(static_cast<float>(number));
    });
    if (targets == Targets::flags && shared.rows_are_protected)
      for (float& flag : data->values) flag = flag > 0.5F ? 1 : 0;
  }
  pair.train.class_names = shared.class_names;
}

// Classes are named, and a label that has none counts as class 0.
void Assembly::finish_protected_classes(DataPair& pair, bool own_rows) {
  if (!shared.classes && !own_rows)
    throw failure(train.file_ + ", key '" + train.answers_key_ +
                  "': the number of classes must not be read off the rows under dp; name it: --classes N (or --class-names)");
  const std::int64_t classes = shared.classes.value_or(static_cast<int>(kMaxFileLabel) + 1);
  for (auto [part, labels] : {std::pair(&train, &pair.train.labels), std::pair(&test, &pair.test.labels)}) {
    labels->reserve(part->whole_.size());
    part->whole_.drain([&, labels = labels](std::span<const std::int64_t> some) {
      for (const std::int64_t number : some) {
        const bool valid = number >= 0 && number < classes;
        shared.replaced += valid ? 0 : 1;
        labels->push_back(valid ? static_cast<Label>(number) : Label{0});
      }
    });
  }
  pair.train.classes = pair.test.classes = static_cast<int>(classes);
  pair.train.class_names = shared.class_names;
}

void Assembly::finish_classes(DataPair& pair, bool own_rows) {
  std::vector<std::int64_t> numbers[2] = {train.whole_.take(), test.whole_.take()};
  const std::string where = train.file_ + ", key '" + train.answers_key_ + "': ";
  if (train.answering_ == PartBuilder::Answering::words && !shared.named_classes.empty()) {
    pair.train.class_names = shared.class_names;
  } else if (train.answering_ == PartBuilder::Answering::words) {
    if (own_rows) throw failure(where + "labels that are texts; rows that clients bring have the experiment's numbers, from 0");
    const auto places = shared.labels.sort();
    for (auto& some : numbers)
      for (std::int64_t& number : some) number = places[static_cast<std::size_t>(number)];
    pair.train.class_names = shared.labels.all();
  } else {
    std::vector<std::int64_t> all;  // ascending, each once
    for (const auto& some : numbers) {
      std::int64_t last = -1;
      for (const std::int64_t number : some)
        if (number != last || all.empty()) {
          last = number;
          all.push_back(number);
          if (all.size() > (std::size_t{1} << 20)) {
            std::ranges::sort(all);
            all.erase(std::unique(all.begin(), all.end()), all.end());
            if (all.size() > kMaxFileLabel + 1) break;
          }
        }
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    const bool signs = all == std::vector<std::int64_t>{-1, 1};
    if (all.front() < 0 && (!signs || own_rows))
      throw failure(where + "label " + std::to_string(all.front()) +
                    " is negative; valid: whole numbers from 0, or -1 and 1 alone");
    if (shared.classes && all.back() >= *shared.classes)
      throw failure(where + "label " + std::to_string(all.back()) + " is out of range; valid: 0 to " +
                    std::to_string(*shared.classes - 1));
    if (all.front() == 0 || own_rows || shared.classes) {
      if (all.back() > kMaxFileLabel)
        throw failure(where + "label " + std::to_string(all.back()) + " is out of range; valid: 0 to " +
                      std::to_string(kMaxFileLabel) + ", or --targets values for numbers to predict");
      pair.train.class_names = shared.class_names;
    } else {
      if (all.size() > kMaxFileLabel + 1)
        throw failure(where + "more than " + std::to_string(kMaxFileLabel + 1) +
                      " classes; say --targets values for numbers to predict");
      for (auto& some : numbers)
        for (std::int64_t& number : some) number = std::ranges::lower_bound(all, number) - all.begin();
      for (const std::int64_t number : all) pair.train.class_names.push_back(std::to_string(number));
      notes.push_back("labels are " + std::to_string(all.front()) + " to " + std::to_string(all.back()) +
                      " in the file; they are the classes 0 to " + std::to_string(all.size() - 1) + ", in this order");
    }
  }
  std::int64_t largest = 0;
  for (const auto& some : numbers)
    if (!some.empty()) largest = std::max(largest, *std::ranges::max_element(some));
  if (largest > kMaxFileLabel)
    throw failure(where + "more than " + std::to_string(kMaxFileLabel + 1) +
                  " classes; say --targets values for numbers to predict");
  pair.train.classes = pair.test.classes = shared.classes.value_or(static_cast<int>(largest) + 1);
  pair.train.labels.assign(numbers[0].begin(), numbers[0].end());
  pair.test.labels.assign(numbers[1].begin(), numbers[1].end());
}

void Assembly::finish_positions(DataPair& pair) {
  pair.train.position_labels = as_labels(train.whole_);
  pair.test.position_labels = as_labels(test.whole_);
  if (shared.rows_are_protected && shared.classes)
    for (Dataset* data : {&pair.train, &pair.test})
      for (Label& label : data->position_labels)
        if (label >= *shared.classes) label = kNoLabel;
  int classes = 0;
  for (const Dataset* data : {&pair.train, &pair.test})
    for (const Label label : data->position_labels)
      if (label != kNoLabel) classes = std::max(classes, label + 1);
  if (shared.classes && classes > *shared.classes)
    throw failure(train.file_ + ", key '" + train.answers_key_ + "': label " + std::to_string(classes - 1) +
                  " is out of range; valid: 0 to " + std::to_string(*shared.classes - 1) + ", or negative where none counts");
  pair.train.classes = pair.test.classes = shared.classes.value_or(classes);
  pair.train.class_names = shared.class_names;
}

void Assembly::finish_clients(DataPair& pair) {
  pair.train.clients = train.clients_.take();
  pair.test.clients = test.clients_.take();
  if (pair.train.clients.empty()) return;
  if (shared.clients.are_whole()) {
    const auto places = shared.clients.sort();
    for (Dataset* data : {&pair.train, &pair.test})
      for (std::uint32_t& client : data->clients) client = places[client];
  }
  pair.train.client_names = pair.test.client_names = shared.clients.all();
}

void Assembly::finish_facts(DataPair& pair) {
  pair.train.mean = shared.mean;
  pair.train.deviation = shared.deviation;
  if (settings_.classes > 0 || !settings_.class_names.empty())
    pair.facts.push_back("classes " + std::to_string(*shared.classes) + " (named)");
  if (settings_.vocabulary > 0) pair.facts.push_back("vocabulary " + std::to_string(settings_.vocabulary) + " (named)");
  if (!settings_.words.empty()) pair.facts.push_back("words: " + std::to_string(shared.words.size()) + " (named)");
  pair.facts.insert(pair.facts.end(), said_.begin(), said_.end());
  if (shared.replaced > 0)
    notes.push_back(counted(shared.replaced, "answer") + " or token" + (shared.replaced == 1 ? "" : "s") +
                    " outside the named classes or vocabulary, or not finite, stand as 0");
}

}  // namespace fedstride
