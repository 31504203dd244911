/* The header compiles as C99 too. */
#include "experiments/regions/dvfs_plan_regions.h"

int main(void) {
  dvfs_plan_begin("a");
  dvfs_plan_end("a");
  dvfs_plan_metric("m", 1.5, "J");
  return 0;
}
