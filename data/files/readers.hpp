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

// The readers of the forms in docs/data.md; HDF5 has its own header. Each reads one part, the test part if requested, and throws
// Error (failure) that names the file and the key, the line or the record.

/// CIFAR's binary form: records of labels and 3072 pixels (red, green and blue planes of 32 rows). The last label byte counts;
/// `label_bytes` is their number, or 0: one, or two (CIFAR-100's coarse and fine label) in files whose size fits only that.
void read_cifar_file(const std::filesystem::path& path, Assembly& into, bool as_test, std::size_t label_bytes = 0);

/// A pair of idx files (LeCun's format, gzipped or not): `images` of bytes in two to four dimensions (the first counts the examples), and
/// labels, one byte each.
void read_idx_files(const std::filesystem::path& images, const std::filesystem::path& labels, Assembly& into, bool as_test);
/// The file next to `images` whose name has "labels" for "images" and "idx1" for "idx3", gzipped or not.
std::filesystem::path labels_beside(const std::filesystem::path& images);

/// A table of text, one example per record (csv_records.hpp). The first line is a header if `settings` or a column name in them
/// say so, if none of its fields is a number, or if its numbers count the columns from 0 or 1 and are at least four (three next
/// to names, two after a nameless column). The label is the columns that `settings` names, by name or number (counted from 1),
/// otherwise the one called label, target, y or class, otherwise the last; the client, if any, the column it names; all other
/// named columns, or those that it names, are inputs. Labels may be whole numbers, words, or numbers to predict; a record without
/// one is refused or dropped. Numbers have decimal points, or commas if all do. Inputs are numbers, in file order, then a column
/// of 0 and 1 for each word of each word column: those that `settings` names or, if rows are not protected, those of the training
/// part, ordered. A column's first field decides whether it holds words; another kind later is an error. A missing number is NaN
/// (data/missing.hpp); a missing word, or one without a column, is zeros. If rows are protected, a header, mark, label or
/// nameless column that would be inferred from them is refused, naming the flag that sets it.
void read_csv(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);

/// A LEAF file (Caldas et al. 2018): {"users": [name, ...], "num_samples": [n, ...], "user_data": {name: {"x": [...], "y":
/// [...]}}}. An x is a number, a list of numbers (of lists, for pictures), or a text, which becomes a token for each character
/// (Characters::leaf); a y is a number, a text, a list of numbers, or, if x is a text, the character that follows it. It is read
/// as a stream: memory is that of the data.
void read_leaf_json(const std::filesystem::path& path, Assembly& into, bool as_test);
/// The same for the bytes of a file.
void read_leaf_json(std::span<const std::uint8_t> bytes, Assembly& into);

/// A NumPy archive (numpy.savez, savez_compressed): x, y and optionally client; x_test, y_test, client_test if the file has a
/// test part. x_train, y_train and client_train are other names of the first three. classes and vocabulary, whole numbers, may
/// give their numbers. A name in `settings` replaces x, y or client (and NAME_test or test_NAME). Other arrays are not read. With
/// `as_test`, x, y and client are the test part.
void read_npz(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);
/// The same for the bytes of a file.
void read_npz(std::span<const std::uint8_t> bytes, const ReadSettings& settings, Assembly& into);
/// The same for arrays in memory, possibly lent, by key; `name` stands for the file in messages. `others`: names of other arrays,
/// for a message about a missing one.
void take_arrays(std::map<std::string, Array> arrays, const std::string& name, const ReadSettings& settings, Assembly& into,
                 bool as_test = false, std::vector<std::string> others = {});
/// The names of the arrays read with these settings.
std::vector<std::string> npz_keys(const ReadSettings& settings);

/// A folder of PNG and JPEG files: a folder for each class, named after its label, with the pictures, all of one size; with
/// client-column 'folder', a folder for each client, with the class folders inside. Rows are in order of paths. Gray pictures
/// have one channel, others three (`shape` may set it), 16-bit numbers become 8-bit, transparent pixels black. If rows are
/// protected, `shape` is named, and an unreadable file or one of another size becomes a black picture.
void read_pictures(const std::filesystem::path& folder, const ReadSettings& settings, Assembly& into, bool as_test);
/// True if a subfolder, or one of its subfolders, has a file named like a picture.
bool has_folders_of_pictures(const std::filesystem::path& folder);

/// Reads a user's own data set; a missing test part is empty, and normalization and hash are missing. `own_rows`: labels keep
/// their numbers, whose meaning is set elsewhere. Throws Error (failure) naming file and key.
DataPair load_own_files(const std::filesystem::path& path, const ReadSettings& settings, bool own_rows = false);

}  // namespace fedstride
