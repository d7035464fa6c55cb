import type { Brand } from '../brand.ts';

/**
 * Id of a connection inside the service: 128 bits, unsigned; `ConnectionId` is what
 * modules and clients see. At run time it is a plain bigint.
 */
export type ConnectionNumber = Brand<bigint, 'ConnectionNumber'>;

/** Mints a connection's number. `raw` is unsigned, at most 128 bits. */
export function connectionNumber(raw: bigint): ConnectionNumber {
  return raw as ConnectionNumber;
}

/** Stands for no connection: what the host itself runs has none. */
export const noConnection = connectionNumber(0n);
