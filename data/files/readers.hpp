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

// The readers of the forms of docs/data.md; HDF5 has a header of its own. Each reads one part, the test part if asked to, and throws Error
// (failure) that names the file and the key, the line or the record.

/// CIFAR's binary form: records of labels and 3072 pixels (red, green and blue planes of 32 rows). The last label byte counts; `label_bytes`
/// is how many there are, or 0: one, or two (CIFAR-100's coarse and fine label) in files whose size fits that alone.
void read_cifar_file(const std::filesystem::path& path, Assembly& into, bool as_test, std::size_t label_bytes = 0);

/// A pair of idx files (LeCun's format, gzipped or not): `images` of bytes in two to four dimensions (the first counts the examples), and
/// labels, one byte each.
void read_idx_files(const std::filesystem::path& images, const std::filesystem::path& labels, Assembly& into, bool as_test);
/// The file beside `images` whose name has "labels" for "images" and "idx1" for "idx3", gzipped or not.
std::filesystem::path labels_beside(const std::filesystem::path& images);

/// A table of text, an example a record (csv_records.hpp). The first line is a header if `settings` or the name of a column in them say so, if
/// none of its fields is a number, or if its numbers count the columns from 0 or 1 and are four at least (three beside names, two behind a
/// column without one). The label is the columns that `settings` names, by name or number (counted from 1), else the one called label,
/// target, y or class, else the last; the client, if any, the column it names; all others that have a name, or those that it names, are
/// inputs. Labels may be whole numbers, words, or numbers to predict; a record without one is refused or left out. Numbers have decimal
/// points, or commas if all do. Inputs are
/// numbers, in file order, then a column of 0 and 1 for each word of each column of words: those that `settings` names, or, where rows are
/// not protected, those of the training part, ordered. A column's first field decides whether it holds words; another kind later is an
/// error. A missing number is NaN (data/missing.hpp); a missing word, or one without a column, is zeros. Where rows are protected, what
/// header, mark, label or nameless column would be inferred from them is refused with the flag that says it.
void read_csv(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);

/// A file of LEAF (Caldas et al. 2018): {"users": [name, ...], "num_samples": [n, ...], "user_data": {name: {"x": [...], "y":
/// [...]}}}. An x is a number, a list of numbers (of lists, for pictures), or a text, which becomes a token for each character
/// (Characters::leaf); a y a number, a text, a list of numbers, or, where x is a text, the character that follows it. It is read as it
/// streams by: memory is that of the data.
void read_leaf_json(const std::filesystem::path& path, Assembly& into, bool as_test);
/// The same of a file's bytes.
void read_leaf_json(std::span<const std::uint8_t> bytes, Assembly& into);

/// A NumPy archive (numpy.savez, savez_compressed): x, y and, if there is one, client; x_test, y_test, client_test if the
/// file has a test part. x_train, y_train and client_train are other names of the first three. classes and vocabulary, whole numbers, may
/// say how many there are. A name that `settings` gives stands for x, y or client (and NAME_test or test_NAME). Other arrays are not read.
/// With `as_test` x, y and client are the test part.
void read_npz(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);
/// The same of a file's bytes.
void read_npz(std::span<const std::uint8_t> bytes, const ReadSettings& settings, Assembly& into);
/// The same of arrays in memory, which may be lent, by their keys; `name` stands for the file in messages. `others`: names of arrays that
/// are there besides, for a message about one that is not.
void take_arrays(std::map<std::string, Array> arrays, const std::string& name, const ReadSettings& settings, Assembly& into,
                 bool as_test = false, std::vector<std::string> others = {});
/// The names of the arrays that are read, with these settings.
std::vector<std::string> npz_keys(const ReadSettings& settings);

/// A folder of PNG and JPEG files: a folder for each class, whose name is its label, in it the pictures, all of one size; with client-column
/// 'folder', a folder for each client, in it those of classes. Rows are in order of paths. Grey pictures have one channel, others three
/// (`shape` may say which), 16-bit numbers become 8-bit, what is transparent black. Where rows are protected, `shape` is named, and a
/// file of another size, or that cannot be read, is a black picture.
void read_pictures(const std::filesystem::path& folder, const ReadSettings& settings, Assembly& into, bool as_test);
/// True if a folder in that folder, or in one of these, has a file named like a picture.
bool has_folders_of_pictures(const std::filesystem::path& folder);

/// Reads a data set of one's own; its test part is empty if it has none, and normalization and hash are missing. `own_rows`: labels keep
/// their numbers, since they have meaning elsewhere. Throws Error (failure) naming file and key.
DataPair load_own_files(const std::filesystem::path& path, const ReadSettings& settings, bool own_rows = false);

}  // namespace fedstride
