#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

// Readers for formats in docs/data.md; the others are converted to NumPy archives (convert.hpp). Each reads one part, the test part if requested, and throws
// Error (failure) naming the file and the key, line or record.

/// CIFAR's binary format: records of so many label bytes, the last of which is used, and 3072 pixels (red, green and blue planes of
/// 32 rows).
void read_cifar_file(const std::filesystem::path& path, Assembly& into, bool as_test, std::size_t label_bytes);

/// A pair of idx files (LeCun's format, gzipped or not): `images` of bytes in three dimensions (the first counts the examples), and
/// one-byte labels.
void read_idx_files(const std::filesystem::path& images, const std::filesystem::path& labels, Assembly& into, bool as_test);

/// A file of a text table.
struct TableFile {
  std::filesystem::path path;
  std::string name = {};    ///< in messages, in place of the path, for a table that was converted, so is in UTF-8
  std::string client = {};  ///< the client whose rows it has; empty: as the client column says
};

/// How many threads read the plain lines of a large table ahead, and how much each at a time. Rows, notes and errors are the same
/// for all.
struct TableThreads {
  int count = 0;  ///< 0: as many as `settings` say; 1: records are read one by one
  std::size_t bytes = std::size_t{1} << 20;
};

/// A text table, one example per record (csv_records.hpp). The first line is a header if `settings` says so or specifies a column
/// by name; if none of its fields is a number; or if its numbers count the columns from 0 or 1 and there are at least four (three
/// next to names, two after a nameless column). The labels are the columns that `settings` lists, by name or number (counted from
/// 1), otherwise the one called label, target, y or class, otherwise the last; the client, if any, is the column that `settings`
/// specifies; the inputs are the columns that it lists, otherwise all other named ones. Labels may be whole numbers, words, or
/// numbers to predict; a record without a label is refused or dropped. Numbers have decimal points, or commas if all do. Inputs
/// are numbers, in file order, then a 0/1 column for each word of each word column: the words in `settings` or, if rows are not
/// protected, those of the training part, sorted. A column's first field decides whether it holds words; a later field of another
/// kind is an error. A missing number becomes NaN (data/missing.hpp); a missing word, or one without a column, becomes zeros. If
/// rows are protected, a header, mark, label or nameless column that would be inferred from them is refused with an error naming
/// the flag that sets it.
/// Several files are one table: later ones have the first one's columns, by their names, in any order.
void read_csv(std::span<const TableFile> files, const ReadSettings& settings, Assembly& into, bool as_test,
              TableThreads threads = {});

/// A NumPy archive (numpy.savez, savez_compressed): x, y and optionally client; x_test, y_test, client_test if the file has a
/// test part. x_train, y_train and client_train are other names of the first three. Whole numbers `classes` and `vocabulary` may
/// state how many classes and tokens there are. A name in `settings` replaces x, y or client (NAME_test or test_NAME: in the test
/// part). Texts `class_names` may name classes whose labels are numbers, `words` those of sentences, and `notes` may say
/// what users should know. Other arrays are not read. With `as_test`, x, y and client are the test part. `name` replaces the file in
/// messages.
void read_npz(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test,
              const std::string& name = "");
/// The same, from the contents of a file.
void read_npz(std::span<const std::uint8_t> bytes, const ReadSettings& settings, Assembly& into);
/// The same, from arrays in memory, possibly lent, by key; `name` replaces the file in messages. `others`: names of other arrays,
/// for a message about a missing one.
void take_arrays(std::map<std::string, Array> arrays, const std::string& name, const ReadSettings& settings, Assembly& into,
                 bool as_test = false, std::vector<std::string> others = {});
/// The names of the arrays read with these settings.
std::vector<std::string> npz_keys(const ReadSettings& settings);

/// Reads a user's own data set; the test part is empty if there is none, and normalization and hash are left out. With
/// `own_rows`, labels keep their numbers, which are interpreted elsewhere. Throws Error (failure) naming the file and the key.
DataPair load_own_files(const std::filesystem::path& path, const ReadSettings& settings, bool own_rows = false);

}  // namespace fedstride
