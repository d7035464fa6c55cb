import { Refusal } from '../database/outcome.ts';
import { crashReason } from '../doors/crash-reason.ts';
import type { Host } from '../host/host.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import { limits } from '../limits.ts';
import { logRecord } from '../protocol/log-record.ts';
import { parseAs } from '../values/json-shape.ts';

/** A function that has just crashed, and who called it. */
export interface Crashed {
  readonly caller: HostCaller;
  readonly database: string;
  /** Canonical. */
  readonly name: string;
  /** When the call began, in milliseconds. */
  readonly since: number;
}

/**
 * Why a function crashed, and where in its source, by the module's log; `undefined` for a caller
 * who may not read that.
 */
export async function crashHint(host: Host, crashed: Crashed): Promise<string | undefined> {
  const { caller, database, name, since } = crashed;
  const request = {
    lines: limits.agentLogScanLinesMax,
    bytesMax: limits.agentLogScanBytesMax,
    follow: false,
  };
  let text = '';
  try {
    for await (const chunk of host.logs(caller, database, request)) text += chunk;
  } catch (error) {
    // The call has failed all the same.
    if (error instanceof Refusal) return undefined;
    throw error;
  }
  // Most lines belong to other functions: only candidates are parsed.
  const mark = `"function":${JSON.stringify(name)}`;
  const found = text
    .split('\n')
    .filter((line) => line.includes(mark))
    .map((line) => parseAs(line, logRecord))
    .findLast(({ level, ts, function: of }) => {
      return level === 'Panic' && of === name && ts / 1_000 >= since;
    });
  return found && crashReason(found);
}
