#pragma once

#include <cstddef>
#include <span>

#include "costate/sundials/context.hpp"

/// @file
/// Vectors over memory that is there already.

namespace costate::sundials {

/// A serial vector over `data`, which is not copied and must outlive it. To SUNDIALS it is a vector
/// of `nvector_serial`, so that all its solvers take it. Its operations are compiled here, with
/// optimisation and fused where SUNDIALS can make use of it: packaged builds of the library are
/// often compiled without. Clones have memory of their own.
/// @throws SundialsError
Vector wrap(std::span<double> data, SUNContext context);

/// A serial vector of `size` entries with the same operations.
Vector make_vector(std::size_t size, SUNContext context);

/// Gives a vector of `nvector_serial` these operations.
void use_fast_operations(N_Vector v) noexcept;

/// The entries of a vector that has all of them in one array of this process.
/// @throws InvalidArgument if it has not
std::span<double> entries(N_Vector v);

/// The bytes of a vector of any kind that can be packed (`N_VBufPack`): serial, threaded, the part
/// of this process of a parallel one, and those made of several.
/// @throws InvalidArgument if it cannot
[[nodiscard]] std::size_t packed_bytes(N_Vector v);
/// @param out  packed_bytes(v) bytes, aligned to 8
void pack(N_Vector v, std::span<std::byte> out);
void unpack(N_Vector v, std::span<const std::byte> in);

}  // namespace costate::sundials
