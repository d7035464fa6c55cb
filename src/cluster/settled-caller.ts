import type { RequestCaller } from '../auth/caller.ts';
import type { Capability } from '../auth/capability.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';

/** What travels with a request from one host to another, in the header `forwardHeader`. */
export interface ForwardedHead {
  /** The caller as the first host has settled it; absent where nobody looks at callers. */
  readonly caller: RequestCaller | undefined;
  /** How long the first host still waits. */
  readonly waitsMillis: number;
  /** Hosts that the request has left, the first included. */
  readonly hops: number;
}

export const forwardHeader = 'reducerdb-forward';

/** Encodes it as text for a header. Rights do not travel: the receiver has its own registry. */
export function encodeForwarded({ caller, waitsMillis, hops }: ForwardedHead): string {
  const shown = caller === undefined ? undefined : callerToJson(caller);
  const text = JSON.stringify({ caller: shown, waitsMillis, hops });
  return Buffer.from(text, 'utf8').toString('base64url');
}

/** `undefined`: another version wrote it, in a form that is not known here. */
export function decodeForwarded(text: string): ForwardedHead | undefined {
  try {
    const json = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as {
      readonly caller?: CallerJson;
      readonly waitsMillis: unknown;
      readonly hops: unknown;
    };
    const { waitsMillis, hops } = json;
    if (typeof waitsMillis !== 'number' || !Number.isSafeInteger(hops)) return undefined;
    const caller = json.caller === undefined ? undefined : callerFromJson(json.caller);
    return { caller, waitsMillis, hops: Number(hops) };
  } catch {
    return undefined;
  }
}

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
