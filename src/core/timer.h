/* Wall clock. */
#pragma once

/* Seconds since some fixed moment, monotone, resolution below a microsecond. */
double cmgi_seconds(void);
