import { bridge } from './guest-text.ts';

/** File name of the bridge and of the program in stack traces of the realm. */
export const bridgeFileName = 'reducerdb-bridge.js';
export const programFileName = 'reducerdb-program.js';

/** Lines that the bridge puts before a program's script, to be subtracted from a position. */
export const programLinesBefore = 1;

/**
 * The only code that knows both worlds, as script text: the files of `guest/bridge/`, of which
 * `bridge.js` says what they keep. Evaluated in the guest realm before any user code. The script's
 * value is `bridge(outer, options)`, which takes a `HostApi` and returns a `GuestApi` (see
 * `guest-api.ts`).
 */
export const bridgeSource: string = `(function bridge(outer, options) {
'use strict';
${bridge}return api;
})`;
