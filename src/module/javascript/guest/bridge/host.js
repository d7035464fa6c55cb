/** What the host gives: functions, of which only guarded ones are used, and limits. */
export const { apply } = Reflect;
/** @type {import('../../guest-api.ts').HostApi} */
export const host = guardHost();
export const { textLengthMax, stackLengthMax, slowCountMax } = options;
export const { scratchBytes, scratchBytesMax, argumentBytes } = options;

// What a host function throws is an object of the host's realm; a full stack is the common reason.
// It is not read. The host has noted what it must know and ends the call where that is needed.
function guardHost() {
  const guard = (run) => (a, b, c, d, e) => {
    try {
      return run(a, b, c, d, e);
    } catch {
      throw new RangeError('Maximum call stack size exceeded');
    }
  };
  /** @type {any} */
  const guarded = { __proto__: null };
  for (const name of Object.keys(outer)) guarded[name] = guard(outer[name]);
  return guarded;
}
