#pragma once

/// Prints the error of a gradient against the tolerance.
void robertson_table();

/// Prints what costate's vector operations save in a run of CVODES.
void vector_operations_table();

/// Prints time and memory of a gradient of the 2D Brusselator on a grid of `side` x `side`.
/// @returns whether every bound was kept
bool brusselator_table(int side, double end);
