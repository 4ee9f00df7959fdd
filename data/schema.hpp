#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/term.hpp"
#include "data/example_form.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

struct DataPair;
struct Dataset;

/// A table's word column; each word becomes a 0/1 column of the model's input.
struct NamedCategories {
  std::string column = {};
  std::vector<std::string> words = {};  ///< in the order of their columns
  bool operator==(const NamedCategories&) const = default;
  static constexpr auto kTerms =
      terms(Term{"column", &NamedCategories::column, true}, Term{"words", &NamedCategories::words, true});
};

/// A table's columns.
struct TableColumns {
  bool are_named = false;                ///< by a header; otherwise by their numbers, from 1
  std::vector<std::string> inputs = {};  ///< in the model's order
  std::vector<std::string> answers = {};
  std::vector<NamedCategories> categories = {};
  bool operator==(const TableColumns&) const = default;
  static constexpr auto kTerms = terms(Term{"named", &TableColumns::are_named}, Term{"inputs", &TableColumns::inputs},
                                       Term{"answers", &TableColumns::answers}, Term{"categories", &TableColumns::categories});
};

/// The inputs that are numbers, not words, in the order of their channels.
std::vector<std::string> number_columns(const TableColumns& columns);

/// The mean and deviation that normalize a natural client's inputs.
struct ClientMoments {
  std::string client = {};
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
  bool operator==(const ClientMoments&) const = default;
  static constexpr auto kTerms = terms(Term{"client", &ClientMoments::client, true}, Term{"mean", &ClientMoments::mean, true},
                                       Term{"deviation", &ClientMoments::deviation, true});
};

/// Everything needed to turn the rows of a file into a model's inputs and answers. It is created when a run reads its data, kept
/// in the run's folder and model, and sent to its clients. Other data are read through it (ReadSettings::schema): columns and
/// classes are matched by name, and constants are taken from it. If rows are protected, nothing in it is derived from them except
/// released moments.
struct Schema {
  ExampleForm form = {};
  TableColumns columns = {};
  std::vector<std::string> classes = {};  ///< names in order; may be empty
  bool labels_are_names = false;          ///< a label is the name of its class; otherwise its number
  std::string features = {};              ///< the map that computes inputs from images (data/features/); empty: none
  std::string offsets = {};               ///< subtracted from columns before they are stored (ReadSettings::offsets)
  std::string numbers = {};               ///< forms of a table's numbers (ReadSettings::numbers), and "dates" if they are read
  std::vector<std::string> words = {};    ///< of sentences, in the order of their tokens
  Missing missing = Missing::error;
  std::vector<float> fill = {};  ///< replaces missing values, by column; empty: the mean below
  std::vector<float> mean = {};  ///< Dataset::mean
  std::vector<float> deviation = {};
  std::string normalized_by = {};  ///< the source of mean and deviation
  /// For each natural client; applied before mean and deviation, which are then 0 and 1; empty: none.
  std::vector<ClientMoments> client_moments = {};
  bool operator==(const Schema&) const = default;
  static constexpr auto kTerms = terms(
      Term{"form", &Schema::form, true}, Term{"columns", &Schema::columns}, Term{"classes", &Schema::classes},
      Term{"labels_are_names", &Schema::labels_are_names}, Term{"features", &Schema::features}, Term{"offsets", &Schema::offsets},
      Term{"numbers", &Schema::numbers}, Term{"words", &Schema::words}, Term{"missing", &Schema::missing},
      Term{"fill", &Schema::fill}, Term{"mean", &Schema::mean, true}, Term{"deviation", &Schema::deviation, true},
      Term{"normalized_by", &Schema::normalized_by}, Term{"client_moments", &Schema::client_moments});
};

/// How Schema::numbers ends if dates are numbers.
inline constexpr std::string_view kDates = "dates";

/// The schema used to read these data.
Schema schema_of(const DataPair& pair);

/// The schema as one line of JSON, without a line break, with the terms above as keys.
std::string schema_text(const Schema& schema);
/// Throws Error (failure), beginning with `where`, if the text is not as schema_text() writes it or its parts are inconsistent.
/// The text may be untrusted: the size of every member is bounded by the text's length.
Schema read_schema(std::string_view text, const std::string& where);

/// SHA-256 of the schema, without mean, deviation and their source if these are released only later.
std::string schema_seal(Schema schema, bool without_moments);

/// SHA-256 of the names alone (columns, classes, words), so data sets that differ only in names have different hashes. Empty if
/// there are none.
std::string names_hash(const Schema& schema);

/// The metadata entry of a safetensors file that holds the text.
inline constexpr const char* kSchemaKey = "fedstride.schema";

/// Returns the settings, completed with everything that their schema fixes.
ReadSettings read_through(ReadSettings settings);

}  // namespace fedstride
