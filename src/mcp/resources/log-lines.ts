import type { DatabaseRecord, LogStream } from '../../host/host-types.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import type { McpSession } from '../session.ts';

export function mayReadLog({ host, caller }: McpSession, database: DatabaseRecord): boolean {
  return host.access.allows(caller, database, 'viewLogs');
}

/** The last lines of the module's log, each a JSON object, within the bounds of a resource. */
export async function readLog(session: McpSession, database: DatabaseRecord): Promise<string> {
  const stream = openLog(session, database, { lines: limits.resourceLogLinesMax, follow: false });
  let text = '';
  for await (const chunk of stream) text += chunk;
  if (text.length <= limits.resourceCharactersMax) return text;
  const start = text.indexOf('\n', text.length - limits.resourceCharactersMax - 1);
  return text.slice(start + 1);
}

/** Gives something whenever lines are written. To be ended with `return`. */
export function followLog(session: McpSession, database: DatabaseRecord): LogStream {
  return openLog(session, database, { lines: 0, follow: true });
}

function openLog(
  { host, caller }: McpSession,
  { identity }: DatabaseRecord,
  request: { readonly lines: number; readonly follow: boolean },
): LogStream {
  return host.logs(caller, identityToHex(identity), request);
}
