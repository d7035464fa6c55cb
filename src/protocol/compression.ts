/**
 * First byte of every binary frame from the server, before the messages: how what follows is
 * packed. Frames from the client have no such byte.
 */
export const compressionTags = { none: 0, brotli: 1, gzip: 2 } as const;

export type Compression = keyof typeof compressionTags;

/** What `tag` stands for; `undefined` when no sender may send it. */
export function compressionOf(tag: number): Compression | undefined {
  return compressions[tag];
}

const compressions: readonly Compression[] = ['none', 'brotli', 'gzip'];
