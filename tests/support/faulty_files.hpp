#pragma once

// A file system that fails, tears or dies at a chosen operation.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "costate/core/error.hpp"
#include "costate/storage/file_system.hpp"

namespace costate::test {

class FaultyFiles final : public FileSystem {
 public:
  enum class Fault { none, error, torn_write_error, torn_write_kill, kill_before, flip_on_read };

  /// The operation (open, write, read, reserve, sync, rename or removal, counted from 0 over all
  /// files and folders) that goes wrong.
  std::atomic<long> at = -1;
  Fault fault = Fault::none;
  std::string words = "No space left on device";
  std::atomic<long> operations = 0;
  bool keeps_space = false;

  std::unique_ptr<File> open(const std::string& path, Mode mode) override;
  void rename(const std::string& from, const std::string& to) override {
    if (strikes() && fault == Fault::error) fail(from);
    real().rename(from, to);
  }
  void remove(const std::string& path) override {
    if (strikes() && fault == Fault::error) fail(path);
    real().remove(path);
  }
  void sync_directory(const std::string& path) override {
    if (strikes() && fault == Fault::error) fail(path);
    real().sync_directory(path);
  }

  /// Whether this operation is the one.
  bool strikes() {
    const bool now = operations.fetch_add(1) == at && fault != Fault::none;
    if (now && fault == Fault::kill_before) ::kill(::getpid(), SIGKILL);
    return now;
  }
  [[noreturn]] void fail(const std::string& path) const {
    throw StorageError("cannot write '" + path + "': " + words, path);
  }
};

class FaultyFile final : public File {
 public:
  FaultyFile(FaultyFiles& files, std::unique_ptr<File> inner)
      : File(inner->path()), files_(files), inner_(std::move(inner)) {}

  void read(std::span<std::byte> out, Bytes offset) override {
    using Fault = FaultyFiles::Fault;
    const bool now = files_.strikes();
    if (now && files_.fault == Fault::error) files_.fail(path());
    inner_->read(out, offset);
    if (now && files_.fault == Fault::flip_on_read) out[out.size() / 2] ^= std::byte{4};
  }
  void write(std::span<const std::byte> in, Bytes offset) override {
    using Fault = FaultyFiles::Fault;
    const bool now = files_.strikes();
    if (now && files_.fault == Fault::error) files_.fail(path());
    if (now &&
        (files_.fault == Fault::torn_write_error || files_.fault == Fault::torn_write_kill)) {
      inner_->write(in.first(in.size() / 2), offset);
      if (files_.fault == Fault::torn_write_kill) ::kill(::getpid(), SIGKILL);
      files_.fail(path());
    }
    inner_->write(in, offset);
  }
  void sync() override {
    if (files_.strikes() && files_.fault == FaultyFiles::Fault::error) files_.fail(path());
    inner_->sync();
  }
  void reserve(Bytes bytes) override {
    if (files_.strikes() && files_.fault == FaultyFiles::Fault::error) files_.fail(path());
    inner_->reserve(bytes);
  }
  bool has_name() override { return inner_->has_name(); }
  // Whether the file system can give space back.
  bool release(Bytes offset, Bytes bytes) override {
    return !files_.keeps_space && inner_->release(offset, bytes);
  }
  Bytes size() override { return inner_->size(); }

 private:
  FaultyFiles& files_;
  std::unique_ptr<File> inner_;
};

inline std::unique_ptr<File> FaultyFiles::open(const std::string& path, Mode mode) {
  if (strikes() && fault == Fault::error) fail(path);
  return std::make_unique<FaultyFile>(*this, real().open(path, mode));
}

}  // namespace costate::test
