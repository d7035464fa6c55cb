/**
 * A separate world of objects for one program: its own `Object`, `Array`, `Error`, and nothing of
 * ours. Engine code hands it primitives only and takes primitives and buffers back (see
 * `guest/bridge/`). `node/realm.ts` creates one; a realm serves one program and is then dropped.
 *
 * A new realm holds the ECMAScript globals and those of the hardening library (`lockdown`,
 * `Compartment`), and nothing else: no `process`, no loader, no timers.
 */
export interface Realm {
  /**
   * Runs `source` as a script in the realm's global scope and returns its completion value. Trusted
   * text only: this is how the bridge gets in; user code goes through the compartment it makes.
   */
  evaluate(source: string, fileName: string): unknown;
  /**
   * Runs `run`, during which the engine formats the stacks of errors natively. Outside of it,
   * reading `error.stack` in the realm enters a function of *our* world; a program that reads it
   * with the stack nearly full makes that function fail, and so gets hold of an error object of
   * ours and, through its constructor, of everything. All guest code runs inside `enter`.
   *
   * Nesting is allowed and free; the outermost costs about half a microsecond, so a caller with
   * many calls to make enters once around them.
   */
  enter<Result>(run: () => Result): Result;
}
