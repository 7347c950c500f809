#pragma once

/// @file
/// Why bits can depend on inlining: a compiler may contract `a * b + c` to one rounding (FMA) in
/// one inlined copy of a function and not in another. Forward steps, replays and reverse steps must
/// agree to the bit, whatever calls them, so each arithmetic kernel is compiled exactly once for
/// its types: never inlined into a caller, never cloned for constant arguments.

#if defined(__clang__)
#define COSTATE_ONE_INSTANCE [[gnu::noinline]]
#else
#define COSTATE_ONE_INSTANCE [[gnu::noinline, gnu::noclone]]
#endif
