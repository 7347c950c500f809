#pragma once

// Work and precision of the gradients of stiff problems: a table, and a picture if `svg` names a
// file. See work_precision.cpp.
void work_precision(const char* svg);
