#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "costate/core/bytes.hpp"

/// @file
/// The few things that the storage layer asks of an operating system, as an interface, so that
/// tests can let them fail, tear them, or record them. Every failure is a StorageError with the
/// path and the system's own words.

namespace costate {

/// An open file. `read` and `write` may be called from several threads at a time.
class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Reads exactly these bytes.
  /// @throws StorageError also if the file ends before
  virtual void read(std::span<std::byte> out, Bytes offset) = 0;
  virtual void write(std::span<const std::byte> in, Bytes offset) = 0;
  /// Everything written before is on the device when this returns.
  virtual void sync() = 0;
  /// The first `bytes` bytes have their place on the device, so that writing them cannot fail for
  /// want of space.
  virtual void reserve(Bytes bytes) = 0;
  /// The contents of these bytes do not matter any more: they need no place on the device.
  /// Returns false if that cannot be had here.
  virtual bool release(Bytes /*offset*/, Bytes /*bytes*/) { return false; }
  [[nodiscard]] virtual Bytes size() = 0;
  /// Whether anybody can still find the file under a name. One that was removed can be written to,
  /// but what is written is lost when it is closed.
  [[nodiscard]] virtual bool has_name() { return true; }

 protected:
  explicit File(std::string path) : path_(std::move(path)) {}

 private:
  std::string path_;
};

/// Opens and names files.
class FileSystem {
 public:
  enum class Mode : unsigned char {
    read,    ///< must exist
    update,  ///< read and write; must exist
    create   ///< read and write; must not exist
  };
  virtual ~FileSystem() = default;

  virtual std::unique_ptr<File> open(const std::string& path, Mode mode) = 0;
  /// Replaces what has the new name.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// No error if there is no such file.
  virtual void remove(const std::string& path) = 0;
  /// Names made, changed or removed in the directory before are on the device when this returns.
  virtual void sync_directory(const std::string& path) = 0;

  /// The machine's own. Stateless.
  static FileSystem& real();

 protected:
  FileSystem() = default;
  FileSystem(const FileSystem&) = default;
  FileSystem& operator=(const FileSystem&) = default;
};

}  // namespace costate
