/* Words: the closest of a list to one that is not on it. */
#include "cmg_expert.h"

#include <string.h>

enum { LONGEST_WORD = 40 };

/* Edit distance of Levenshtein (1966), words cut at LONGEST_WORD characters. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST_WORD + 1];
    const int length = (int)strlen(b);
    const int m = length < LONGEST_WORD ? length : LONGEST_WORD;
    for (int j = 0; j <= m; ++j) {
        row[j] = j;
    }
    for (int i = 1; a[i - 1] != '\0' && i <= LONGEST_WORD; ++i) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; ++j) {
            const int replaced = diagonal + (a[i - 1] != b[j - 1]);
            const int shorter = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[m];
}

const char *cmg_closest_word(const char *word, const char *const *words, int count)
{
    if (word == NULL || words == NULL) {
        return NULL;
    }
    const size_t length = strlen(word);
    const char *best = NULL;
    int least = (int)(length < LONGEST_WORD ? length : LONGEST_WORD) / 3 + 2;
    for (int i = 0; i < count; ++i) {
        const bool begins = length >= 2 && strncmp(word, words[i], length) == 0;
        const int d = begins ? 1 : distance(word, words[i]);
        if (d < least) {
            least = d;
            best = words[i];
        }
    }
    return best;
}
