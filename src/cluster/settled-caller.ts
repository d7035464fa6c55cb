import type { IncomingMessage } from 'node:http';
import type { RequestCaller } from '../auth/caller.ts';
import type { Capability } from '../auth/capability.ts';
import type { Sender } from '../auth/page-rules.ts';
import { type BootId, bootId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import {
  callerIdentity,
  type DatabaseIdentity,
  databaseIdentity,
} from '../values/identity-roles.ts';

/** What travels with a request from one host to another, in the header `forwardHeader`. */
export interface ForwardedHead {
  /** The request is for the host that leads this database. */
  readonly database: DatabaseIdentity;
  /**
   * True: that host only knows more than the sender, and may send it on as if a client had asked.
   */
  readonly isAsked: boolean;
  /** The caller as the first host has settled it; absent where nobody looks at callers. */
  readonly caller: RequestCaller | undefined;
  readonly client: ForwardedClient;
  /** How long the first host still waits. */
  readonly waitsMillis: number;
  /** Hosts that the request has left, the first included. */
  readonly hops: number;
  /** The term in which the receiver leads, as the sender knows it. */
  readonly term?: number | undefined;
  /** How far the sender knows the registry: what was granted or revoked there counts here. */
  readonly registryOffset?: number | undefined;
  /** The process that sends it; what it relays ends with it. */
  readonly sender?: BootId | undefined;
}

/** The client, as only the host knows it that it is connected with. */
export interface ForwardedClient {
  readonly address: string;
  readonly sender: Sender;
  /** Scheme and authority by which it asked, such as `https://shop.example:3000`. */
  readonly origin: string;
  readonly isOnMachine: boolean;
  readonly isConfidential: boolean;
}

export const forwardHeader = 'reducerdb-forward';

/** Only a link puts something in: what a client writes into headers counts for nothing. */
const heads = new WeakMap<IncomingMessage, ForwardedHead>();

export function rememberForwarded(request: IncomingMessage, head: ForwardedHead): void {
  heads.set(request, head);
}

/** The head of a request that another host has sent; `undefined`: it came from a client. */
export function forwardedHeadOf(request: IncomingMessage): ForwardedHead | undefined {
  return heads.get(request);
}

/** Encodes it as text for a header. Rights do not travel: the receiver has its own registry. */
export function encodeForwarded({ database, caller, sender, ...rest }: ForwardedHead): string {
  const shown = caller === undefined ? undefined : callerToJson(caller);
  const from = sender === undefined ? undefined : bigintToHex(sender, 32);
  const more = { database: identityToHex(database), caller: shown, sender: from };
  const text = JSON.stringify({ ...rest, ...more });
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** `undefined`: another version wrote it, in a form that is not known here. */
export function decodeForwarded(text: string): ForwardedHead | undefined {
  try {
    const json = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as HeadJson;
    const { waitsMillis, hops, isAsked, registryOffset, term } = json;
    if (typeof waitsMillis !== 'number' || !Number.isSafeInteger(hops)) return undefined;
    const caller = json.caller === undefined ? undefined : callerFromJson(json.caller);
    const database = databaseIdentity(identityOf(json.database));
    const client = clientOf(json.client);
    const rest = { isAsked: isAsked === true, waitsMillis, hops: Number(hops) };
    const known = Number.isSafeInteger(registryOffset) ? Number(registryOffset) : undefined;
    const inTerm = Number.isSafeInteger(term) ? Number(term) : undefined;
    const sender = senderOf(json.sender);
    return { database, caller, client, ...rest, registryOffset: known, term: inTerm, sender };
  } catch {
    return undefined;
  }
}

interface HeadJson {
  readonly database: string;
  readonly isAsked: unknown;
  readonly caller?: CallerJson;
  readonly client: Readonly<Record<keyof ForwardedClient, unknown>>;
  readonly waitsMillis: unknown;
  readonly hops: unknown;
  readonly registryOffset?: unknown;
  readonly term?: unknown;
  readonly sender?: unknown;
}

function senderOf(text: unknown): BootId | undefined {
  const isBoot = typeof text === 'string' && /^[0-9a-f]{32}$/.test(text);
  return isBoot ? bootId(BigInt(`0x${text}`)) : undefined;
}

function clientOf(json: HeadJson['client']): ForwardedClient {
  const { address, sender, origin, isOnMachine, isConfidential } = json;
  const areTexts = typeof address === 'string' && typeof origin === 'string';
  const known = senders.find((one) => one === sender);
  if (!areTexts || known === undefined) throw new TypeError('no client');
  const isTrue = { isOnMachine: isOnMachine === true, isConfidential: isConfidential === true };
  return { address, sender: known, origin, ...isTrue };
}

const senders: readonly Sender[] = ['program', 'known', 'own', 'stranger'];

type CapabilityJson = Omit<Capability, 'database' | 'by'> & {
  readonly database: string;
  readonly by: string;
};

type CallerJson = Omit<RequestCaller, 'identity' | 'capability'> & {
  readonly identity: string;
  readonly capability?: CapabilityJson;
};

function callerToJson({ identity, capability, ...rest }: RequestCaller): CallerJson {
  const shown = { ...rest, identity: identityToHex(identity) };
  if (capability === undefined) return shown;
  const [database, by] = [identityToHex(capability.database), identityToHex(capability.by)];
  return { ...shown, capability: { ...capability, database, by } };
}

function callerFromJson({ identity, capability, ...rest }: CallerJson): RequestCaller {
  const caller = { ...rest, identity: callerIdentity(identityOf(identity)) };
  if (capability === undefined) return caller;
  const database = databaseIdentity(identityOf(capability.database));
  const by = callerIdentity(identityOf(capability.by));
  return { ...caller, capability: { ...capability, database, by } };
}

function identityOf(text: string): bigint {
  const found = identityFromHex(text);
  if (found === undefined) throw new TypeError(`no identity: ${text}`);
  return found;
}
