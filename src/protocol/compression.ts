/**
 * First byte of every binary frame from the server, before the messages: the compression of the
 * rest. Frames from the client have no such byte.
 */
export const compressionTags = { none: 0, brotli: 1, gzip: 2 } as const;

export type Compression = keyof typeof compressionTags;

/** Returns the compression of `tag`; `undefined` if the tag is unknown. */
export function compressionOf(tag: number): Compression | undefined {
  return compressions[tag];
}

const compressions: readonly Compression[] = ['none', 'brotli', 'gzip'];
