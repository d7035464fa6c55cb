import { randomBytes } from 'node:crypto';
import type { RequestConnection } from '../database/outcome.ts';

/** A connection that exists for one request alone: 128 random bits, never zero. */
export function temporaryConnection(): RequestConnection {
  const id = BigInt(`0x${randomBytes(16).toString('hex')}`);
  return { kind: 'temporary', id: id === 0n ? 1n : id };
}
