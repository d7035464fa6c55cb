import { linesOfFunction } from '../../host/databases/crash-reason.ts';
import type { LogRequest, LogStream } from '../../host/databases/module-log.ts';
import type { DatabaseRecord } from '../../host/registry/database-record.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import type { McpSession } from '../session.ts';

export function mayReadLog({ host, caller }: McpSession, database: DatabaseRecord): boolean {
  return host.access.allows(caller, database, 'viewLogs');
}

/** Reads the last lines of the module's log, each a JSON object, up to a resource's limits. */
export async function readLog(session: McpSession, database: DatabaseRecord): Promise<string> {
  const text = await lastLines(session, database, limits.resourceLogLinesMax);
  if (text.length <= limits.resourceCharactersMax) return text;
  const start = text.indexOf('\n', text.length - limits.resourceCharactersMax - 1);
  return text.slice(start + 1);
}

/** Yields whenever lines are written. The caller must end it with `return`. */
export function followLog(session: McpSession, database: DatabaseRecord): LogStream {
  return openLog(session, database, { lines: 0, follow: true });
}

/** Returns the last lines that a reducer logged, or that report its failure. */
export async function linesOfReducer(
  session: McpSession,
  database: DatabaseRecord,
  reducer: string,
): Promise<readonly string[]> {
  const open = (request: LogRequest) =>
    openLog(session, database, { ...request, ofAllHosts: true });
  return (await linesOfFunction(open, reducer)).slice(-limits.promptLogLinesMax);
}

/**
 * Returns the last lines of the module's log, each a JSON object, up to the limit of one read.
 * Throws `Refusal` without the right.
 */
export async function lastLines(
  session: McpSession,
  database: DatabaseRecord,
  lines: number,
): Promise<string> {
  let text = '';
  const request = {
    ...{ lines, bytesMax: limits.agentLogScanBytesMax },
    ...{ follow: false, ofAllHosts: true },
  };
  for await (const chunk of openLog(session, database, request)) text += chunk;
  return text;
}

export function openLog(
  { host, caller }: McpSession,
  { identity }: DatabaseRecord,
  request: LogRequest,
): LogStream {
  return host.logs(caller, identityToHex(identity), request);
}
