import { randomBytes } from 'node:crypto';
import type { RequestConnection } from '../../database/outcome.ts';
import { type ConnectionNumber, connectionNumber } from '../../values/connection-number.ts';

/** A connection that exists for one request alone. */
export function temporaryConnection(): RequestConnection {
  return { kind: 'temporary', id: randomConnectionId() };
}

/** 128 random bits, never zero. */
export function randomConnectionId(): ConnectionNumber {
  const id = BigInt(`0x${randomBytes(16).toString('hex')}`);
  return connectionNumber(id === 0n ? 1n : id);
}
