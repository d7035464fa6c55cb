import type { RequestCaller } from '../auth/caller.ts';
import type { CopyOffer } from '../doors/copy-offer.ts';
import type { Host } from '../host/host.ts';
import { type AgentFeature, isAgentFeature } from '../protocol/agent-features.ts';

/** The context of tools, resources and prompts: the caller, the database and the features. */
export interface McpSession {
  readonly host: Host;
  readonly caller: RequestCaller;
  /** Owner of things that outlive a request; equal for all requests of one caller. */
  readonly callerKey: string;
  /** Set by the path or the command; `undefined` = host-wide, each call names its database. */
  readonly database: string | undefined;
  /** Requested in the address, or granted by a limited token. */
  readonly features: ReadonlySet<AgentFeature>;
  /** Whether calls wait for durability: in a cluster; see `ClusterPart`. */
  readonly confirms?: boolean;
  /** The name of this host in its cluster; absent: it is alone. */
  readonly hostName?: string | undefined;
  /** A copy of this host that the request may read. */
  readonly offer?: CopyOffer | undefined;
  /** Bytes of rows in one answer, unless more are asked for; absent: see `limits.ts`. */
  readonly answerBytes?: number;
}

/** Adds the features granted by the caller's token to the requested session. */
export function makeSession(asked: McpSession): McpSession {
  const granted = asked.caller.capability?.features ?? [];
  const features = new Set([...asked.features, ...granted.filter(isAgentFeature)]);
  if (granted.includes('write-by-preview')) features.add('preview');
  const session = { ...asked, features };
  return features.has('read-only') ? readingOnly(session) : session;
}

/** Returns a session that writes nothing: lifecycle reducers run, but leave no trace. */
export function readingOnly(session: McpSession): McpSession {
  return { ...session, caller: { ...session.caller, isReadOnly: true } };
}
