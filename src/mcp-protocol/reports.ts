import { limits } from '../limits.ts';
import type { JsonValue } from '../values/json.ts';
import { idText, notificationText } from './json-rpc.ts';
import { RawJson } from './json-text.ts';
import { readMeta } from './meta.ts';
import type { Outgoing } from './outgoing.ts';
import { type LogLevel, logLevels, type RequestContext } from './request-context.ts';

type Reports = Pick<RequestContext<unknown>, 'progress' | 'log'>;

/**
 * Reports progress with the client's token. Values that do not grow are dropped, and so are values
 * beyond the rate limit.
 */
export function progressReports(
  params: JsonValue | undefined,
  outgoing: Outgoing,
): Reports['progress'] {
  const token = readMeta(params, 'progressToken');
  const tokenText = token === null ? undefined : idText(token);
  if (tokenText === undefined) return () => undefined;
  const progressToken = new RawJson(tokenText);
  const pace = new Pace(limits.mcpProgressPerSecondMax);
  let last = Number.NEGATIVE_INFINITY;
  return (done, total, message) => {
    if (!Number.isFinite(done) || done <= last || !pace.allows()) return;
    last = done;
    const params = { progressToken, progress: done, total, message };
    outgoing.put(`progress ${done}`, notificationText('notifications/progress', params));
  };
}

/** Sends log messages of a request's work, of the requested level and above. */
export function logReports(wanted: LogLevel | undefined, outgoing: Outgoing): Reports['log'] {
  if (wanted === undefined) return () => undefined;
  const lowest = logLevels.indexOf(wanted);
  let count = 0;
  return (level, data, logger) => {
    if (logLevels.indexOf(level) < lowest) return;
    count += 1;
    const text = notificationText('notifications/message', { level, logger, data });
    outgoing.put(`log ${count}`, text);
  };
}

/** Allows a fixed number of messages per second. */
class Pace {
  readonly #perSecondMax: number;
  #second = 0;
  #count = 0;

  constructor(perSecondMax: number) {
    this.#perSecondMax = perSecondMax;
  }

  allows(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) this.#count = 0;
    this.#second = second;
    this.#count += 1;
    return this.#count <= this.#perSecondMax;
  }
}
