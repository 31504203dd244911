// The extension's own copy of the function: see unpack_readings.cpp.
#include "results/store/unpack_readings.cpp"
