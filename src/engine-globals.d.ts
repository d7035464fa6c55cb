/**
 * The only names beyond the ECMAScript library that engine rooms may use. There is no `process`,
 * `Buffer`, `setTimeout` or `fetch` here: what an engine room needs of the machine is a parameter.
 */
declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes: Uint8Array): string;
}
