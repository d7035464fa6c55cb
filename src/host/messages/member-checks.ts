import { limits } from '../../limits.ts';
import type { LogPoint } from '../../log/log-point.ts';
import type { AsideCounts } from '../../log/set-aside.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import { isLinkAddress } from '../../shared-log/link-address.ts';
import type { Handed } from '../../shared-log/replicator.ts';
import type { DatabaseRole, FollowerRole } from '../replication/database-role.ts';
import type { MemberAsk, MemberOrder } from './member-messages.ts';

/**
 * True if a structured message has the shape that an actor of a cluster's database sends. Appends
 * have a frame of their own, so none is right here. See `message-checks.ts`.
 */
export function isMemberOrder(message: Exclude<MemberOrder, { kind: 'readable' }>): boolean {
  switch (message.kind) {
    case 'member':
      return (
        hasExactly(message, ['kind', 'id', 'ask']) && isCount(message.id) && isAsk(message.ask)
      );
    case 'role':
      return hasExactly(message, ['kind', 'role']) && isRole(message.role);
    case 'handedOver':
      return (
        hasExactly(message, ['kind', 'failure']) &&
        (message.failure === undefined || isReason(message.failure))
      );
    default:
      message satisfies never;
      return false;
  }
}

function isAsk(ask: MemberAsk | undefined): boolean {
  switch (ask?.kind) {
    case 'read':
      return (
        hasExactly(ask, ['kind', 'from', 'bytesMax', 'countMax']) &&
        isCount(ask.from) &&
        isCountTo(ask.bytesMax, limits.sharedReadBytesMax) &&
        (ask.countMax === undefined || isCountTo(ask.countMax, limits.sharedReadEntriesMax))
      );
    case 'wait':
    case 'streamed':
      return hasExactly(ask, ['kind', 'from']) && isCount(ask.from);
    case 'stop':
      return hasExactly(ask, ['kind', 'of']) && isCount(ask.of);
    case 'confirm':
      return hasExactly(ask, ['kind', 'seq']) && isCount(ask.seq);
    case 'create':
      return hasExactly(ask, ['kind', 'bytes']) && ask.bytes instanceof Uint8Array;
    case 'snapshot':
      return hasExactly(ask, ['kind', 'position']) && isCount(ask.position);
    case 'remove':
    case 'elsewhere':
      return hasExactly(ask, ['kind']);
    default:
      return false;
  }
}

/** Operators see the role of a database, and requests go where its leader is. */
function isRole(role: DatabaseRole | undefined): boolean {
  switch (role?.kind) {
    case 'opening':
      return hasExactly(role, ['kind']);
    case 'leader':
      return hasExactly(role, ['kind', 'term']) && isCount(role.term);
    case 'broken':
      return hasExactly(role, ['kind', 'reason']) && isReason(role.reason);
    case 'follower':
      return isFollower(role);
    default:
      return false;
  }
}

const followerKeys: readonly (keyof FollowerRole)[] = [
  ...(['kind', 'term', 'leader', 'isLedElsewhere', 'isAtEnd', 'end', 'settledOffset'] as const),
  ...(['isWarm', 'isLoading', 'fault', 'seq', 'aside', 'shownOffset'] as const),
];

function isFollower(role: FollowerRole): boolean {
  const { term, leader, isLedElsewhere, isAtEnd, end, settledOffset, fault } = role;
  const { isWarm, isLoading, seq, aside, shownOffset } = role;
  return (
    hasExactly(role, followerKeys) &&
    isCount(term) &&
    isCount(seq) &&
    (leader === undefined || isLead(leader)) &&
    typeof isLedElsewhere === 'boolean' &&
    [isAtEnd, isWarm, isLoading].every((is) => typeof is === 'boolean') &&
    (fault === undefined || isReason(fault)) &&
    isPoint(end) &&
    isOffset(settledOffset) &&
    (shownOffset === undefined || isOffset(shownOffset)) &&
    isAside(aside)
  );
}

function isAside(aside: AsideCounts | undefined): boolean {
  return (
    aside !== undefined &&
    hasExactly(aside, ['commits', 'refetchedBytes']) &&
    isCount(aside.commits) &&
    isCount(aside.refetchedBytes)
  );
}

/** What an actor says when it has given its database away. */
export function isHanded(handed: Handed): boolean {
  return (
    hasExactly(handed, ['kind', 'seq', 'term', 'to', 'at']) &&
    handed.kind === 'handedOver' &&
    isCount(handed.seq) &&
    isCount(handed.term) &&
    isLead(handed.to) &&
    isPoint(handed.at)
  );
}

function isLead(lead: Lead): boolean {
  return (
    hasExactly(lead, ['host', 'boot', 'name', 'address', 'history', 'format']) &&
    isUnsigned(lead.host, 128) &&
    isUnsigned(lead.boot, 128) &&
    isText(lead.name, limits.hostNameBytesMax) &&
    isText(lead.address, limits.hostAddressBytesMax) &&
    (lead.address === '' || isLinkAddress(lead.address)) &&
    isText(lead.history, limits.engineHistoryBytesMax) &&
    isCount(lead.format)
  );
}

function isPoint(point: LogPoint): boolean {
  return (
    hasExactly(point, ['position', 'chain', 'offset']) &&
    isCount(point.position) &&
    isUnsigned(point.chain, 64) &&
    isOffset(point.offset)
  );
}

/** True when it is an object with these keys and no others. */
function hasExactly(value: object, keys: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.keys(value).length === keys.length && keys.every((key) => key in value);
}

function isCount(count: unknown): boolean {
  return isCountTo(count, Number.MAX_SAFE_INTEGER);
}

function isCountTo(count: unknown, most: number): boolean {
  return Number.isSafeInteger(count) && Number(count) >= 0 && Number(count) <= most;
}

/** Of a commit; -1 where there is none yet. */
function isOffset(offset: unknown): boolean {
  return offset === -1 || isCount(offset);
}

function isUnsigned(value: unknown, bits: number): boolean {
  return typeof value === 'bigint' && BigInt.asUintN(bits, value) === value;
}

function isReason(text: unknown): boolean {
  return isText(text, limits.reportCharactersMax);
}

function isText(text: unknown, charactersMax: number): boolean {
  return typeof text === 'string' && text.length <= charactersMax;
}
