import { ConnectionId } from './connection-id.ts';
import { Identity } from './identity.ts';
import type { SpecialProductKind } from './special-types.ts';
import { TimeDuration } from './time-duration.ts';
import { Timestamp } from './timestamp.ts';
import { Uuid } from './uuid.ts';

/** The class that represents each special product. */
export const nativeClasses: Readonly<Record<SpecialProductKind, new (value: bigint) => object>> = {
  identity: Identity,
  connectionId: ConnectionId,
  timestamp: Timestamp,
  timeDuration: TimeDuration,
  uuid: Uuid,
};
