#pragma once

#include <memory>
#include <string>

#include "core/choice.hpp"

namespace fedstride {

struct Schema;

/// The form of a file of one's own.
enum class FileForm { automatic, npz, hdf5, leaf, csv, idx, cifar, pictures };
constexpr auto choice_names(FileForm) { return names("auto", "npz", "hdf5", "leaf", "csv", "idx", "cifar", "pictures"); }

/// The kind of answers of a file of one's own: by the file, or as said.
enum class TargetsAre { automatic, classes, positions, values, flags };
constexpr auto choice_names(TargetsAre) { return names("auto", "classes", "positions", "values", "flags"); }

/// What becomes of a missing input: an empty field or "NA" in a table, a NaN elsewhere. auto: an error, and under dp the mean
/// (data/missing.hpp).
enum class Missing { automatic, error, drop, mean, zero, indicator };
constexpr auto choice_names(Missing) { return names("auto", "error", "drop", "mean", "zero", "indicator"); }

/// The first line of a table: a header, or a record; auto: by what it holds (readers.hpp).
enum class Header { automatic, yes, no };
constexpr auto choice_names(Header) { return names("auto", "yes", "no"); }

/// The decimal mark of a table's numbers; auto: that of the table, under dp the point.
enum class DecimalMark { automatic, point, comma };
constexpr auto choice_names(DecimalMark) { return names("auto", "point", "comma"); }

/// The source of the mean and the deviation by which inputs are normalized (data/normalization.hpp).
enum class Normalize { automatic, rows, given, range, from_public, privately, none };
constexpr auto choice_names(Normalize) { return names("auto", "rows", "given", "range", "public", "private", "none"); }

/// The user's options on how a data set is to be read (docs/data.md).
struct ReadSettings {
  FileForm format = FileForm::automatic;
  std::string label = {};          ///< column or key of the answers; several columns with commas between
  std::string client_column = {};  ///< column or key of the natural clients
  TargetsAre targets = TargetsAre::automatic;
  // Facts about the data that are named. Where rows are protected, nothing else may take their place but what the file or its
  // data set publishes.
  int classes = 0;               ///< 0: not named
  std::string class_names = {};  ///< the labels in the order of their classes, with commas between
  int vocabulary = 0;            ///< 0: not named
  std::string words = {};        ///< a file of words, one a line, the most frequent first
  std::string shape = {};        ///< of an example: "28x28x1"
  Normalize normalize = Normalize::automatic;
  std::string mean = {};          ///< one number, or one a channel (of a table: a column), with commas between
  std::string deviation = {};     ///< likewise
  std::string range = {};         ///< "LOW,HIGH": inputs are clipped to it
  std::string public_data = {};   ///< a file of rows that nobody protects, in any of the forms
  bool public_test = false;       ///< the test part is public
  std::string inputs = {};        ///< key of the inputs; of a table the columns, with commas between
  std::string drop_columns = {};  ///< columns of a table that are not read, with commas between
  std::string categories = {};    ///< "city=Rome,Oslo;color=red,green": the words of a table's columns, in order
  Missing missing = Missing::automatic;
  Header header = Header::automatic;
  DecimalMark decimal_mark = DecimalMark::automatic;
  std::string offsets = {};  ///< "time=1700000000": constants that are subtracted from columns before they are stored
  /// Rows are protected (dp): no fact is read off them, and none of them is refused for its contents. No setting of its own.
  bool rows_are_protected = false;
  /// Types and dimensions decide how values are kept, as they do for protected rows: numbers that are 255ths stay numbers. Likewise.
  bool kept_by_types = false;
  /// Offsets are found where single precision would lose digits (data/files/column_span.hpp). Likewise.
  bool finds_offsets = true;
  /// Rows are dealt out by client_column, which is that of users: a key that names clients besides is refused. Likewise.
  bool users_are_clients = false;

  /// Other data are read through the schema of a run: what it has is fixed, unless a setting names it. Likewise.
  std::shared_ptr<const Schema> schema = {};
  bool keeps_constants = false;  ///< mean, deviation and missing inputs are the schema's, too. Likewise.
  bool is_test_part = false;     ///< a file without a test part is one, as a whole. Likewise.

  /// The rule that `missing` stands for: never `automatic`.
  Missing missing_rule() const {
    if (missing != Missing::automatic) return missing;
    return rows_are_protected ? Missing::mean : Missing::error;
  }

  bool operator==(const ReadSettings&) const = default;
};

}  // namespace fedstride
