import type { DatabaseRole } from '../host/replication/database-role.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Copy } from './operations.ts';

type Known = Pick<Copy, 'ageMillis'> &
  Partial<Pick<Copy, 'offset' | 'acknowledged' | 'bytes' | 'turnMillis' | 'term'>>;

/** This host's part in one database, for others; `known`: what its databases say of it. */
export function ownCopy(database: DatabaseIdentity, role: DatabaseRole, known: Known): Copy {
  const own: Copy = {
    ...{ database, kind: role.kind, offset: 0, acknowledged: 0, bytes: 0, turnMillis: 0 },
    ...{ term: 0, isAtEnd: false, isWarm: false, fault: undefined },
    ...known,
    isKnown: known.offset !== undefined,
  };
  if (role.kind === 'leader') return { ...own, term: role.term, isAtEnd: true, isWarm: true };
  if (role.kind !== 'follower') return own;
  const { term, end, settledOffset: acknowledged, isAtEnd, isWarm, fault } = role;
  const read = { term, offset: end.offset, acknowledged, isKnown: true };
  return { ...own, ...read, ...{ isAtEnd, isWarm, fault } };
}
