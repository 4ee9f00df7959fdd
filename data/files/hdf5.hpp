#pragma once

#include <filesystem>

#include "data/files/apart.hpp"
#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads an HDF5 file of plain arrays, x, y and others as in a NumPy archive (readers.hpp), or in the layout in which TensorFlow Federated
/// ships its data sets: examples/CLIENT/KEY, a group a client, an array a key, whose first dimension counts the client's examples. Which
/// keys there are says what they are:
///   x and y, or pixels and label, or image and label    numbers or pictures (EMNIST, CIFAR-100); --inputs and --label name others
///   snippets                        texts (Shakespeare): sequences of 80 characters, each position's label the next one
///   tokens                          sentences (StackOverflow): 20 words of the 10,000 most frequent ones of the training part, next word
/// Throws Error (failure) naming client and key. Links to other files, references and arrays without bytes are refused; filters are the library's own.
/// libhdf5 works in processes of its own (read_apart): a damaged file over which it breaks down is an error, too. `processes`: how many, which
/// changes no bit; 0: one for a small file, for others as many as there are processors, up to eight.
void read_hdf5(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test, int processes = 0);

/// The kinds of records that tell_hdf5 sends. Texts: the key of the answers, their number, each; arrays: key, kind, bytes an element, number of
/// dimensions, each, bytes.
inline constexpr std::uint8_t kHdf5Examples = 0;    ///< a client's, as an array
inline constexpr std::uint8_t kHdf5Answers = 1;     ///< likewise
inline constexpr std::uint8_t kHdf5Words = 2;       ///< its answers, as texts
inline constexpr std::uint8_t kHdf5Snippets = 3;    ///< its examples, as texts
inline constexpr std::uint8_t kHdf5Sentences = 4;   ///< likewise
inline constexpr std::uint8_t kHdf5Client = 5;      ///< its name, a text: it has what came before
inline constexpr std::uint8_t kHdf5Counted = 6;     ///< sentences, before all others, whose words are to be counted
inline constexpr std::uint8_t kHdf5AllCounted = 7;  ///< these were all
inline constexpr std::uint8_t kHdf5Plain = 8;       ///< an array that belongs to no client
inline constexpr std::uint8_t kHdf5PlainTexts = 9;  ///< likewise, of texts
inline constexpr std::uint8_t kHdf5Other = 10;      ///< the name of an array that is not read, a text

/// The half of read_hdf5 that works apart: of `out.processes()` each tells its share of the clients.
void tell_hdf5(const std::filesystem::path& path, const ReadSettings& settings, bool as_test, RecordWriter& out);

/// All arrays of a file together may hold so many bytes. Throws Error (failure) if there is no file.
std::uint64_t most_bytes_of_hdf5(const std::filesystem::path& path);

}  // namespace fedstride
