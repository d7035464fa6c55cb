/**
 * Names that the files of this folder can use besides ECMAScript. They run in the guest realm,
 * where nothing of ours exists, as script text that `scripts/embed-guest.mjs` makes of them.
 */

// Constants of the prelude, from the text around it (`realm-prelude-source.ts`).

/** Elements of a list, or characters of a text, that one built-in walks. */
declare const elementCountMax: number;
/** Pieces that a text is split into. */
declare const pieceCountMax: number;
/** Elements or characters for costlier work. */
declare const slowCountMax: number;
/** Size of one buffer or typed array. */
declare const bufferBytesMax: number;
/** Worst-case steps of looking for a text in another: the product of their lengths. */
declare const searchStepsMax: number;
/** Characters of one pattern. */
declare const patternLengthMax: number;
/** Elements that make a function too long for the engine to inline it. */
declare const pauseElementCount: number;

// Parameters of the bridge, from the text around it (`bridge-source.ts`).

declare const outer: import('../guest-api.ts').HostApi;
declare const options: import('../guest-api.ts').BridgeOptions;

// What the hardening library adds; the bridge keeps it from programs.

declare function lockdown(options: Readonly<Record<string, string>>): void;
declare function harden<Value>(value: Value): Value;
declare class Compartment {
  constructor(options: {
    readonly __options__: true;
    readonly transforms: readonly ((source: string) => string)[];
  });
  readonly globalThis: Record<string, unknown>;
}

// What some engines have and the type library does not know.

interface ArrayBuffer {
  transfer?: unknown;
  transferToFixedLength?: unknown;
}
interface ArrayConstructor {
  fromAsync?: unknown;
}
interface ErrorConstructor {
  stackTraceLimit: number;
  prepareStackTrace?: (() => string) | undefined;
}
interface Object {
  __lookupGetter__(key: PropertyKey): () => unknown;
}
