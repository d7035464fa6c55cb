/** Both types are the same, in both directions and in their modifiers. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only when its argument is `true`. */
export function expectType<_IsTrue extends true>(): void {}
