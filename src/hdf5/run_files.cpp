#include "run_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"

namespace costate::detail {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

// Locks of open files, not of processes: a second run in the same process is refused, too, and
// asking who holds one takes none.
struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return "process " + std::to_string(::getpid()) + " on " + host.data() + "\n";
}

std::string contents(int fd) {
  std::array<char, 512> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return all.substr(0, all.find('\n'));
}

bool held(int fd) {
  struct flock lock = whole_file(F_WRLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The result file: magic, lengths and hash, then identity, library and result.
struct ResultHeader {
  static constexpr std::uint64_t magic_value = 0x32746c7573657263ULL;  // "cresult2"
  std::uint64_t magic = magic_value;
  std::uint64_t identity_bytes = 0;
  std::uint64_t library_bytes = 0;
  std::uint64_t result_bytes = 0;
  std::uint64_t hash = 0;  // of the result, seeded with that of the texts
};

}  // namespace

std::string states_path(const std::string& directory) {
  return directory + "/states.h5";
}
std::string log_path(const std::string& directory) {
  return directory + "/steps.log";
}
std::string result_path(const std::string& directory) {
  return directory + "/result";
}
std::string lock_path(const std::string& directory) {
  return directory + "/lock";
}

bool exists(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) {
    throw StorageError("cannot look at '" + path + "': " + error.message(), path);
  }
  return std::filesystem::exists(status);
}

DirectoryLock::DirectoryLock(const std::string& directory) : path_(lock_path(directory)) {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) throw StorageError("cannot open '" + path_ + "': " + reason(errno), path_);
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd_, F_OFD_SETLK, &lock) != 0) {
    const int error = errno;
    const std::string worker = contents(fd_);
    ::close(fd_);
    throw StorageError(error == EAGAIN || error == EACCES
                           ? "the run in '" + directory + "' is being worked on by " +
                                 (worker.empty() ? "another process" : "another process: " + worker)
                           : "cannot lock '" + path_ + "': " + reason(error),
                       path_);
  }
  // For people only: if it cannot be written, the lock holds all the same.
  const std::string text = this_process();
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, text.data(), text.size(), 0);
}

DirectoryLock::~DirectoryLock() {
  ::close(fd_);
}

std::string worker_of(const std::string& directory) {
  const int fd = ::open(lock_path(directory).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  std::string worker;
  if (held(fd)) {
    worker = contents(fd);
    if (worker.empty()) worker = "another process";
  }
  ::close(fd);
  return worker;
}

void write_result(FileSystem& files, const std::string& directory, const std::string& identity,
                  const std::string& library, std::span<const std::byte> bytes) {
  const std::string path = result_path(directory);
  const std::string aside = path + ".new";
  ResultHeader header;
  header.identity_bytes = identity.size();
  header.library_bytes = library.size();
  header.result_bytes = bytes.size();
  const std::string texts = identity + library;
  header.hash = hash_bytes(bytes, hash_bytes(std::as_bytes(std::span(texts))));
  files.remove(aside);  // of an attempt that failed
  {
    const auto file = files.open(aside, FileSystem::Mode::create);
    file->write(std::as_bytes(std::span(&header, 1)), 0);
    file->write(std::as_bytes(std::span(texts)), sizeof header);
    file->write(bytes, sizeof header + texts.size());
    file->sync();
  }
  files.rename(aside, path);
  files.sync_directory(directory);
}

std::optional<Result> read_result(FileSystem& files, const std::string& directory) {
  const std::string path = result_path(directory);
  if (!exists(path)) return std::nullopt;
  const auto file = files.open(path, FileSystem::Mode::read);
  ResultHeader header;
  const Bytes size = file->size();
  Bytes rest = size - std::min<Bytes>(size, sizeof header);
  bool good = size >= sizeof header;
  if (good) {
    file->read(std::as_writable_bytes(std::span(&header, 1)), 0);
    good = header.magic == ResultHeader::magic_value;
    for (const std::uint64_t part :
         {header.identity_bytes, header.library_bytes, header.result_bytes}) {
      good = good && part <= rest;
      if (good) rest -= part;
    }
    good = good && rest == 0;
  }
  Result result;
  if (good) {
    std::string texts(header.identity_bytes + header.library_bytes, '\0');
    result.bytes.resize(header.result_bytes);
    file->read(std::as_writable_bytes(std::span(texts)), sizeof header);
    file->read(result.bytes, sizeof header + texts.size());
    good = hash_bytes(result.bytes, hash_bytes(std::as_bytes(std::span(texts)))) == header.hash;
    result.identity = texts.substr(0, header.identity_bytes);
    result.library = texts.substr(header.identity_bytes);
  }
  if (!good) throw StorageError("'" + path + "' is damaged", path);
  return result;
}

}  // namespace costate::detail
