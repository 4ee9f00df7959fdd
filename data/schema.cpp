#include "data/schema.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/term_json.hpp"
#include "data/dataset.hpp"
#include "data/named_facts.hpp"
#include "data/normalization.hpp"

namespace fedstride {

std::vector<std::string> number_columns(const TableColumns& columns) {
  std::vector<std::string> numbers;
  for (const std::string& name : columns.inputs)
    if (std::ranges::find(columns.categories, name, &NamedCategories::column) == columns.categories.end())
      numbers.push_back(name);
  return numbers;
}

Schema schema_of(const DataPair& pair) {
  const Dataset& train = pair.train;
  return {.form = train.form(),
          .columns = pair.columns,
          .classes = train.class_names,
          .labels_are_names = pair.labels_are_names,
          .features = pair.features,
          .offsets = pair.offsets,
          .numbers = pair.numbers,
          .words = pair.words,
          .missing = pair.missing,
          .fill = pair.fill,
          .mean = train.mean,
          .deviation = train.deviation,
          .normalized_by = pair.normalized_by,
          .client_moments = pair.client_moments};
}

std::string schema_text(const Schema& schema) { return dump_json(term_json(schema)); }

Schema read_schema(std::string_view text, const std::string& where) {
  Schema schema;
  try {
    TermReader().read(parse_terms(text), "schema", schema);
    const auto outputs = static_cast<std::size_t>(schema.form.outputs);
    if (!schema.classes.empty() && schema.classes.size() != outputs)
      throw failure("it names " + std::to_string(schema.classes.size()) + " classes but has " + std::to_string(outputs) +
                    " outputs");
    if (schema.labels_are_names && schema.classes.empty()) throw failure("its labels are names, but it has none");
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (!schema.fill.empty() && (schema.fill.size() != schema.mean.size() || !std::ranges::all_of(schema.fill, is_finite)))
      throw failure("fill has " + std::to_string(schema.fill.size()) + " numbers; it must have " +
                    std::to_string(schema.mean.size()) + " finite ones");
    if (schema.words.size() > kMostWords)
      throw failure("it has " + std::to_string(schema.words.size()) + " words; at most " + std::to_string(kMostWords) +
                    " are valid");
  } catch (const Error& error) {
    throw failure(where + "'s schema is damaged: " + error.what());
  } catch (const JsonError& error) {
    throw failure(where + "'s schema is damaged: " + error.what());
  }
  check_normalization(schema.form, schema.mean, schema.deviation, where + ": ", "the schema's");
  for (const ClientMoments& one : schema.client_moments)
    check_normalization(schema.form, one.mean, one.deviation, where + ": ", "client '" + one.client + "': the schema's");
  return schema;
}

std::string schema_seal(Schema schema, bool without_moments) {
  if (without_moments) schema.mean = schema.deviation = {}, schema.normalized_by = "";
  return Hash().text(schema_text(schema)).hex();
}

std::string names_hash(const Schema& schema) {
  Schema names;
  names.columns = schema.columns;
  if (!names.columns.are_named) names.columns = {.categories = schema.columns.categories};
  if (schema.labels_are_names) names.classes = schema.classes;
  names.words = schema.words;
  return names == Schema() ? "" : Hash().text(schema_text(names)).hex();
}

ReadSettings read_through(ReadSettings settings) {
  if (!settings.schema) return settings;
  const Schema& schema = *settings.schema;
  const ExampleForm& form = schema.form;
  const bool is_labelled = form.targets == Targets::classes || form.targets == Targets::positions;
  if (settings.targets == TargetsAre::automatic) settings.targets = make_choice<TargetsAre>("targets", choice_name(form.targets));
  if (settings.classes == 0 && settings.class_names.empty() && is_labelled) settings.classes = form.outputs;
  if (settings.vocabulary == 0) settings.vocabulary = form.vocabulary;
  if (settings.features.empty()) settings.features = schema.features;
  if (settings.shape.empty() && form.vocabulary == 0 && schema.features.empty() && form.shape.height * form.shape.width > 1)
    settings.shape = form.shape.text();
  if (settings.numbers.empty() && !settings.dates && !schema.numbers.empty()) {
    settings.numbers = schema.numbers;
    settings.dates = schema.numbers.ends_with(kDates);
    if (settings.dates) settings.numbers.resize(schema.numbers.size() - std::min(schema.numbers.size(), kDates.size() + 1));
  }
  settings.finds_offsets = false;
  if (settings.offsets.empty()) settings.offsets = schema.offsets;
  if (settings.missing == Missing::automatic && !settings.rows_are_protected) settings.missing = schema.missing;
  return settings;
}

}  // namespace fedstride
