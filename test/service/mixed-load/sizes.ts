/** What the module of the mixed load and its clients agree on. */
export const zoneCount = 16;
export const priceCount = 10_000;
/** Entries are removed, oldest first, while there are more. */
export const entryCount = 2_000;
/** Texts have from 0 to as many characters. */
export const textLengthMax = 160;
