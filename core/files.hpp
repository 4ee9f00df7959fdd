#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"
#include "core/function_ref.hpp"

namespace fedstride {

/// Where the contents for a path are written.
struct FileTarget {
  enum class Kind : std::uint8_t {
    made,         ///< a new file
    replaced,     ///< a regular file is replaced by one with the same permissions
    written_into  ///< a device, a pipe or an open descriptor (/dev/stdout); contents are appended
  };
  std::filesystem::path path;  ///< after following all links
  Kind kind = Kind::made;
  mode_t mode = 0644;
};
/// Throws Error (failure) for a folder, a disk, a socket or circular links.
FileTarget target_of(const std::filesystem::path& path);

/// A new file beside `path`, whose name nobody else has ("NAME.fedstride-" and letters drawn by the kernel); its permissions are
/// `mode` less the umask. If it cannot be made, `file` is empty and errno is set.
struct Temporary {
  std::filesystem::path path;
  Descriptor file;
};
Temporary make_temporary(const std::filesystem::path& path, mode_t mode);
/// True if a file's name is one of make_temporary's.
bool is_temporary(const std::filesystem::path& path);
/// Removes what killed processes left under such names in a folder. Only for a folder in which nobody else is writing.
void remove_temporaries(const std::filesystem::path& folder);

/// Writes the file that the path leads to, following links. A regular file is replaced atomically: a temporary file next to it is
/// written, synced and renamed, and the folder is synced. For a pipe, waits until it has a reader or the program is asked to
/// stop. Throws Error (failure), naming the path and the reason; the temporary file is then removed, and a regular file stays
/// unchanged.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// A file to write, with its permissions (0600: readable only by its owner, from the first byte).
struct NewFile {
  std::string name;
  std::string contents;
  mode_t mode = 0644;
};

/// Writes several files in one folder, replacing any of the same names: syncs all of them together, then renames them in this
/// order. For any number of files, costs about as much as a few calls of write_file. Throws Error (failure); files already
/// renamed stay renamed.
void write_files(const std::filesystem::path& folder, std::span<const NewFile> files);

/// Appends `line` and a newline to the file and syncs it. If this fails, restores the file if possible and throws Error
/// (failure).
void append_line(const std::filesystem::path& path, std::string_view line);

/// Syncs the folder that holds `path`, if possible.
void sync_folder_of(const std::filesystem::path& path);

/// Creates a folder and any missing parents. Throws Error (failure).
void make_folder(const std::filesystem::path& folder);

/// Opens a regular file for reading as a stream. Throws Error (failure).
std::ifstream opened_stream(const std::filesystem::path& path);

/// The size of a regular file, following links. For anything else, throws Error (failure), naming its kind: reading a pipe could
/// block, and a device may have no end.
std::uint64_t size_of_file(const std::filesystem::path& path);

/// Reads a whole regular file. Throws Error (failure) if it cannot be read, is not regular or is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// The text without a leading UTF-8 byte order mark. Throws Error (failure), with a message that begins with `name`, for a UTF-16
/// mark.
std::string_view without_byte_order_mark(std::string_view text, const std::string& name);

/// Reads a text file written by people: like read_file, but without a byte order mark and with line feeds as line ends.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit = std::uint64_t{1} << 32);

/// True if the path exists; false for a dangling link or if existence cannot be determined.
bool is_there(const std::filesystem::path& path);

/// A sealed file states its kind and can be checked for damage. It contains "NAME VERSION\n", the SHA-256 of the body in
/// hexadecimal, "\n" and the body. `kind` is "NAME VERSION", such as "fedstride checkpoint 4".

/// Replaces the file (write_file). `body` must write the same bytes at each call: they are hashed before they are written.
void write_sealed(const std::filesystem::path& path, std::string_view kind, function_ref<void(std::ostream&)> body);
void write_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view body);

/// Returns the body; lengths stored in it must still be checked, as in any file. Throws Error (failure) if the file cannot be
/// read, is damaged, or has another version; `what` describes it in messages ("checkpoint").
std::string read_sealed(const std::filesystem::path& path, std::string_view kind, std::string_view what);

}  // namespace fedstride
