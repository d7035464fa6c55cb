/**
 * Names that the linker puts into programs, and that the realm binds. No name in a program begins
 * with this prefix.
 */
export const guardPrefix = 'reducerdb$';

export const guardNames = {
  /** Guards the object of a `for in`. */
  keys: `${guardPrefix}keys`,
  /** Guards an object whose properties are copied. */
  few: `${guardPrefix}few`,
  /** Guards an iterable whose elements are copied. */
  items: `${guardPrefix}items`,
  /** Takes any value: lets the engine interrupt the program. */
  pause: `${guardPrefix}pause`,
} as const;
