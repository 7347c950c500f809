#include "container.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <span>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "h5.hpp"
#include "row_header.hpp"

namespace costate::detail {
namespace {

constexpr std::uint64_t format_version = 3;
constexpr Bytes page = 4096;
constexpr std::uint64_t hdf5_limit = std::uint64_t{1} << 31U;  // of the size of a type, and more
// A dataset smaller than this would not be aligned to a page.
constexpr hsize_t least_headers = page / sizeof(RowHeader);

H5Properties file_access(const std::string& path) {
  H5Properties access(H5Pcreate(H5P_FILE_ACCESS), "set up", path);
  // The oldest format that has all that is needed. A file in the latest one that is not closed in
  // order never opens again.
  h5_check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "set up", path);
  h5_check(H5Pset_alignment(access, page, page), "set up", path);
  h5_check(H5Pset_sieve_buf_size(access, 0), "set up", path);
  h5_check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "set up", path);
  return access;
}

hid_t make_header_type() {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(RowHeader));
  H5Tinsert(type, "magic", offsetof(RowHeader, magic), H5T_NATIVE_UINT32);
  H5Tinsert(type, "kind", offsetof(RowHeader, kind), H5T_NATIVE_UINT16);
  H5Tinsert(type, "phase", offsetof(RowHeader, phase), H5T_NATIVE_UINT16);
  H5Tinsert(type, "sequence", offsetof(RowHeader, sequence), H5T_NATIVE_UINT64);
  H5Tinsert(type, "slot", offsetof(RowHeader, slot), H5T_NATIVE_INT64);
  H5Tinsert(type, "step", offsetof(RowHeader, step), H5T_NATIVE_INT64);
  H5Tinsert(type, "time", offsetof(RowHeader, time), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "bytes", offsetof(RowHeader, bytes), H5T_NATIVE_UINT64);
  H5Tinsert(type, "payload_xxh3", offsetof(RowHeader, payload_hash), H5T_NATIVE_UINT64);
  H5Tinsert(type, "header_xxh3", offsetof(RowHeader, header_hash), H5T_NATIVE_UINT64);
  return type;
}

hid_t native(StateField::Type type) {
  switch (type) {
    case StateField::Type::float32:
      return H5T_NATIVE_FLOAT;
    case StateField::Type::float64:
      return H5T_NATIVE_DOUBLE;
    case StateField::Type::int32:
      return H5T_NATIVE_INT32;
    case StateField::Type::int64:
      return H5T_NATIVE_INT64;
    case StateField::Type::bytes:
      return H5T_NATIVE_UINT8;
  }
  return H5T_NATIVE_UINT8;
}

// Whether rows can be described by these fields: HDF5 stores sizes of types in 32 bits.
bool describable(const Container& c) {
  std::size_t bytes = 0;
  for (const StateField& field : c.fields) {
    if (field.name.empty() || field.shape.size() > H5S_MAX_RANK) return false;
    for (const std::size_t length : field.shape) {
      if (length == 0 || length >= hdf5_limit) return false;
    }
    bytes += bytes_of(field);
  }
  return !c.fields.empty() && c.fields.size() < 100 && bytes <= c.row_bytes &&
         c.stride < hdf5_limit;
}

// A row as a compound of its fields, as long as the distance of two rows.
hid_t make_row_type(const Container& c, const std::string& path) {
  const hid_t row = H5Tcreate(H5T_COMPOUND, c.stride);
  std::size_t at = 0;
  for (const StateField& field : c.fields) {
    const std::vector<hsize_t> shape(field.shape.begin(), field.shape.end());
    const H5Type type(shape.empty()
                          ? H5Tcopy(native(field.type))
                          : H5Tarray_create2(native(field.type),
                                             static_cast<unsigned>(shape.size()), shape.data()),
                      "describe a state in", path);
    h5_check(H5Tinsert(row, field.name.c_str(), at, type), "describe a state in", path);
    at += bytes_of(field);
  }
  return row;
}

std::vector<StateField> read_fields(hid_t file, const std::string& path) {
  const H5Dataset states(H5Dopen2(file, "states", H5P_DEFAULT), "find a dataset of", path);
  const H5Type row(H5Dget_type(states), "read the description of", path);
  std::vector<StateField> fields;
  if (H5Tget_class(row) != H5T_COMPOUND) return fields;
  for (int i = 0; i < H5Tget_nmembers(row); ++i) {
    const auto member = static_cast<unsigned>(i);
    StateField field;
    if (char* const name = H5Tget_member_name(row, member)) {
      field.name = name;
      H5free_memory(name);
    }
    H5Type type(H5Tget_member_type(row, member), "read the description of", path);
    if (H5Tget_class(type) == H5T_ARRAY) {
      std::vector<hsize_t> shape(static_cast<std::size_t>(H5Tget_array_ndims(type)));
      H5Tget_array_dims2(type, shape.data());
      field.shape.assign(shape.begin(), shape.end());
      H5Type element(H5Tget_super(type), "read the description of", path);
      std::swap(type, element);
    }
    for (const auto known :
         {StateField::Type::float32, StateField::Type::float64, StateField::Type::int32,
          StateField::Type::int64, StateField::Type::bytes}) {
      if (H5Tequal(type, native(known)) > 0) field.type = known;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

// What the first page of the file says, so that HDF5 is given only what it has written itself.
struct Seal {
  static constexpr std::array<char, 24> title_value = {"costate checkpoints\n"};
  std::array<char, 24> title = title_value;
  std::uint64_t version = format_version;
  std::uint64_t size = 0;  // of the file
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::array<Range, 4> rows = {};   // what this library writes, ascending; the rest is HDF5's
  std::uint64_t metadata_hash = 0;  // of the rest
  std::uint64_t own_hash = 0;       // of what is before it here
  [[nodiscard]] std::uint64_t right_hash() const noexcept {
    return hash_bytes(std::as_bytes(std::span(this, 1)).first(offsetof(Seal, own_hash)));
  }
};

// XXH3 of HDF5's own bytes, piece by piece.
std::uint64_t hash_metadata(File& file, const Seal& seal) {
  std::uint64_t hash = 0;
  std::vector<std::byte> piece;
  Bytes at = page;
  const auto take = [&](Bytes end) {
    while (at < end) {
      piece.resize(std::min<Bytes>(end - at, 1_MiB));
      file.read(piece, at);
      hash = hash_bytes(piece, hash);
      at += piece.size();
    }
  };
  for (const Seal::Range& range : seal.rows) {
    take(range.begin);
    at = std::max(at, range.end);
  }
  take(seal.size);
  return hash;
}

void write_seal(FileSystem& files, const std::string& path, const Container& c) {
  const auto file = files.open(path, FileSystem::Mode::update);
  Seal seal;
  seal.size = c.size;
  const auto rows = static_cast<Bytes>(c.rows);
  const Bytes headers = std::max<Bytes>(rows, least_headers) * sizeof(RowHeader);
  seal.rows = {{{c.states, c.states + rows * c.stride},
                {c.headers, c.headers + headers},
                {c.records, c.records + 2 * c.record_stride},
                {c.record_headers,
                 c.record_headers + (c.record_bytes > 0 ? least_headers * sizeof(RowHeader) : 0)}}};
  std::sort(seal.rows.begin(), seal.rows.end(),
            [](const Seal::Range& a, const Seal::Range& b) { return a.begin < b.begin; });
  seal.metadata_hash = hash_metadata(*file, seal);
  seal.own_hash = seal.right_hash();
  file->write(std::as_bytes(std::span(&seal, 1)), 0);
}

// Throws unless HDF5's part of the file is as it was made. Returns the size it was made with.
Bytes check_seal(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, FileSystem::Mode::read);
  const Bytes size = file->size();
  Seal seal;
  seal.title = {};
  if (size >= sizeof seal) file->read(std::as_writable_bytes(std::span(&seal, 1)), 0);
  if (seal.title != Seal::title_value) {
    throw StorageError("'" + path + "' holds no costate checkpoints", path);
  }
  if (seal.version != format_version) {
    throw StorageError("'" + path + "' has format version " + std::to_string(seal.version) +
                           ", this library reads " + std::to_string(format_version),
                       path);
  }
  if (seal.own_hash != seal.right_hash()) {
    throw StorageError("'" + path + "' is damaged: the checksum of its first block is wrong", path);
  }
  if (size < seal.size) {
    throw StorageError("'" + path + "' is cut off: it has " + std::to_string(size) + " of " +
                           std::to_string(seal.size) + " bytes",
                       path);
  }
  if (hash_metadata(*file, seal) != seal.metadata_hash) {
    throw StorageError("'" + path + "' is damaged: the checksum of its structure is wrong", path);
  }
  return seal.size;
}

// A contiguous dataset with its place in the file. Headers must begin as zeros; what rows begin as
// does not matter, and is not written.
Bytes make_dataset(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& shape,
                   bool zeros, const std::string& path) {
  const H5Space space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                      "shape a dataset of", path);
  const H5Properties creation(H5Pcreate(H5P_DATASET_CREATE), "set up", path);
  h5_check(H5Pset_layout(creation, H5D_CONTIGUOUS), "set up", path);
  h5_check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "set up", path);
  h5_check(H5Pset_fill_time(creation, zeros ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER), "set up",
           path);
  const H5Dataset dataset(H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                          "make a dataset in", path);
  const haddr_t place = H5Dget_offset(dataset);
  if (place == HADDR_UNDEF) h5_fail("find a dataset of", path);
  return place;
}

void write_attribute(hid_t file, const char* name, std::uint64_t value, const std::string& path) {
  const H5Space space(H5Screate(H5S_SCALAR), "set up", path);
  const H5Attribute attribute(
      H5Acreate2(file, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, H5P_DEFAULT), "describe", path);
  h5_check(H5Awrite(attribute, H5T_NATIVE_UINT64, &value), "describe", path);
}

void write_attribute(hid_t file, const char* name, const std::string& value,
                     const std::string& path) {
  const H5Space space(H5Screate(H5S_SCALAR), "set up", path);
  const H5Type type(H5Tcopy(H5T_C_S1), "set up", path);
  h5_check(H5Tset_size(type, value.size() + 1), "set up", path);
  const H5Attribute attribute(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                              "describe", path);
  h5_check(H5Awrite(attribute, type, value.c_str()), "describe", path);
}

std::uint64_t read_number(hid_t file, const char* name, const std::string& path) {
  const H5Attribute attribute(H5Aopen(file, name, H5P_DEFAULT), "read the description of", path);
  std::uint64_t value = 0;
  h5_check(H5Aread(attribute, H5T_NATIVE_UINT64, &value), "read the description of", path);
  return value;
}

std::string read_text(hid_t file, const char* name, const std::string& path) {
  const H5Attribute attribute(H5Aopen(file, name, H5P_DEFAULT), "read the description of", path);
  const H5Type type(H5Aget_type(attribute), "read the description of", path);
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || size > 65536) {
    throw StorageError("'" + path + "' is described in an unknown way", path);
  }
  std::string value(size, '\0');
  h5_check(H5Aread(attribute, type, value.data()), "read the description of", path);
  return value.c_str();
}

Bytes find_dataset(hid_t file, const char* name, hsize_t least_bytes, const std::string& path) {
  const H5Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "find a dataset of", path);
  const haddr_t place = H5Dget_offset(dataset);
  if (place == HADDR_UNDEF || H5Dget_storage_size(dataset) < least_bytes) {
    throw StorageError("'" + path + "' lacks a part of " + name, path);
  }
  return place;
}

// Makes the file empty, with the certainty that all of it would fit. HDF5 cannot be asked to find
// out: a file of an impossible size cannot be closed any more, and the process crashes when it
// ends.
void claim(FileSystem& files, const std::string& path, const Container& c) {
  constexpr Bytes metadata = 64_KiB;
  const auto rows = static_cast<Bytes>(c.rows);
  const Bytes row = c.stride + sizeof(RowHeader);
  if (rows > (Bytes{1} << 62U) / row) {
    throw StorageError("cannot create '" + path + "': " + std::to_string(rows) + " rows of " +
                           format_bytes(c.stride) + " are more than a file can hold",
                       path);
  }
  const auto file = files.open(path, FileSystem::Mode::create);
  try {
    file->reserve(metadata + rows * (c.sparse ? sizeof(RowHeader) : row) + 2 * c.record_stride);
  } catch (...) {
    files.remove(path);
    throw;
  }
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

const char* byte_order() {
  return std::endian::native == std::endian::little ? "little" : "big";
}

}  // namespace

std::size_t Container::stride_for(std::size_t row_bytes) noexcept {
  const std::size_t unit = row_bytes < page ? 64 : page;
  return (row_bytes + unit - 1) / unit * unit;
}

Bytes Container::records_size(std::size_t record_bytes) noexcept {
  return record_bytes == 0 ? 0 : 2 * stride_for(record_bytes) + least_headers * sizeof(RowHeader);
}

std::string Container::own_name() {
  return "costate " COSTATE_VERSION;
}

Container create_container(FileSystem& files, const std::string& path, const Container& wanted) {
  Container made = wanted;
  made.stride = Container::stride_for(wanted.row_bytes);
  made.record_stride = Container::stride_for(wanted.record_bytes);
  const auto rows = static_cast<hsize_t>(wanted.rows);
  made.created = utc_now();
  claim(files, path, made);

  try {
    const H5Session session;
    const H5Properties access = file_access(path);
    const H5Properties creation(H5Pcreate(H5P_FILE_CREATE), "set up", path);
    h5_check(H5Pset_userblock(creation, page), "set up", path);
    const H5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), "create", path);
    const H5Type header(make_header_type(), "set up", path);
    made.headers =
        make_dataset(file, "headers", header, {std::max(rows, least_headers)}, true, path);
    if (made.record_bytes > 0) {
      made.record_headers =
          make_dataset(file, "record_headers", header, {least_headers}, true, path);
      made.records =
          make_dataset(file, "records", H5T_NATIVE_UINT8, {2, made.record_stride}, false, path);
    }
    if (describable(made)) {
      const H5Type row(make_row_type(made, path), "describe a state in", path);
      made.states = make_dataset(file, "states", row, {rows}, false, path);
    } else {
      made.fields.clear();
      made.states =
          make_dataset(file, "states", H5T_NATIVE_UINT8, {rows, made.stride}, false, path);
    }
    write_attribute(file, "format", "costate checkpoints", path);
    write_attribute(file, "format_version", format_version, path);
    write_attribute(file, "library", made.library, path);
    write_attribute(file, "byte_order", byte_order(), path);
    write_attribute(file, "created", made.created, path);
    write_attribute(file, "identity", made.identity, path);
    write_attribute(file, "row_bytes", made.row_bytes, path);
    write_attribute(file, "record_bytes", made.record_bytes, path);
    write_attribute(file, "rows", static_cast<std::uint64_t>(made.rows), path);
    write_attribute(file, "log_bytes", made.log_bytes, path);
    write_attribute(file, "memory_bytes", made.memory, path);
    write_attribute(file, "memory_slots", made.memory_slots, path);
  } catch (...) {
    files.remove(path);
    throw;
  }
  try {
    made.size = std::max(made.states + static_cast<Bytes>(made.rows) * made.stride,
                         files.open(path, FileSystem::Mode::read)->size());
    if (!made.sparse) files.open(path, FileSystem::Mode::update)->reserve(made.size);
    write_seal(files, path, made);
  } catch (...) {
    files.remove(path);
    throw;
  }
  return made;
}

Container open_container(FileSystem& files, const std::string& path) {
  const Bytes size = check_seal(files, path);
  const H5Session session;
  const H5Properties access = file_access(path);
  const H5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "open", path);
  if (read_text(file, "format", path) != "costate checkpoints") {
    throw StorageError("'" + path + "' holds no costate checkpoints", path);
  }
  if (const auto version = read_number(file, "format_version", path); version != format_version) {
    throw StorageError("'" + path + "' has format version " + std::to_string(version) +
                           ", this library reads " + std::to_string(format_version),
                       path);
  }
  if (const std::string order = read_text(file, "byte_order", path); order != byte_order()) {
    throw StorageError("'" + path + "' was written with " + order + "-endian numbers", path);
  }
  Container found;
  found.identity = read_text(file, "identity", path);
  found.library = read_text(file, "library", path);
  found.created = read_text(file, "created", path);
  found.log_bytes = read_number(file, "log_bytes", path);
  found.memory = read_number(file, "memory_bytes", path);
  found.memory_slots = read_number(file, "memory_slots", path);
  found.fields = read_fields(file, path);
  found.row_bytes = read_number(file, "row_bytes", path);
  found.record_bytes = read_number(file, "record_bytes", path);
  const std::uint64_t rows = read_number(file, "rows", path);
  constexpr std::uint64_t most = std::uint64_t{1} << 62U;
  if (found.row_bytes == 0 || found.row_bytes > most || found.record_bytes > most || rows == 0 ||
      rows > most / sizeof(RowHeader) || rows > most / Container::stride_for(found.row_bytes)) {
    throw StorageError("'" + path + "' is described by impossible numbers", path);
  }
  found.rows = static_cast<Slot>(rows);
  found.stride = Container::stride_for(found.row_bytes);
  found.record_stride = Container::stride_for(found.record_bytes);
  found.states = find_dataset(file, "states", rows * found.stride, path);
  found.headers = find_dataset(file, "headers", rows * sizeof(RowHeader), path);
  if (found.record_bytes > 0) {
    found.records = find_dataset(file, "records", 2 * found.record_stride, path);
    found.record_headers = find_dataset(file, "record_headers", 2 * sizeof(RowHeader), path);
  }
  found.size = size;
  return found;
}

}  // namespace costate::detail
