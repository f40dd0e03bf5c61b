#include "core/stop.h"

bool cmg_outcome_converged(cmg_outcome outcome)
{
    return outcome == CMG_CONVERGED_RTOL || outcome == CMG_CONVERGED_ATOL ||
           outcome == CMG_ROUNDING;
}
