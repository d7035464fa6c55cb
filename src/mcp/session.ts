import type { RequestCaller } from '../auth/caller.ts';
import type { Host } from '../host/host.ts';
import { type AgentFeature, isAgentFeature } from '../protocol/agent-features.ts';

/** Who asks, of what, with which features: all that a tool, resource or prompt works from. */
export interface McpSession {
  readonly host: Host;
  readonly caller: RequestCaller;
  /** To whom things are bound that outlive a request; the same for all requests of one caller. */
  readonly callerKey: string;
  /** Fixed by the path or the command; `undefined` = host-wide, each call names its database. */
  readonly database: string | undefined;
  /** Asked for in the address, or granted with a limited token. */
  readonly features: ReadonlySet<AgentFeature>;
}

/** The session as it was asked for, with what the caller's token grants beside. */
export function makeSession(asked: McpSession): McpSession {
  const granted = asked.caller.capability?.features ?? [];
  const features = new Set([...asked.features, ...granted.filter(isAgentFeature)]);
  const session = { ...asked, features };
  return features.has('read-only') ? readingOnly(session) : session;
}

/** The same one, in which nothing is written: lifecycle reducers run, and leave no trace. */
export function readingOnly(session: McpSession): McpSession {
  return { ...session, caller: { ...session.caller, isReadOnly: true } };
}
