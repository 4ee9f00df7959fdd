#include "data/public_facts.hpp"

#include <algorithm>
#include <span>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/features/feature_map.hpp"
#include "data/files/convert.hpp"
#include "data/files/readers.hpp"
#include "data/missing.hpp"
#include "data/named_facts.hpp"
#include "data/normalization.hpp"

namespace fedstride {
namespace {

/// The classes as class-names lists them. Throws Error (usage) for a name that a list cannot have.
std::string listed(const std::vector<std::string>& classes) {
  for (const std::string& name : classes)
    if (name.find(',') != name.npos || trimmed(name) != name || name.empty())
      throw usage_error("public-data has the class '" + one_line(name) +
                        "', which class-names cannot list: rename it, without commas and blanks at its ends");
  return joined(classes, ",");
}

}  // namespace

std::optional<DataPair> public_rows_of(const ReadSettings& settings) {
  if (settings.public_data.empty()) return std::nullopt;
  ReadSettings reading;
  reading.label = settings.label;
  reading.client_column = settings.client_column == kFileColumn ? "" : settings.client_column;
  reading.user_column = settings.user_column;
  reading.may_lack_clients = true;
  reading.inputs = settings.inputs;
  reading.drop_columns = settings.drop_columns;
  reading.categories = settings.categories;
  reading.header = settings.header;
  reading.decimal_mark = settings.decimal_mark;
  reading.encoding = settings.encoding;
  reading.numbers = settings.numbers;
  reading.dates = settings.dates;
  reading.offsets = settings.offsets;
  reading.missing = settings.missing == Missing::automatic ? Missing::mean : settings.missing;
  reading.targets = settings.targets;
  reading.class_names = settings.class_names;
  reading.shape = settings.shape;
  reading.kept_by_types = settings.rows_are_protected;  // public rows are stored like protected rows
  DataPair pair = load_own_files(settings.public_data, reading, false);
  settle_missing(pair, reading);
  fill_in_means(pair, reading);
  map_pictures(pair, settings.features);
  pair.train.name = "public-data";
  return pair;
}

ReadSettings with_public_facts(ReadSettings settings, const std::optional<DataPair>& from) {
  if (!from) return settings;
  const Dataset& rows = from->train;
  if (settings.categories.empty()) settings.categories = categories_text(from->columns.categories);
  if (settings.classes == 0 && settings.class_names.empty() &&
      (rows.targets == Targets::classes || rows.targets == Targets::positions)) {
    if (rows.class_names.empty())
      settings.classes = rows.classes;
    else
      settings.class_names = listed(rows.class_names);
  }
  if (settings.vocabulary == 0) settings.vocabulary = rows.vocabulary;
  if (settings.targets == TargetsAre::automatic) settings.targets = make_choice<TargetsAre>("targets", choice_name(rows.targets));
  return settings;
}

std::vector<std::pair<std::string, std::string>> facts_as_settings(DataPair rows) {
  std::vector<std::pair<std::string, std::string>> facts;
  const TableColumns& columns = rows.columns;
  Dataset& train = rows.train;
  if (!columns.answers.empty()) {
    facts.emplace_back("header", columns.are_named ? "yes" : "no");
    facts.emplace_back("label", joined(columns.answers, ","));
  }
  if (rows.has_decimal_commas) facts.emplace_back("decimal-mark", "comma");
  ReadSettings plain;
  plain.features = rows.features;
  const ReadSettings known = with_public_facts(plain, std::optional(rows));
  if (!known.categories.empty()) facts.emplace_back("categories", known.categories);
  if (!known.class_names.empty()) facts.emplace_back("class-names", known.class_names);
  if (known.classes > 0) facts.emplace_back("classes", std::to_string(known.classes));
  if (train.targets == Targets::values || train.targets == Targets::flags)
    facts.emplace_back("targets", choice_name(train.targets));
  if (known.vocabulary > 0) facts.emplace_back("vocabulary", std::to_string(known.vocabulary));
  train.mean.clear();
  train.deviation.clear();
  standardize(train);
  const std::vector<std::string> names = number_columns(columns);
  const auto separates = [](const std::string& name) { return name.find_first_of(",=") != name.npos || trimmed(name) != name; };
  const bool by_name = columns.are_named && !names.empty() && std::ranges::none_of(names, separates);
  for (const auto& [fact, numbers] :
       {std::pair("mean", std::span(train.mean)), std::pair("deviation", std::span(train.deviation))}) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i + static_cast<std::size_t>(train.binary_columns) < numbers.size(); ++i)
      texts.push_back((by_name ? names.at(i) + "=" : "") + number_text(numbers[i]));
    if (!texts.empty()) facts.emplace_back(fact, joined(texts, ","));
  }
  return facts;
}

}  // namespace fedstride
