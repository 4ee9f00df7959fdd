#pragma once

#include <memory>
#include <string>

#include "core/choice.hpp"

namespace fedstride {

struct Schema;

/// The format of a user's own file; other: what the converter recognizes (python/fedstride_convert.py).
enum class FileForm { automatic, npz, hdf5, leaf, csv, idx, cifar, pictures, other };
constexpr auto choice_names(FileForm) { return names("auto", "npz", "hdf5", "leaf", "csv", "idx", "cifar", "pictures", "other"); }

/// The kind of answers in a user's own file: inferred from the file, or as set.
enum class TargetsAre { automatic, classes, positions, values, flags };
constexpr auto choice_names(TargetsAre) { return names("auto", "classes", "positions", "values", "flags"); }

/// How to handle a missing input: an empty field or "NA" in a table, a NaN elsewhere. auto: an error, or under DP the mean
/// (data/missing.hpp).
enum class Missing { automatic, error, drop, mean, zero, indicator };
constexpr auto choice_names(Missing) { return names("auto", "error", "drop", "mean", "zero", "indicator"); }

/// Whether the first line of a table is a header or a record; auto: decided by its contents (readers.hpp).
enum class Header { automatic, yes, no };
constexpr auto choice_names(Header) { return names("auto", "yes", "no"); }

/// The decimal mark of a table's numbers; auto: inferred from the table, or a point under DP.
enum class DecimalMark { automatic, point, comma };
constexpr auto choice_names(DecimalMark) { return names("auto", "point", "comma"); }

/// The encoding of a table's text.
enum class Encoding { utf_8, windows_1252, latin1 };
constexpr auto choice_names(Encoding) { return names("utf-8", "windows-1252", "latin1"); }

/// The source of the mean and deviation that normalize inputs (data/normalization.hpp).
enum class Normalize { automatic, rows, client, given, range, from_public, privately, none };
constexpr auto choice_names(Normalize) { return names("auto", "rows", "client", "given", "range", "public", "private", "none"); }

/// The user's options for reading a data set (docs/data.md).
struct ReadSettings {
  FileForm format = FileForm::automatic;
  std::string label = {};          ///< column or key of the answers; several columns separated by commas
  std::string client_column = {};  ///< column or key of the natural clients
  TargetsAre targets = TargetsAre::automatic;
  // Specified facts about the data. If rows are protected, only facts published by the file or its data set may replace them.
  int classes = 0;               ///< 0: not specified
  std::string class_names = {};  ///< the labels in the order of their classes, separated by commas
  int vocabulary = 0;            ///< 0: not specified
  std::string words = {};        ///< a file of words, one per line, the most frequent first
  std::string shape = {};        ///< of an example: "28x28x1"
  std::string resize = {};       ///< "WIDTHxHEIGHT": the size that each image of a folder gets
  Normalize normalize = Normalize::automatic;
  std::string mean = {};            ///< one number, or one per channel (in a table: column), separated by commas
  std::string deviation = {};       ///< in the same form
  std::string range = {};           ///< "LOW,HIGH": inputs are clipped to it
  std::string features = {};        ///< the map from images to inputs (data/features/feature_map.hpp)
  std::string normalize_clip = {};  ///< normalize private: "MEAN,SQUARE", bounds on the norms of each record's contributions
  std::string public_data = {};     ///< a file of unprotected rows, in any format
  bool public_test = false;         ///< the test part is public
  std::string test = {};            ///< a file of the same form with the test part
  std::string inputs = {};          ///< key of the inputs; in a table, the input columns, separated by commas
  std::string drop_columns = {};    ///< columns of a table to skip, separated by commas
  std::string categories = {};      ///< "city=Rome,Oslo;color=red,green": the words of a table's columns, in order
  Missing missing = Missing::automatic;
  Header header = Header::automatic;
  DecimalMark decimal_mark = DecimalMark::automatic;
  Encoding encoding = Encoding::utf_8;
  std::string numbers = {};  ///< "currency,percent": forms of a table's numbers besides plain ones (csv_fields.hpp)
  bool dates = false;        ///< a table's dates are numbers
  std::string offsets = {};  ///< "time=1700000000": constants to subtract from columns before they are stored
  /// Rows are protected (DP): no fact is inferred from them, and no row is refused for its contents. Not a setting.
  bool rows_are_protected = false;
  bool tells_owner = false;  ///< notes say what is wrong with protected rows, for their owner's eyes. Not a setting.
  /// Types and dimensions alone determine how values are stored, as for protected rows; multiples of 1/255 stay numbers. Not a
  /// setting.
  bool kept_by_types = false;
  /// Offsets are found where single precision would lose digits (data/files/column_span.hpp). Not a setting.
  bool finds_offsets = true;
  std::string user_column = {};  ///< column or key of users who are inside clients; empty: none. Not a setting.
  /// The client column holds users, each of which is a client: another client key is refused. Not a setting.
  bool users_are_clients = false;

  /// The schema of a run, through which other data are read; it decides everything that no setting overrides. Not a setting.
  std::shared_ptr<const Schema> schema = {};
  bool keeps_constants = false;  ///< mean, deviation and replacements of missing inputs also come from the schema. Not a setting.
  bool without_answers = false;  ///< rows to predict: answers and clients are not read, and may be absent. Not a setting.
  bool may_lack_clients = false;  ///< a table may be without its client column. Not a setting.
  bool is_test_part = false;      ///< a file without a test part is read as a test part. Not a setting.
  int threads = 0;                ///< that read a table ahead; 0: one per processor

  /// The rule in effect, never `automatic`.
  Missing missing_rule() const {
    if (missing != Missing::automatic) return missing;
    return rows_are_protected ? Missing::mean : Missing::error;
  }

  bool operator==(const ReadSettings&) const = default;
};

}  // namespace fedstride
