/**
 * Names that the linker puts into programs, and the realm binds. A program has no name that begins
 * so.
 */
export const guardPrefix = 'reducerdb$';

export const guardNames = {
  /** Of the object of a `for in`. */
  keys: `${guardPrefix}keys`,
  /** Of an object whose properties are copied. */
  few: `${guardPrefix}few`,
  /** Of an iterable whose elements are copied. */
  items: `${guardPrefix}items`,
  /** Of any value: lets the engine interrupt the program. */
  pause: `${guardPrefix}pause`,
} as const;
