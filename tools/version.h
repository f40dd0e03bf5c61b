/* `cmg --version`. */
#pragma once

void version_print(void);
