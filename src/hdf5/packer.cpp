#include "packer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include <zstd.h>

#include "costate/core/error.hpp"

namespace costate {

Compression compression(std::string_view name) {
  constexpr std::array lossy = {"zfp",    "sz",   "sz2",     "sz3",         "mgard",    "float32",
                                "single", "half", "tthresh", "fpzip-lossy", "quantize", "bitround"};
  if (std::ranges::find(lossy, name) != lossy.end()) {
    throw Unsupported(
        "compression '" + std::string(name) +
        "' loses bits: a replay from such a checkpoint leads to other states than the "
        "first pass, and the gradient would be that of neither. Lossless: zstd");
  }
  if (name == "none") return {};
  Compression chosen{.codec = Compression::Codec::zstd};
  if (name == "zstd") return chosen;
  if (name.substr(0, 5) == "zstd:") {
    const std::string_view level = name.substr(5);
    const auto [end, error] =
        std::from_chars(level.data(), level.data() + level.size(), chosen.level);
    if (error == std::errc() && end == level.data() + level.size() && chosen.level >= -7 &&
        chosen.level <= 19) {
      return chosen;
    }
  }
  throw InvalidArgument("there is no compression '" + std::string(name) +
                        "'; there are none, zstd, zstd:LEVEL with a level of -7 to 19");
}

namespace detail {
namespace {

struct Tail {
  std::uint64_t bytes;
  std::uint32_t codec;
  std::uint32_t element_bytes;
};
constexpr std::uint32_t as_it_was = 0x80000000U;

// Byte b of number i goes to place b * count + i; what is left over at the end stays there.
void regroup(std::span<const std::byte> in, std::byte* out, std::size_t width) {
  const std::size_t count = in.size() / width;
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) out[b * count + i] = in[i * width + b];
  }
  std::memcpy(out + count * width, in.data() + count * width, in.size() - count * width);
}

void ungroup(const std::byte* in, std::span<std::byte> out, std::size_t width) {
  const std::size_t count = out.size() / width;
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t i = 0; i < count; ++i) out[i * width + b] = in[b * count + i];
  }
  std::memcpy(out.data() + count * width, in + count * width, out.size() - count * width);
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

struct Packer::Contexts {
  ZSTD_CCtx* pack = ZSTD_createCCtx();
  ZSTD_DCtx* unpack = ZSTD_createDCtx();
  ~Contexts() {
    ZSTD_freeCCtx(pack);
    ZSTD_freeDCtx(unpack);
  }
  Contexts() = default;
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
};

Packer::Packer(const Compression& compression, std::size_t row_bytes)
    : contexts_(std::make_unique<Contexts>()),
      compression_(compression),
      regrouped_(piece),
      packed_(ZSTD_compressBound(piece)),
      lengths_(pieces_of(row_bytes)) {
  if (contexts_->pack == nullptr || contexts_->unpack == nullptr) throw std::bad_alloc();
}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;

std::size_t Packer::bound(std::size_t bytes) noexcept {
  return bytes + pieces_of(bytes) * sizeof(std::uint32_t) + sizeof(Tail);
}

Bytes Packer::memory_bytes(const Compression& compression, std::size_t row_bytes) {
  // zstd tells what a context takes only once it has worked.
  Packer probe(compression, piece);
  ZSTD_compressCCtx(probe.contexts_->pack, probe.packed_.data(), probe.packed_.size(),
                    probe.regrouped_.data(), piece, compression.level);
  return piece + ZSTD_compressBound(piece) + ZSTD_sizeof_CCtx(probe.contexts_->pack) +
         ZSTD_sizeof_DCtx(probe.contexts_->unpack) + pieces_of(row_bytes) * sizeof(std::uint32_t);
}

Bytes Packer::pack(std::span<const std::byte> state, File& file, Bytes place, PayloadHash& hash) {
  const auto width = static_cast<std::size_t>(compression_.element_bytes);
  Bytes length = 0;
  const auto put = [&](std::span<const std::byte> part) {
    hash.add(part);
    file.write(part, place + length);
    length += part.size();
  };
  const std::size_t pieces = pieces_of(state.size());
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::span<const std::byte> in =
        state.subspan(i * piece, std::min(piece, state.size() - i * piece));
    regroup(in, regrouped_.data(), width);
    const std::size_t packed = ZSTD_compressCCtx(contexts_->pack, packed_.data(), packed_.size(),
                                                 regrouped_.data(), in.size(), compression_.level);
    const bool smaller = ZSTD_isError(packed) == 0U && packed < in.size();
    const std::span<const std::byte> out =
        smaller ? std::span<const std::byte>(packed_.data(), packed) : in;
    put(out);
    lengths_[i] = static_cast<std::uint32_t>(out.size()) | (smaller ? 0U : as_it_was);
  }
  put(std::as_bytes(std::span(lengths_).first(pieces)));
  put(bytes_of(Tail{state.size(), static_cast<std::uint32_t>(compression_.codec),
                    static_cast<std::uint32_t>(compression_.element_bytes)}));
  return length;
}

bool Packer::unpack(Bytes packed, std::span<std::byte> state, File& file, Bytes place,
                    PayloadHash& hash) {
  const std::size_t pieces = pieces_of(state.size());
  const auto table = std::as_writable_bytes(std::span(lengths_).first(pieces));
  Tail tail{};
  if (packed < sizeof tail + table.size()) return false;
  const Bytes end = packed - sizeof tail - table.size();
  file.read(std::as_writable_bytes(std::span(&tail, 1)), place + packed - sizeof tail);
  if (tail.bytes != state.size() || tail.element_bytes == 0 || tail.element_bytes > 64 ||
      tail.codec != static_cast<std::uint32_t>(Compression::Codec::zstd)) {
    return false;
  }
  file.read(table, place + end);
  Bytes at = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::span<std::byte> out =
        state.subspan(i * piece, std::min(piece, state.size() - i * piece));
    const Bytes length = lengths_[i] & ~as_it_was;
    const bool whole = (lengths_[i] & as_it_was) != 0;
    if (length > end - at || length > packed_.size() || (whole && length != out.size())) {
      return false;
    }
    const std::span<std::byte> in = whole ? out : std::span(packed_.data(), length);
    file.read(in, place + at);
    hash.add(in);
    at += length;
    if (whole) continue;
    if (ZSTD_decompressDCtx(contexts_->unpack, regrouped_.data(), out.size(), in.data(),
                            in.size()) != out.size()) {
      return false;
    }
    ungroup(regrouped_.data(), out, tail.element_bytes);
  }
  hash.add(table);
  hash.add(bytes_of(tail));
  return at == end;
}

Bytes Packer::unpacked_bytes(Bytes packed, File& file, Bytes place) {
  Tail tail{};
  if (packed < sizeof tail) return 0;
  file.read(std::as_writable_bytes(std::span(&tail, 1)), place + packed - sizeof tail);
  return tail.bytes;
}

}  // namespace detail
}  // namespace costate
