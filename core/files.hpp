#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"

namespace fedstride {

/// The place where a path's contents are written.
struct FileTarget {
  enum class Kind : std::uint8_t {
    made,         ///< a new file
    replaced,     ///< a regular file, by one with its permissions
    written_into  ///< a device, a pipe, an open descriptor (/dev/stdout): contents are appended
  };
  std::filesystem::path path;  ///< after following all links
  Kind kind = Kind::made;
  mode_t mode = 0644;
};
/// Throws Error (failure) for a folder, a disk, a socket, and circular links.
FileTarget target_of(const std::filesystem::path& path);

/// Writes the file that the path leads to, through links. A regular one is replaced atomically: a temporary file is written
/// next to it, synced and renamed, and the folder synced. For a pipe, waits until it has a reader or the program is asked to
/// stop. Throws Error (failure) that names the path and the reason; then the temporary file is removed and a regular file is
/// unchanged.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// A file to write, with its permissions (0600: readable only by its owner, from its first byte on).
struct NewFile {
  std::string name;
  std::string contents;
  mode_t mode = 0644;
};

/// Replaces several files of one folder, of any kind: syncs all of them together, then renames them in this order. Costs about as
/// much as a few calls of write_file for any number of files. Throws Error (failure); files already renamed stay renamed.
void write_files(const std::filesystem::path& folder, std::span<const NewFile> files);

/// Appends `line` and a newline to the file and syncs it. Throws Error (failure); then the file is as before if that can
/// be restored.
void append_line(const std::filesystem::path& path, std::string_view line);

/// Syncs the folder that holds `path`, where possible.
void sync_folder_of(const std::filesystem::path& path);

/// Makes a folder, and its parents, if they do not exist. Throws Error (failure).
void make_folder(const std::filesystem::path& folder);

/// Opens a regular file for reading from its beginning as a stream. Throws Error (failure).
std::ifstream opened_stream(const std::filesystem::path& path);

/// The size of a regular file, followed through links. For anything else, throws Error (failure) that names its kind: reading a
/// pipe could wait, and a device may have no end.
std::uint64_t size_of_file(const std::filesystem::path& path);

/// Reads a whole regular file. Throws Error (failure) if it cannot be read, is not regular or is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// The text after a UTF-8 byte order mark, or all of it. Throws Error (failure) that begins with `name` if the mark is UTF-16.
std::string_view without_byte_order_mark(std::string_view text, const std::string& name);

/// Reads a text written by people: read_file, without a byte order mark, and with line feeds as line ends.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// True if the path exists; false for a dangling link, and if that cannot be determined.
bool is_there(const std::filesystem::path& path);

/// A file that states its kind and can be checked for damage: "NAME VERSION\n", the SHA-256 of the body in hexadecimal,
/// "\n", the body. `kind` is "NAME VERSION", such as "fedstride checkpoint 4".

/// Replaces the file (write_file). `body` writes the same bytes each time it is called: hashing comes before writing.
void write_sealed(const std::filesystem::path& path, std::string_view kind, function_ref<void(std::ostream&)> body);
void write_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view body);

/// Returns the body; check lengths in it as in any file. Throws Error (failure) if the file cannot be read, is damaged, or has
/// another version; `what` names it in messages ("checkpoint").
std::string read_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view what);

}  // namespace fedstride
